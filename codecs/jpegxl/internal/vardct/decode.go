package vardct

import (
	mathbits "math/bits"
	"slices"
	"sync"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/entropy"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/jpegdata"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/modular"
	"github.com/pelmill/pelmill/codecs/pool"
)

// Info is what the headers of a codestream say of the image.
type Info struct {
	Width, Height int
	Grey          bool
	Metadata
}

// ReadInfo reads the headers. It takes memory for an ICC profile of at most limit bytes.
func ReadInfo(stream []byte, limit int64) (*Info, error) {
	r := bits.NewReader(stream)
	h, err := readHeaders(r, limit)
	if err != nil {
		return nil, err
	}
	if err := h.readFrame(r); err != nil {
		return nil, err
	}
	return &Info{h.width, h.height, h.grey, h.meta}, nil
}

// Decode reads the coefficients of a codestream into f, which has components without
// coefficients, and tables of quantisation without values, as [jpegdata.ReadBox] makes
// it: it sets size, sampling factors, values and coefficients. Limit bounds the memory
// for coefficients in bytes.
func Decode(workers *pool.Pool, stream []byte, f *jpegdata.File, limit int64) (*Metadata, error) {
	r := bits.NewReader(stream)
	h, err := readHeaders(r, limit)
	if err != nil {
		return nil, err
	}
	if err := h.readFrame(r); err != nil {
		return nil, err
	}
	d := &decoder{workers: workers, frame: &frame{}}
	if err := d.layOut(h, f, len(stream), limit); err != nil {
		return nil, err
	}
	if err := d.sections(r); err != nil {
		return nil, err
	}
	d.copyTables(f)
	return &h.meta, nil
}

// decoder is the decoding of one frame.
type decoder struct {
	*frame
	workers *pool.Pool
	blocks  *blockContexts
	planesC *modular.Code
	tables  [3][64]uint16 // in zigzag order
	orders  [3][64]uint8
	ac      *entropy.Code
	sets    int // of distributions
	chroma  *chromaFactors

	mutex sync.Mutex // of what follows and of the file's values
	spare [][]int16  // for the values of groups
}

// layOut sets the geometry and takes memory for coefficients.
func (d *decoder) layOut(h *header, f *jpegdata.File, size int, limit int64) error {
	f.Width, f.Height = h.width, h.height
	if len(f.Components) == 1 && !h.ycbcr || len(f.Components) == 1 != h.grey && h.meta.ICC == nil {
		return malformed("its components are not those of the JPEG file")
	}
	for c := range 3 {
		if len(f.Components) == 1 && c != 1 {
			continue
		}
		p := &f.Components[component(c, len(f.Components), h.ycbcr)]
		p.H, p.V = h.factors[c][0], h.factors[c][1]
	}
	f.SetBlocks()
	if err := f.Allocate(limit); err != nil {
		return err
	}
	d.frame = newFrame(f, h.ycbcr)
	f.Values = make([]int16, 0, min(2*size, int(limit/2)))
	for c := range d.planes {
		d.planes[c].quant = &d.tables[c]
	}
	if d.whole() {
		d.chroma = newChromaFactors(d.frame)
	}
	return nil
}

// copyTables gives the file's tables their values.
func (d *decoder) copyTables(f *jpegdata.File) {
	used := make([]bool, len(f.Quant))
	for c := range d.planes {
		if len(f.Components) == 1 && c != 1 {
			continue
		}
		q := f.Components[component(c, len(f.Components), d.ycbcr)].Quant
		f.Quant[q].Values = d.tables[c]
		used[q] = true
	}
	for i := 1; i < len(used); i++ {
		if !used[i] {
			f.Quant[i].Values = f.Quant[i-1].Values
		}
	}
}

// sections reads the table of contents and the sections (F.3).
func (d *decoder) sections(r *bits.Reader) error {
	along, down := d.groups()
	lfAlong, lfDown := d.lfGroups()
	groups, lfGroups := along*down, lfAlong*lfDown
	n := 2 + lfGroups + groups
	if groups == 1 {
		n = 1
	}
	list, err := readContents(r, n)
	if err != nil {
		return err
	}
	if n == 1 {
		return d.lone(bits.NewReader(list[0]))
	}
	if err := d.readGlobal(bits.NewReader(list[0])); err != nil {
		return err
	}
	errs := make([]error, max(lfGroups, groups))
	d.workers.Each(lfGroups, func(i int) {
		errs[i] = d.readLFGroup(bits.NewReader(list[1+i]), i)
	})
	if err := first(errs[:lfGroups]); err != nil {
		return err
	}
	if err := d.readACGlobal(bits.NewReader(list[1+lfGroups]), groups); err != nil {
		return err
	}
	d.workers.Each(groups, func(i int) {
		errs[i] = d.readGroup(bits.NewReader(list[2+lfGroups+i]), d.area(i, along, groupBlocks))
	})
	return first(errs[:groups])
}

