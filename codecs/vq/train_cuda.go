//go:build cuda && cgo

package vq

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/pelmill/pelmill/gpu"
)

// cardSource is blocks on a card.
type cardSource struct {
	*card
	k, count int
	buffer   *gpu.Buffer
}

func (t *cardSource) m() int { return t.count }

func (t *cardSource) read(lo, hi int) ([]byte, error) {
	out := make([]byte, (hi-lo)*t.k)
	return out, t.stream.Download(out, t.buffer, lo*t.k)
}

func (t *cardSource) sample(most int) (source, error) {
	if t.count <= most {
		return t, nil
	}
	s, err := t.room(t.k, most)
	if err != nil {
		return nil, err
	}
	return s, t.takeSample(s, t.buffer.Ptr, 0, t.count, t.count)
}

// room is a source of count blocks that are still to be brought.
func (d *card) room(k, count int) (*cardSource, error) {
	b, err := d.lane.Device(count * k)
	if err != nil {
		return nil, err
	}
	return &cardSource{card: d, k: k, count: count, buffer: b}, nil
}

// takeSample copies to t what the sample of m blocks has of count blocks from first.
func (d *card) takeSample(t *cardSource, blocks gpu.Ptr, first, count, m int) error {
	return launch(d, "vq_sample", t.count*t.k/4, &sampleParams{
		Out: t.buffer.Ptr, Blocks: blocks,
		Seed: sampleSeed, First: uint64(first), Count: uint64(count), M: uint64(m),
		Most: uint32(t.count), K: uint32(t.k),
	})
}

// train is the function train, for all sets in the same launches.
func (d *card) train(ctx context.Context, sets []source, s shape, n []int, how start, passes int) ([]*codebook, error) {
	books := make([]*codebook, len(sets))
	var batch []*pupil
	var of []int
	for i, all := range sets {
		var err error
		if books[i], err = distinct(all, s, n[i]); err != nil {
			return nil, err
		}
		if books[i] != nil {
			continue
		}
		b, err := all.sample(n[i] * trainBlocks)
		if err != nil {
			return nil, err
		}
		if b.m() < all.m() {
			if books[i], err = distinct(b, s, n[i]); err != nil {
				return nil, err
			}
		}
		if books[i] == nil {
			batch, of = append(batch, &pupil{blocks: b.(*cardSource).buffer.Ptr, m: b.m(), n: n[i]}), append(of, i)
		}
	}
	if err := d.teach(ctx, s, batch, how, passes); err != nil {
		return nil, err
	}
	for j, p := range batch {
		books[of[j]] = finished(p.book)
	}
	return books, nil
}

// maxTrainBlocks keeps the sums of samples of a cell within 32 bits.
const maxTrainBlocks = 1 << 24

// pupil is blocks for which a codebook is trained.
type pupil struct {
	blocks gpu.Ptr
	m, n   int       // blocks, codewords
	book   *codebook // the result
}

// teacher trains the codebooks of a batch. Its methods but those that download put
// launches into the stream and wait for nothing.
type teacher struct {
	*card
	shape  shape
	batch  []*pupil
	places []trainPlaces // of each

	most, mostBlocks, mostDrawn int // of any of the batch: codewords, blocks, blocks to draw from

	list, searches *gpu.Buffer // entries of the batch
	words, work    *gpu.Buffer
	sums           *gpu.Buffer // what is zero before a pass
}

// trainPlaces are where the parts of one training lie in the buffers of a teacher.
type trainPlaces struct {
	words, beyond, beyondCounts, state                   int // in words
	sums, counts, far                                    int // in sums
	keys, last, a, b, gains, ways, limits, others, costs int // in work
	cheap, dear, near                                    int
}

// teach trains the codebooks of a batch in place of seed or split and lloyd.
func (d *card) teach(ctx context.Context, s shape, batch []*pupil, how start, passes int) error {
	if len(batch) == 0 {
		return nil
	}
	t, err := newTeacher(d, s, batch)
	if err != nil {
		return err
	}
	defer t.free()
	begin := t.seed
	if how == startSplit {
		begin = t.split
	}
	if err := begin(ctx); err != nil {
		return err
	}
	if err := t.lloyd(ctx, t.most, passes); err != nil {
		return err
	}
	return t.finish()
}

