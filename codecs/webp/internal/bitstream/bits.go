package bitstream

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/codec"
)

// bitWriter packs bits from the least significant on, as RFC 9649, 3.1 reads them.
type bitWriter struct {
	out    []byte
	held   uint64 // bits not yet in out
	n      uint   // how many, less than 32
	behind int    // bytes that somebody else appends
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

// append appends everything that o holds. It leaves o unusable.
func (w *bitWriter) append(o *bitWriter) {
	rest := o.out
	room, held, n := w.reserve(8 * len(rest))
	at := 0
	for ; len(rest) >= 8; rest = rest[8:] {
		v := binary.LittleEndian.Uint64(rest)
		binary.LittleEndian.PutUint64(room[at:], held|v<<n)
		held = v >> (64 - n)
		at += 8
	}
	w.commit(at, held, n)
	for _, b := range rest {
		w.put(uint64(b), 8)
	}
	w.put(o.held, o.n)
}

// beyond is how many bytes of room there are behind reserved bits, so that eight bytes at a time may be stored.
const beyond = 16

// grow makes room for n more bits, of the whole rest of what is written, and for what is behind. Where that takes new memory, it is of
// this size.
func (w *bitWriter) grow(n int) {
	at := len(w.out)
	need := at + int(w.n+7)/8 + (n+7)/8 + beyond + w.behind
	if cap(w.out) < need {
		grown := codec.Uncleared(need)[:at]
		copy(grown, w.out)
		w.out = grown
	}
}

// reserve makes room for n more bits and returns it, from the first byte that is not
// full yet, with the bits of that byte. The caller stores what it adds there, eight bytes
// at a time where it likes, and reports it to commit.
func (w *bitWriter) reserve(n int) (room []byte, held uint64, bits uint) {
	for w.n >= 8 {
		w.out = append(w.out, byte(w.held))
		w.held >>= 8
		w.n -= 8
	}
	at := len(w.out)
	need := at + (n+7)/8 + beyond
	if cap(w.out) < need {
		grown := make([]byte, at, 2*need)
		copy(grown, w.out)
		w.out = grown
	}
	return w.out[at:need], w.held, w.n
}

// commit takes over n whole bytes of the room that reserve gave, and the bits behind them,
// less than 8.
func (w *bitWriter) commit(n int, held uint64, bits uint) {
	w.out = w.out[:len(w.out)+n]
	w.held, w.n = held, bits
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
