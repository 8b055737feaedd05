// Package bits reads and writes the fields of JPEG XL (ISO/IEC 18181-1, B.2): bits of
// a byte from the least significant one, and the variable-length integers made of them.
//
// A [Reader] never fails in the middle: behind the end of its data it reads zeros, and
// Err says so afterwards. That keeps the inner loops of decoders free of checks.
package bits

import (
	"encoding/binary"
	"errors"
	"math"
	mathbits "math/bits"
	"slices"
)

// ErrCutShort says that more bits were read than there are.
var ErrCutShort = errors.New("the codestream is cut short")

// Writer appends bits to bytes. The zero value is ready for use.
type Writer struct {
	out []byte
	acc uint64 // bits not yet in out, from the lowest
	n   uint   // their number, below 32 between calls
}

// Write appends the lowest n bits of v, n at most 32. Higher bits of v are zero.
func (w *Writer) Write(v uint64, n uint) {
	w.acc |= v << w.n
	w.n += n
	if w.n >= 32 {
		w.out = binary.LittleEndian.AppendUint32(w.out, uint32(w.acc))
		w.acc >>= 32
		w.n -= 32
	}
}

// Bool appends one bit.
func (w *Writer) Bool(b bool) {
	if b {
		w.Write(1, 1)
	} else {
		w.Write(0, 1)
	}
}

// Pad appends zero bits up to a byte.
func (w *Writer) Pad() {
	w.Write(0, -w.n&7)
}

// Len is the number of bits written.
func (w *Writer) Len() int { return 8*len(w.out) + int(w.n) }

// Bytes pads and returns what was written. The writer goes on behind it.
func (w *Writer) Bytes() []byte {
	w.Pad()
	for ; w.n > 0; w.n -= 8 {
		w.out = append(w.out, byte(w.acc))
		w.acc >>= 8
	}
	return w.out
}

// AppendBytes appends whole bytes; the writer is at a byte.
func (w *Writer) AppendBytes(b []byte) {
	w.out = append(w.Bytes(), b...)
}

// Append appends all bits of o, which may end inside a byte.
func (w *Writer) Append(o *Writer) {
	for _, b := range o.out {
		w.Write(uint64(b), 8)
	}
	w.Write(o.acc, o.n)
}

// AppendBackward appends bits that were collected from their end: the lowest n bits of
// first, n at most 32, then words from the last to the first.
func (w *Writer) AppendBackward(words []uint32, first uint64, n uint) {
	w.Write(first&(1<<n-1), n)
	w.out = slices.Grow(w.out, 4*len(words)+8)
	for i := len(words) - 1; i >= 0; i-- {
		w.Write(uint64(words[i]), 32)
	}
}

// Range is one of the four distributions of a U32 field: a constant, or Bits bits and
// an offset.
type Range struct {
	Bits   uint
	Offset uint32
}

// Value is the distribution of a constant.
func Value(v uint32) Range { return Range{0, v} }

// Plus is the distribution of n bits with an offset.
func Plus(n uint, offset uint32) Range { return Range{n, offset} }

// U32 is a field with one of four distributions (B.2.2): two bits choose it.
type U32 [4]Range

// Size is the form of sizes and counts of the standard that many fields share.
var (
	Count = U32{Value(0), Value(1), Plus(4, 2), Plus(8, 18)} // of transforms, say
	Enum  = U32{Value(0), Value(1), Plus(4, 2), Plus(6, 18)} // of enumerations (B.2.6)
)

// Fits says whether a field can hold v.
func (f *U32) Fits(v uint32) bool {
	for _, r := range f {
		if v >= r.Offset && uint64(v-r.Offset) < 1<<r.Bits {
			return true
		}
	}
	return false
}

// U32 appends v as the first distribution that holds it; see [U32.Fits].
func (w *Writer) U32(f *U32, v uint32) {
	for i, r := range f {
		if v >= r.Offset && uint64(v-r.Offset) < 1<<r.Bits {
			w.Write(uint64(i), 2)
			w.Write(uint64(v-r.Offset), r.Bits)
			return
		}
	}
	panic("bits: a value does not fit its field")
}

// U64 appends a field of up to 64 bits (B.2.3).
func (w *Writer) U64(v uint64) {
	switch {
	case v == 0:
		w.Write(0, 2)
	case v <= 16:
		w.Write(1, 2)
		w.Write(v-1, 4)
	case v <= 272:
		w.Write(2, 2)
		w.Write(v-17, 8)
	default:
		w.Write(3, 2)
		w.Write(v&0xfff, 12)
		v >>= 12
		for shift := 12; v > 0 && shift < 60; shift += 8 {
			w.Write(1, 1)
			w.Write(v&0xff, 8)
			v >>= 8
		}
		if v > 0 {
			w.Write(1, 1)
			w.Write(v&0xf, 4)
		} else {
			w.Write(0, 1)
		}
	}
}