func newTeacher(d *card, s shape, batch []*pupil) (*teacher, error) {
	t := &teacher{card: d, shape: s, batch: batch, places: make([]trainPlaces, len(batch))}
	k := s.k()
	var words, sums, work gpu.Layout
	for i, p := range batch {
		if p.m > maxTrainBlocks {
			return nil, fmt.Errorf("vq: %d blocks to train on, a card takes %d: %w", p.m, maxTrainBlocks, gpu.ErrOutOfMemory)
		}
		n, drawn := p.n, min(p.m, p.n*seedBlocks)
		t.most, t.mostBlocks, t.mostDrawn = max(t.most, n), max(t.mostBlocks, p.m), max(t.mostDrawn, drawn)
		t.places[i].words = words.Take(n * k)
		t.places[i].sums = sums.Take(4 * n * k)
		t.places[i].counts = sums.Take(4 * n)
		t.places[i].far = sums.Take(8 * n)
	}
	for i, p := range batch {
		n, x := p.n, &t.places[i]
		// Behind all codewords, which are brought back in one piece.
		x.beyond, x.beyondCounts, x.state = words.Take(4*n*k), words.Take(4*n), words.Take(16)
		x.keys, x.last = work.Take(8*p.m), work.Take(n*k)
		x.a, x.b, x.gains = work.Take(n*k), work.Take(n*k), work.Take(8*n)
		x.ways, x.limits = work.Take(2*n*k), work.Take(4*n)
		x.others, x.costs = work.Take(8*n), work.Take(8*n)
		x.cheap, x.dear = work.Take(2*n), work.Take(2*n)
		x.near = work.Take(4 * min(p.m, n*seedBlocks))
	}
	var err error
	if t.words, err = d.zeros(words.Size); err != nil {
		return nil, err
	}
	if t.sums, err = d.lane.Device(sums.Size); err != nil {
		return nil, err
	}
	if t.work, err = d.lane.Device(work.Size); err != nil {
		return nil, err
	}
	list, searches := make([]batchTraining, len(batch)), make([]batchSearch, len(batch))
	for i, p := range batch {
		x := t.places[i]
		in := func(b *gpu.Buffer, at int) gpu.Ptr { return b.Ptr + gpu.Ptr(at) }
		list[i] = batchTraining{
			Blocks: p.blocks, Keys: in(t.work, x.keys), Words: in(t.words, x.words), Last: in(t.work, x.last),
			Sums: in(t.sums, x.sums), Counts: in(t.sums, x.counts), Far: in(t.sums, x.far),
			A: in(t.work, x.a), B: in(t.work, x.b), Gains: in(t.work, x.gains), Ways: in(t.work, x.ways), Limits: in(t.work, x.limits),
			Beyond: in(t.words, x.beyond), BeyondCounts: in(t.words, x.beyondCounts),
			Others: in(t.work, x.others), Costs: in(t.work, x.costs), Cheap: in(t.work, x.cheap), Dear: in(t.work, x.dear),
			Near: in(t.work, x.near), State: in(t.words, x.state),
			M: uint32(p.m), N: uint32(p.n), K: uint32(k),
		}
		searches[i] = batchSearch{
			Keys: list[i].Keys, Blocks: p.blocks, Words: list[i].Words, Rest: list[i].State, M: uint32(p.m), N: uint32(p.n),
		}
	}
	if t.list, err = uploadList(d, list); err != nil {
		return nil, err
	}
	t.searches, err = uploadList(d, searches)
	return t, err
}

// uploadList brings the entries of a batch to the card.
func uploadList[T batchImage | batchSearch | batchTraining | batchIndex](d *card, list []T) (*gpu.Buffer, error) {
	return d.upload(unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0]))))
}

func (t *teacher) free() {
	for _, b := range []*gpu.Buffer{t.words, t.sums, t.work, t.list, t.searches} {
		b.Free()
	}
}

// each launches a kernel with at least the given number of threads for each codebook.
func each[P any](t *teacher, kernel string, threads int, params *P) error {
	return eachGrid(t, kernel, gpu.Grid{Blocks: [3]int{(threads + cardThreads - 1) / cardThreads}}, params)
}

func eachGrid[P any](t *teacher, kernel string, g gpu.Grid, params *P) error {
	g.Blocks[1] = len(t.batch)
	return launchGrid(t.card, kernel, g, params)
}

// oneBlock is the grid of the kernels that have one block of threads for each codebook.
var oneBlock = gpu.Grid{Blocks: [3]int{1}, Threads: [3]int{1024}}

// seed is the function seed. The rounds are as many as the largest codebook takes; the
// others wait.
func (t *teacher) seed(ctx context.Context) error {
	for n := 0; n < t.most; n += max(1, min(n/seedRounds, t.most-n)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.draw(); err != nil {
			return err
		}
		if err := t.approach(); err != nil {
			return err
		}
	}
	return nil
}

func (t *teacher) draw() error {
	return eachGrid(t, "vq_batch_draw", oneBlock, &batchParams{t.list.Ptr})
}

func (t *teacher) approach() error {
	return each(t, "vq_batch_approach", t.mostDrawn, &batchParams{t.list.Ptr})
}

// split is the function split. A codebook that has all its codewords waits for the
// larger ones.
func (t *teacher) split(ctx context.Context) error {
	for now := 1; ; now *= 2 {
		if err := t.resume(false); err != nil {
			return err
		}
		if err := t.cells(now); err != nil {
			return err
		}
		if now < t.most {
			if err := t.halves(now); err != nil {
				return err
			}
			if err := t.order(now, false); err != nil {
				return err
			}
		}
		if err := eachGrid(t, "vq_batch_grow", oneBlock, &batchMostParams{t.list.Ptr, uint32(now)}); err != nil {
			return err
		}
		if now >= t.most {
			return t.resume(true)
		}
		if err := t.lloyd(ctx, 2*now, 2); err != nil {
			return err
		}
	}
}

