package jpeg2000

import (
	"image"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// output collects the samples of a view.
type output struct {
	*picture
	reduce  int
	area    image.Rectangle   // of the image, at the view's resolution, in steps from the origin
	windows []image.Rectangle // what that needs of each component

	shape raster.Shape
	bytes []byte   // samples of up to 8 bits
	words []uint16 // samples of more
	pix   []byte   // the memory of words, where the caller lent it
	place []int    // by component, where it becomes a channel as it is: the channel, counted through slices; -1 otherwise

	planes [][]int32 // by component, where it does not
}

// newOutput prepares a view, which is given in samples of the image at 1/2^reduce.
func (p *picture) newOutput(view image.Rectangle, reduce int) *output {
	o := &output{picture: p, reduce: reduce, area: view.Add(codestream.Reduce(p.bounds, reduce).Min)}
	n := len(p.stream.Size.Components)
	o.windows, o.place = make([]image.Rectangle, n), make([]int, n)
	o.shape = p.shape
	o.shape.Width, o.shape.Height = view.Dx(), view.Dy()
	for c := range o.place {
		o.place[c] = -1
	}
	for _, ch := range p.channels {
		o.windows[ch.component] = o.window(ch.component)
	}
	// A multiple component transform makes each of three components of all of them.
	for c := range min(3, n) {
		if n >= 3 && !o.windows[c].Empty() && p.stream.Size.Components[0].Step == p.stream.Size.Components[1].Step && p.stream.Size.Components[0].Step == p.stream.Size.Components[2].Step {
			o.windows[0], o.windows[1], o.windows[2] = o.windows[c], o.windows[c], o.windows[c]
		}
	}
	return o
}

// direct says whether the components are the channels.
func (o *output) direct() bool {
	seen := map[int]bool{}
	for _, ch := range o.channels {
		if ch.column >= 0 || ch.depth != o.channels[0].depth || seen[ch.component] || o.stream.Size.Components[ch.component].Step != o.step {
			return false
		}
		seen[ch.component] = true
	}
	return !o.sycc
}

// take takes memory for the samples, that of the caller if there is some. It is cleared, so that nothing shows what
// was in it before.
func (o *output) take(run codec.Run) {
	var lent []byte
	if run.Alloc != nil {
		if lent = run.Alloc(o.shape.Size()); lent != nil {
			lent = lent[:o.shape.Size()]
			clear(lent)
		}
	}
	switch {
	case o.shape.Bits > 8:
		if o.words = wordsOf(lent); o.words != nil {
			o.pix = lent
		} else {
			o.words = make([]uint16, o.shape.Samples())
		}
	case lent != nil:
		o.bytes = lent
	default:
		o.bytes = make([]byte, o.shape.Samples())
	}
	if o.direct() {
		for i, ch := range o.channels {
			o.place[ch.component] = i
		}
		return
	}
	o.planes = make([][]int32, len(o.windows))
	for _, ch := range o.channels {
		w := o.windows[ch.component]
		o.planes[ch.component] = make([]int32, w.Dx()*w.Dy())
	}
}

// wordsOf is memory as little-endian samples of 16 bits; nil where it cannot be that.
func wordsOf(b []byte) []uint16 {
	if len(b) == 0 {
		return nil
	}
	m := raster.Image{Shape: raster.Shape{Width: len(b) / 2, Height: 1, Depth: 1, Channels: 1, Bits: 16}, Pix: b}
	words := m.Uint16()
	if unsafe.Pointer(&words[0]) != unsafe.Pointer(&b[0]) {
		return nil // a copy
	}
	return words
}

// window is the part of component c, at the reduced resolution, that the samples of area
// lie in.
func (o *output) window(c int) image.Rectangle {
	size := &o.stream.Size
	bounds := codestream.Reduce(size.ComponentBounds(size.Image, c), o.reduce)
	x0, x1 := o.column(c, o.area.Min.X, bounds), o.column(c, o.area.Max.X-1, bounds)
	y0, y1 := o.row(c, o.area.Min.Y, bounds), o.row(c, o.area.Max.Y-1, bounds)
	return image.Rect(x0, y0, x1+1, y1+1)
}

// column is the column of component c that has the samples of column x of the image: that
// at or before it on the reference grid.
func (o *output) column(c, x int, bounds image.Rectangle) int {
	return min(max(x*o.step.X/o.stream.Size.Components[c].Step.X, bounds.Min.X), bounds.Max.X-1)
}

func (o *output) row(c, y int, bounds image.Rectangle) int {
	return min(max(y*o.step.Y/o.stream.Size.Components[c].Step.Y, bounds.Min.Y), bounds.Max.Y-1)
}

// store is [decoder].store.
func (o *output) store(c, x, y int, samples []int32) {
	if ch := o.place[c]; ch >= 0 {
		n := o.shape.Channels
		at := ((ch/n*o.shape.Height+y-o.area.Min.Y)*o.shape.Width+x-o.area.Min.X)*n + ch%n
		switch {
		case o.words != nil && n == 1:
			putWords(o.words[at:], samples)
		case o.words != nil:
			put(o.words[at:], n, samples)
		default:
			put(o.bytes[at:], n, samples)
		}
		return
	}
	if o.planes != nil && o.planes[c] != nil {
		w := o.windows[c]
		copy(o.planes[c][(y-w.Min.Y)*w.Dx()+x-w.Min.X:], samples)
	}
}

// put writes samples at a distance of n.
func put[T byte | uint16](dst []T, n int, samples []int32) {
	if n == 1 {
		dst = dst[:len(samples)]
		for i, v := range samples {
			dst[i] = T(v)
		}
		return
	}
	for i, v := range samples {
		dst[i*n] = T(v)
	}
}

// putWordsGo is put at a distance of 1.
func putWordsGo(dst []uint16, samples []int32) {
	dst = dst[:len(samples)]
	for i, v := range samples {
		dst[i] = uint16(v)
	}
}

// image is the finished image.
func (o *output) image() *raster.Image {
	switch {
	case o.pix != nil:
		return &raster.Image{Shape: o.shape, Pix: o.pix}
	case o.words != nil:
		return raster.FromUint16(o.shape, o.words)
	}
	return &raster.Image{Shape: o.shape, Pix: o.bytes}
}
