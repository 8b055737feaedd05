package imageio

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/gif"

	"github.com/pelmill/pelmill/raster"
)

// gifFrameTables is what the decoder takes for the palette of a frame: up to 256
// colours, each boxed.
const gifFrameTables = 8 << 10

func matchGIF(data []byte) bool {
	return len(data) >= 6 && (string(data[:6]) == "GIF87a" || string(data[:6]) == "GIF89a")
}

// openGIF walks the blocks of the whole file without inflating any, so that
// frames and the memory for them are known (GIF89a specification, 17 to 26).
func openGIF(data []byte, lim Limits) (*picture, error) {
	if len(data) < 13 {
		return nil, cutShort("gif")
	}
	le := binary.LittleEndian
	p := &picture{Header: Header{Width: int(le.Uint16(data[6:])), Height: int(le.Uint16(data[8:])), Depth: 1, Channels: 3, Bits: 8}}
	if err := lim.check("gif", &p.Header, len(data)); err != nil {
		return nil, err
	}
	w, err := walkGIF(data, p.Width, p.Height, lim.Frames)
	if err != nil {
		return nil, err
	}
	p.Depth = w.frames
	p.Frames = p.Depth > 1
	if w.clear {
		p.Channels = 4
	}
	if err := lim.check("gif", &p.Header, len(data)); err != nil {
		return nil, err
	}
	// Interlaced frames are held twice. Frames are drawn as RGBA, onto a canvas that may be kept to be restored.
	canvas := int64(p.Width) * int64(p.Height)
	p.DecodedBytes = 2*w.area + 4*p.pixels() + 8*canvas + int64(p.Depth)*gifFrameTables + overhead
	p.decode = func() (*raster.Image, error) {
		g, err := gif.DecodeAll(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if len(g.Image) != p.Depth || g.Config.Width != p.Width || g.Config.Height != p.Height {
			return nil, rejected("gif", "%d frames were found and %d decoded", p.Depth, len(g.Image))
		}
		return drawGIF(g, w.disposal), nil
	}
	return p, nil
}

// gifWalk is what a walk over the blocks of a file finds.
type gifWalk struct {
	frames int
	area   int64 // of all frames together
	clear  bool  // something may stay transparent

	disposal []byte // of each frame; the decoder repeats that of the frame before where there is none
}

func walkGIF(data []byte, width, height, most int) (gifWalk, error) {
	var w gifWalk
	table := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (1 + flags&7)
	}
	var dispose byte
	for i := 13 + table(data[10]); ; {
		if i >= len(data) {
			return w, cutShort("gif")
		}
		switch data[i] {
		case 0x21: // extension
			const graphicControl = 0xf9
			if i+4 <= len(data) && data[i+1] == graphicControl {
				dispose = data[i+3] >> 2 & 7
				w.clear = w.clear || data[i+3]&1 != 0 || dispose >= gif.DisposalBackground
			}
			i += 2
		case 0x2c: // image descriptor
			if i+10 > len(data) {
				return w, cutShort("gif")
			}
			le := binary.LittleEndian
			x, y := int(le.Uint16(data[i+1:])), int(le.Uint16(data[i+3:]))
			fw, fh := int(le.Uint16(data[i+5:])), int(le.Uint16(data[i+7:]))
			if x+fw > width || y+fh > height {
				return w, rejected("gif", "frame %d lies outside of the canvas", w.frames+1)
			}
			if w.frames == most {
				return w, overLimit("gif", "more than %d frames are over the limit", most)
			}
			if w.frames == 0 && (fw != width || fh != height) {
				w.clear = true
			}
			w.frames++
			w.disposal = append(w.disposal, dispose)
			dispose = 0
			w.area += int64(fw) * int64(fh)
			i += 10 + table(data[i+9]) + 1 // and the code size
		case 0x3b: // trailer
			if w.frames == 0 {
				return w, rejected("gif", "it holds no frame")
			}
			return w, nil
		default:
			return w, rejected("gif", "a block of the kind %#02x is not defined", data[i])
		}
		// Both are followed by blocks of data up to an empty one.
		for {
			if i >= len(data) {
				return w, cutShort("gif")
			}
			n := int(data[i])
			i += 1 + n
			if n == 0 {
				break
			}
		}
	}
}

// drawGIF draws the frames one after the other on a canvas that is transparent
// at first, and takes a slice after each. What a frame disposes of becomes
// transparent, as every browser does it; the background colour is not used.
func drawGIF(g *gif.GIF, disposal []byte) *raster.Image {
	w, h := g.Config.Width, g.Config.Height
	m := raster.New(w, h, len(g.Image), 4, 8)
	canvas := make([]byte, 4*w*h)
	var saved []byte
	for z, frame := range g.Image {
		if disposal[z] == gif.DisposalPrevious {
			saved = append(saved[:0], canvas...)
		}
		drawFrame(canvas, w, frame)
		copy(m.Slice(z).Pix, canvas)
		switch disposal[z] {
		case gif.DisposalPrevious:
			copy(canvas, saved)
		case gif.DisposalBackground:
			r := frame.Rect
			for y := r.Min.Y; y < r.Max.Y; y++ {
				clear(canvas[4*(y*w+r.Min.X) : 4*(y*w+r.Max.X)])
			}
		}
	}
	for i := 3; i < len(m.Pix); i += 4 {
		if m.Pix[i] != 255 {
			return m
		}
	}
	m.Channels = 3
	packed := dropFourth(m.Pix)
	m.Pix = packed[:len(packed):len(packed)]
	return m
}

func drawFrame(canvas []byte, width int, frame *image.Paletted) {
	var table [256][4]byte
	for i, c := range frame.Palette {
		table[i] = straight(c)
	}
	r := frame.Rect
	for y := r.Min.Y; y < r.Max.Y; y++ {
		src := frame.Pix[(y-r.Min.Y)*frame.Stride:][:r.Dx()]
		dst := canvas[4*(y*width+r.Min.X):][:4*r.Dx()]
		for x, v := range src {
			if e := &table[v]; e[3] != 0 {
				copy(dst[4*x:4*x+4], e[:])
			}
		}
	}
}
