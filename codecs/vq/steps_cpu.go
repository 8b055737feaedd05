package vq

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// cpuSteps runs all steps in Go.
type cpuSteps struct {
	pool *pool.Pool
}

func (c cpuSteps) analyse(ctx context.Context, images []*raster.Image, o *Options) ([]*analysis, error) {
	list := make([]*analysis, len(images))
	for i, m := range images {
		var err error
		if list[i], err = c.analyseImage(ctx, m, o); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c cpuSteps) analyseImage(ctx context.Context, m *raster.Image, o *Options) (*analysis, error) {
	h := newHeader(m, o)
	a := &analysis{header: h, books: new(bookPair)}
	for i, b := range c.blocks(h, m) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		book, err := c.bookFor(ctx, b, i, o)
		if err != nil {
			return nil, err
		}
		b.search(book)
		if o.books == nil {
			book = b.dropUnused(book)
		}
		if i == 0 {
			a.books.luma = book
		} else {
			a.books.chroma = book
		}
		table := b.table()
		a.table = append(a.table, table)
		if h.raw() {
			continue
		}
		size := h.planeSizes()[i]
		a.symbols = append(a.symbols, symbols(c.pool, table, book, h.block.grid(size[0], size[1])))
	}
	return a, nil
}

// bookFor is the codebook of luma (0) or of chroma (1), shared or trained on b.
func (c cpuSteps) bookFor(ctx context.Context, b *cpuBlocks, i int, o *Options) (*codebook, error) {
	if o.books != nil {
		return o.books.list()[i], nil
	}
	return train(ctx, b, o.block, o.codewords(i), o.start, o.passes)
}

// blocks are the blocks of luma (or grey) and of chroma of m, slice after slice, of
// chroma first Co, then Cg.
func (c cpuSteps) blocks(h *header, m *raster.Image) []*cpuBlocks {
	size := h.planeSizes()
	k := h.block.k()
	per := h.block.grid(size[0][0], size[0][1]).blocks() * k
	luma := make([]byte, per*h.d)
	perChroma := 0
	var chroma []byte
	if h.colour() {
		perChroma = h.block.grid(size[1][0], size[1][1]).blocks() * k
		chroma = make([]byte, 2*perChroma*h.d)
	}
	c.pool.Each(h.d, func(z int) {
		ps := planes(c.pool, m.Slice(z), h.half())
		blocks(c.pool, ps[0], h.block, luma[z*per:(z+1)*per])
		for i, p := range ps[1:] {
			at := (2*z + i) * perChroma
			blocks(c.pool, p, h.block, chroma[at:at+perChroma])
		}
	})
	list := []*cpuBlocks{newCPUBlocks(c.pool, k, luma)}
	if h.colour() {
		list = append(list, newCPUBlocks(c.pool, k, chroma))
	}
	return list
}

func (c cpuSteps) sample(_ context.Context, m *raster.Image, o *Options) (samples [2][]byte, err error) {
	for i, b := range c.blocks(newHeader(m, o), m) {
		samples[i] = b.keep(o.codewords(i) * trainBlocks).samples
	}
	return samples, nil
}

func (c cpuSteps) train(ctx context.Context, sets [][]byte, o *Options) ([]*codebook, error) {
	books := make([]*codebook, len(sets))
	for i, samples := range sets {
		var err error
		b := newCPUBlocks(c.pool, o.block.k(), samples)
		if books[i], err = train(ctx, b, o.block, o.codewords(i), o.start, o.passes); err != nil {
			return nil, err
		}
	}
	return books, nil
}

func (c cpuSteps) expand(ctx context.Context, h *header, books *bookPair, table [][]uint16, m *raster.Image) error {
	list, sizes := books.list(), h.planeSizes()
	var at [2]int
	for z := range h.d {
		if err := ctx.Err(); err != nil {
			return err
		}
		var parts [][]uint16 // of each plane
		for i, s := range sizes {
			book, n := min(i, 1), h.block.grid(s[0], s[1]).blocks()
			parts = append(parts, table[book][at[book]:][:n])
			at[book] += n
		}
		slice := m.Slice(z)
		if !h.colour() {
			expand(c.pool, parts[0], list[0], plane{h.w, h.h, slice.Pix})
			continue
		}
		c.pool.Spans(h.h, h.bandRows(), func(lo, hi int) { c.expandBand(h, list, parts, slice, lo, hi) })
	}
	return nil
}

