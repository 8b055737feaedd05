package imageio

import (
	"encoding/binary"
	"image"

	"github.com/pelmill/pelmill/raster"
)

// The standard decoders return four channels where the file has two or three,
// and 16-bit samples in big-endian order. The functions below pack such samples
// in place: the write index never passes the read index, and no second buffer
// is taken.

// adopt makes an image of samples that are already in our order. It takes pix
// over.
func adopt(width, height, channels, bits int, pix []byte) *raster.Image {
	m := &raster.Image{Shape: raster.Shape{Width: width, Height: height, Depth: 1, Channels: channels, Bits: bits}}
	n := m.Size()
	m.Pix = pix[:n:n]
	return m
}

// dropFourth packs RGBx to RGB, 8 bits.
func dropFourth(pix []byte) []byte {
	n := len(pix) / 4
	i := 0
	// Two pixels at a time. What is written behind them has been read.
	for ; i+2 <= n; i += 2 {
		v := binary.LittleEndian.Uint64(pix[4*i:])
		binary.LittleEndian.PutUint64(pix[3*i:], v&0xffffff|v>>8&0xffffff000000)
	}
	if i < n {
		copy(pix[3*i:3*i+3], pix[4*i:])
	}
	return pix[:3*n]
}

// greyAlpha packs RGBA with equal colours to grey and alpha, 8 bits.
func greyAlpha(pix []byte) []byte {
	j := 0
	for i := 0; i+3 < len(pix); i += 4 {
		pix[j], pix[j+1] = pix[i], pix[i+3]
		j += 2
	}
	return pix[:j]
}

// swap16 turns big-endian samples into little-endian ones.
func swap16(pix []byte) []byte {
	raster.SwapBytes(pix, pix)
	return pix
}

// dropFourth16 packs big-endian RGBx to little-endian RGB.
func dropFourth16(pix []byte) []byte {
	j := 0
	for i := 0; i+7 < len(pix); i += 8 {
		s := pix[i : i+6 : i+6]
		a0, a1, b0, b1, c0, c1 := s[0], s[1], s[2], s[3], s[4], s[5]
		d := pix[j : j+6 : j+6]
		d[0], d[1], d[2], d[3], d[4], d[5] = a1, a0, b1, b0, c1, c0
		j += 6
	}
	return pix[:j]
}

// greyAlpha16 packs big-endian RGBA with equal colours to little-endian grey and
// alpha.
func greyAlpha16(pix []byte) []byte {
	j := 0
	for i := 0; i+7 < len(pix); i += 8 {
		g0, g1, a0, a1 := pix[i], pix[i+1], pix[i+6], pix[i+7]
		pix[j], pix[j+1], pix[j+2], pix[j+3] = g1, g0, a1, a0
		j += 4
	}
	return pix[:j]
}

// expandPalette looks up every index. The table has 256 entries of RGBA.
func expandPalette(p *image.Paletted, channels int) *raster.Image {
	var table [256][4]byte
	for i := range table {
		table[i][3] = 255
	}
	for i, c := range p.Palette {
		table[i] = straight(c)
	}
	w, h := p.Rect.Dx(), p.Rect.Dy()
	m := raster.New(w, h, 1, channels, 8)
	j := 0
	for y := 0; y < h; y++ {
		for _, v := range p.Pix[y*p.Stride : y*p.Stride+w] {
			e := &table[v]
			d := m.Pix[j : j+channels : j+channels]
			d[0], d[1], d[2] = e[0], e[1], e[2]
			if channels == 4 {
				d[3] = e[3]
			}
			j += channels
		}
	}
	return m
}