// lone reads the parts of a frame of one group, which follow each other in one section.
func (d *decoder) lone(r *bits.Reader) error {
	if err := d.readGlobal(r); err != nil {
		return err
	}
	if err := d.readLFGroup(r, 0); err != nil {
		return err
	}
	if err := d.readACGlobal(r, 1); err != nil {
		return err
	}
	return d.readGroup(r, d.area(0, 1, groupBlocks))
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readContents reads the table of contents and cuts the sections out.
func readContents(r *bits.Reader, n int) ([][]byte, error) {
	var order []int
	if r.Bool() {
		code, err := entropy.ReadCode(r, permutationContexts)
		if err != nil {
			return nil, err
		}
		d := code.Decoder(r, 0)
		if order, err = readPermutation(r, d, n, 0); err != nil {
			return nil, err
		}
		if err := d.End(); err != nil {
			return nil, err
		}
	}
	r.Pad()
	sizes := make([]int, 0, min(n, 1<<12))
	for range n {
		sizes = append(sizes, int(r.U32(&sectionField)))
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	r.Pad()
	rest := r.Rest()
	list := make([][]byte, n)
	for i, size := range sizes {
		if size > len(rest) {
			return nil, bits.ErrCutShort
		}
		at := i
		if order != nil {
			at = order[i]
		}
		list[at] = rest[:size]
		rest = rest[size:]
	}
	return list, nil
}

// permutationContexts are the contexts of a Lehmer code.
const permutationContexts = 8

// permutationContext is the context behind the number v.
func permutationContext(v uint32) int { return min(mathbits.Len32(v), permutationContexts-1) }

// readPermutation reads a permutation of n numbers as its Lehmer code (F.3.2): the first
// skip stay in place.
func readPermutation(r *bits.Reader, d *entropy.Decoder, n, skip int) ([]int, error) {
	end := int(d.Read(permutationContext(uint32(n))))
	if end > n-skip {
		return nil, malformed("a permutation of %d moves %d", n, end)
	}
	code := make([]uint32, n)
	last := uint32(0)
	for i := skip; i < skip+end; i++ {
		last = d.Read(permutationContext(last))
		if int64(last) >= int64(n-i) || r.Err() != nil {
			return nil, malformed("a permutation is not valid")
		}
		code[i] = last
	}
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	out := make([]int, n)
	for i, c := range code {
		out[i] = left[c]
		left = append(left[:c], left[c+1:]...)
	}
	return out, nil
}

// readGlobal reads LfGlobal.
func (d *decoder) readGlobal(r *bits.Reader) error {
	if !r.Bool() {
		for range 3 {
			if _, ok := r.F16(); !ok {
				return malformed("a step of DC is not finite")
			}
		}
	}
	r.U32(&scaleField)
	r.U32(&dcScaleField)
	if err := d.readBlockContexts(r); err != nil {
		return err
	}
	if r.Bool() { // luma is part of chroma
		return errNot("its chroma is predicted from luma throughout")
	}
	unit := r.U32(&colourField)
	x, _ := r.F16()
	b, _ := r.F16()
	if dcX, dcB := r.Read(8), r.Read(8); unit != chromaUnit || x != 0 || b != 0 || dcX != 128 || dcB != 128 {
		return errNot("its chroma is predicted from luma throughout")
	}
	if r.Bool() {
		along, down := d.lfGroups()
		limit := min(1<<22, 1024+along*down*lfGroupBlocks*lfGroupBlocks/4)
		var err error
		if d.planesC, err = modular.ReadCode(r, limit); err != nil {
			return err
		}
	}
	return r.Err()
}

func (d *decoder) readBlockContexts(r *bits.Reader) error {
	b := &blockContexts{}
	d.blocks = b
	if r.Bool() {
		b.clusters = defaultContexts
		b.count = 15
		return nil
	}
	for c := range b.thresholds {
		for range r.Read(4) {
			b.thresholds[c] = append(b.thresholds[c], bits.Signed(r.U32(&limitField)))
		}
		slices.Sort(b.thresholds[c]) // only how many of them are below a value matters
	}
	if r.Read(4) != 0 {
		return errNot("its contexts depend on the quantisation of blocks")
	}
	n := b.values()
	if n > 64 {
		return malformed("blocks have contexts by %d combinations of DC", n)
	}
	var err error
	if b.clusters, b.count, err = entropy.Map(r, 3*orders*n); err == nil && b.count > 16 {
		err = malformed("blocks have %d contexts", b.count)
	}
	return err
}

// defaultContexts is the map of those who write none.
var defaultContexts = []uint8{
	0, 1, 2, 2, 3, 3, 4, 5, 6, 6, 6, 6, 6,
	7, 8, 9, 9, 10, 11, 12, 13, 14, 14, 14, 14, 14,
	7, 8, 9, 9, 10, 11, 12, 13, 14, 14, 14, 14, 14,
}

// readLFGroup reads DC coefficients and what belongs to blocks.
func (d *decoder) readLFGroup(r *bits.Reader, i int) error {
	lf, metadata, _ := d.streams()
	along, _ := d.lfGroups()
	a := d.area(i, along, lfGroupBlocks)
	if r.Read(2) != 0 {
		return errNot("its DC coefficients are finer than those of a JPEG file")
	}
	var channels []*modular.Channel
	for _, c := range codingOrder {
		in := a.of(&d.planes[c])
		channels = append(channels, modular.NewChannel(in.wide(), in.high()))
	}
	if err := modular.Read(r, d.planesC, lf+i, channels); err != nil {
		return err
	}
	for j, c := range codingOrder {
		d.setDC(&d.planes[c], a.of(&d.planes[c]), channels[j])
	}
	count := int(r.Read(clog2(a.wide()*a.high()))) + 1
	if count != a.wide()*a.high() {
		return errNot("its blocks are not 8 x 8")
	}
	wide, high := ceil(a.wide(), tileBlocks), ceil(a.high(), tileBlocks)
	channels = []*modular.Channel{modular.NewChannel(wide, high), modular.NewChannel(wide, high), modular.NewChannel(count, 2), modular.NewChannel(a.wide(), a.high())}
	if err := modular.Read(r, d.planesC, metadata+i, channels); err != nil {
		return err
	}
	for _, kind := range channels[2].Samples[:count] {
		if kind != 0 {
			return errNot("its blocks are not 8 x 8")
		}
	}
	return d.setFactors(a, channels[0], channels[1])
}

// setDC keeps DC coefficients. Those of RGB get their offset back when all tables are known.
func (d *decoder) setDC(p *plane, in area, ch *modular.Channel) {
	if p.Component == nil {
		return
	}
	i := 0
	for y := in.y0; y < in.y1; y++ {
		for x := in.x0; x < in.x1; x++ {
			p.Blocks[y*p.Wide+x].DC = int16(ch.Samples[i])
			i++
		}
	}
}

// setFactors keeps the factors of chroma from luma.
func (d *decoder) setFactors(a area, cb, cr *modular.Channel) error {
	for i, ch := range []*modular.Channel{cb, cr} {
		for j, v := range ch.Samples {
			if v == 0 {
				continue
			}
			if v < -128 || v > 127 || d.chroma == nil {
				return malformed("a factor of chroma from luma is %d", v)
			}
			x, y := j%ch.Width, j/ch.Width
			d.chroma.factors[i][(a.y0/tileBlocks+y)*d.chroma.wide+a.x0/tileBlocks+x] = int8(v)
		}
	}
	return nil
}

// readACGlobal reads tables of quantisation, orders and distributions.
func (d *decoder) readACGlobal(r *bits.Reader, groups int) error {
	_, _, stream := d.streams()
	if r.Bool() {
		return errNot("it has no tables of quantisation")
	}
	if r.Read(3) != 7 {
		return errNot("it has no tables of quantisation")
	}
	r.Read(16)
	var channels []*modular.Channel
	for range 3 {
		channels = append(channels, modular.NewChannel(8, 8))
	}
	if err := modular.Read(r, d.planesC, stream, channels); err != nil {
		return err
	}
	for c, ch := range channels {
		for i := range ch.Samples {
			v := ch.Samples[zigzag[i]]
			if v < 1 || v > 65535 {
				return malformed("a step of quantisation is %d", v)
			}
			d.tables[c][transposed[i]] = uint16(v)
		}
	}
	for range 16 {
		if r.Read(3) != 0 {
			return errNot("it has tables for other blocks")
		}
	}
	d.finishDC()
	d.sets = int(r.Read(clog2(groups))) + 1
	if err := d.readOrders(r); err != nil {
		return err
	}
	if d.sets > 64 {
		return malformed("it has %d sets of distributions", d.sets)
	}
	var err error
	d.ac, err = entropy.ReadCode(r, d.sets*allContexts*d.blocks.count)
	return err
}

// finishDC gives the DC coefficients of RGB their offset back.
func (d *decoder) finishDC() {
	offsets := d.dcOffsets()
	for c := range d.planes {
		p := &d.planes[c]
		if p.Component == nil || offsets[c] == 0 {
			continue
		}
		for i := range p.Blocks {
			p.Blocks[i].DC -= int16(offsets[c])
		}
	}
	if d.chroma != nil {
		d.chroma.setScale(d.frame)
	}
}

// readOrders reads the orders of coefficients; only those of 8 x 8 blocks matter, but all
// that are named must be read.
func (d *decoder) readOrders(r *bits.Reader) error {
	d.orders = standardOrders()
	used := r.U32(&orderField)
	if used == 0 {
		return nil
	}
	code, err := entropy.ReadCode(r, permutationContexts)
	if err != nil {
		return err
	}
	dec := code.Decoder(r, 0)
	// Coefficients and lowest frequencies of each kind of order (I.2.4).
	sizes := [orders]int{64, 64, 256, 1024, 128, 256, 512, 4096, 2048, 16384, 8192, 65536, 32768}
	for kind := range orders {
		if used>>kind&1 == 0 {
			continue
		}
		for c := range 3 {
			p, err := readPermutation(r, dec, sizes[kind], sizes[kind]/64)
			if err != nil {
				return err
			}
			if kind > 0 {
				continue
			}
			for i, v := range p {
				d.orders[c][i] = transposed[v]
			}
		}
	}
	return dec.End()
}
