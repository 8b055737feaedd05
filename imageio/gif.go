package imageio

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/raster"
)

// Frames are decoded here and not with image/gif, which refuses frames that lie
// partly outside of the canvas, unknown extensions and indices beyond the colours,
// all of which giflib and browsers take, and which holds all frames at once.

// gifFrameMemory is more than a gifFrame takes, with room to grow a list of them.
const gifFrameMemory = 256

// Disposal methods (GIF89a specification, 23); 4 is in use for 3.
const (
	gifToBackground  = 2
	gifToPrevious    = 3
	gifToPreviousOld = 4
)

func matchGIF(data []byte) bool {
	return len(data) >= 6 && (string(data[:6]) == "GIF87a" || string(data[:6]) == "GIF89a")
}

// openGIF walks the blocks of the whole file without inflating any, so that
// frames and the memory for them are known (GIF89a specification, 17 to 26).
func openGIF(data []byte, lim Limits) (*opened, error) {
	if len(data) < 13 {
		return nil, cutShort("gif")
	}
	le := binary.LittleEndian
	p := &opened{Header: Header{Shape: raster.Shape{Width: int(le.Uint16(data[6:])), Height: int(le.Uint16(data[8:])), Depth: 1, Channels: 3, Bits: 8}}}
	if p.Width > 0 && p.Height > 0 {
		if err := lim.check("gif", &p.Header, len(data)); err != nil {
			return nil, err
		}
	}
	w := gifWalk{data: data}
	if err := w.walk(lim); err != nil {
		return nil, err
	}
	// Programs that do not know the size of the canvas write zero or one that is too
	// small. The first frame is then the canvas, as in browsers.
	if f := &w.frames[0]; f.width > p.Width || f.height > p.Height {
		p.Width, p.Height, f.x, f.y = f.width, f.height, 0, 0
	}
	p.Depth = len(w.frames)
	p.Frames = p.Depth > 1
	if f := &w.frames[0]; w.clear || f.width != p.Width || f.height != p.Height || f.x != 0 || f.y != 0 {
		p.Channels = 4
	}
	if err := lim.check("gif", &p.Header, len(data)); err != nil {
		return nil, err
	}
	// Frames are drawn as RGBA, onto a canvas that may be kept to be restored.
	canvas := int64(p.Width) * int64(p.Height)
	p.DecodedBytes = w.largest + 4*int64(p.Pixels()) + 8*canvas + int64(p.Depth)*gifFrameMemory + overhead
	p.decode = func() (*raster.Image, error) { return w.draw(p.Width, p.Height) }
	return p, nil
}

// gifFrame is one frame, as its descriptor and the graphic control before it have it.
type gifFrame struct {
	x, y, width, height int

	table       int // place of its colours, the global ones or its own; 0 where there are none
	colours     int
	interlaced  bool
	transparent int // index, -1 where there is none
	disposal    byte
	code        int // place of the code size, behind which the data follow
}

// gifWalk is what a walk over the blocks of a file finds.
type gifWalk struct {
	data    []byte
	frames  []gifFrame
	largest int64 // samples of the largest frame
	clear   bool  // something may stay transparent
}

// gifTable returns the number of colours of a table by the flags before it.
func gifTable(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 2 << (flags & 7)
}

func (w *gifWalk) walk(lim Limits) error {
	data := w.data
	global := gifTable(data[10])
	control := gifFrame{transparent: -1}
	for i := 13 + 3*global; ; {
		if i >= len(data) {
			return cutShort("gif")
		}
		switch data[i] {
		case 0x21: // extension
			const graphicControl = 0xf9
			if i+8 <= len(data) && data[i+1] == graphicControl && data[i+2] == 4 {
				control = gifFrame{transparent: -1, disposal: data[i+3] >> 2 & 7}
				if data[i+3]&1 != 0 {
					control.transparent = int(data[i+6])
				}
			}
			i += 2
		case 0x2c: // image descriptor
			if len(w.frames) == lim.Frames {
				return overLimit("gif", "more than %d frames are over the limit", lim.Frames)
			}
			if i+11 > len(data) {
				return cutShort("gif")
			}
			f := control
			control = gifFrame{transparent: -1}
			if global > 0 {
				f.table, f.colours = 13, global
			}
			var err error
			if i, err = w.frame(f, i, lim); err != nil {
				return err
			}
		case 0x3b: // trailer
			if len(w.frames) == 0 {
				return rejected("gif", "it holds no frame")
			}
			return nil
		default:
			return rejected("gif", "a block of the kind %#02x is not defined", data[i])
		}
		// Both are followed by blocks of data up to an empty one.
		for {
			if i >= len(data) {
				return cutShort("gif")
			}
			n := int(data[i])
			i += 1 + n
			if n == 0 {
				break
			}
		}
	}
}

