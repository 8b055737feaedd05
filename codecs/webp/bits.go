package webp

import "encoding/binary"

// bitWriter packs bits from the least significant on, as RFC 9649, 3.1 reads them.
type bitWriter struct {
	out  []byte
	held uint64 // bits not yet in out
	n    uint   // how many
}

// put appends the low n bits of v, at most 32.
func (w *bitWriter) put(v uint64, n uint) {
	w.held |= v << w.n
	w.n += n
	if w.n >= 32 {
		w.out = binary.LittleEndian.AppendUint32(w.out, uint32(w.held))
		w.held >>= 32
		w.n -= 32
	}
}

// bytes is everything written, the last byte filled up with zeros.
func (w *bitWriter) bytes() []byte {
	for w.n > 0 {
		w.out = append(w.out, byte(w.held))
		w.held >>= 8
		w.n -= min(w.n, 8)
	}
	return w.out
}

// len is the number of bits written so far.
func (w *bitWriter) len() int { return 8*len(w.out) + int(w.n) }