// bandRows is how many rows of a colour image are expanded at a time, so that the planes
// of a band stay in the cache until they are merged. They are whole blocks of all planes.
func (h *header) bandRows() int { return 8 * h.block.p }

// maxKeptBand is the size of the largest buffer for a band that is kept for the next, which
// serves images up to 10,000 pixels wide.
const maxKeptBand = 1 << 20

// bands are buffers for the planes of a band that nobody uses.
var bands = sync.Pool{New: func() any { return new([]byte) }}

// expandBand writes rows lo to hi-1 of a slice in colour, of whose planes parts are the
// index tables. Row lo begins a block of every plane.
func (c cpuSteps) expandBand(h *header, list []*codebook, parts [][]uint16, m *raster.Image, lo, hi int) {
	buffer := bands.Get().(*[]byte)
	defer func() {
		if cap(*buffer) <= maxKeptBand {
			bands.Put(buffer)
		}
	}()
	// A half of an odd number of rows or columns is rounded up.
	chromaRows := hi - lo
	if h.half() {
		chromaRows = (hi+1)/2 - lo/2
	}
	sizes := h.planeSizes()
	n := sizes[0][0] * (hi - lo)
	for _, size := range sizes[1:] {
		n += size[0] * chromaRows
	}
	if cap(*buffer) < n {
		*buffer = make([]byte, n)
	}
	room := (*buffer)[:n]
	ps := make([]plane, len(parts))
	for i, size := range sizes {
		first, rows := lo, hi-lo
		if i > 0 && h.half() {
			first, rows = lo/2, chromaRows
		}
		p := plane{size[0], rows, room[:size[0]*rows]}
		room = room[len(p.pix):]
		cols := h.block.grid(size[0], size[1]).cols
		expand(c.pool, parts[i][first/h.block.p*cols:], list[min(i, 1)], p)
		ps[i] = p
	}
	part := raster.Image{Shape: m.Shape, Pix: m.Pix[3*m.Width*lo : 3*m.Width*hi]}
	part.Height = hi - lo
	merge(c.pool, &part, ps, h.half())
}

// cpuBlocks is blocks in memory: all blocks of planes, or those to train on.
type cpuBlocks struct {
	vectors
	pool *pool.Pool
	keys []key // of the last search
}

func newCPUBlocks(c *pool.Pool, k int, samples []byte) *cpuBlocks {
	return &cpuBlocks{vectors: newVectors(c, k, samples), pool: c}
}

func (b *cpuBlocks) read(lo, hi int) ([]byte, error) { return b.samples[lo*b.k : hi*b.k], nil }

// keep is a sample of at most most blocks: see sample.
func (b *cpuBlocks) keep(most int) *cpuBlocks {
	return &cpuBlocks{vectors: sample(b.vectors, most), pool: b.pool}
}

func (b *cpuBlocks) search(book *codebook) {
	if b.keys == nil {
		b.keys = make([]key, b.m())
	}
	search(b.pool, b.vectors, book, b.keys)
}

func (b *cpuBlocks) gather(n int) *cells { return gather(b.pool, b.vectors, b.keys, n) }

// halves cuts every cell in two: see cut. book holds codewords as they are after the
// search, and t what gather returned since.
func (b *cpuBlocks) halves(book *codebook, t *cells) []half {
	members := groups(b.keys, t.count)
	h := make([]half, book.n())
	room := make([]byte, 2*len(book.words))
	b.pool.Each(len(h), func(i int) {
		h[i] = cut(b.vectors, b.keys, members[i], book.word(i), t.sum[i*b.k:][:b.k], room[2*i*b.k:][:2*b.k])
	})
	return h
}

// count is how many blocks chose each of n codewords.
func (b *cpuBlocks) count(n int) []uint32 {
	count := make([]uint32, n)
	for _, k := range b.keys {
		count[k.index()]++
	}
	return count
}

// dropUnused returns book without the codewords that no block chose, and gives the blocks
// the new indices.
func (b *cpuBlocks) dropUnused(book *codebook) *codebook {
	less, to := used(book, b.count(book.n()))
	if less.n() < book.n() {
		b.renumber(to)
		return less
	}
	return book
}

// renumber gives index i the number to[i].
func (b *cpuBlocks) renumber(to []uint16) {
	for i, k := range b.keys {
		b.keys[i] = makeKey(k.distance(), int(to[k.index()]))
	}
}

