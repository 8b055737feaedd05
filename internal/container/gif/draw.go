package gif

import (
	"encoding/binary"
	"iter"

	"github.com/pelmill/pelmill/internal/container"
)

// Slices draws the frames one after the other on a canvas that is transparent at
// first, and yields it after each: R, G, B and A of Width x Height pixels, valid
// until the next one. What a frame disposes of becomes transparent, as in every
// browser; the background colour is not used. Callers have held the shape of the
// canvas and of every frame against their limits. After an error nothing follows.
func (f *File) Slices() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		c := canvas{width: f.Width, height: f.Height, pix: make([]byte, 4*f.Width*f.Height)}
		indices := make([]byte, f.Largest())
		var z lzw
		for i := range f.Frames {
			fr := &f.Frames[i]
			pix := indices[:fr.Width*fr.Height]
			if err := z.decode(pix, fr.data, fr.size, f.mode); err != nil {
				yield(nil, err)
				return
			}
			if f.mode == container.Strict && fr.beyond(pix) {
				yield(nil, container.Malformed("frame %d has indices beyond its %d colours", i+1, len(fr.Colours)/3))
				return
			}
			c.draw(fr, pix)
			if !yield(c.pix, nil) {
				return
			}
			c.dispose(fr)
		}
	}
}

// beyond reports whether an index has no colour and is not the transparent one.
func (f *Frame) beyond(indices []byte) bool {
	if len(f.Colours) == 3*256 {
		return false
	}
	for _, v := range indices {
		if 3*int(v) >= len(f.Colours) && int(v) != f.Transparent {
			return true
		}
	}
	return false
}

// canvas is what frames are drawn on.
type canvas struct {
	width, height int
	pix           []byte // R, G, B, A
	saved         []byte // pix before the frame, for ToPrevious
}

func (f *Frame) previous() bool { return f.Disposal == ToPrevious || f.Disposal == ToPreviousOld }

// draw draws the indices of a frame as far as they lie on the canvas. An index
// without a colour is transparent.
func (c *canvas) draw(f *Frame, indices []byte) {
	if f.previous() {
		c.saved = append(c.saved[:0], c.pix...)
	}
	var table [256]uint32 // 0 for what is transparent
	for i := range len(f.Colours) / 3 {
		s := f.Colours[3*i:]
		table[i] = uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | 0xff<<24
	}
	if f.Transparent >= 0 {
		table[f.Transparent] = 0
	}
	across := min(f.Width, c.width-f.X)
	row := func(from, to int) {
		y := f.Y + to
		if y >= c.height || across <= 0 {
			return
		}
		dst := c.pix[4*(y*c.width+f.X):][:4*across]
		for x, v := range indices[from*f.Width:][:across] {
			if e := table[v]; e != 0 {
				binary.LittleEndian.PutUint32(dst[4*x:], e)
			}
		}
	}
	if !f.interlaced {
		for y := range f.Height {
			row(y, y)
		}
		return
	}
	// GIF89a specification, appendix E.
	from := 0
	for _, pass := range [4]struct{ first, step int }{{0, 8}, {4, 8}, {2, 4}, {1, 2}} {
		for y := pass.first; y < f.Height; y += pass.step {
			row(from, y)
			from++
		}
	}
}

// dispose makes of the canvas what the frame leaves behind.
func (c *canvas) dispose(f *Frame) {
	switch {
	case f.previous():
		copy(c.pix, c.saved)
	case f.Disposal == ToBackground:
		left, right := min(f.X, c.width), min(f.X+f.Width, c.width)
		for y := f.Y; y < min(f.Y+f.Height, c.height); y++ {
			clear(c.pix[4*(y*c.width+left) : 4*(y*c.width+right)])
		}
	}
}
