package raster

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// littleEndian says whether memory holds the low byte of a number first, as Pix does.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Uint16 returns the samples of an image of 9 to 16 bits as numbers, in two's complement
// where they are signed; they are to be read, not changed. They are Pix itself, without
// a copy, on little-endian machines and where Pix begins at an even address, as in images
// from [New] and [FromUint16] and their slices. It panics for images of up to 8 bits.
func (m *Image) Uint16() []uint16 {
	if m.BytesPerSample() != 2 {
		panic(fmt.Sprintf("raster: samples of %d bits are bytes", m.Bits))
	}
	if len(m.Pix) == 0 {
		return nil
	}
	if littleEndian && uintptr(unsafe.Pointer(&m.Pix[0]))%2 == 0 {
		return unsafe.Slice((*uint16)(unsafe.Pointer(&m.Pix[0])), len(m.Pix)/2)
	}
	out := make([]uint16, len(m.Pix)/2)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(m.Pix[2*i:])
	}
	return out
}

// FromUint16 returns an image of 9 to 16 bits with the given samples, which it owns from
// then on. It panics when the shape is not valid or their number is not the shape's.
func FromUint16(s Shape, samples []uint16) *Image {
	if err := s.Check(); err != nil {
		panic(err)
	}
	if s.BytesPerSample() != 2 || len(samples) != s.Samples() {
		panic(fmt.Sprintf("raster: %d numbers for the samples of %s", len(samples), s))
	}
	m := &Image{Shape: s}
	if littleEndian {
		m.Pix = unsafe.Slice((*byte)(unsafe.Pointer(&samples[0])), 2*len(samples))
		return m
	}
	m.Pix = make([]byte, 0, s.Size())
	for _, v := range samples {
		m.Pix = binary.LittleEndian.AppendUint16(m.Pix, v)
	}
	return m
}