func (b *cpuBlocks) table() []uint16 {
	t := make([]uint16, len(b.keys))
	for i, k := range b.keys {
		t[i] = uint16(k.index())
	}
	return t
}

// symbols is the table t as the index coder takes it; each plane has the grid g and the
// codebook is finished.
func symbols(c *pool.Pool, t []uint16, book *codebook, g grid) []symbol {
	out := make([]symbol, len(t))
	type part struct {
		plane int
		segment
	}
	var parts []part
	for p := range len(t) / g.blocks() {
		for _, s := range g.segments() {
			parts = append(parts, part{p * g.blocks(), s})
		}
	}
	side := book.ranker(c)
	c.Each(len(parts), func(i int) {
		p := parts[i]
		ranks(t[p.plane:][:g.blocks()], g.cols, p.segment, side, out[p.plane:])
	})
	return out
}

// rowsAtOnce is how many rows of a plane or of blocks a goroutine takes at a
// time: enough that handing them out costs nothing.
const rowsAtOnce = 16

// planes splits slice m (8-bit grey or RGB) into its planes: the samples
// themselves, or Y, Co, Cg of the YCoCg-R transform (Malvar and Sullivan, JVT-I014,
// 2003):
//
//	Co = R - B    t = B + (Co >> 1)    Cg = G - t    Y = t + (Cg >> 1)
//
// The transform is exact on integers, but Co and Cg have 9 bits; they are kept as
// (C + 256) >> 1, so that 128 is no colour. With half, both are averaged over
// 2 x 2 samples, rounded, where the last column and row count for what lies
// beyond them.
func planes(c *pool.Pool, m *raster.Image, half bool) []plane {
	w, h := m.Width, m.Height
	if m.Channels == 1 {
		return []plane{{w, h, m.Pix}}
	}
	y, co, cg := newPlane(w, h), newPlane(w, h), newPlane(w, h)
	c.Spans(h, rowsAtOnce, func(lo, hi int) {
		lumaChroma(m.Pix[3*lo*w:3*hi*w], y.pix[lo*w:hi*w], co.pix[lo*w:hi*w], cg.pix[lo*w:hi*w])
	})
	if half {
		co, cg = halve(c, co), halve(c, cg)
	}
	return []plane{y, co, cg}
}

func newPlane(w, h int) plane { return plane{w, h, make([]byte, w*h)} }

func lumaChroma(rgb, y, co, cg []byte) {
	co, cg = co[:len(y)], cg[:len(y)]
	for i := range y {
		s := rgb[3*i : 3*i+3 : 3*i+3]
		r, g, b := int(s[0]), int(s[1]), int(s[2])
		o := r - b
		t := b + o>>1
		e := g - t
		y[i] = byte(t + e>>1)
		co[i] = byte((o + 256) >> 1)
		cg[i] = byte((e + 256) >> 1)
	}
}

func halve(c *pool.Pool, a plane) plane {
	b := newPlane((a.w+1)/2, (a.h+1)/2)
	c.Spans(b.h, rowsAtOnce, func(lo, hi int) {
		for y := lo; y < hi; y++ {
			r0 := a.pix[2*y*a.w:][:a.w]
			r1 := a.pix[min(2*y+1, a.h-1)*a.w:][:a.w]
			out := b.pix[y*b.w:][:b.w]
			for x := range out {
				u, v := 2*x, min(2*x+1, a.w-1)
				out[x] = byte((int(r0[u]) + int(r0[v]) + int(r1[u]) + int(r1[v]) + 2) >> 2)
			}
		}
	})
	return b
}

// merge is the inverse of planes, into slice m in colour. Chroma of half size is
// repeated. Sums that leave 0 to 255 are clipped.
func merge(c *pool.Pool, m *raster.Image, ps []plane, half bool) {
	w, h := m.Width, m.Height
	shift := 0
	if half {
		shift = 1
	}
	c.Spans(h, rowsAtOnce, func(lo, hi int) {
		for y := lo; y < hi; y++ {
			luma := ps[0].pix[y*w:][:w]
			co := ps[1].pix[(y>>shift)*ps[1].w:][:ps[1].w]
			cg := ps[2].pix[(y>>shift)*ps[2].w:][:ps[2].w]
			mergeRow(m.Pix[3*y*w:][:3*w], luma, co, cg, shift)
		}
	})
}

