package vardct

import (
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/entropy"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/jpegdata"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/modular"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/internal/container"
)

// Limits of coefficients, which decoders hold streams to.
const (
	maxDC = 2047
	maxAC = 4095
)

// Effort is how long a small codestream is looked for.
type Effort int

// Fast does without trees learned from the image, and Best looks at every sample to learn
// one and tries numbers of block contexts.
const (
	Default Effort = iota
	Fast
	Best
)

// learn returns the way to a tree of DC coefficients.
func (e Effort) learn() func(*pool.Pool, [][]*modular.Channel) *modular.Decision {
	return [...]func(*pool.Pool, [][]*modular.Channel) *modular.Decision{modular.Learn, modular.Fixed, modular.Search}[e]
}

// clustering returns how contexts are put together.
func (e Effort) clustering() *entropy.Clustering {
	return [...]*entropy.Clustering{nil, entropy.FastClustering, entropy.ThoroughClustering}[e]
}

// Encode returns the codestream of a file's coefficients. The error is a
// [*container.UnsupportedError] where the format cannot hold them.
func Encode(workers *pool.Pool, f *jpegdata.File, meta *Metadata, effort Effort) ([]byte, error) {
	ycbcr := colourTransform(f)
	m := newFrame(f, ycbcr)
	if err := m.check(f.Large); err != nil {
		return nil, err
	}
	e := &encoder{frame: m, workers: workers, effort: effort, blocks: m.chooseContexts(m.lumaBuckets())}
	e.estimateChroma()
	e.chooseOrders()
	e.setPlaces()
	if effort == Best {
		e.tryContexts()
	}
	w := &bits.Writer{}
	writeHeaders(w, m, len(f.Components) == 1, meta)
	writeFrameHeader(w, m)
	e.write(w)
	return w.Bytes(), nil
}

// colourTransform says whether the components of a file are Y, Cb and Cr, as readers of
// JPEG files decide it: by Adobe's segment, and without any segment of JFIF by the
// numbers of the components.
func colourTransform(f *jpegdata.File) bool {
	if len(f.Components) == 1 {
		return true
	}
	adobe := -1
	for _, a := range f.Apps {
		if a[0] == 0xe0 {
			return true
		}
		if b, ok := jpegdata.Prefixed(a, 0xee, "Adobe"); ok && len(b) >= 7 {
			adobe = int(b[6])
		}
	}
	ids := f.Components
	return adobe > 0 || adobe < 0 && !(ids[0].ID == 'R' && ids[1].ID == 'G' && ids[2].ID == 'B')
}

// check refuses what the format cannot hold.
func (m *frame) check(large bool) error {
	for c := range m.planes {
		if p := &m.planes[c]; p.Component != nil && !m.ycbcr && p.H*p.V > 1 {
			return container.Unsupported("its components are R, G and B with sampling factors of %d x %d: the format holds 1 x 1", p.H, p.V)
		}
	}
	if !large {
		return nil
	}
	tooLarge := container.Unsupported("a coefficient is larger than the format holds")
	for _, v := range m.file.Values {
		if uint16(v+maxAC) > 2*maxAC {
			return tooLarge
		}
	}
	offsets := m.dcOffsets()
	for c := range m.planes {
		if m.planes[c].Component == nil {
			continue
		}
		for i := range m.planes[c].Blocks {
			if dc := int32(m.planes[c].Blocks[i].DC) + offsets[c]; dc > maxDC || dc < -maxDC {
				return tooLarge
			}
		}
	}
	return nil
}

// encoder is the coding of one frame.
type encoder struct {
	*frame
	workers *pool.Pool
	effort  Effort
	blocks  *blockContexts
	order   [3][64]uint8 // of each plane: place in a JPEG block of each coefficient
	places  [3][64]uint8 // the inverse
	custom  bool         // an order is not that of the standard
	chroma  *chromaFactors
}

func (e *encoder) setPlaces() {
	for c := range e.order {
		for i, place := range e.order[c] {
			e.places[c][place] = uint8(i)
		}
	}
}

func standardOrders() (o [3][64]uint8) {
	for c := range o {
		o[c] = transposed
	}
	return o
}

