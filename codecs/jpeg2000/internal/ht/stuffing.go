package ht

import (
	"bytes"
	"encoding/binary"
)

const (
	eachByte = 0x0101010101010101
	topBits  = 0x8080808080808080
)

// anyOnes says whether one of the eight bytes of x is 0xff.
func anyOnes(x uint64) bool { return (^x-eachByte)&x&topBits != 0 }

// bitWriter collects bits, the first lowest.
type bitWriter struct {
	out  []byte // of which the first n are written; 16 bytes behind them are free for any write
	n    int
	bits uint64 // fewer than 8 that wait
	wait uint
}

// put appends count bits, at most 8.
func (w *bitWriter) put(b byte, count uint) {
	w.bits |= uint64(b) << w.wait
	if w.wait += count; w.wait >= 8 {
		w.out[w.n] = byte(w.bits)
		w.n++
		w.bits >>= 8
		w.wait -= 8
	}
}

// put8 appends the eight bytes of x.
func (w *bitWriter) put8(x uint64) {
	binary.LittleEndian.PutUint64(w.out[w.n:], w.bits|x<<w.wait)
	w.n += 8
	w.bits = x >> (64 - w.wait) // 0 if nothing waits
}

// allOnes is what follows a MagSgn stream.
var allOnes = [maxMagSgn + slack]byte(bytes.Repeat([]byte{0xff}, maxMagSgn+slack))

// finish appends the bits that wait, then bytes of fill, 0 or 0xff, up to length bytes.
func (w *bitWriter) finish(fill byte, length int) {
	w.put8(uint64(fill) * eachByte)
	w.n = min(w.n, length)
	if rest := w.out[w.n:length]; fill == 0 {
		clear(rest)
	} else {
		copy(rest, allOnes[:])
	}
}

// unstuff writes the bits of a MagSgn or SigProp stream to out without those that follow
// a byte of ones, and fills the rest of length bytes, which is at most len(out) - 16. What
// does not fit is left out.
func unstuff(out, in []byte, fill byte, length int) {
	w := bitWriter{out: out}
	i := 0
	for last := byte(0); i < len(in) && w.n < length; {
		if i+8 <= len(in) && last != 0xff {
			if x := binary.LittleEndian.Uint64(in[i:]); !anyOnes(x) {
				w.put8(x)
				i += 8
				continue
			}
		}
		for end := min(i+8, len(in)); i < end; i++ {
			if last == 0xff {
				w.put(in[i]&0x7f, 7)
			} else {
				w.put(in[i], 8)
			}
			last = in[i]
		}
	}
	w.finish(fill, length)
}

// unstuffBackward does likewise for a VLC or MagRef stream, which begins at the end of in;
// last is the byte behind it. Here the bit is missing after a byte above 0x8f, from a byte
// whose other bits are ones.
func unstuffBackward(w *bitWriter, in []byte, last byte, length int) {
	for i := len(in); i > 0 && w.n < length; {
		if i >= 8 {
			// With every top bit set, a byte is of ones if its other bits are.
			if x := binary.BigEndian.Uint64(in[i-8:]); !anyOnes(x | topBits) {
				w.put8(x)
				i -= 8
				last = in[i]
				continue
			}
		}
		for end := max(i-8, 0); i > end; i-- {
			b := in[i-1]
			if last > 0x8f && b&0x7f == 0x7f {
				w.put(0x7f, 7)
			} else {
				w.put(b, 8)
			}
			last = b
		}
	}
	w.finish(0, length)
}
