//go:build cuda && cgo

package vq

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// The steps on a device give, after every step, what the steps in Go give: for batches of
// random images of odd sizes, all block sizes, with and without tensor cores. The message
// names the first step that differs.
func TestLockstep(t *testing.T) {
	dev := gputest.Device(t, nil)
	batches := 2500
	if testing.Short() {
		batches = 25 // under compute-sanitizer a kernel takes a hundred times as long
	}
	const at = 25
	for first := 0; first < batches; first += at {
		err := dev.Do(context.Background(), func(l *gpu.Lane) error {
			for seed := first; seed < first+at; seed++ {
				d := newDeviceSteps(l, pool.New())
				r := rand.New(rand.NewPCG(uint64(seed), 77))
				if r.IntN(2) == 0 {
					d.kernels = withoutTensorCores()
				}
				if r.IntN(3) == 0 {
					d.band = 1 << r.IntN(12)
				}
				if err := lockstep(d, r); err != nil {
					return fmt.Errorf("batch %d: %w", seed, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d batches on %s", batches, dev.Name())
}

// withoutTensorCores is the kernels that devices before compute capability 8.0 take.
func withoutTensorCores() *gpu.Table[extent] {
	return &gpu.Table[extent]{Module: &oldModule, Kernels: kernels.Kernels}
}

var oldModule = gpu.Module{Name: "vq", Variants: []string{kernels75}}

// differ says at which step two results differ.
func differ[T comparable](step string, got, want []T) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d values, want %d", step, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("%s: value %d of %d is %v, want %v", step, i, len(got), got[i], want[i])
		}
	}
	return nil
}

// randomImage is noise, a slope or few values, up to 100 x 100.
func randomImage(r *rand.Rand, channels int) *raster.Image {
	side := func() int { return 1 + r.IntN(1+r.IntN(100)) }
	m := raster.New(side(), side(), 1+r.IntN(3)/2*2, channels, 8)
	kind, a, b := r.IntN(4), r.IntN(5), r.IntN(5)
	for i := range m.Pix {
		x, y := i/channels%m.Width, i/channels/m.Width
		switch kind {
		case 0:
			m.Pix[i] = byte(r.IntN(256))
		case 1:
			m.Pix[i] = byte(a*x + b*y + 40*(i%channels) + r.IntN(8))
		case 2:
			m.Pix[i] = byte(85 * r.IntN(4))
		case 3:
			m.Pix[i] = byte(255 * (x / 8 % 2))
		}
	}
	return m
}

func lockstep(d *deviceSteps, r *rand.Rand) error {
	o := &Options{
		block: []shape{{2, 2}, {4, 2}, {4, 4}, {8, 8}}[r.IntN(4)], half: r.IntN(2) == 0,
		n: 2 + r.IntN(20), chroma: 2 + r.IntN(20),
	}
	var images []*raster.Image
	for range 1 + r.IntN(6) {
		images = append(images, randomImage(r, 1+2*r.IntN(2)))
	}
	c := cpuSteps{d.pool}
	b := d.newBatch(images, o)
	var want []*cpuBlocks // of the sets
	for i, m := range images {
		want = append(want, c.blocks(b.headers[i], m)...)
	}
	ctx := context.Background()
	if err := b.makeBlocks(ctx); err != nil {
		return err
	}
	for i, s := range b.sets {
		if err := lockstepBlocks(b, s, want[i]); err != nil {
			return fmt.Errorf("%s: %w", b.describe(s), err)
		}
		s.book = randomBook(r, o.block, want[i])
	}
	if r.IntN(4) == 0 {
		shareBooks(b)
	}
	if err := lockstepTables(b, want); err != nil {
		return err
	}
	on, err := b.ranks()
	if err != nil {
		return err
	}
	if err := b.takeSymbols(on); err != nil {
		return err
	}
	coded, err := b.codeSegments()
	if err != nil || !coded {
		return fmt.Errorf("the streams have room: %v, %w", coded, err)
	}
	list := b.analyses()
	for i, s := range b.sets {
		known := symbols(want[i].pool, want[i].table(), s.book, s.grid)
		if err := differ("symbols", s.symbols, known); err != nil {
			return fmt.Errorf("%s: %w", b.describe(s), err)
		}
		if err := lockstepStreams(s); err != nil {
			return fmt.Errorf("%s: %w", b.describe(s), err)
		}
		list[s.image].table[s.which] = want[i].table()
	}
	for i, m := range images {
		h, a := b.headers[i], list[i]
		x, y := raster.New(m.Width, m.Height, m.Depth, m.Channels, 8), raster.New(m.Width, m.Height, m.Depth, m.Channels, 8)
		if err := c.expand(ctx, h, a.books, a.table, x); err != nil {
			return err
		}
		if err := d.expand(ctx, h, a.books, a.table, y); err != nil {
			return err
		}
		if err := differ("expand", y.Pix, x.Pix); err != nil {
			return fmt.Errorf("picture %d of %d, %s, blocks of %s, half %v, bands of %d bytes: %w", i, len(images), m.Shape, o.block, h.half(), d.band, err)
		}
	}
	return nil
}

// lockstepStreams compares the streams of a set with those of its symbols.
func lockstepStreams(s *blockSet) error {
	next := 0
	for at := 0; at < s.m; at += s.grid.blocks() {
		for _, part := range s.grid.segments() {
			if err := differ("streams", s.coded[next], encodeSegment(s.symbols[at:], s.grid.cols, part, s.book.n())); err != nil {
				return fmt.Errorf("segment %d: %w", next, err)
			}
			next++
		}
	}
	return differ("streams", []int{len(s.coded)}, []int{next})
}

func (b *batch) describe(s *blockSet) string {
	return fmt.Sprintf("picture %d of %d, %s, set %d, blocks of %s, half %v", s.image, len(b.images), b.images[s.image].Shape, s.which, b.options.block, b.headers[s.image].half())
}

// lockstepBlocks compares the blocks of a set and the sample of them.
func lockstepBlocks(b *batch, s *blockSet, want *cpuBlocks) error {
	if s.m != want.m() {
		return fmt.Errorf("%d blocks, want %d", s.m, want.m())
	}
	on := &deviceBlocks{deviceSteps: b.deviceSteps, buffer: b.blocks, at: s.at, count: s.m, k: want.k}
	got, err := on.read(0, s.m)
	if err != nil {
		return err
	}
	if err := differ("blocks", got, want.samples); err != nil {
		return err
	}
	if s.m <= s.n*trainBlocks {
		return nil
	}
	drawn, err := b.drawSamples([]*blockSet{s})
	if err != nil {
		return err
	}
	if got, err = drawn[0].read(0, drawn[0].count); err != nil {
		return err
	}
	return differ("sample", got, want.keep(s.n*trainBlocks).samples)
}

// randomBook is some of the blocks, and other codewords, with ties.
func randomBook(r *rand.Rand, s shape, b *cpuBlocks) *codebook {
	n := 2 + r.IntN(1+r.IntN(300))
	if r.IntN(20) == 0 {
		n = 1000 + r.IntN(3097)
	}
	book := &codebook{shape: s, words: testVectors(r, s.k(), n)}
	for i := 0; i < n; i += 2 {
		copy(book.word(i), b.at(r.IntN(b.m())))
	}
	return finished(book)
}

// shareBooks gives all sets the codebooks of the first image with each.
func shareBooks(b *batch) {
	var first [2]*codebook
	for _, s := range b.sets {
		if first[s.which] == nil {
			first[s.which] = s.book
		}
		s.book = first[s.which]
	}
	b.options.books = &bookPair{luma: first[0], chroma: first[1]}
}

// lockstepTables compares the search, the counts and the renumbering.
func lockstepTables(b *batch, want []*cpuBlocks) error {
	if err := b.search(); err != nil {
		return err
	}
	compare := func(step string) error {
		for i, s := range b.sets {
			got := make([]uint16, s.m)
			at := int(b.entries[i].Table - b.tables.Ptr)
			if err := b.stream.Download(gpu.Bytes(got), b.tables, at); err != nil {
				return err
			}
			if err := b.stream.Sync(); err != nil {
				return err
			}
			if err := differ(step, got, want[i].table()); err != nil {
				return fmt.Errorf("%s: %d codewords: %w", b.describe(s), s.book.n(), err)
			}
		}
		return nil
	}
	for i, s := range b.sets {
		want[i].search(s.book)
	}
	if err := compare("search"); err != nil {
		return err
	}
	counts, err := b.count()
	if err != nil {
		return err
	}
	for i, s := range b.sets {
		if err := differ("count", counts[i], want[i].count(s.book.n())); err != nil {
			return fmt.Errorf("%s: %w", b.describe(s), err)
		}
	}
	if b.options.books != nil {
		return nil
	}
	books := make([]*codebook, len(b.sets))
	for i, s := range b.sets {
		books[i] = want[i].dropUnused(s.book)
	}
	if err := b.renumber(counts); err != nil {
		return err
	}
	for i, s := range b.sets {
		if err := differ("codewords in use", s.book.words, books[i].words); err != nil {
			return err
		}
	}
	return compare("renumber")
}

// Files and images are the same from the CPU and from a device: of the Kodak images
// where they are at hand, of large scenes in several bands, and of batches that share
// a codebook. The option sets are those of the conformance suite and some more.
func TestSameBytesOnCard(t *testing.T) {
	dev := gputest.Device(t, nil)
	sets := [][]string{nil, sharedSet, {"index=raw", "n=1024"}, {"block=8x8", "chroma=444", "n=64", "train=split"}, {"block=2x2", "n=100"}}
	var batch []*raster.Image
	if testing.Short() {
		batch = append(batch, scene(200, 150, 1, 3), scene(199, 101, 2, 1))
	} else {
		sets = append(sets, optionSets...)
		for n := 1; n <= 24; n++ {
			if m, ok := kodak(t, n); ok {
				batch = append(batch, m, grey(m))
			}
		}
		t.Logf("%d pictures of the Kodak suite and their grey versions", len(batch)/2)
		batch = append(batch, scene(1400, 1000, 1, 3), scene(1999, 1501, 2, 1))
	}
	for range 40 {
		batch = append(batch, scene(65, 47, 1, 1))
	}
	options := func(pairs []string) codec.Options {
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	asset, err := Codec{}.Train(context.Background(), codec.Run{}, batch, options(sharedSet))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := (Codec{}).Train(context.Background(), codec.Run{Device: dev}, batch, options(sharedSet)); err != nil || !bytes.Equal(asset, again) {
		t.Fatalf("another shared codebook from the card (%v)", err)
	}
	for _, pairs := range sets {
		o := options(pairs)
		if o.(*Options).Want().Trained {
			if o, err = o.(*Options).WithAsset(asset); err != nil {
				t.Fatal(err)
			}
		}
		want := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(batch...), o)
		got := Codec{}.Encode(context.Background(), codec.Run{Device: dev}, codec.Items(batch...), o)
		var files [][]byte
		for i := range want {
			if want[i].Err != nil || got[i].Err != nil || !bytes.Equal(got[i].Data, want[i].Data) {
				t.Fatalf("%q: picture %d, %s: other bytes (%v, %v)", o, i, batch[i].Shape, want[i].Err, got[i].Err)
			}
			files = append(files, want[i].Data)
		}
		assets := func(context.Context, string) ([]byte, error) { return asset, nil }
		a, b := Codec{}.Decode(context.Background(), codec.Run{}, files, assets), Codec{}.Decode(context.Background(), codec.Run{Device: dev}, files, assets)
		for i := range a {
			if a[i].Err != nil || b[i].Err != nil || !bytes.Equal(a[i].Image.Pix, b[i].Image.Pix) {
				t.Fatalf("%q: picture %d: other samples (%v, %v)", o, i, a[i].Err, b[i].Err)
			}
		}
		t.Logf("%q: the same bytes", pairs)
	}
}