// write writes all sections of the frame.
func (e *encoder) write(w *bits.Writer) {
	along, down := e.groups()
	lfAlong, lfDown := e.lfGroups()
	groups, lfGroups := along*down, lfAlong*lfDown

	lf := e.planeStreams(lfGroups)
	tokens, ac := e.acCode()

	n := 2 + lfGroups + groups
	sections := make([]*bits.Writer, n)
	for i := range sections {
		sections[i] = &bits.Writer{}
	}
	e.writeGlobal(sections[0], lf)
	e.writeACGlobal(sections[1+lfGroups], lf, ac, groups)
	e.workers.Each(lfGroups, func(i int) { lf.write(sections[1+i], i) })
	e.workers.Spans(groups, entropy.Lanes, func(lo, hi int) { ac.WriteStreams(sections[2+lfGroups+lo:2+lfGroups+hi], tokens[lo:hi]) })

	if groups == 1 {
		all := &bits.Writer{}
		for _, s := range sections {
			all.Append(s)
		}
		writeSections(w, [][]byte{all.Bytes()})
		return
	}
	list := make([][]byte, n)
	for i, s := range sections {
		list[i] = s.Bytes()
	}
	writeSections(w, list)
}

// acCode returns the tokens of the AC coefficients of all groups, and a code for them.
func (e *encoder) acCode() ([][]entropy.Token, *entropy.Code) {
	along, down := e.groups()
	tokens, largest := e.acTokens(along*down, along)
	return tokens, entropy.NewCodeUpTo(e.workers, e.effort.clustering(), largest, allContexts*e.blocks.count, tokens...)
}

// writeGlobal writes LfGlobal (I.2).
func (e *encoder) writeGlobal(w *bits.Writer, lf *planeStreams) {
	w.Bool(false) // steps of DC, for those who want samples only:
	for c := range e.planes {
		w.Write(half(uint64(e.planes[c].quant[0])*128, 2040), 16)
	}
	w.U32(&scaleField, 65536)
	w.U32(&dcScaleField, 1)
	e.blocks.write(w)
	w.Bool(false) // chroma from luma:
	w.U32(&colourField, 84)
	w.Write(0, 16)
	w.Write(0, 16)
	w.Write(128, 8)
	w.Write(128, 8)
	w.Bool(true) // a tree for all planes
	lf.tree.Write(w)
	lf.code.WriteHeader(w)
}

// write writes the map of block contexts.
func (b *blockContexts) write(w *bits.Writer) {
	w.Bool(false)
	for _, t := range b.thresholds {
		w.Write(uint64(len(t)), 4)
		for _, v := range t {
			w.U32(&limitField, bits.Unsigned(v))
		}
	}
	w.Write(0, 4) // no thresholds of quantisation
	entropy.WriteMap(w, b.clusters)
}

// writeACGlobal writes HfGlobal and the orders and distributions of AC coefficients.
func (e *encoder) writeACGlobal(w *bits.Writer, lf *planeStreams, ac *entropy.Code, groups int) {
	w.Bool(false)
	w.Write(7, 3) // a table as it is
	w.Write(0x1004, 16)
	lf.writeTables(w)
	for range 16 {
		w.Write(0, 3)
	}
	w.Write(0, clog2(groups)) // one set of distributions
	e.writeOrders(w)
	ac.WriteHeader(w)
}

// clog2 is the number of bits for numbers below n.
func clog2(n int) uint {
	b := uint(0)
	for 1<<b < n {
		b++
	}
	return b
}

// planeStreams are the DC coefficients, what belongs to blocks, and the tables of
// quantisation.
type planeStreams struct {
	tree   modular.Tree
	code   *entropy.Code
	dc     [][]entropy.Token // of each LF group
	meta   [][]entropy.Token
	tables []entropy.Token
	counts []int // blocks of each LF group
}

