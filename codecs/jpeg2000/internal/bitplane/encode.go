package bitplane

import (
	"math/bits"
	"slices"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// Encoder encodes code-blocks one after the other. It is the working memory for that,
// about 150 KB, with slices up to 3 MB, and its zero value is ready. It is not safe for concurrent use.
type Encoder struct {
	// Fraction is the number of low bits of coefficients that are not coded: the
	// quantizer index of a coefficient is above them. Distortions take them into account.
	Fraction int

	// Measure asks for the Distortion of passes.
	Measure bool

	words
	sliced   sliced
	isSliced bool        // the block is in sliced, not in words and data
	mq       *mq.Encoder // nil before the first block
	zero     *[512]uint8
	causal   bool
	symbols  []mq.Symbol // the decisions of a pass
	passes   []Pass
	marks    []mq.Mark // by pass

	sum   int64 // what the pass takes off the distortion, see distortion.go
	plane uint  // the bit of data that the pass codes

	// The magnitudes by stripes, in a stripe by columns; 0 for samples of the last
	// stripe of a slice that the block does not have.
	data []uint32
}

// Pass is what is known of a coding pass after it was encoded.
type Pass struct {
	// Length is the number of bytes of the block's stream, from its start, that decode
	// this pass and those before it.
	Length int

	// Terminated says that a codeword segment ends with the pass.
	Terminated bool

	// Distortion is what the pass takes off the sum of squared errors, in squared units
	// of coefficients; 0 if that was not asked for.
	Distortion float64
}

// Coded is an encoded code-block. Its slices are the encoder's until the next call.
type Coded struct {
	Planes int // bit-planes that the largest magnitude has: Mb less the zero bit-planes
	Data   []byte
	Passes []Pass
}

// Encode encodes the w by h coefficients at src, rows stride apart, whose magnitudes
// are below 2^31, with all their bit-planes down to Fraction.
func (e *Encoder) Encode(src []int32, stride, w, h int, o codestream.Orientation, style codestream.BlockStyle) Coded {
	return e.EncodeSlices(src, stride, 0, w, h, 1, o, style)
}

// EncodeSlices is Encode for a code-block of d slices, which begin slice coefficients
// apart. With its height made a multiple of four it has at most 2^18 of them.
func (e *Encoder) EncodeSlices(src []int32, stride, slice, w, h, d int, o codestream.Orientation, style codestream.BlockStyle) Coded {
	t := e.begin(src, stride, slice, w, h, d, o, style)
	t.finish()
	return t.coded()
}

// begin takes in a block and returns its passes.
func (e *Encoder) begin(src []int32, stride, slice, w, h, d int, o codestream.Orientation, style codestream.BlockStyle) turn {
	if e.mq == nil {
		e.mq = new(mq.Encoder)
	}
	e.zero = &zeroTable[o&3]
	e.causal = style&codestream.Causal != 0
	e.passes, e.marks = e.passes[:0], e.marks[:0]
	e.mq.Reset()
	e.isSliced = e.slices(w, h, d, style)
	planes := 0
	if e.isSliced {
		planes = e.sliced.start(src, stride, w, h, o)
	} else {
		planes = e.start(src, stride, slice, w, h, d)
	}
	return turn{encoder: e, style: style, planes: planes, pass: -1}
}

// turn is a block on its way through its passes.
type turn struct {
	encoder *Encoder
	style   codestream.BlockStyle
	planes  int
	pass    int         // that is at work
	rest    []mq.Symbol // of its decisions
}

// more says whether decisions are left. Where those of a pass are coded it goes on to the next one.
func (t *turn) more() bool {
	passes := max(0, 3*t.planes-2)
	for len(t.rest) == 0 && t.pass < passes {
		if t.pass >= 0 {
			t.encoder.closePass(t.pass, t.pass == passes-1, t.style)
		}
		if t.pass++; t.pass < passes {
			t.encoder.decide(t.pass, t.planes, t.style)
			t.encoder.openPass(t.pass, t.style)
			t.rest = t.encoder.symbols
		}
	}
	return len(t.rest) > 0
}

// finish codes what is left.
func (t *turn) finish() {
	for t.more() {
		if rawPass(t.pass, t.style) {
			t.encoder.mq.EncodeRaw(t.rest)
		} else {
			t.encoder.mq.Encode(t.rest)
		}
		t.rest = nil
	}
}

func (t *turn) coded() Coded { return Coded{t.planes, t.encoder.mq.Bytes(), t.encoder.passes} }

// slices says whether a block is to be sliced.
func (e *Encoder) slices(w, h, d int, style codestream.BlockStyle) bool {
	return useSliced && !e.Measure && e.Fraction == 0 && d == 1 && style&(codestream.Causal|codestream.Bypass) == 0 &&
		w <= slicedWidth && (w+15)/16*((h+3)/4) <= slicedWords
}

// start takes the coefficients in and returns the bit-planes that are coded.
func (e *Encoder) start(src []int32, stride, slice, w, h, d int) int {
	e.clear(w, h, d)
	n := 4 * w * e.stripes
	e.data = slices.Grow(e.data[:0], n)[:n]
	all := uint32(0)
	for z := range d {
		all |= e.load(src[z*slice:], stride, w, h, z)
	}
	return max(0, bits.Len32(all)-e.Fraction)
}

// load takes the coefficients of slice z in and returns the union of their magnitudes.
func (e *Encoder) load(src []int32, stride, w, h, z int) uint32 {
	if h&3 != 0 {
		clear(e.data[((z+1)*e.slice-1)*4*w:][:4*w])
	}
	all := uint32(0)
	for y := range h {
		s := z*e.slice + y/4
		data, words := e.data[s*4*w+y%4:], e.stripe(s)
		shift := uint(ownSign + 3*(y%4))
		for x, v := range src[y*stride:][:w] {
			sign := v >> 31
			m := uint32(v ^ sign - sign)
			all |= m
			data[4*x] = m
			words[x] |= uint64(-sign) << shift
		}
	}
	return all
}

// decide writes down the decisions of pass i.
func (e *Encoder) decide(i, planes int, style codestream.BlockStyle) {
	kind, plane := passAt(i)
	e.plane = uint(planes - 1 - plane + e.Fraction)
	if !e.isSliced && (kind == propagation || i == 0) {
		e.showPlane(e.plane)
	}
	e.symbols, e.sum = e.symbols[:0], 0
	switch {
	case e.isSliced:
		e.slicedPass(kind)
	case kind == propagation:
		e.propagation(rawPass(i, style))
	case kind == refinement:
		if e.Measure {
			e.measureRefinement()
		}
		e.refinement()
	default:
		e.cleanup()
	}
	if kind == cleanup && style&codestream.SegmentMark != 0 {
		const u = mq.Uniform << 1
		e.symbols = append(e.symbols, u|1, u, u|1, u) // D.5
	}
}

// slicedPass writes down the decisions of a pass of a sliced block.
func (e *Encoder) slicedPass(k kind) {
	b := &e.sliced
	switch k {
	case propagation:
		b.propagation(e.plane)
	case refinement:
		b.refinement(e.plane)
	default:
		b.cleanup(e.plane)
		b.ended()
	}
	e.symbols = write(slices.Grow(e.symbols[:0], mostSymbols*len(b.groups)), b.groups)
}

// openPass begins pass i, whose decisions are known, and with it a codeword segment where there is to be one (D.4).
func (e *Encoder) openPass(i int, style codestream.BlockStyle) {
	start := i == 0 || e.passes[i-1].Terminated
	e.passes = append(e.passes, Pass{Distortion: e.distortion()})
	switch {
	case start && rawPass(i, style):
		e.mq.StartRaw()
	case start:
		e.mq.Start()
	}
}

// closePass ends pass i, which may be the last one, when its decisions are coded.
func (e *Encoder) closePass(i int, last bool, style codestream.BlockStyle) {
	raw := rawPass(i, style)
	e.marks = append(e.marks, e.mq.Mark())
	if raw {
		e.passes[i].Length = e.mq.RawLen()
	}
	end := last || style&codestream.Terminate != 0 || raw != rawPass(i+1, style)
	switch {
	case end && raw:
		e.mq.FlushRaw()
	case end && style&codestream.Predictable != 0:
		e.mq.FlushPredictably()
	case end:
		e.mq.Flush()
	}
	if end {
		e.passes[i].Terminated = true
		e.lengths()
	}
	if style&codestream.Reset != 0 {
		e.mq.Contexts.Reset()
	}
}

// lengths sets the lengths of the passes of the codeword segment that has just ended.
func (e *Encoder) lengths() {
	limit := e.mq.Len()
	for i := len(e.passes) - 1; i >= 0 && (i == len(e.passes)-1 || !e.passes[i].Terminated); i-- {
		p := &e.passes[i]
		switch {
		case p.Terminated:
			p.Length = limit
		case p.Length == 0:
			p.Length = e.mq.Truncate(e.marks[i])
		}
		limit = min(limit, p.Length)
		p.Length = limit
	}
}

// showPlane puts the bits of bit-plane p into the words.
func (e *Encoder) showPlane(p uint) {
	for s := range e.stripes {
		row := e.stripe(s)
		data := e.data[s*4*len(row):][:4*len(row)]
		for x := range row {
			m := (*[4]uint32)(data[4*x:])
			b := uint64(m[0]>>(p&31)&1 | m[1]>>(p&31)&1<<3 | m[2]>>(p&31)&1<<6 | m[3]>>(p&31)&1<<9)
			row[x] = row[x]&^(perSample<<current) | b<<current
		}
	}
}
