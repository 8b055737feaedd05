package entropy

import "github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"

// slot is one entry of an alias table (C.2.6): the slots below cut are those of the
// entry's own symbol, those above of another one.
type slot struct {
	cut     uint8
	right   uint8  // the other symbol
	freq    uint16 // of the own symbol; 4096 where it is the only one
	freq2   uint16 // of the other symbol
	offset2 uint16 // what a position gets added for the other symbol
}

// packedSlot is a slot in one integer, from the lowest bit: cut, right, freq, freq and
// freq2 exclusive or, offset2.
type packedSlot uint64

func (s slot) pack() packedSlot {
	return packedSlot(s.cut) | packedSlot(s.right)<<8 | packedSlot(s.freq)<<16 | packedSlot(s.freq^s.freq2)<<32 | packedSlot(s.offset2)<<48
}

func (p packedSlot) unpack() slot {
	freq := uint16(p >> 16)
	return slot{cut: uint8(p), right: uint8(p >> 8), freq: freq, freq2: freq ^ uint16(p>>32), offset2: uint16(p >> 48)}
}

// aliasTable builds the table of 2^logAlpha entries for frequencies that sum to 4096.
func aliasTable(freqs []uint16, logAlpha uint) ([]slot, error) {
	size := 1 << logAlpha
	if len(freqs) > size {
		return nil, malformed("%d symbols, the alphabet has %d", len(freqs), size)
	}
	table := make([]slot, size)
	entry := total >> logAlpha
	for s, f := range freqs {
		if f == total {
			for i := range table {
				table[i] = slot{cut: 0, right: uint8(s), freq2: total, offset2: uint16(i * entry)}
			}
			return table, nil
		}
	}
	at := func(s int) uint16 {
		if s < len(freqs) {
			return freqs[s]
		}
		return 0
	}
	cut := make([]int, size)
	var under, over []int
	for i := range size {
		cut[i] = int(at(i))
		switch {
		case cut[i] > entry:
			over = append(over, i)
		case cut[i] < entry:
			under = append(under, i)
		}
	}
	for len(over) > 0 {
		if len(under) == 0 {
			return nil, errCode
		}
		o, u := over[len(over)-1], under[len(under)-1]
		over, under = over[:len(over)-1], under[:len(under)-1]
		cut[o] -= entry - cut[u]
		table[u].right = uint8(o)
		table[u].offset2 = uint16(cut[o])
		switch {
		case cut[o] < entry:
			under = append(under, o)
		case cut[o] > entry:
			over = append(over, o)
		}
	}
	for i := range table {
		t := &table[i]
		t.freq = at(i)
		if cut[i] == entry {
			t.right, t.offset2, t.cut = uint8(i), 0, 0
		} else {
			t.offset2 -= uint16(cut[i])
			t.cut = uint8(cut[i])
		}
		t.freq2 = at(int(t.right))
	}
	return table, nil
}

// The code of the logarithm of a frequency plus one, and 13 for a repetition, by its next
// 7 bits (C.2.5): bits and value.
var logCode = func() (table [128][2]uint8) {
	for v, c := range logCodes {
		for i := int(c[0]); i < 128; i += 1 << c[1] {
			table[i] = [2]uint8{c[1], uint8(v)}
		}
	}
	return table
}()

// logCodes are the codes themselves: value and number of bits, from the lowest bit.
var logCodes = [14][2]uint8{{17, 5}, {11, 4}, {15, 4}, {3, 4}, {9, 4}, {7, 4}, {4, 3}, {2, 3}, {5, 3}, {6, 3}, {0, 3}, {33, 6}, {1, 7}, {65, 7}}

const repeatCode = 13

// precision is the number of bits that are sent of a frequency with the logarithm log.
func precision(log, shift int) int { return max(0, min(log, shift-(logTotal-log)>>1)) }

// readFreqs reads a distribution.
func readFreqs(r *bits.Reader) ([]uint16, error) {
	if r.Bool() { // one or two symbols
		two := r.Bool()
		a := r.VarLen8()
		if !two {
			freqs := make([]uint16, a+1)
			freqs[a] = total
			return freqs, nil
		}
		b := r.VarLen8()
		if a == b {
			return nil, errCode
		}
		freqs := make([]uint16, max(a, b)+1)
		freqs[a] = uint16(r.Read(logTotal))
		freqs[b] = total - freqs[a]
		return freqs, nil
	}
	if r.Bool() { // flat
		n := r.VarLen8() + 1
		freqs := make([]uint16, n)
		for i := range freqs {
			freqs[i] = uint16(total / n)
			if i < total%n {
				freqs[i]++
			}
		}
		return freqs, nil
	}
	n := uint(0)
	for n < 3 && r.Bool() {
		n++
	}
	shift := int(r.Read(n)) + 1<<n - 1
	if shift > logTotal+1 {
		return nil, errCode
	}
	return readLogs(r, shift)
}

// readLogs reads the logarithms of all frequencies, then their lower bits. The first of
// the largest logarithm is the frequency that is not sent.
func readLogs(r *bits.Reader, shift int) ([]uint16, error) {
	length := r.VarLen8() + 3
	freqs := make([]uint16, length)
	logs, same := make([]int, length), make([]int, length)
	omit := -1
	for i := 0; i < length; i++ {
		r.Fill()
		c := logCode[r.Peek(7)]
		r.Skip(uint(c[0]))
		logs[i] = int(c[1])
		if c[1] == repeatCode {
			same[i] = r.VarLen8() + 4
			i += same[i] - 1
			continue
		}
		if omit < 0 || logs[i] > logs[omit] {
			omit = i
		}
	}
	if omit < 0 || omit+1 < length && logs[omit+1] == repeatCode {
		return nil, errCode
	}
	sum := 0
	for i := 0; i < length; i++ {
		switch {
		case same[i] > 0:
			var before uint16
			if i > 0 {
				before = freqs[i-1]
			}
			for j := i; j < min(length, i+same[i]); j++ {
				freqs[j] = before
				sum += int(before)
			}
			i += same[i] - 1
			continue
		case i == omit || logs[i] == 0:
			continue
		}
		log := logs[i] - 1
		f := 1 << log
		if shift > 0 && log > 0 {
			k := precision(log, shift)
			f += int(r.Read(uint(k))) << (log - k)
		}
		freqs[i] = uint16(min(f, total))
		sum += f
	}
	if sum >= total {
		return nil, errCode
	}
	freqs[omit] = uint16(total - sum)
	return freqs, nil
}
