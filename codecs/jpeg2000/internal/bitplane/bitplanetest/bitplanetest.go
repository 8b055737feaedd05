// Package bitplanetest makes code-blocks of Part 1 for tests of what decodes them: as encoders
// make them, cut, damaged and of random bytes, in all code-block styles.
package bitplanetest

import (
	"bytes"
	"math/rand/v2"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// damages are what is done to the segments of a code-block.
var damages = []func(r *rand.Rand, segments []codestream.Segment){
	func(*rand.Rand, []codestream.Segment) {},
	cut, flip, flip, randomBytes, markers, markers, longer,
}

// Block is a code-block of a style, of at most most columns and as many rows, with what the
// generator chooses: the size, the bit-planes, the passes and what happened to the segments. A
// decoder takes it without an error.
func Block(r *rand.Rand, style codestream.BlockStyle, most int) *codestream.Block {
	w, h := 1+r.IntN(most), 1+r.IntN(most)
	o := codestream.Orientation(r.IntN(4))
	var e bitplane.Encoder
	c := e.Encode(coefficients(r, w*h), w, w, h, o, style)
	b := &codestream.Block{Width: w, Height: h, Orientation: o, Style: style, ZeroPlanes: r.IntN(3)}
	b.Planes = b.ZeroPlanes + c.Planes
	passes := len(c.Passes)
	if passes > 0 && r.IntN(4) == 0 {
		passes = 1 + r.IntN(passes)
	}
	from, n := 0, 0
	for i, p := range c.Passes[:passes] {
		n++
		if p.Terminated || i == passes-1 {
			b.Segments = append(b.Segments, codestream.Segment{Data: bytes.Clone(c.Data[from:p.Length]), Passes: n})
			from, n = p.Length, 0
		}
	}
	damages[r.IntN(len(damages))](r, b.Segments)
	return b
}

// coefficients are noise of as many bit-planes as come out, which is sparse, dense or in places.
func coefficients(r *rand.Rand, n int) []int32 {
	v := make([]int32, n)
	planes, kind := 1+r.IntN(1+r.IntN(20)), r.IntN(3)
	for i := range v {
		v[i] = int32(r.Uint32N(1 << r.IntN(planes+1)))
		if kind == 0 && r.IntN(40) != 0 || kind == 1 && i%(n/3+1) < n/5 {
			v[i] = 0
		}
		if r.IntN(2) == 0 {
			v[i] = -v[i]
		}
	}
	return v
}

// each calls f for some of the segments that have bytes, one at least.
func each(r *rand.Rand, segments []codestream.Segment, f func(s *codestream.Segment)) {
	all := r.IntN(2) == 0
	for i := range segments {
		if len(segments[i].Data) > 0 && (all || r.IntN(len(segments)) == 0) {
			f(&segments[i])
		}
	}
}

// cut cuts segments short, to nothing too.
func cut(r *rand.Rand, segments []codestream.Segment) {
	each(r, segments, func(s *codestream.Segment) { s.Data = s.Data[:r.IntN(len(s.Data))] })
}

// flip flips bits.
func flip(r *rand.Rand, segments []codestream.Segment) {
	each(r, segments, func(s *codestream.Segment) {
		for range 1 + r.IntN(3) {
			s.Data[r.IntN(len(s.Data))] ^= 1 << r.IntN(8)
		}
	})
}

func randomBytes(r *rand.Rand, segments []codestream.Segment) {
	each(r, segments, func(s *codestream.Segment) {
		for i := range s.Data {
			s.Data[i] = byte(r.Uint32())
		}
	})
}

// markers puts bytes of 0xFF into segments, with what may and what may not follow on them: the
// byte behind adds to bits that are there already.
func markers(r *rand.Rand, segments []codestream.Segment) {
	each(r, segments, func(s *codestream.Segment) {
		often := 2 + r.IntN(30)
		for i := range s.Data {
			if r.IntN(often) != 0 {
				continue
			}
			s.Data[i] = 0xFF
			if i+1 < len(s.Data) {
				s.Data[i+1] = byte(0x70 + r.IntN(0x20+r.IntN(8)))
			}
		}
	})
}

// longer puts bytes behind segments.
func longer(r *rand.Rand, segments []codestream.Segment) {
	for i := range segments {
		for range r.IntN(6) {
			segments[i].Data = append(segments[i].Data, byte(r.Uint32()))
		}
	}
}