// frame reads the descriptor at i, and returns the place of the frame's blocks.
func (w *gifWalk) frame(f gifFrame, i int, lim Limits) (int, error) {
	data, le := w.data, binary.LittleEndian
	f.x, f.y = int(le.Uint16(data[i+1:])), int(le.Uint16(data[i+3:]))
	f.width, f.height = int(le.Uint16(data[i+5:])), int(le.Uint16(data[i+7:]))
	f.interlaced = data[i+9]&0x40 != 0
	// A frame that is larger than the canvas is decoded as a whole.
	shape := Header{Shape: raster.Shape{Width: f.width, Height: f.height, Depth: 1, Channels: 1, Bits: 8}}
	if err := lim.check("gif", &shape, len(data)); err != nil {
		return i, err
	}
	if n := gifTable(data[i+9]); n > 0 {
		f.table, f.colours = i+10, n
		i += 3 * n
	}
	f.code = i + 10
	if f.code >= len(data) {
		return i, cutShort("gif")
	}
	if f.colours == 0 {
		return i, unsupported("gif", "a frame without colours is not read")
	}
	size := int(data[f.code])
	if size < 1 || size > 8 {
		return i, rejected("gif", "a frame has indices of %d bits", size)
	}
	w.frames = append(w.frames, f)
	w.largest = max(w.largest, int64(f.width)*int64(f.height))
	w.clear = w.clear || f.transparent >= 0 || f.disposal >= gifToBackground || f.colours < 1<<size
	return f.code + 1, nil
}

// draw draws the frames one after the other on a canvas that is transparent at
// first, and takes a slice after each. What a frame disposes of becomes
// transparent, as every browser does it; the background colour is not used.
func (w *gifWalk) draw(width, height int) (*raster.Image, error) {
	m := raster.New(width, height, len(w.frames), 4, 8)
	canvas := make([]byte, 4*width*height)
	indices := make([]byte, w.largest)
	var z gifLZW
	var saved []byte
	for i := range w.frames {
		f := &w.frames[i]
		pix := indices[:f.width*f.height]
		if err := z.decode(pix, w.data, f.code+1, int(w.data[f.code])); err != nil {
			return nil, err
		}
		previous := f.disposal == gifToPrevious || f.disposal == gifToPreviousOld
		if previous {
			saved = append(saved[:0], canvas...)
		}
		f.onto(canvas, width, height, pix, w.data)
		copy(m.Slice(i).Pix, canvas)
		switch {
		case previous:
			copy(canvas, saved)
		case f.disposal == gifToBackground:
			for y := f.y; y < min(f.y+f.height, height); y++ {
				clear(canvas[4*(y*width+min(f.x, width)) : 4*(y*width+min(f.x+f.width, width))])
			}
		}
	}
	for i := 3; i < len(m.Pix); i += 4 {
		if m.Pix[i] != 255 {
			return m, nil
		}
	}
	m.Channels = 3
	packed := dropFourth(m.Pix)
	m.Pix = packed[:len(packed):len(packed)]
	return m, nil
}

// onto draws the indices of the frame on a canvas, as far as they lie on it. An
// index without a colour is transparent.
func (f *gifFrame) onto(canvas []byte, width, height int, pix, data []byte) {
	var table [256][4]byte
	for i := range f.colours {
		copy(table[i][:3], data[f.table+3*i:])
		table[i][3] = 255
	}
	if f.transparent >= 0 {
		table[f.transparent] = [4]byte{}
	}
	cols := min(f.width, width-f.x)
	row := func(from, to int) {
		if y := f.y + to; y < height && cols > 0 {
			dst := canvas[4*(y*width+f.x):]
			for x, v := range pix[from*f.width:][:cols] {
				if e := &table[v]; e[3] != 0 {
					copy(dst[4*x:4*x+4], e[:])
				}
			}
		}
	}
	if !f.interlaced {
		for y := range f.height {
			row(y, y)
		}
		return
	}
	// GIF89a specification, appendix E.
	from := 0
	for _, pass := range [4]struct{ first, step int }{{0, 8}, {4, 8}, {2, 4}, {1, 2}} {
		for y := pass.first; y < f.height; y += pass.step {
			row(from, y)
			from++
		}
	}
}
