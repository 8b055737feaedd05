package jpeglossless

import (
	"encoding/binary"
	"math/bits"
)

// settings say how encode writes a file.
type settings struct {
	predictor   int
	shift       int  // point transform
	restartRows int  // 0: no restart markers
	planes      bool // a scan for each component
	longCodes   bool // codes of up to 16 bits
}

// encode writes samples of the shape of h as a file (T.81, annex H), one difference at a
// time. It is the reference for everything that scan.go does in rows.
func encode(h *Header, sample func(x, y, c int) int, s settings) []byte {
	out := []byte{0xff, 0xd8}
	segment := func(marker byte, body ...byte) {
		out = append(out, 0xff, marker, byte((len(body)+2)>>8), byte(len(body)+2))
		out = append(out, body...)
	}
	frame := []byte{byte(h.Bits), byte(h.Height >> 8), byte(h.Height), byte(h.Width >> 8), byte(h.Width), byte(h.Components)}
	for c := range h.Components {
		frame = append(frame, byte(c+1), 0x11, 0)
	}
	segment(0xc3, frame...)
	lengths := codeLengths(s.longCodes)
	table := make([]byte, 17)
	for length := 1; length <= 16; length++ {
		for symbol, l := range lengths {
			if l == length {
				table[length]++
				table = append(table, byte(symbol))
			}
		}
	}
	segment(0xc4, table...)
	if s.restartRows > 0 {
		segment(0xdd, binary.BigEndian.AppendUint16(nil, uint16(s.restartRows*h.Width))...)
	}
	scans := [][]int{{}}
	for c := range h.Components {
		if s.planes && c > 0 {
			scans = append(scans, nil)
		}
		scans[len(scans)-1] = append(scans[len(scans)-1], c)
	}
	for _, components := range scans {
		head := []byte{byte(len(components))}
		for _, c := range components {
			head = append(head, byte(c+1), 0)
		}
		segment(0xda, append(head, byte(s.predictor), 0, byte(s.shift))...)
		out = appendScan(out, h, components, sample, s, lengths)
	}
	return append(out, 0xff, 0xd9)
}

// codeLengths are the lengths of the codes of differences of 0 to 16 bits.
func codeLengths(long bool) (l [17]int) {
	for i := range l {
		l[i] = 5
		if long {
			l[i] = min(16, i+2)
		}
	}
	return l
}

func appendScan(out []byte, h *Header, components []int, sample func(x, y, c int) int, s settings, lengths [17]int) []byte {
	codes, code := [17]uint32{}, uint32(0)
	for length := 1; length <= 16; length++ {
		for symbol, l := range lengths {
			if l == length {
				codes[symbol] = code
				code++
			}
		}
		code <<= 1
	}
	var acc uint64
	var n int
	put := func(v uint32, count int) {
		for i := count - 1; i >= 0; i-- {
			acc = acc<<1 | uint64(v>>i&1)
			if n++; n == 8 {
				out = append(out, byte(acc))
				if byte(acc) == 0xff {
					out = append(out, 0)
				}
				acc, n = 0, 0
			}
		}
	}
	align := func() {
		for n != 0 {
			put(1, 1)
		}
	}
	for y := range h.Height {
		first := y == 0
		if s.restartRows > 0 && y > 0 && y%s.restartRows == 0 {
			align()
			out = append(out, 0xff, 0xd0+byte((y/s.restartRows-1)%8))
			first = true
		}
		for x := range h.Width {
			for _, c := range components {
				v := func(dx, dy int) int { return sample(x+dx, y+dy, c) >> s.shift }
				diff := int16(v(0, 0) - predict(v, x, first, s.predictor, 1<<(h.Bits-s.shift-1)))
				size := bits.Len(uint(max(int(diff), -int(diff))))
				put(codes[size], lengths[size])
				if size < 16 {
					if diff < 0 {
						diff--
					}
					put(uint32(diff)&(1<<size-1), size)
				}
			}
		}
	}
	align()
	return out
}

// predict is T.81, H.1.2.1 and table H.1, as it is written there.
func predict(v func(dx, dy int) int, x int, first bool, predictor, initial int) int {
	switch {
	case first && x == 0:
		return initial
	case first:
		return v(-1, 0)
	case x == 0:
		return v(0, -1)
	}
	a, b, c := v(-1, 0), v(0, -1), v(-1, -1)
	return [...]int{0, a, b, c, a + b - c, a + (b-c)>>1, b + (a-c)>>1, (a + b) / 2}[predictor]
}
