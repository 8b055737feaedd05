package imageio

import (
	"image"
	"time"

	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/internal/container/webp"
	"github.com/pelmill/pelmill/raster"
)

// frame is a frame of an animation and where it goes.
type frame struct {
	x, y          int
	width, height int
	over          bool            // it is blended over what is there, and else takes its place
	clear         bool            // its place becomes transparent after its time
	restore       bool            // what was there before comes back after its time
	fresh         image.Rectangle // of the canvas, where it takes its place even if it is blended elsewhere
	decode        func() (*raster.Image, error)
}

// frameMemory is more than a frame takes in lists of them, with room to grow.
const frameMemory = 512

// animated says of a file that it has frames on a canvas of the shape in its header, with alpha.
func (p *opened) animated(frames int, lim Limits, encoded int) error {
	p.Depth, p.Frames, p.fewer = frames, frames > 1, true
	canvas := int64(p.Size()) / int64(frames)
	p.DecodedBytes += 2*int64(p.Size()) + 4*canvas + int64(frames)*frameMemory
	if p.Frames {
		p.Attributes = append(p.Attributes, raster.AttributeAnimation)
	}
	return lim.check(p.Format, &p.Header, encoded)
}

// decodeFrames draws frames one after the other on a canvas that is transparent at first, and takes a slice after
// each. Alpha is left out where nothing stays transparent.
func decodeFrames(p raster.Shape, frames []frame, blend func(dst, src *raster.Image, i, j int)) (*raster.Image, error) {
	m := raster.New(p.Width, p.Height, len(frames), p.Channels, p.Bits)
	canvas := raster.New(p.Width, p.Height, 1, p.Channels, p.Bits)
	var before []byte
	for z := range frames {
		f := &frames[z]
		src, err := f.decode()
		if err != nil {
			return nil, err
		}
		if f.restore {
			before = append(before[:0], canvas.Pix...)
		}
		draw(canvas, withAlpha(src, p.Channels), f, blend)
		copy(m.Slice(z).Pix, canvas.Pix)
		switch {
		case f.restore:
			copy(canvas.Pix, before)
		case f.clear:
			size := p.Channels * ((p.Bits + 7) / 8)
			for y := f.y; y < f.y+f.height; y++ {
				clear(canvas.Pix[(y*p.Width+f.x)*size:][:f.width*size])
			}
		}
	}
	return raster.DropOpaqueAlpha(m), nil
}

// withAlpha is m with so many channels, of which the last is alpha and opaque where m has none.
func withAlpha(m *raster.Image, channels int) *raster.Image {
	if m.Channels == channels {
		return m
	}
	out := raster.New(m.Width, m.Height, 1, channels, m.Bits)
	size := (m.Bits + 7) / 8
	for i, j := 0, 0; i < len(m.Pix); i, j = i+m.Channels*size, j+channels*size {
		n := copy(out.Pix[j:], m.Pix[i:i+m.Channels*size])
		for k := j + n; k < j+channels*size; k++ {
			out.Pix[k] = 255
		}
	}
	return out
}

// draw draws a frame on a canvas of the same channels.
func draw(canvas, src *raster.Image, f *frame, blend func(dst, src *raster.Image, i, j int)) {
	size := (canvas.Bits + 7) / 8
	row := f.width * canvas.Channels
	for y := range f.height {
		i, j := ((f.y+y)*canvas.Width+f.x)*canvas.Channels, y*row
		if !f.over {
			copy(canvas.Pix[i*size:], src.Pix[j*size:][:row*size])
			continue
		}
		for x := f.x; x < f.x+f.width; x++ {
			if image.Pt(x, f.y+y).In(f.fresh) {
				copy(canvas.Pix[i*size:(i+canvas.Channels)*size], src.Pix[j*size:])
			} else {
				blend(canvas, src, i, j)
			}
			i, j = i+canvas.Channels, j+canvas.Channels
		}
	}
}

// blendPNG lays a pixel over another one with straight alpha (PNG specification, 13.16), cut off as
// browsers do.
func blendPNG(dst, src *raster.Image, i, j int) {
	last, most := dst.Channels-1, int64(1)<<dst.Bits-1
	a, b := int64(src.Sample(j+last)), int64(dst.Sample(i+last))
	u, v := a*most, (most-a)*b
	if u+v == 0 {
		return
	}
	for c := range last {
		setSample(dst, i+c, (int64(src.Sample(j+c))*u+int64(dst.Sample(i+c))*v)/(u+v))
	}
	setSample(dst, i+last, (u+v)/most)
}

// blendWebP is libwebp's (src/demux/anim_decode.c), so that samples are those that everybody sees.
func blendWebP(dst, src *raster.Image, i, j int) {
	d, s := dst.Pix[i:i+4:i+4], src.Pix[j:j+4:j+4]
	a := uint32(s[3])
	switch a {
	case 0:
		return
	case 255:
		copy(d, s)
		return
	}
	under := uint32(d[3]) * (256 - a) >> 8
	sum := a + under
	scale := uint32(1<<24) / sum
	for c := range 3 {
		d[c] = byte((uint32(s[c])*a + uint32(d[c])*under) * scale >> 24)
	}
	d[3] = byte(sum)
}