// mergeRowGo is merge for a row. Samples of chroma are for 1<<shift pixels.
func mergeRowGo(rgb, luma, co, cg []byte, shift int) {
	for x, l := range luma {
		o, e := 2*int(co[x>>shift])-256, 2*int(cg[x>>shift])-256
		t := int(l) - e>>1
		b := t - o>>1
		s := rgb[3*x : 3*x+3 : 3*x+3]
		s[0], s[1], s[2] = clip(b+o), clip(e+t), clip(b)
	}
}

func clip(v int) byte { return byte(min(max(v, 0), 255)) }

// blocks cuts a plane into M x K samples at out, which has that length. The last
// column and row of the plane are repeated where a block reaches beyond them.
func blocks(c *pool.Pool, a plane, s shape, out []byte) {
	g := s.grid(a.w, a.h)
	k := s.k()
	c.Spans(g.rows, rowsAtOnce, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			for i := range s.p {
				row := a.pix[min(r*s.p+i, a.h-1)*a.w:][:a.w]
				to := out[r*g.cols*k+i*s.q:]
				whole := a.w / s.q
				for b := range whole {
					copy(to[b*k:b*k+s.q], row[b*s.q:])
				}
				for b := whole; b < g.cols; b++ {
					for j := range s.q {
						to[b*k+j] = row[min(b*s.q+j, a.w-1)]
					}
				}
			}
		}
	})
}

// expand writes the codewords of an index table to plane a (Algorithm 2). Blocks
// that reach beyond the plane are cut.
func expand(c *pool.Pool, table []uint16, book *codebook, a plane) {
	s, k := book.shape, book.k()
	g := s.grid(a.w, a.h)
	c.Spans(g.rows, rowsAtOnce, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			line := table[r*g.cols:][:g.cols]
			if s == (shape{4, 4}) && r*4+4 <= a.h {
				expandFour(a.pix[r*4*a.w:][:4*a.w], line, book.words)
				continue
			}
			for i := 0; i < s.p && r*s.p+i < a.h; i++ {
				expandRow(a.pix[(r*s.p+i)*a.w:][:a.w], line, book.words[i*s.q:], k, s.q)
			}
		}
	})
}

// expandRow writes a row of the blocks of a line: q samples of each codeword, which begin k
// after those of the codeword before it. The sizes that there are have a loop each, since
// the time of a copy of unknown length is many times that of a known one.
func expandRow(row []byte, line []uint16, words []byte, k, q int) {
	le := binary.LittleEndian
	whole := line[:len(row)/q]
	switch q {
	case 2:
		for b, x := range whole {
			le.PutUint16(row[2*b:], le.Uint16(words[int(x)*k:]))
		}
	case 4:
		for b, x := range whole {
			le.PutUint32(row[4*b:], le.Uint32(words[int(x)*k:]))
		}
	case 8:
		for b, x := range whole {
			le.PutUint64(row[8*b:], le.Uint64(words[int(x)*k:]))
		}
	}
	if n := len(whole); n < len(line) {
		copy(row[n*q:], words[int(line[n])*k:])
	}
}

// expandFour writes the four rows of a line of blocks of 4 x 4 samples at once, for which a codeword is
// read once.
func expandFour(rows []byte, line []uint16, words []byte) {
	le := binary.LittleEndian
	w := len(rows) / 4
	r0, r1, r2, r3 := rows[:w], rows[w:][:w], rows[2*w:][:w], rows[3*w:][:w]
	n := w / 4
	for b, x := range line[:n] {
		word := words[int(x)*16:][:16]
		upper, lower := le.Uint64(word), le.Uint64(word[8:])
		le.PutUint32(r0[4*b:], uint32(upper))
		le.PutUint32(r1[4*b:], uint32(upper>>32))
		le.PutUint32(r2[4*b:], uint32(lower))
		le.PutUint32(r3[4*b:], uint32(lower>>32))
	}
	if n < len(line) {
		word := words[int(line[n])*16:][:16]
		copy(r0[4*n:], word[:4])
		copy(r1[4*n:], word[4:8])
		copy(r2[4*n:], word[8:12])
		copy(r3[4*n:], word[12:16])
	}
}

// search finds the nearest codeword of every block, exactly: the least key of
// (distance, index) over the codebook.
func search(c *pool.Pool, b vectors, book *codebook, keys []key) {
	f := newFinder(book, bestKernel)
	c.Spans(len(keys), blocksAtOnce, func(lo, hi int) {
		f.find(b.part(lo, hi), keys[lo:hi])
	})
}

// blocksAtOnce is how many blocks a goroutine takes at a time.
const blocksAtOnce = 1024
