package imageio

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zlib"

	"github.com/pelmill/pelmill/raster"
)

// encodeTIFF writes a page per slice: little-endian, one deflated strip a page,
// the bits of the image. Samples of other than 8 and 16 bits are packed, since a reader
// must find their number again. Unsigned ones below 8 bits are not written: readers
// spread them to 8.
func encodeTIFF(m *raster.Image) ([]byte, error) {
	if m.Bits < 8 && !m.Signed {
		return nil, unsupported("tiff", "%s cannot be written, want 8 bits or more, or signed samples", m.Shape)
	}
	b := []byte("II*\x00\x00\x00\x00\x00")
	link := 4 // the place of the offset of the next directory
	var icc int
	if m.Meta.ICC != nil {
		icc = len(b)
		b = append(b, m.Meta.ICC...)
	}
	for z := range m.Depth {
		strip, err := deflated(tiffRows(m.Slice(z)))
		if err != nil {
			return nil, fmt.Errorf("imageio: tiff: write page %d of %s: %w", z+1, m.Shape, err)
		}
		if int64(len(b))+int64(len(strip)) > 1<<32-4096 {
			return nil, unsupported("tiff", "%s is too large for the 4 GiB of a TIFF file", m.Shape)
		}
		at := len(b)
		b = append(b, strip...)
		b = append(b, make([]byte, len(b)&1)...)
		binary.LittleEndian.PutUint32(b[link:], uint32(len(b)))
		b, link = appendDirectory(b, m, at, len(strip), icc)
	}
	return b, nil
}

// appendDirectory appends a directory, with the values that do not fit a field
// behind it, and returns the place of its link.
func appendDirectory(b []byte, m *raster.Image, strip, length, icc int) ([]byte, int) {
	const short, long, undefined = 3, 4, 7
	colour, format := tiffBlackIsZero, 1
	if m.Channels >= 3 {
		colour = tiffRGB
	}
	if m.Signed {
		format = 2
	}
	repeat := func(v int) []int {
		r := make([]int, m.Channels)
		for i := range r {
			r[i] = v
		}
		return r
	}
	type field struct {
		tag, kind int
		values    []int
	}
	fields := []field{
		{tagSubfileType, long, []int{0}},
		{tagWidth, long, []int{m.Width}},
		{tagLength, long, []int{m.Height}},
		{tagBits, short, repeat(m.Bits)},
		{tagCompression, short, []int{tiffDeflate}},
		{tagPhotometric, short, []int{colour}},
		{tagStripOffsets, long, []int{strip}},
		{tagSamples, short, []int{m.Channels}},
		{tagRowsPerStrip, long, []int{m.Height}},
		{tagStripCounts, long, []int{length}},
		{tagPlanar, short, []int{1}},
	}
	if m.Alpha() {
		const straight = 2
		fields = append(fields, field{tagExtraSamples, short, []int{straight}})
	}
	fields = append(fields, field{tagSampleFormat, short, repeat(format)})
	count := len(fields)
	if m.Meta.ICC != nil {
		count++
	}
	le := binary.LittleEndian
	extra := len(b) + 2 + 12*count + 4
	var tail []byte
	b = le.AppendUint16(b, uint16(count))
	for _, f := range fields {
		b = le.AppendUint16(b, uint16(f.tag))
		b = le.AppendUint16(b, uint16(f.kind))
		b = le.AppendUint32(b, uint32(len(f.values)))
		var v []byte
		for _, x := range f.values {
			if f.kind == short {
				v = le.AppendUint16(v, uint16(x))
			} else {
				v = le.AppendUint32(v, uint32(x))
			}
		}
		if len(v) > 4 {
			b = le.AppendUint32(b, uint32(extra+len(tail)))
			tail = append(tail, v...)
			continue
		}
		b = append(b, v...)
		b = append(b, make([]byte, 4-len(v))...)
	}
	if m.Meta.ICC != nil {
		b = le.AppendUint16(b, tagICC)
		b = le.AppendUint16(b, undefined)
		b = le.AppendUint32(b, uint32(len(m.Meta.ICC)))
		b = le.AppendUint32(b, uint32(icc))
	}
	link := len(b)
	b = append(b, 0, 0, 0, 0)
	return append(b, tail...), link
}

// tiffRows returns the samples of a slice as a file has them.
func tiffRows(m *raster.Image) []byte {
	if m.Bits == 8 || m.Bits == 16 {
		return m.Pix
	}
	perRow := m.Width * m.Channels
	var b []byte
	for y := range m.Height {
		var acc uint32
		have := 0
		for i := range perRow {
			acc = acc<<m.Bits | uint32(m.Sample(y*perRow+i))&(1<<m.Bits-1)
			for have += m.Bits; have >= 8; {
				have -= 8
				b = append(b, byte(acc>>have))
			}
		}
		if have > 0 {
			b = append(b, byte(acc<<(8-have)))
		}
	}
	return b
}

func deflated(src []byte) ([]byte, error) {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write(src); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
