package bitplane_test

import (
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// reference is Annex D sample by sample, in both directions: code codes a decision, of
// which bit is ignored when decoding, and returns it. Slices lie below each other.
type reference struct {
	w, h   int // of all slices
	slice  int // rows of a slice
	o      codestream.Orientation
	style  codestream.BlockStyle
	code   func(context, bit int) int
	raw    bool
	visit  []bool
	refine []bool
	sign   []int // 1 or -1 of significant samples, 0 of all others
	coded  []int // magnitude as far as it is coded, in units of the last bit-plane
	plane  int   // of the sample's last coded bit
	planes []int
}

func newReference(w, h, d int, o codestream.Orientation, style codestream.BlockStyle) *reference {
	n := w * h * d
	return &reference{w: w, h: h * d, slice: h, o: o, style: style, visit: make([]bool, n), refine: make([]bool, n),
		sign: make([]int, n), coded: make([]int, n), planes: make([]int, n)}
}

// at is the sign of a significant neighbour of row y, as it is seen from row from.
func (r *reference) at(x, y, from int) int {
	if x < 0 || y < 0 || x >= r.w || y >= r.h || y/r.slice != from/r.slice {
		return 0
	}
	if r.style&codestream.Causal != 0 && y%r.slice/4 > from%r.slice/4 {
		return 0
	}
	return r.sign[y*r.w+x]
}

func abs(v int) int { return max(v, -v) }

// sums are the numbers of significant neighbours: horizontal, vertical, diagonal.
func (r *reference) sums(x, y int) (h, v, d int) {
	s := func(dx, dy int) int { return abs(r.at(x+dx, y+dy, y)) }
	return s(-1, 0) + s(1, 0), s(0, -1) + s(0, 1), s(-1, -1) + s(1, -1) + s(-1, 1) + s(1, 1)
}

// zeroContext is Table D.1, row by row.
func (r *reference) zeroContext(x, y int) int {
	h, v, d := r.sums(x, y)
	if r.o == codestream.HL {
		h, v = v, h
	}
	if r.o == codestream.HH {
		hv := h + v
		switch {
		case d >= 3:
			return 8
		case d == 2 && hv >= 1:
			return 7
		case d == 2:
			return 6
		case d == 1 && hv >= 2:
			return 5
		case d == 1 && hv == 1:
			return 4
		case d == 1:
			return 3
		}
		return min(hv, 2)
	}
	switch {
	case h == 2:
		return 8
	case h == 1 && v >= 1:
		return 7
	case h == 1 && d >= 1:
		return 6
	case h == 1:
		return 5
	case v == 2:
		return 4
	case v == 1:
		return 3
	}
	return min(d, 2)
}

// codeSign codes the sign (D.3.2) of a sample that becomes significant in bit-plane p.
func (r *reference) codeSign(x, y, p, sign int) {
	i := y*r.w + x
	bit := 0
	if sign < 0 {
		bit = 1
	}
	if r.raw {
		bit = r.code(0, bit)
	} else {
		clamp := func(v int) int { return max(-1, min(1, v)) }
		h := clamp(r.at(x-1, y, y) + r.at(x+1, y, y))
		v := clamp(r.at(x, y-1, y) + r.at(x, y+1, y))
		table := map[[2]int][2]int{{1, 1}: {13, 0}, {1, 0}: {12, 0}, {1, -1}: {11, 0}, {0, 1}: {10, 0}, {0, 0}: {9, 0},
			{0, -1}: {10, 1}, {-1, 1}: {11, 1}, {-1, 0}: {12, 1}, {-1, -1}: {13, 1}}
		row := table[[2]int{h, v}]
		bit = r.code(row[0], bit^row[1]) ^ row[1]
	}
	r.sign[i] = 1 - 2*bit
	r.coded[i], r.planes[i] = 1<<p, p
}

// stripes calls f with the first row of each stripe, and the end of its slice.
func (r *reference) stripes(f func(y0, end int)) {
	for start := 0; start < r.h; start += r.slice {
		for y := start; y < start+r.slice; y += 4 {
			f(y, start+r.slice)
		}
	}
}

// scan calls f for all samples in the order of Figure D.1.
func (r *reference) scan(f func(x, y int)) {
	r.stripes(func(y0, end int) {
		for x := range r.w {
			for y := y0; y < min(y0+4, end); y++ {
				f(x, y)
			}
		}
	})
}

// pass codes pass i of bit-plane p of the samples v, which are nil when decoding.
func (r *reference) pass(kind, p int, v []int) {
	value := func(x, y int) (bit, sign int) {
		if v == nil {
			return 0, 1
		}
		s := v[y*r.w+x]
		if s < 0 {
			return -s >> p & 1, -1
		}
		return s >> p & 1, 1
	}
	zero := func(x, y int) {
		bit, sign := value(x, y)
		if r.code(r.zeroContext(x, y), bit) == 1 {
			r.codeSign(x, y, p, sign)
		}
	}
	switch kind {
	case 0:
		r.scan(func(x, y int) {
			h, vv, d := r.sums(x, y)
			if i := y*r.w + x; r.sign[i] == 0 && h+vv+d > 0 {
				zero(x, y)
				r.visit[i] = true
			}
		})
	case 1:
		r.scan(func(x, y int) {
			i := y*r.w + x
			if r.sign[i] == 0 || r.visit[i] {
				return
			}
			h, vv, d := r.sums(x, y)
			c := 14
			if r.refine[i] {
				c = 16
			} else if h+vv+d > 0 {
				c = 15
			}
			bit, _ := value(x, y)
			r.coded[i] |= r.code(c, bit) << p
			r.planes[i] = p
			r.refine[i] = true
		})
	case 2:
		r.cleanup(p, value, zero)
	}
}

func (r *reference) cleanup(p int, value func(x, y int) (bit, sign int), zero func(x, y int)) {
	r.stripes(func(y0, end int) {
		for x := range r.w {
			y := y0
			if r.runs(x, y0, end) {
				n := 0
				for n < 4 {
					if bit, _ := value(x, y0+n); bit == 1 {
						break
					}
					n++
				}
				if r.code(17, min(1, 4-n)) == 0 {
					continue
				}
				n = r.code(18, n>>1&1)<<1 | r.code(18, n&1)
				_, sign := value(x, y0+n)
				r.codeSign(x, y0+n, p, sign)
				y = y0 + n + 1
			}
			for ; y < min(y0+4, end); y++ {
				if i := y*r.w + x; r.sign[i] == 0 && !r.visit[i] {
					zero(x, y)
				}
			}
		}
	})
	clear(r.visit)
	if r.style&codestream.SegmentMark != 0 {
		for _, bit := range []int{1, 0, 1, 0} {
			r.code(18, bit)
		}
	}
}

// runs says whether the column of a stripe is coded by its run-length.
func (r *reference) runs(x, y0, end int) bool {
	if y0+4 > end {
		return false
	}
	for y := y0; y < y0+4; y++ {
		h, v, d := r.sums(x, y)
		if i := y*r.w + x; h+v+d > 0 || r.sign[i] != 0 || r.visit[i] {
			return false
		}
	}
	return true
}

// isRaw says whether pass i is raw (Table D.9).
func isRaw(i int, style codestream.BlockStyle) bool {
	return style&codestream.Bypass != 0 && i >= 10 && i%3 != 0
}

// referenceEncode returns the block's stream by segments.
func referenceEncode(v []int, w, h, d int, o codestream.Orientation, style codestream.BlockStyle) (planes int, segments []codestream.Segment) {
	for _, s := range v {
		for abs(s)>>planes != 0 {
			planes++
		}
	}
	r := newReference(w, h, d, o, style)
	var e mq.Encoder
	e.Reset()
	r.code = func(context, bit int) int {
		if r.raw {
			e.EncodeRaw([]byte{byte(bit)})
		} else {
			e.Encode([]byte{byte(context<<1 | bit)})
		}
		return bit
	}
	passes, from := 0, 0
	for i := range 3*planes - 2 {
		r.raw = isRaw(i, style)
		if passes == 0 && r.raw {
			e.StartRaw()
		} else if passes == 0 {
			e.Start()
		}
		r.pass((i+2)%3, planes-1-(i+2)/3, v)
		passes++
		if style&codestream.Terminate != 0 || i == 3*planes-3 || isRaw(i+1, style) != r.raw {
			switch {
			case r.raw:
				e.FlushRaw()
			case style&codestream.Predictable != 0:
				e.FlushPredictably()
			default:
				e.Flush()
			}
			segments = append(segments, codestream.Segment{Data: append([]byte{}, e.Bytes()[from:]...), Passes: passes})
			passes, from = 0, e.Len()
		}
		if style&codestream.Reset != 0 {
			e.Contexts.Reset()
		}
	}
	return planes, segments
}

// referenceDecode returns coefficients as bitplane.DecodeSlices does, slices below each other.
func referenceDecode(b *codestream.Block, d int) []int32 {
	r := newReference(b.Width, b.Height, d, b.Orientation, b.Style)
	var contexts mq.Contexts
	contexts.Reset()
	i, planes := 0, b.Planes-b.ZeroPlanes
	for _, s := range b.Segments {
		var m mq.Decoder
		var raw mq.RawReader
		m.Init(s.Data)
		raw.Init(s.Data)
		r.code = func(context, _ int) int {
			if r.raw {
				return int(raw.Bit())
			}
			c := &contexts[context]
			d := m.Load() - c.Qe()
			bit := c.MPS()
			if d < 0 {
				d, bit = m.Exchange(d, c)
			}
			m.Store(d)
			return int(bit)
		}
		for range s.Passes {
			r.raw = isRaw(i, b.Style)
			r.pass((i+2)%3, planes-1-(i+2)/3, nil)
			i++
			if b.Style&codestream.Reset != 0 {
				contexts.Reset()
			}
		}
	}
	out := make([]int32, b.Width*b.Height*d)
	for i, s := range r.sign {
		if s != 0 {
			out[i] = int32(s * (2*r.coded[i] + 1<<r.planes[i]))
		}
	}
	return out
}