// VarLen8 appends an integer below 256 (C.2.5): zero, or the position of its highest
// bit in 3 bits and the bits below it.
func (w *Writer) VarLen8(v int) {
	if v == 0 {
		w.Write(0, 1)
		return
	}
	n := uint(mathbits.Len(uint(v)) - 1)
	w.Write(1, 1)
	w.Write(uint64(n), 3)
	w.Write(uint64(v)-1<<n, n)
}

// Reader reads bits of data.
type Reader struct {
	data []byte
	at   int    // the next byte to be loaded
	acc  uint64 // loaded bits, from the lowest
	n    uint   // their number
	over int    // zero bytes that were loaded behind the end
}

// NewReader returns a reader of data.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Fill loads bits until there are at least 56.
func (r *Reader) Fill() {
	if r.at+8 <= len(r.data) {
		r.acc |= binary.LittleEndian.Uint64(r.data[r.at:]) << r.n
		loaded := (63 - r.n) >> 3
		r.at += int(loaded)
		r.n += loaded * 8
		return
	}
	for r.n <= 56 {
		if r.at < len(r.data) {
			r.acc |= uint64(r.data[r.at]) << r.n
			r.at++
		} else {
			r.over++
		}
		r.n += 8
	}
}

// Peek returns the next n bits, at most 32, of those that are loaded.
func (r *Reader) Peek(n uint) uint32 { return uint32(r.acc & (1<<n - 1)) }

// Skip passes over n of the loaded bits.
func (r *Reader) Skip(n uint) {
	r.acc >>= n
	r.n -= n
}

// Read returns the next n bits, at most 32.
func (r *Reader) Read(n uint) uint32 {
	if r.n < n {
		r.Fill()
	}
	v := uint32(r.acc & (1<<n - 1))
	r.acc >>= n
	r.n -= n
	return v
}

// Bool reads one bit.
func (r *Reader) Bool() bool { return r.Read(1) == 1 }

// U32 reads a field of four distributions.
func (r *Reader) U32(f *U32) uint32 {
	d := f[r.Read(2)]
	return r.Read(d.Bits) + d.Offset
}

// U64 reads a field of up to 64 bits.
func (r *Reader) U64() uint64 {
	switch r.Read(2) {
	case 0:
		return 0
	case 1:
		return 1 + uint64(r.Read(4))
	case 2:
		return 17 + uint64(r.Read(8))
	}
	v := uint64(r.Read(12))
	for shift := 12; r.Bool(); shift += 8 {
		if shift == 60 {
			return v | uint64(r.Read(4))<<60
		}
		v |= uint64(r.Read(8)) << shift
	}
	return v
}

// F16 reads a half-precision number (B.2.4); finite is false for infinities and NaN,
// which are not allowed.
func (r *Reader) F16() (v float32, finite bool) {
	b := r.Read(16)
	exponent, mantissa := int(b>>10&31), float64(b&1023)
	if exponent == 31 {
		return 0, false
	}
	f := math.Ldexp(mantissa, -24)
	if exponent > 0 {
		f = math.Ldexp(1024+mantissa, exponent-25)
	}
	if b>>15 == 1 {
		f = -f
	}
	return float32(f), true
}

// VarLen8 is the inverse of [Writer.VarLen8].
func (r *Reader) VarLen8() int { return r.varLen(3) }

// VarLen16 is VarLen8 for integers below 65536.
func (r *Reader) VarLen16() int { return r.varLen(4) }

func (r *Reader) varLen(field uint) int {
	if !r.Bool() {
		return 0
	}
	n := uint(r.Read(field))
	return int(r.Read(n)) + 1<<n
}

// Pad passes over the bits up to the next byte and says whether they are zero.
func (r *Reader) Pad() bool { return r.Read(r.n&7) == 0 }

// Position is the number of bits read.
func (r *Reader) Position() int { return 8*(r.at+r.over) - int(r.n) }

// Err is [ErrCutShort] once more was read than there is.
func (r *Reader) Err() error {
	if r.Position() > 8*len(r.data) {
		return ErrCutShort
	}
	return nil
}

// Rest returns the data behind what was read; the reader is at a byte.
func (r *Reader) Rest() []byte {
	at := min(r.Position()/8, len(r.data))
	return r.data[at:]
}

// Signed maps an unsigned field to a signed number (B.2.7): 0, -1, 1, -2 and so on.
func Signed(v uint32) int32 { return int32(v>>1) ^ -int32(v&1) }

// Unsigned is the inverse of [Signed].
func Unsigned(v int32) uint32 { return uint32(v)<<1 ^ uint32(v>>31) }
