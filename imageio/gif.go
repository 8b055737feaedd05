package imageio

import (
	"time"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/gif"
	"github.com/pelmill/pelmill/raster"
)

// gifFrameMemory is more than a gif.Frame takes, with room to grow a list of them.
const gifFrameMemory = 256

// openGIF walks the blocks of the whole file without inflating any, so that
// frames and the memory for them are known.
func openGIF(data []byte, lim Limits) (*opened, error) {
	screen, err := gif.ReadScreen(data)
	if err != nil {
		return nil, err
	}
	p := &opened{Header: Header{Shape: raster.Shape{Width: screen.Width, Height: screen.Height, Depth: 1, Channels: 3, Bits: 8}}}
	if p.Width > 0 && p.Height > 0 {
		if err := lim.check("gif", &p.Header, len(data)); err != nil {
			return nil, err
		}
	}
	f, err := gif.Open(data, lim.Frames, container.Lenient)
	if err != nil {
		return nil, err
	}
	for i := range f.Frames {
		// A frame that is larger than the canvas is decoded as a whole.
		shape := Header{Shape: raster.Shape{Width: f.Frames[i].Width, Height: f.Frames[i].Height, Depth: 1, Channels: 1, Bits: 8}}
		if err := lim.check("gif", &shape, len(data)); err != nil {
			return nil, err
		}
	}
	// Programs that do not know the size of the canvas write zero or one that is too
	// small. The first frame is then the canvas, as in browsers.
	if first := &f.Frames[0]; first.Width > f.Width || first.Height > f.Height {
		f.Width, f.Height, first.X, first.Y = first.Width, first.Height, 0, 0
	}
	p.Width, p.Height, p.Depth = f.Width, f.Height, len(f.Frames)
	p.Frames, p.fewer = p.Depth > 1, true
	if p.Frames {
		p.Attributes = append(p.Attributes, raster.AttributeAnimation)
	}
	if f.Clear() {
		p.Channels = 4
	}
	if err := lim.check("gif", &p.Header, len(data)); err != nil {
		return nil, err
	}
	// Frames are drawn as RGBA, onto a canvas that may be kept to be restored.
	canvas := int64(p.Width) * int64(p.Height)
	p.DecodedBytes = f.Largest() + 4*int64(p.Pixels()) + 8*canvas + int64(p.Depth)*gifFrameMemory + overhead
	p.attributes(gif.Attributes(data))
	var profile container.Attribute
	for a := range gif.Attributes(data) {
		if a.Kind == container.ICC {
			profile = a
			break
		}
	}
	limit := min(len(profile.Data), profileMost)
	p.DecodedBytes += 2 * int64(limit)
	p.meta = func() raster.Meta {
		icc, _ := profile.Bytes(limit)
		return raster.Meta{ICC: icc}
	}
	p.decode = func() (*raster.Image, error) {
		m, err := fromGIF(f)
		if err != nil {
			return nil, err
		}
		meta := p.meta()
		if p.Frames {
			meta.Animation = gifAnimation(f)
		}
		return exif.Attach(m, meta), nil
	}
	return p, nil
}

// gifAnimation is how the frames follow each other.
func gifAnimation(f *gif.File) raster.Animation {
	a := raster.Animation{Plays: min(f.Plays, raster.MaxPlays)}
	for i := range f.Frames {
		a.Delays = append(a.Delays, time.Duration(f.Frames[i].Delay)*10*time.Millisecond)
	}
	return a
}

// fromGIF takes a slice of each frame as it is drawn. Alpha is left out where
// nothing stays transparent.
func fromGIF(f *gif.File) (*raster.Image, error) {
	var m *raster.Image
	z := 0
	for canvas, err := range f.Slices() {
		if err != nil {
			return nil, err
		}
		if len(f.Frames) == 1 {
			// Nothing is drawn or disposed of behind it.
			m = adopt(f.Width, f.Height, 4, 8, canvas)
			break
		}
		if m == nil {
			m = raster.Unfilled(raster.Shape{Width: f.Width, Height: f.Height, Depth: len(f.Frames), Channels: 4, Bits: 8})
		}
		copy(m.Slice(z).Pix, canvas)
		z++
	}
	for i := 0; i+4 <= len(m.Pix); i += 4 {
		if m.Pix[i+3] != 255 {
			return m, nil
		}
	}
	m.Channels = 3
	packed := dropFourth(m.Pix)
	m.Pix = packed[:len(packed):len(packed)]
	return m, nil
}