// freshWebP is where libwebp does not blend the frame that follows f, because f left it transparent: the place of f, or the
// whole canvas if there was nothing but f. Blending with what is transparent would make colours less by 1.
func freshWebP(f *frame, p raster.Shape) image.Rectangle {
	canvas, place := image.Rect(0, 0, p.Width, p.Height), image.Rect(f.x, f.y, f.x+f.width, f.y+f.height)
	switch {
	case !f.clear:
		return image.Rectangle{}
	case f.fresh == canvas:
		return canvas
	}
	return place
}

func setSample(m *raster.Image, i int, v int64) {
	if m.Bits <= 8 {
		m.Pix[i] = byte(v)
		return
	}
	m.Pix[2*i], m.Pix[2*i+1] = byte(v), byte(v>>8)
}

// timing is how frames follow each other, held to what every format can say.
func timing(plays int64, delays []time.Duration) raster.Animation {
	if plays > raster.MaxPlays {
		plays = 0
	}
	for i, d := range delays {
		delays[i] = min(d, raster.MaxDelay)
	}
	return raster.Animation{Plays: int(plays), Delays: delays}
}

// openAPNG gives the header the shape of the animation in a PNG file, and says how its frames are read.
func (p *opened) openAPNG(f *png.File, a *png.Animation, lim Limits, encoded int) (samples func() (*raster.Image, error), how raster.Animation, err error) {
	still := p.Channels
	p.Channels = 4
	if f.Colour == png.Grey || f.Colour == png.GreyAlpha {
		p.Channels = 2
	}
	if err := p.animated(len(a.Frames), lim, encoded); err != nil {
		return nil, how, err
	}
	p.DecodedBytes += int64(encoded)
	var frames []frame
	var delays []time.Duration
	for i := range a.Frames {
		fr := &a.Frames[i]
		delays = append(delays, fr.Delay)
		frames = append(frames, frame{
			x: fr.X, y: fr.Y, width: fr.Width, height: fr.Height, over: fr.Over,
			clear:   fr.Dispose == png.DisposeBackground || i == 0 && fr.Dispose == png.DisposePrevious,
			restore: i > 0 && fr.Dispose == png.DisposePrevious,
			decode: func() (*raster.Image, error) {
				frame, err := f.OpenFrame(fr)
				if err != nil {
					return nil, err
				}
				return decodePNG(frame, still)
			},
		})
	}
	shape := p.Shape
	return func() (*raster.Image, error) { return decodeFrames(shape, frames, blendPNG) }, timing(int64(a.Plays), delays), nil
}

// openAnimatedWebP makes an animation of a file that says that it is one.
func openAnimatedWebP(data []byte, lim Limits) (*opened, error) {
	a, err := webp.OpenAnimation(data, lim.Frames)
	if err != nil {
		return nil, err
	}
	p := &opened{Header: Header{Format: "webp", Shape: raster.Shape{Width: a.Canvas.Width, Height: a.Canvas.Height, Depth: 1, Channels: 4, Bits: 8}}}
	if err := p.animated(len(a.Frames), lim, len(data)); err != nil {
		return nil, err
	}
	var most int64
	var frames []frame
	var delays []time.Duration
	fresh := image.Rect(0, 0, p.Width, p.Height)
	for i := range a.Frames {
		f := &a.Frames[i]
		shape := Header{Shape: raster.Shape{Width: f.Shape.Width, Height: f.Shape.Height, Depth: 1, Channels: 3, Bits: 8}}
		if f.Shape.Alpha {
			shape.Channels = 4
		}
		if err := lim.check("webp", &shape, len(data)); err != nil {
			return nil, err
		}
		most = max(most, webpMemory(&shape, f.Lossy, len(f.Bitstream)))
		delays = append(delays, f.Delay)
		frames = append(frames, frame{
			x: f.X, y: f.Y, width: f.Shape.Width, height: f.Shape.Height, over: f.Over, clear: f.Clear, fresh: fresh,
			decode: func() (*raster.Image, error) {
				src, err := f.Decode()
				if err != nil {
					return nil, err
				}
				return fromWebP(src, shape.Channels)
			},
		})
		fresh = freshWebP(&frames[i], p.Shape)
	}
	p.DecodedBytes += most + overhead
	meta := raster.Meta{ICC: a.ICC, EXIF: a.EXIF}
	if p.Frames {
		meta.Animation = timing(int64(a.Plays), delays)
	}
	shape := p.Shape
	p.turn(&meta)
	p.attributes(a.Attributes())
	p.decode = func() (*raster.Image, error) {
		m, err := decodeFrames(shape, frames, blendWebP)
		if err != nil {
			return nil, err
		}
		return exif.Attach(m, meta), nil
	}
	return p, nil
}
