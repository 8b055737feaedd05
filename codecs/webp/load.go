package webp

import (
	"encoding/binary"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/raster"
)

// loadImage reads an 8-bit image into argb, which has as many pixels. Without exact, pixels
// of alpha 0 become 0 in all channels.
func loadImage(argb []uint32, c *pool.Pool, m *raster.Image, exact bool) format.Pixels {
	c.Spans(len(argb), loadPixels, func(lo, hi int) { loadFrom(argb[lo:hi], m, lo, exact) })
	return format.Pixels{W: m.Width, H: m.Height, ARGB: argb}
}

// loadFrom reads the pixels of m from the given one on.
func loadFrom(out []uint32, m *raster.Image, from int, exact bool) {
	loadSamples(out, m.Pix[from*m.Channels:(from+len(out))*m.Channels], m.Channels)
	if !exact && m.Alpha() {
		for i, v := range out {
			if v < 1<<24 {
				out[i] = 0
			}
		}
	}
}

// loadPixels is how many pixels a goroutine takes at a time.
const loadPixels = 1 << 16

func loadSamples(out []uint32, src []byte, channels int) {
	switch channels {
	case 1:
		for i, v := range src[:len(out)] {
			out[i] = 0xff000000 | uint32(v)*0x010101
		}
	case 2:
		for i := range out {
			s := src[2*i : 2*i+2 : 2*i+2]
			out[i] = uint32(s[1])<<24 | uint32(s[0])*0x010101
		}
	case 3:
		n := loadRGB(out, src)
		out, src = out[n:], src[3*n:]
		last := len(out) - 1 // the others have a byte behind them
		for i := range out[:max(last, 0)] {
			out[i] = 0xff000000 | binary.BigEndian.Uint32(src[3*i:])>>8
		}
		for i := max(last, 0); i < len(out); i++ {
			s := src[3*i : 3*i+3 : 3*i+3]
			out[i] = 0xff000000 | uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2])
		}
	case 4:
		for i := range out {
			out[i] = bits.RotateLeft32(binary.BigEndian.Uint32(src[4*i:]), 24)
		}
	}
}

// store is the inverse of load for the result of a decoder: w x h pixels of bytes R, G,
// B, A. It may use rgba as the image's memory.
func store(w, h int, rgba []byte, alpha, colour bool) *raster.Image {
	m := &raster.Image{Shape: raster.Shape{Width: w, Height: h, Depth: 1, Channels: 1, Bits: 8}}
	for i := 0; i < len(rgba) && !colour; i += 4 {
		colour = rgba[i] != rgba[i+1] || rgba[i] != rgba[i+2]
	}
	if colour {
		m.Channels = 3
	}
	if alpha {
		m.Channels++
	}
	n := w * h
	switch m.Channels {
	case 1:
		for i := range n {
			rgba[i] = rgba[4*i]
		}
	case 2:
		for i := range n {
			rgba[2*i], rgba[2*i+1] = rgba[4*i], rgba[4*i+3]
		}
	case 3:
		// Two pixels at a time. What is written behind them has been read.
		i := storeRGB(rgba[:4*n])
		for ; i+2 <= n; i += 2 {
			v := binary.LittleEndian.Uint64(rgba[4*i:])
			binary.LittleEndian.PutUint64(rgba[3*i:], v&0xffffff|v>>8&0xffffff000000)
		}
		for ; i < n; i++ {
			rgba[3*i], rgba[3*i+1], rgba[3*i+2] = rgba[4*i], rgba[4*i+1], rgba[4*i+2]
		}
	}
	m.Pix = rgba[: n*m.Channels : n*m.Channels]
	return m
}

// storeOpaque is store without alpha, for pixels of bytes R, G, B.
func storeOpaque(w, h int, rgb []byte, colour bool) *raster.Image {
	m := &raster.Image{Shape: raster.Shape{Width: w, Height: h, Depth: 1, Channels: 3, Bits: 8}, Pix: rgb}
	for i := 0; i < len(rgb) && !colour; i += 3 {
		colour = rgb[i] != rgb[i+1] || rgb[i] != rgb[i+2]
	}
	if !colour {
		m.Channels = 1
		for i := range w * h {
			rgb[i] = rgb[3*i]
		}
		m.Pix = rgb[: w*h : w*h]
	}
	return m
}