// planeStreams codes all planes.
func (e *encoder) planeStreams(lfGroups int) *planeStreams {
	s := &planeStreams{dc: make([][]entropy.Token, lfGroups), meta: make([][]entropy.Token, lfGroups), counts: make([]int, lfGroups)}
	_, metadata, tables := e.streams()
	along, _ := e.lfGroups()
	channels := make([][]*modular.Channel, lfGroups)
	e.workers.Each(lfGroups, func(i int) { channels[i] = e.dcChannels(e.area(i, along, lfGroupBlocks)) })
	dc := e.effort.learn()(e.workers, channels)
	s.tree = (&modular.Decision{Property: modular.PropertyStream, Split: int32(lfGroups),
		Above: &modular.Decision{Property: modular.PropertyStream, Split: int32(tables - 1),
			Above: &modular.Decision{Predictor: modular.PredictGradient},
			Below: &modular.Decision{Property: modular.PropertyChannel, Split: 1,
				Above: &modular.Decision{},
				Below: &modular.Decision{Predictor: modular.PredictGradient}}},
		Below: dc}).Tree()
	e.workers.Each(lfGroups, func(i int) {
		a := e.area(i, along, lfGroupBlocks)
		s.counts[i] = a.wide() * a.high()
		s.dc[i] = s.tree.Tokens(1+i, channels[i])
		s.meta[i] = s.tree.Tokens(metadata+i, e.metadataChannels(a))
	})
	s.tables = s.tree.Tokens(tables, e.tableChannels())
	all := append(append([][]entropy.Token{s.tables}, s.dc...), s.meta...)
	s.code = entropy.NewCode(e.workers, e.effort.clustering(), s.tree.Contexts(), all...)
	return s
}

// write writes an LF group.
func (s *planeStreams) write(w *bits.Writer, i int) {
	w.Write(0, 2) // no more precision than the file's
	modular.WriteHeader(w)
	s.code.WriteTokens(w, s.dc[i])
	w.Write(uint64(s.counts[i]-1), clog2(s.counts[i]))
	modular.WriteHeader(w)
	s.code.WriteTokens(w, s.meta[i])
}

func (s *planeStreams) writeTables(w *bits.Writer) {
	modular.WriteHeader(w)
	s.code.WriteTokens(w, s.tables)
}

// dcChannels are the DC coefficients of an LF group: Y, Cb, Cr.
func (e *encoder) dcChannels(a area) []*modular.Channel {
	var out []*modular.Channel
	offsets := e.dcOffsets()
	for _, c := range codingOrder {
		p := &e.planes[c]
		in := a.of(p)
		ch := modular.NewChannel(in.wide(), in.high())
		out = append(out, ch)
		if p.Component == nil {
			continue
		}
		i := 0
		for y := in.y0; y < in.y1; y++ {
			for x := in.x0; x < in.x1; x++ {
				ch.Samples[i] = int32(p.Blocks[y*p.Wide+x].DC) + offsets[c]
				i++
			}
		}
	}
	return out
}

// metadataChannels are what belongs to the blocks of an LF group: factors of chroma from
// luma, kind and quantisation of each block, and its filter. All blocks are 8 x 8.
func (e *encoder) metadataChannels(a area) []*modular.Channel {
	wide, high := ceil(a.wide(), tileBlocks), ceil(a.high(), tileBlocks)
	cb, cr := modular.NewChannel(wide, high), modular.NewChannel(wide, high)
	if e.chroma != nil {
		for y := range high {
			for x := range wide {
				at := (a.y0/tileBlocks+y)*e.chroma.wide + a.x0/tileBlocks + x
				cb.Samples[y*wide+x] = int32(e.chroma.factors[0][at])
				cr.Samples[y*wide+x] = int32(e.chroma.factors[1][at])
			}
		}
	}
	return []*modular.Channel{cb, cr, {Width: a.wide() * a.high(), Height: 2}, {Width: a.wide(), Height: a.high()}}
}

// tableChannels are the tables of quantisation.
func (e *encoder) tableChannels() []*modular.Channel {
	var out []*modular.Channel
	for c := range e.planes {
		ch := modular.NewChannel(8, 8)
		for i := range ch.Samples {
			ch.Samples[zigzag[i]] = int32(e.planes[c].quant[transposed[i]])
		}
		out = append(out, ch)
	}
	return out
}
