package bitplane

import (
	"slices"
	"sync"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// decoder is the working memory for a block. It is larger than a block's coefficients and is used
// again for the next block.
type decoder struct {
	words
	mq       mq.Decoder
	raw      mq.RawReader
	contexts mq.Contexts
	zero     *[512]uint8 // the contexts of zero coding
	causal   bool

	// What the words hold of samples that were visited and refined is in flags while inFlags, see flags.go.
	flags   []flags
	inFlags bool

	// The coefficients as Decode returns them, by stripes, in a stripe by columns.
	data []int32
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// kind is that of a coding pass (D.3). A bit-plane has all three in this order, the
// first one of a block only the last.
type kind byte

const (
	propagation kind = iota
	refinement
	cleanup
)

// passAt returns the kind and the bit-plane, counted from the first one coded, of pass i.
func passAt(i int) (kind, int) { return kind((i + 2) % 3), (i + 2) / 3 }

// rawPass says whether the bypass leaves pass i without arithmetic coding (D.6).
func rawPass(i int, style codestream.BlockStyle) bool {
	k, _ := passAt(i)
	return style&codestream.Bypass != 0 && i >= 10 && k != cleanup
}

// Decode decodes a code-block as package codestream describes it. It is safe for
// concurrent use.
func Decode(dst []int32, stride int, b *codestream.Block) error {
	if b.Width*((b.Height+3)&^3) > maxSamples {
		return codec.Malformedf("jpeg2000: a code-block of %dx%d coefficients", b.Width, b.Height)
	}
	return DecodeSlices(dst, stride, 0, 1, b)
}

// DecodeIndices decodes a code-block to quantizer indices: the numbers that Decode gives,
// divided by two towards zero.
func DecodeIndices(dst []int32, stride int, b *codestream.Block) error {
	if b.Width*((b.Height+3)&^3) > maxSamples {
		return codec.Malformedf("jpeg2000: a code-block of %dx%d coefficients", b.Width, b.Height)
	}
	return decode(dst, stride, 0, 1, b, (*decoder).halvesTo)
}

// DecodeSlices is Decode for a code-block of n slices of b.Width by b.Height coefficients,
// which begin slice coefficients apart in dst.
func DecodeSlices(dst []int32, stride, slice, n int, b *codestream.Block) error {
	return decode(dst, stride, slice, n, b, (*decoder).copyTo)
}

// decode decodes a block, and lets put write the coefficients of each slice into rows of dst.
func decode(dst []int32, stride, slice, n int, b *codestream.Block, put func(d *decoder, dst []int32, stride, w, h, z int)) error {
	planes := b.Planes - b.ZeroPlanes
	if err := check(b, n, planes); err != nil {
		return err
	}
	if planes == 0 || len(b.Segments) == 0 {
		for z := range n {
			for y := range b.Height {
				clear(dst[z*slice+y*stride:][:b.Width])
			}
		}
		return nil
	}
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.start(b, n)
	pass := 0
	for _, s := range b.Segments {
		d.segment(s, pass, planes, b.Style)
		pass += s.Passes
	}
	for z := range n {
		put(d, dst[z*slice:], stride, b.Width, b.Height, z)
	}
	return nil
}

// check refuses what no packet header may say of a block of n slices.
func check(b *codestream.Block, n, planes int) error {
	switch {
	case planes < 0:
		return codec.Malformedf("jpeg2000: a code-block skips %d of %d bit-planes", b.ZeroPlanes, b.Planes)
	case planes > codestream.MaxPlanes:
		return codec.Unsupportedf("jpeg2000: a code-block of %d bit-planes; at most %d are decoded", planes, codestream.MaxPlanes)
	case b.Width < 1 || b.Height < 1 || b.Width > 1024 || b.Height > 1024 || n < 1 || n > maxSliceSamples/(b.Width*((b.Height+3)&^3)):
		return codec.Malformedf("jpeg2000: a code-block of %dx%dx%d coefficients", b.Width, b.Height, n)
	}
	passes := 0
	for _, s := range b.Segments {
		for i := passes + 1; i < passes+s.Passes && i < 3*planes; i++ {
			if rawPass(i, b.Style) != rawPass(passes, b.Style) {
				return codec.Malformedf("jpeg2000: a codeword segment with and without arithmetic coding")
			}
		}
		passes += s.Passes
	}
	if passes > max(0, 3*planes-2) {
		return codec.Malformedf("jpeg2000: a code-block of %d bit-planes with %d coding passes", planes, passes)
	}
	return nil
}

func (d *decoder) start(b *codestream.Block, n int) {
	d.clear(b.Width, b.Height, n)
	samples := b.Width * 4 * d.stripes
	d.data = slices.Grow(d.data[:0], samples)[:samples]
	clear(d.data)
	d.zero = &zeroTable[b.Orientation&3]
	d.causal = b.Style&codestream.Causal != 0
	d.contexts.Reset()
	d.flags, d.inFlags = d.flags[:0], false
}

// segment decodes the passes of a codeword segment, of which the first is pass.
func (d *decoder) segment(s codestream.Segment, pass, planes int, style codestream.BlockStyle) {
	raw := rawPass(pass, style)
	if raw {
		d.raw.Init(s.Data)
	} else {
		d.mq.Init(s.Data)
	}
	for i := pass; i < pass+s.Passes; i++ {
		kind, plane := passAt(i)
		p := uint(planes - 1 - plane)
		switch {
		case kind == propagation && raw:
			d.rawPropagation(p)
		case kind == propagation:
			d.propagation(p)
		case kind == refinement && raw:
			d.rawRefinement(p)
		case kind == refinement:
			d.refinement(p)
		default:
			d.cleanup(p)
			if style&codestream.SegmentMark != 0 {
				d.segmentMark()
			}
		}
		if style&codestream.Reset != 0 {
			d.contexts.Reset()
		}
	}
}

// segmentMark takes the segmentation symbol off the stream (D.5). A wrong one tells of
// damage that decoding cannot undo: what follows is decoded all the same, as in streams
// without the symbol.
func (d *decoder) segmentMark() {
	r := d.mq.Load()
	for range 4 {
		r, _ = d.uniform(r)
	}
	d.mq.Store(r)
}

// uniform decodes a bit in the context of equal probabilities.
func (d *decoder) uniform(r int64) (int64, uint64) {
	s := &d.contexts[mq.Uniform]
	r -= s.Qe()
	bit := s.MPS()
	if r < 0 {
		r, bit = d.mq.Exchange(r, s)
	}
	return r, bit
}

// copyTo puts the coefficients of slice z into rows.
func (d *decoder) copyTo(dst []int32, stride, w, h, z int) {
	data := d.data[z*d.slice*4*w:]
	for ; h >= 4; h -= 4 {
		a, b, c, e := dst[:w], dst[stride:][:w], dst[2*stride:][:w], dst[3*stride:][:w]
		for x := range a {
			v := (*[4]int32)(data[4*x:])
			a[x], b[x], c[x], e[x] = v[0], v[1], v[2], v[3]
		}
		if data = data[4*w:]; h > 4 {
			dst = dst[4*stride:]
		}
	}
	for y := range h {
		row := dst[y*stride:][:w]
		for x := range row {
			row[x] = data[4*x+y]
		}
	}
}

// halvesTo is copyTo for the coefficients divided by two towards zero.
func (d *decoder) halvesTo(dst []int32, stride, w, h, z int) {
	half := func(v int32) int32 { return (v - v>>31) >> 1 }
	data := d.data[z*d.slice*4*w:]
	for ; h >= 4; h -= 4 {
		a, b, c, e := dst[:w], dst[stride:][:w], dst[2*stride:][:w], dst[3*stride:][:w]
		for x := halves(dst, stride, w, data); x < w; x++ {
			v := (*[4]int32)(data[4*x:])
			a[x], b[x], c[x], e[x] = half(v[0]), half(v[1]), half(v[2]), half(v[3])
		}
		if data = data[4*w:]; h > 4 {
			dst = dst[4*stride:]
		}
	}
	for y := range h {
		row := dst[y*stride:][:w]
		for x := range row {
			row[x] = half(data[4*x+y])
		}
	}
}
