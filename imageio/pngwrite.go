package imageio

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zlib"

	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// encodePNG writes one image of unsigned 8- or 16-bit samples with its profile
// and its EXIF block. The standard encoder has no grey with alpha, and no place
// for either block.
func encodePNG(m *raster.Image) ([]byte, error) {
	if m.Depth != 1 || m.Signed || (m.Bits != 8 && m.Bits != 16) {
		return nil, unsupported("png", "%s cannot be written, want one picture of unsigned 8 or 16 bits", m.Shape)
	}
	colour := [5]byte{1: png.Grey, 2: png.GreyAlpha, 3: png.RGB, 4: png.RGBA}[m.Channels]
	var head [13]byte
	binary.BigEndian.PutUint32(head[0:], uint32(m.Width))
	binary.BigEndian.PutUint32(head[4:], uint32(m.Height))
	head[8], head[9] = byte(m.Bits), colour

	b := png.Append([]byte(png.Signature), "IHDR", head[:])
	if m.Meta.ICC != nil {
		icc, err := deflated(m.Meta.ICC)
		if err != nil {
			return nil, fmt.Errorf("imageio: png: write profile: %w", err)
		}
		b = png.Append(b, "iCCP", append([]byte("icc\x00\x00"), icc...))
	}
	if m.Meta.EXIF != nil {
		b = png.Append(b, "eXIf", m.Meta.EXIF)
	}
	b = appendPNGAttributes(b, &m.Meta)
	rows, err := pngRows(m)
	if err != nil {
		return nil, fmt.Errorf("imageio: png: write %s: %w", m.Shape, err)
	}
	for len(rows) > png.MaxChunk {
		b = png.Append(b, "IDAT", rows[:png.MaxChunk])
		rows = rows[png.MaxChunk:]
	}
	b = png.Append(b, "IDAT", rows)
	return png.Append(b, "IEND", nil), nil
}

// pngRows filters and deflates the rows. Each row takes the filter with the
// least sum of absolute differences, the heuristic of the specification (12.7).
func pngRows(m *raster.Image) ([]byte, error) {
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, 6)
	if err != nil {
		return nil, err
	}
	px := m.Channels * m.BytesPerSample()
	stride := m.Width * px
	prev, cur := make([]byte, stride), make([]byte, stride)
	var tries [5][]byte
	for i := range tries {
		tries[i] = make([]byte, 1+stride)
		tries[i][0] = byte(i)
	}
	for y := 0; y < m.Height; y++ {
		copy(cur, m.Pix[y*stride:])
		if m.Bits == 16 {
			swap16(cur)
		}
		if _, err := z.Write(pngFilter(&tries, cur, prev, px)); err != nil {
			return nil, err
		}
		prev, cur = cur, prev
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// pngFilter computes all filters of a row (PNG specification, 9.2) and returns
// the best, with the filter's number in front.
func pngFilter(tries *[5][]byte, cur, prev []byte, px int) []byte {
	var sums [5]int
	for i, v := range cur {
		b := prev[i]
		var a, c byte
		if i >= px {
			a, c = cur[i-px], prev[i-px]
		}
		for f, p := range [5]byte{0, a, b, byte((int(a) + int(b)) / 2), paeth(a, b, c)} {
			d := v - p
			tries[f][1+i] = d
			s := int(int8(d))
			sums[f] += max(s, -s)
		}
	}
	best := 0
	for f, s := range sums {
		if s < sums[best] {
			best = f
		}
	}
	return tries[best]
}

func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	pa, pb, pc := p-int(a), p-int(b), p-int(c)
	pa, pb, pc = max(pa, -pa), max(pb, -pb), max(pc, -pc)
	if pa <= pb && pa <= pc {
		return a
	}
	if pb <= pc {
		return b
	}
	return c
}
