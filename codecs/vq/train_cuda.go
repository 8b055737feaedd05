//go:build cuda && cgo

package vq

import (
	"fmt"

	"github.com/pelmill/pelmill/gpu"
)

// cardTrain is blocks to train on, on a card.
type cardTrain struct {
	*card
	k, count int
	blocks   *gpu.Buffer
	keys     *gpu.Buffer // of the last search
	words    *gpu.Buffer // codewords of the last call that had any

	room  int         // cells that the buffers below have room for
	cells *gpu.Buffer // sums, then counts, of gather
	cuts  *gpu.Buffer // see cutParts
	other *gpu.Buffer // keys of nearest
}

// maxTrainBlocks keeps the sums of samples of a cell within 32 bits.
const maxTrainBlocks = 1 << 24

func (t *cardTrain) m() int { return t.count }

func (t *cardTrain) read(lo, hi int) ([]byte, error) {
	out := make([]byte, (hi-lo)*t.k)
	return out, t.stream.Download(out, t.blocks, lo*t.k)
}

func (t *cardTrain) sample(most int) (trainSet, error) {
	s := &cardTrain{card: t.card, k: t.k, count: min(most, t.count), blocks: t.blocks}
	if t.count > most {
		var err error
		if s.blocks, err = t.lane.Device(most * t.k); err != nil {
			return nil, err
		}
		if err := t.takeSample(s, t.blocks.Ptr, 0, t.count, t.count); err != nil {
			return nil, err
		}
	}
	if s.count > fewBlocks {
		return s, nil
	}
	samples, err := s.read(0, s.count)
	if err != nil {
		return nil, err
	}
	return newCPUBlocks(t.crew, t.k, samples), nil
}

// fewBlocks are searched by the CPU in less time than a card is asked and answers. The
// draws of k-means++ for 256 codewords look at so many, some forty times.
const fewBlocks = 4096

// bring puts the codewords on the card and makes room for their cells.
func (t *cardTrain) bring(book *codebook) error {
	n := book.n()
	if t.room < n {
		for _, b := range []*gpu.Buffer{t.words, t.cells, t.cuts, t.other} {
			if b != nil {
				b.Free()
			}
		}
		n := max(n, 2*t.room) // a codebook that grows asks seldom
		t.words, t.cells, t.cuts, t.other, t.room = nil, nil, nil, nil, 0
		for _, b := range []struct {
			buffer **gpu.Buffer
			size   int
		}{
			{&t.words, n * t.k}, {&t.cells, 4 * n * (t.k + 1)}, {&t.cuts, t.parts(n).size}, {&t.other, 8 * n},
		} {
			var err error
			if *b.buffer, err = t.lane.Device(b.size); err != nil {
				return err
			}
		}
		t.room = n
	}
	return t.stream.Upload(t.words, 0, book.words)
}

func (t *cardTrain) search(book *codebook) error {
	if t.count > maxTrainBlocks {
		return fmt.Errorf("vq: %d blocks to train on, a card takes %d: %w", t.count, maxTrainBlocks, gpu.ErrOutOfMemory)
	}
	if t.keys == nil {
		var err error
		if t.keys, err = t.lane.Device(8 * t.count); err != nil {
			return err
		}
	}
	if err := t.bring(book); err != nil {
		return err
	}
	return t.launchSearch(t.k, &searchParams{
		Keys: t.keys.Ptr, Blocks: t.blocks.Ptr, Words: t.words.Ptr, M: uint64(t.count), N: uint32(book.n()),
	})
}

func (t *cardTrain) distances() ([]uint32, error) {
	keys, err := t.download(t.keys, 8*t.count)
	if err != nil {
		return nil, err
	}
	d := make([]uint32, t.count)
	for i, k := range gpu.View[uint64](keys) {
		d[i] = key(k).distance()
	}
	return d, nil
}

// addGrid is the grid of a kernel that adds blocks to n cells, and whether the cells
// are in shared memory.
func (t *cardTrain) addGrid(n int) (g gpu.Grid, shared uint32) {
	const each = 8 // words of blocks for a thread
	c := t.lane.Card()
	g.Blocks[0] = min((t.count*t.k/4+each*cardThreads-1)/(each*cardThreads), 4*c.Multiprocessors)
	if bytes := 4 * n * (t.k + 1); bytes <= c.SharedMemory/2 {
		g.Shared, shared = bytes, 1
	}
	return g, shared
}

