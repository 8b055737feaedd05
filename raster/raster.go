// Package raster holds images as arrays of samples, independent of any file
// format. It is what readers produce, what codecs encode and decode, and what
// verification compares.
//
// # Layout
//
// An [Image] is W x H x D samples of 1 to 4 interleaved channels. D is 1 for a
// image; a volume or a sequence of frames has D slices of equal shape, stored
// one after the other. Samples of up to 8 bits take one byte, samples of 9 to 16
// bits take two bytes, little-endian, in two's complement where signed:
//
//	slice 0:  row 0: R G B R G B ...   row 1: ...      row H-1: ...
//	slice 1:  row 0: ...
//
// There is no padding between rows or slices, so that the backing array can be
// handed to a device in one copy.
//
// # Identity
//
// [Image.Hash] is the identity of an image: SHA-256 over its shape and its
// native samples. Two files hold the same image exactly when their hashes are
// equal, whatever their formats.
package raster

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/pelmill/pelmill/internal/sha256pair"
)

// Image is a 2D image or a volume. The zero value is not valid; use [New].
type Image struct {
	Shape
	Pix  []byte
	Meta Meta
}

// New returns an image with zeroed samples. It panics when the shape is not
// valid or does not fit an int; callers check untrusted shapes with [Shape.Check].
func New(width, height, depth, channels, bits int) *Image {
	return Make(Shape{Width: width, Height: height, Depth: depth, Channels: channels, Bits: bits})
}

// Make is [New] for a shape.
func Make(s Shape) *Image {
	if err := s.Check(); err != nil {
		panic(err)
	}
	if s.BytesPerSample() == 2 {
		return FromUint16(s, make([]uint16, s.Samples()))
	}
	return &Image{Shape: s, Pix: make([]byte, s.Size())}
}

// Slice returns slice z as an image that shares the samples of m.
func (m *Image) Slice(z int) *Image {
	n := m.Size() / m.Depth
	s := *m
	s.Depth = 1
	s.Pix = m.Pix[z*n : (z+1)*n : (z+1)*n]
	return &s
}

// Hash is the image's identity: SHA-256, in lower-case hexadecimal, over the
// six shape fields as little-endian uint32 (width, height, depth, channels,
// bits, signed as 0 or 1) behind the tag "pelmill1", and then over Pix.
func (m *Image) Hash() string {
	h := sha256.New()
	h.Write(m.HashHead())
	h.Write(m.Pix)
	return hex.EncodeToString(h.Sum(nil))
}

// HashWith is [Image.Hash] and the SHA-256 of data. Both at once take less time than one
// after the other.
func (m *Image) HashWith(data []byte) (hash string, sum [sha256.Size]byte) {
	h, d := sha256.New(), sha256.New()
	h.Write(m.HashHead())
	sha256pair.Write(h, d, m.Pix, data)
	d.Sum(sum[:0])
	return hex.EncodeToString(h.Sum(nil)), sum
}

// HashHead is what [Image.Hash] is of before Pix, for whoever computes it in another way.
func (m *Image) HashHead() []byte {
	head := make([]byte, 8+6*4)
	copy(head, "pelmill1")
	signed := 0
	if m.Signed {
		signed = 1
	}
	for i, v := range []int{m.Width, m.Height, m.Depth, m.Channels, m.Bits, signed} {
		binary.LittleEndian.PutUint32(head[8+4*i:], uint32(v))
	}
	return head
}

// Sample returns sample i of Pix as its numeric value.
func (m *Image) Sample(i int) int {
	if m.Bits <= 8 {
		v := int(m.Pix[i])
		if m.Signed {
			v = int(int8(m.Pix[i]))
		}
		return v
	}
	u := binary.LittleEndian.Uint16(m.Pix[2*i:])
	if m.Signed {
		return int(int16(u))
	}
	return int(u)
}

// DropOpaqueAlpha returns m without its alpha channel when that channel is at
// its maximum everywhere, and m itself otherwise.
func DropOpaqueAlpha(m *Image) *Image {
	if !m.Alpha() || m.Signed {
		return m
	}
	opaque := 1<<m.Bits - 1
	n := m.Samples()
	for i := m.Channels - 1; i < n; i += m.Channels {
		if m.Sample(i) != opaque {
			return m
		}
	}
	o := *m
	o.Channels--
	o.Pix = make([]byte, o.Size())
	from, to := m.Channels*m.BytesPerSample(), o.Channels*m.BytesPerSample()
	for i, j := 0, 0; i < len(m.Pix); i, j = i+from, j+to {
		copy(o.Pix[j:j+to], m.Pix[i:])
	}
	return &o
}
