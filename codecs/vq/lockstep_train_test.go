//go:build cuda && cgo

package vq

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// The steps of training, for batches of codebooks of different sizes: after each the batch
// on a device has what the same sets have in Go, and in the end the same codebooks.
func TestLockstepTraining(t *testing.T) {
	dev := gputest.Device(t, nil)
	batches := 600
	if testing.Short() {
		batches = 6 // under compute-sanitizer a kernel takes a hundred times as long
	}
	const at = 30
	for first := 0; first < batches; first += at {
		err := dev.Do(context.Background(), func(l *gpu.Lane) error {
			for seed := first; seed < min(first+at, batches); seed++ {
				d := newDeviceSteps(l, pool.New())
				r := rand.New(rand.NewPCG(uint64(seed), 79))
				if r.IntN(2) == 0 {
					d.kernels = withoutTensorCores()
				}
				s := []shape{{2, 2}, {4, 2}, {4, 4}, {8, 8}}[r.IntN(4)]
				var sets []*cpuBlocks
				var n []int
				for range 1 + r.IntN(6) {
					m := 1 + r.IntN(1+r.IntN(3000))
					sets = append(sets, newCPUBlocks(d.pool, s.k(), testVectors(r, s.k(), m)))
					n = append(n, 2+r.IntN(1+r.IntN(300)))
				}
				if r.IntN(20) == 0 && !testing.Short() {
					n[0] = 1000 + r.IntN(3097)
				}
				if err := lockstepBatch(d, s, sets, n, startKMeans, 4); err != nil {
					return fmt.Errorf("batch %d: k-means++: %w", seed, err)
				}
				if err := lockstepBatch(d, s, sets, n, startSplit, 2); err != nil {
					return fmt.Errorf("batch %d: split: %w", seed, err)
				}
				if err := lockstepTrain(d, s, sets, n, 1+r.IntN(20)); err != nil {
					return fmt.Errorf("batch %d: %w", seed, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fetchPart is n numbers at a place in a buffer of a trainer.
func fetchPart[T uint32 | uint64](t *trainer, b *gpu.Buffer, at, n int) ([]T, error) {
	var zero T
	out := make([]byte, int(unsafe.Sizeof(zero))*n)
	err := t.stream.Download(out, b, at)
	return gpu.View[T](out), err
}

// lockstepBatch compares the start and some passes step by step.
func lockstepBatch(d *deviceSteps, s shape, sets []*cpuBlocks, n []int, how start, passes int) error {
	ctx := context.Background()
	var jobs []*trainingJob
	for i, b := range sets {
		on, err := d.stream.Put(b.samples)
		if err != nil {
			return err
		}
		defer on.Free()
		jobs = append(jobs, &trainingJob{blocks: on.Ptr, m: b.m(), n: n[i]})
	}
	t, err := newTrainer(d, s, jobs)
	if err != nil {
		return err
	}
	defer t.free()
	books, rests := make([]*codebook, len(sets)), make([]bool, len(sets))
	begin, first := t.seed, seed
	if how == startSplit {
		begin, first = t.split, split
	}
	if err := begin(ctx); err != nil {
		return err
	}
	for i, b := range sets {
		books[i], _ = first(ctx, b, s, n[i])
	}
	for pass := -1; pass < passes; pass++ {
		shifted := shiftedPasses(passes)
		bold := 0
		if pass >= 0 {
			if err := t.cells(t.most); err != nil {
				return err
			}
			if pass < shifted {
				bold = boldness(pass, shifted)
				for _, step := range []func() error{
					func() error { return t.halves(t.most) }, func() error { return t.nearest(t.most) }, func() error { return t.order(t.most, true) },
				} {
					if err := step(); err != nil {
						return err
					}
				}
			}
			last := make([][]byte, len(sets))
			for i, b := range sets {
				if rests[i] {
					continue
				}
				last[i] = bytes.Clone(books[i].words)
				if err := lockstepPass(t, i, b, books[i], bold, shifted); err != nil {
					return fmt.Errorf("pass %d: set %d of %d, %d blocks of %d samples, %d codewords: %w", pass, i, len(sets), b.m(), b.k, n[i], err)
				}
				rests[i] = bytes.Equal(last[i], books[i].words)
			}
			if err := t.shift(t.most, bold, shifted); err != nil {
				return err
			}
		}
		if err := t.finish(); err != nil {
			return err
		}
		for i, p := range jobs {
			if err := differ(fmt.Sprintf("codewords after pass %d of set %d, %d blocks, %d codewords", pass, i, p.m, p.n), p.book.words, books[i].words); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockstepPass makes a pass in Go and compares what it finds with what the device has.
func lockstepPass(t *trainer, i int, b *cpuBlocks, book *codebook, bold, over int) error {
	n, k, x := book.n(), b.k, t.places[i]
	b.search(book)
	keys, err := fetchPart[uint64](t, t.work, x.keys, b.m())
	if err != nil {
		return err
	}
	got := make([]key, len(keys))
	for j, v := range keys {
		got[j] = key(v)
	}
	if err := differ("search", got, b.keys); err != nil {
		return err
	}
	c := b.gather(n)
	counts, err := fetchPart[uint32](t, t.sums, x.counts, n)
	if err != nil {
		return err
	}
	if err := differ("gather: count", counts, c.count); err != nil {
		return err
	}
	sums, err := fetchPart[uint32](t, t.sums, x.sums, n*k)
	if err != nil {
		return err
	}
	for j, v := range sums {
		if uint64(v) != c.sum[j] {
			return fmt.Errorf("gather: sum %d is %d, want %d", j, v, c.sum[j])
		}
	}
	centre(book, c)
	words := make([]byte, n*k)
	if err := t.stream.Download(words, t.words, x.words); err != nil {
		return err
	}
	if err := differ("centre", words, book.words); err != nil {
		return err
	}
	if bold == 0 {
		return nil
	}
	gains, err := fetchPart[uint64](t, t.work, x.gains, n)
	if err != nil {
		return err
	}
	a, z := make([]byte, n*k), make([]byte, n*k)
	if err := t.stream.Download(a, t.work, x.a); err != nil {
		return err
	}
	if err := t.stream.Download(z, t.work, x.b); err != nil {
		return err
	}
	for j, h := range b.halves(book, c) {
		if gains[j] != h.gain || h.gain > 0 && (!bytes.Equal(a[j*k:(j+1)*k], h.a) || !bytes.Equal(z[j*k:(j+1)*k], h.b)) {
			return fmt.Errorf("halves: cell %d of %d gains %d: %v, %v, want %v", j, n, gains[j], a[j*k:(j+1)*k], z[j*k:(j+1)*k], h)
		}
	}
	others, err := fetchPart[uint64](t, t.work, x.others, n)
	if err != nil {
		return err
	}
	for j, want := range nearest(b.pool, book) {
		if key(others[j]) != want {
			return fmt.Errorf("nearest: codeword %d of %d is %v, want %v", j, n, key(others[j]), want)
		}
	}
	shift(b, book, c, bold, over)
	return nil
}

// lockstepTrain compares whole codebooks.
func lockstepTrain(d *deviceSteps, s shape, sets []*cpuBlocks, n []int, passes int) error {
	for _, how := range []start{startKMeans, startSplit} {
		for i := 0; i < len(sets); i += 2 {
			var samples [][]byte
			for _, b := range sets[i:min(i+2, len(sets))] {
				samples = append(samples, b.samples)
			}
			o := &Options{block: s, n: n[i], chroma: n[min(i+1, len(n)-1)], start: how, passes: passes}
			a, err := cpuSteps{d.pool}.train(context.Background(), samples, o)
			if err != nil {
				return err
			}
			b, err := d.train(context.Background(), samples, o)
			if err != nil {
				return err
			}
			for j := range a {
				if err := differ(fmt.Sprintf("%s, %d passes: codebook %d", how, passes, i+j), b[j].words, a[j].words); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Large images take the kernels for many blocks and several chunks of the codebook.
func TestLockstepLarge(t *testing.T) {
	dev := gputest.Device(t, nil)
	for i, c := range []struct{ m, k, n int }{
		{600_000, 16, 4096}, {400_000, 64, 1500}, {700_000, 4, 1025}, {700_000, 8, 300}, {600_000, 16, 256}, {300_000, 64, 256},
	} {
		if testing.Short() {
			c.m /= 100
		}
		for _, table := range []*gpu.Table[extent]{&kernels, withoutTensorCores()} {
			err := dev.Do(context.Background(), func(l *gpu.Lane) error {
				d := newDeviceSteps(l, pool.New())
				d.kernels = table
				r := rand.New(rand.NewPCG(uint64(i), 78))
				samples := testVectors(r, c.k, c.m)
				s := map[int]shape{4: {2, 2}, 8: {4, 2}, 16: {4, 4}, 64: {8, 8}}[c.k]
				set := newCPUBlocks(d.pool, c.k, samples)
				if err := lockstepBatch(d, s, []*cpuBlocks{set}, []int{c.n}, startKMeans, 2); err != nil {
					return err
				}
				// The samples as an image, whose blocks are others, and a small one beside it.
				large, small := raster.New(100*s.q, c.m/100*s.p, 1, 1, 8), raster.New(30*s.q, 7*s.p, 1, 1, 8)
				copy(large.Pix, samples)
				copy(small.Pix, samples)
				b := d.newBatch([]*raster.Image{large, small}, &Options{block: s, n: c.n})
				if err := b.makeBlocks(context.Background()); err != nil {
					return err
				}
				var want []*cpuBlocks
				for i, m := range b.images {
					b.sets[i].book = &codebook{shape: s, words: testVectors(r, c.k, c.n)}
					want = append(want, cpuSteps{d.pool}.blocks(b.headers[i], m)...)
				}
				return lockstepTables(b, want)
			})
			if err != nil {
				t.Errorf("%d blocks of %d samples, %d codewords, %d variants: %v", c.m, c.k, c.n, len(table.Module.Variants), err)
			}
		}
	}
}