func (t *cardTrain) gather(n int) (*cells, error) {
	size := 4 * n * (t.k + 1)
	if err := t.stream.Fill(t.cells, 0, size, 0); err != nil {
		return nil, err
	}
	g, shared := t.addGrid(n)
	err := launchGrid(t.card, "vq_gather", g, &gatherParams{
		Sums: t.cells.Ptr, Counts: t.cells.Ptr + gpu.Ptr(4*n*t.k), Blocks: t.blocks.Ptr, Keys: t.keys.Ptr,
		M: uint32(t.count), N: uint32(n), K: uint32(t.k), Shared: shared,
	})
	if err != nil {
		return nil, err
	}
	out, err := t.download(t.cells, size)
	if err != nil {
		return nil, err
	}
	all := gpu.View[uint32](out)
	c := newCells(n, t.k)
	for i := range c.sum {
		c.sum[i] = uint64(all[i])
	}
	copy(c.count, all[n*t.k:])
	return c, nil
}

// cutParts are the places of what halves works with in one buffer.
type cutParts struct {
	gains, a, b  int // what is brought back, up to ways
	ways, limits int
	far          int // from here on zeros at first
	beyond       int // sums, then counts
	size         int
}

func (t *cardTrain) parts(n int) (p cutParts) {
	p.a = 8 * n
	p.b = p.a + n*t.k
	p.ways = p.b + n*t.k
	p.limits = p.ways + 2*n*t.k
	p.far = (p.limits + 4*n + 7) &^ 7
	p.beyond = p.far + 8*n
	p.size = p.beyond + 4*n*(t.k+1)
	return p
}

func (t *cardTrain) halves(book *codebook, _ *cells) ([]half, error) {
	if err := t.bring(book); err != nil {
		return nil, err
	}
	n, k := book.n(), t.k
	parts := t.parts(n)
	if err := t.stream.Fill(t.cuts, parts.far, parts.size-parts.far, 0); err != nil {
		return nil, err
	}
	at := func(offset int) gpu.Ptr { return t.cuts.Ptr + gpu.Ptr(offset) }
	m32, n32, k32 := uint32(t.count), uint32(n), uint32(k)
	err := launch(t.card, "vq_farthest", t.count, &farthestParams{Far: at(parts.far), Keys: t.keys.Ptr, M: m32, N: n32})
	if err != nil {
		return nil, err
	}
	p := halvesParams{
		A: at(parts.a), B: at(parts.b), Gains: at(parts.gains), Ways: at(parts.ways), Limits: at(parts.limits),
		Beyond: at(parts.beyond), BeyondCounts: at(parts.beyond + 4*n*k), Far: at(parts.far),
		Sums: t.cells.Ptr, Counts: t.cells.Ptr + gpu.Ptr(4*n*k), Blocks: t.blocks.Ptr, Words: t.words.Ptr,
		M: m32, N: n32, K: k32, First: 1,
	}
	if err := launch(t.card, "vq_halves", 32*n, &p); err != nil {
		return nil, err
	}
	p.First = 0
	g, shared := t.addGrid(n)
	for range cutPasses {
		err := launchGrid(t.card, "vq_beyond", g, &beyondParams{
			Sums: p.Beyond, Counts: p.BeyondCounts, Blocks: p.Blocks, Keys: t.keys.Ptr, Ways: p.Ways, Limits: p.Limits,
			M: m32, N: n32, K: k32, Shared: shared,
		})
		if err != nil {
			return nil, err
		}
		if err := launch(t.card, "vq_halves", 32*n, &p); err != nil {
			return nil, err
		}
	}
	out, err := t.download(t.cuts, parts.ways)
	if err != nil {
		return nil, err
	}
	h := make([]half, n)
	for i, gain := range gpu.View[uint64](out[:parts.a]) {
		h[i] = half{out[parts.a+i*k:][:k:k], out[parts.b+i*k:][:k:k], gain}
	}
	return h, nil
}

func (t *cardTrain) nearest(book *codebook) ([]key, error) {
	if err := t.bring(book); err != nil {
		return nil, err
	}
	n := book.n()
	err := launch(t.card, "vq_nearest", 32*n, &nearestParams{Keys: t.other.Ptr, Words: t.words.Ptr, N: uint32(n), K: uint32(t.k)})
	if err != nil {
		return nil, err
	}
	out, err := t.download(t.other, 8*n)
	if err != nil {
		return nil, err
	}
	keys := make([]key, n)
	for i, k := range gpu.View[uint64](out) {
		keys[i] = key(k)
	}
	return keys, nil
}