func (t *teacher) resume(all bool) error {
	p := batchResumeParams{List: t.list.Ptr, Count: uint32(len(t.batch))}
	if all {
		p.All = 1
	}
	return launch(t.card, "vq_batch_resume", len(t.batch), &p)
}

// lloyd is the function lloyd, for codebooks of at most most codewords.
func (t *teacher) lloyd(ctx context.Context, most, passes int) error {
	most = min(most, t.most)
	shifted := shiftedPasses(passes)
	for pass := range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.cells(most); err != nil {
			return err
		}
		bold := 0
		if pass < shifted {
			bold = boldness(pass, shifted)
			if err := t.halves(most); err != nil {
				return err
			}
			if err := t.nearest(most); err != nil {
				return err
			}
			if err := t.order(most, true); err != nil {
				return err
			}
		}
		if err := t.shift(most, bold, shifted); err != nil {
			return err
		}
	}
	return nil
}

// cells is search, gather and centre.
func (t *teacher) cells(most int) error {
	if err := t.search(most); err != nil {
		return err
	}
	if err := t.gather(most); err != nil {
		return err
	}
	return t.centre(most)
}

func (t *teacher) search(most int) error {
	if p := t.batch[0]; len(t.batch) == 1 && t.many(t.shape.k(), p.m) {
		return t.launchSearch(t.shape.k(), &searchParams{
			Keys: t.work.Ptr + gpu.Ptr(t.places[0].keys), Blocks: p.blocks, Words: t.words.Ptr + gpu.Ptr(t.places[0].words),
			M: uint64(p.m), N: uint32(min(p.n, most)),
		})
	}
	return t.searchBatch(t.shape.k(), t.searches, len(t.batch), t.mostBlocks, most)
}

// searchBatch runs the searches of a list, each over at most m blocks.
func (d *card) searchBatch(k int, list *gpu.Buffer, count, m, most int) error {
	g := gpu.Grid{Blocks: [3]int{(m + searchFew - 1) / searchFew, count}}
	return launchGrid(d, fmt.Sprintf("vq_batch_search_%d", k), g, &batchMostParams{list.Ptr, uint32(most)})
}

// adding is the grid of a kernel that adds blocks to cells, and its parameters.
func (t *teacher) adding(most int) (gpu.Grid, *batchAddParams) {
	const words = 8 // of blocks, for a thread at least
	c, k := t.lane.Card(), t.shape.k()
	blocks := (t.mostBlocks*k/4 + words*cardThreads - 1) / (words * cardThreads)
	// Every block of threads brings its sums to those of the others.
	g := gpu.Grid{Blocks: [3]int{min(blocks, max(1, 8*c.Multiprocessors/len(t.batch)))}}
	for _, p := range t.batch {
		if bytes := 4 * min(most, p.n) * (k + 1); bytes <= c.SharedMemory/2 {
			g.Shared = max(g.Shared, bytes)
		}
	}
	return g, &batchAddParams{t.list.Ptr, uint32(most), uint32(g.Shared)}
}

func (t *teacher) gather(most int) error {
	if err := t.stream.Fill(t.sums, 0, t.sums.Size, 0); err != nil {
		return err
	}
	g, p := t.adding(most)
	return eachGrid(t, "vq_batch_gather", g, p)
}

func (t *teacher) centre(most int) error {
	return each(t, "vq_batch_centre", most*t.shape.k(), &batchMostParams{t.list.Ptr, uint32(most)})
}

func (t *teacher) halves(most int) error {
	err := each(t, "vq_batch_farthest", t.mostBlocks, &batchMostParams{t.list.Ptr, uint32(most)})
	if err != nil {
		return err
	}
	p := &batchHalvesParams{t.list.Ptr, uint32(most), 1}
	if err := each(t, "vq_batch_halves", 32*most, p); err != nil {
		return err
	}
	p.First = 0
	g, add := t.adding(most)
	for range cutPasses {
		if err := eachGrid(t, "vq_batch_beyond", g, add); err != nil {
			return err
		}
		if err := each(t, "vq_batch_halves", 32*most, p); err != nil {
			return err
		}
	}
	return nil
}

func (t *teacher) nearest(most int) error {
	return each(t, "vq_batch_nearest", 32*most, &batchMostParams{t.list.Ptr, uint32(most)})
}

func (t *teacher) order(most int, costs bool) error {
	p := &batchOrderParams{List: t.list.Ptr, Most: uint32(most)}
	if costs {
		p.Costs = 1
	}
	return each(t, "vq_batch_order", most, p)
}

func (t *teacher) shift(most, bold, over int) error {
	return eachGrid(t, "vq_batch_shift", oneBlock, &batchShiftParams{t.list.Ptr, uint32(most), uint32(bold), uint32(over)})
}

// finish brings the codewords back.
func (t *teacher) finish() error {
	last := len(t.batch) - 1
	out, err := t.download(t.words, t.places[last].words+t.batch[last].n*t.shape.k())
	if err != nil {
		return err
	}
	for i, p := range t.batch {
		at := t.places[i].words
		p.book = &codebook{shape: t.shape, words: out[at:][:p.n*t.shape.k()]}
	}
	return nil
}
