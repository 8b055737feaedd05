package jpegdata

import "encoding/binary"

// bitWriter writes the coded samples of a scan, with a zero byte behind every 0xff.
type bitWriter struct {
	out []byte
	acc uint64 // bits that wait, from the highest
	n   uint   // their number, at most 63
}

// bits appends the lowest n bits of v, at most 32; higher bits of v are zero.
func (w *bitWriter) bits(v uint64, n uint) {
	if w.n+n >= 64 {
		over := w.n + n - 64
		w.flush(w.acc | v>>over)
		w.acc, w.n = 0, over
		if over > 0 {
			w.acc = v << (64 - over)
		}
		return
	}
	w.acc |= v << (64 - w.n - n)
	w.n += n
}

// flush appends eight bytes.
func (w *bitWriter) flush(v uint64) {
	if x := ^v; (x-0x0101010101010101)&^x&0x8080808080808080 == 0 {
		w.out = binary.BigEndian.AppendUint64(w.out, v)
		return
	}
	for i := 56; i >= 0; i -= 8 {
		w.byte(byte(v >> i))
	}
}

func (w *bitWriter) byte(b byte) {
	w.out = append(w.out, b)
	if b == 0xff {
		w.out = append(w.out, 0)
	}
}

// room is the number of bits up to the next byte.
func (w *bitWriter) room() uint { return -w.n & 7 }

// align appends all whole bytes; it is called at a byte.
func (w *bitWriter) align() {
	for ; w.n >= 8; w.n -= 8 {
		w.byte(byte(w.acc >> 56))
		w.acc <<= 8
	}
}
