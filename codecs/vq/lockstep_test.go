//go:build cuda && cgo

package vq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// The steps on a card give, after every step, what the steps in Go give: for random
// pictures of odd sizes, all block sizes, whole and in bands, with and without tensor
// cores. The message names the first step that differs.
func TestLockstep(t *testing.T) {
	dev := gputest.Device(t, nil)
	pictures := 10000
	if testing.Short() {
		pictures = 100 // under compute-sanitizer a kernel takes a hundred times as long
	}
	old := gpu.Module{Name: "vq", Variants: []string{kernels75}} // as on cards before 8.0
	const at = 50                                                // pictures for a batch
	for first := 0; first < pictures; first += at {
		err := dev.Do(context.Background(), func(l *gpu.Lane) error {
			for seed := first; seed < first+at; seed++ {
				d := newCard(l, newCrew())
				r := rand.New(rand.NewPCG(uint64(seed), 77))
				if r.IntN(2) == 0 {
					d.module = &old
				}
				if r.IntN(3) == 0 {
					d.band = 1 << r.IntN(12)
				}
				if err := lockstep(d, r); err != nil {
					return fmt.Errorf("picture %d: %w", seed, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d pictures on %s", pictures, dev.Name())
}

// check says at which step two results differ.
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

// randomPicture is noise, a slope or few values, up to 100 x 100.
func randomPicture(r *rand.Rand, channels int) *raster.Image {
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

func lockstep(d *card, r *rand.Rand) error {
	s := []shape{{2, 2}, {4, 2}, {4, 4}, {8, 8}}[r.IntN(4)]
	m := randomPicture(r, 1+2*r.IntN(2))
	o := &Options{block: s, half: r.IntN(2) == 0}
	h := newHeader(m, o)
	pix := slicesOf([]*raster.Image{m})
	c := cpu{d.crew}
	var want, got [2]blockSet
	var err error
	if want[0], want[1], err = c.cut(h, pix); err != nil {
		return err
	}
	if got[0], got[1], err = d.cut(h, pix); err != nil {
		return err
	}
	what := fmt.Sprintf("%s, %d in all, blocks of %s, half %v, bands of %d bytes", m.Shape(), m.Depth, s, h.half(), d.band)
	books := new(bookPair)
	var tables [][]uint16
	for i := range want {
		if want[i] == nil {
			continue
		}
		g := s.grid(h.planeSizes()[i][0], h.planeSizes()[i][1])
		book, table, err := lockstepSet(d, r, want[i], got[i], s, g)
		if err != nil {
			return fmt.Errorf("%s: set %d: %w", what, i, err)
		}
		if i == 0 {
			books.luma = book
		} else {
			books.chroma = book
		}
		tables = append(tables, table)
	}
	a, b := raster.New(m.Width, m.Height, m.Depth, m.Channels, 8), raster.New(m.Width, m.Height, m.Depth, m.Channels, 8)
	if err := c.expand(context.Background(), h, books, tables, a); err != nil {
		return err
	}
	if err := d.expand(context.Background(), h, books, tables, b); err != nil {
		return err
	}
	if err := differ("expand", b.Pix, a.Pix); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return lockstepError(d, m.Pix, a.Pix)
}

func lockstepError(d *card, a, b []byte) error {
	var want uint64
	for i := range a {
		e := int(a[i]) - int(b[i])
		want += uint64(e * e)
	}
	da, err := d.upload(a)
	if err != nil {
		return err
	}
	db, err := d.upload(b)
	if err != nil {
		return err
	}
	got, err := d.squaredError(da, db, len(a))
	da.Free()
	db.Free()
	if err == nil && got != want {
		err = fmt.Errorf("squared error: %d, want %d", got, want)
	}
	return err
}

// lockstepSet compares the steps on one set of blocks and returns its codebook and
// table.
func lockstepSet(d *card, r *rand.Rand, want, got blockSet, s shape, g grid) (*codebook, []uint16, error) {
	m, k := want.m(), s.k()
	if got.m() != m {
		return nil, nil, fmt.Errorf("blocks: %d, want %d", got.m(), m)
	}
	all, _ := want.read(0, m)
	card, err := got.read(0, m)
	if err != nil {
		return nil, nil, err
	}
	if err := differ("blocks", card, all); err != nil {
		return nil, nil, err
	}
	wt, _ := want.sample(1 + r.IntN(2*m))
	gt, err := got.sample(wt.m())
	if err != nil {
		return nil, nil, err
	}
	wantSample, _ := wt.read(0, wt.m())
	gotSample, err := gt.read(0, gt.m())
	if err != nil {
		return nil, nil, err
	}
	if err := differ("sample", gotSample, wantSample); err != nil {
		return nil, nil, err
	}

	// Codewords: some of the blocks, and others, with ties.
	n := 2 + r.IntN(1+r.IntN(300))
	if r.IntN(20) == 0 {
		n = 1000 + r.IntN(3097)
	}
	book := &codebook{shape: s, words: testVectors(r, k, n)}
	for i := 0; i < n; i += 2 {
		at := r.IntN(m)
		copy(book.word(i), all[at*k:(at+1)*k])
	}
	book = finished(book)
	want.assign(book)
	if err := got.assign(book); err != nil {
		return nil, nil, err
	}
	count, _ := want.count(book.n())
	gotCount, err := got.count(book.n())
	if err != nil {
		return nil, nil, err
	}
	table, _ := want.table()
	gotTable, err := got.table()
	if err != nil {
		return nil, nil, err
	}
	if err := differ("assign", gotTable, table); err != nil {
		return nil, nil, err
	}
	if err := differ("count", gotCount, count); err != nil {
		return nil, nil, err
	}
	book, to := used(book, count)
	want.renumber(to)
	if err := got.renumber(to); err != nil {
		return nil, nil, err
	}
	table, _ = want.table()
	if gotTable, err = got.table(); err != nil {
		return nil, nil, err
	}
	if err := differ("renumber", gotTable, table); err != nil {
		return nil, nil, err
	}
	symbols, _ := want.symbols(book, g)
	gotSymbols, err := got.symbols(book, g)
	if err != nil {
		return nil, nil, err
	}
	return book, table, differ("symbols", gotSymbols, symbols)
}

// The steps of training, for gangs of codebooks of different sizes: after each the gang
// on a card has what the same sets have in Go, and in the end the same codebooks.
func TestLockstepTraining(t *testing.T) {
	dev := gputest.Device(t, nil)
	gangs := 600
	if testing.Short() {
		gangs = 30
	}
	old := gpu.Module{Name: "vq", Variants: []string{kernels75}}
	const at = 30
	for first := 0; first < gangs; first += at {
		err := dev.Do(context.Background(), func(l *gpu.Lane) error {
			for seed := first; seed < first+at; seed++ {
				d := newCard(l, newCrew())
				r := rand.New(rand.NewPCG(uint64(seed), 79))
				if r.IntN(2) == 0 {
					d.module = &old
				}
				s := []shape{{2, 2}, {4, 2}, {4, 4}, {8, 8}}[r.IntN(4)]
				var sets []*cpuBlocks
				var n []int
				for range 1 + r.IntN(6) {
					m := 1 + r.IntN(1+r.IntN(3000))
					sets = append(sets, newCPUBlocks(d.crew, s.k(), testVectors(r, s.k(), m)))
					n = append(n, 2+r.IntN(1+r.IntN(300)))
				}
				if r.IntN(20) == 0 {
					n[0] = 1000 + r.IntN(3097)
				}
				if err := lockstepGang(d, s, sets, n, startKMeans, 4); err != nil {
					return fmt.Errorf("gang %d: k-means++: %w", seed, err)
				}
				if err := lockstepGang(d, s, sets, n, startSplit, 2); err != nil {
					return fmt.Errorf("gang %d: split: %w", seed, err)
				}
				if err := lockstepTrain(d, s, sets, n, 1+r.IntN(20)); err != nil {
					return fmt.Errorf("gang %d: %w", seed, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fetchPart is n numbers at a place in a buffer of a teacher.
func fetchPart[T uint32 | uint64](t *teacher, b *gpu.Buffer, at, n int) ([]T, error) {
	var zero T
	out := make([]byte, int(unsafe.Sizeof(zero))*n)
	err := t.stream.Download(out, b, at)
	return gpu.View[T](out), err
}

// lockstepGang compares the start and some passes step by step.
func lockstepGang(d *card, s shape, sets []*cpuBlocks, n []int, how start, passes int) error {
	ctx := context.Background()
	var gang []*pupil
	for i, b := range sets {
		on, err := d.upload(b.samples)
		if err != nil {
			return err
		}
		defer on.Free()
		gang = append(gang, &pupil{blocks: on.Ptr, m: b.m(), n: n[i]})
	}
	t, err := newTeacher(d, s, gang)
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
		for i, p := range gang {
			if err := differ(fmt.Sprintf("codewords after pass %d of set %d, %d blocks, %d codewords", pass, i, p.m, p.n), p.book.words, books[i].words); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockstepPass makes a pass in Go and compares what it finds with what the card has.
func lockstepPass(t *teacher, i int, b *cpuBlocks, book *codebook, bold, over int) error {
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
	for j, want := range nearest(b.crew, book) {
		if key(others[j]) != want {
			return fmt.Errorf("nearest: codeword %d of %d is %v, want %v", j, n, key(others[j]), want)
		}
	}
	shift(b, book, c, bold, over)
	return nil
}

// lockstepTrain compares whole codebooks.
func lockstepTrain(d *card, s shape, sets []*cpuBlocks, n []int, passes int) error {
	var want, got []source
	for _, b := range sets {
		on, err := d.load(b.k, b.samples)
		if err != nil {
			return err
		}
		want, got = append(want, b), append(got, on)
	}
	for _, how := range []start{startKMeans, startSplit} {
		a, err := cpu{d.crew}.train(context.Background(), want, s, n, how, passes)
		if err != nil {
			return err
		}
		b, err := d.train(context.Background(), got, s, n, how, passes)
		if err != nil {
			return err
		}
		for i := range a {
			if err := differ(fmt.Sprintf("%s, %d passes: codebook %d", how, passes, i), b[i].words, a[i].words); err != nil {
				return err
			}
		}
	}
	for _, b := range got {
		b.(*cardSource).buffer.Free()
	}
	return nil
}

// Large sets take the kernels for many blocks, several chunks of the codebook and
// bands that are not the test's but the codec's.
func TestLockstepLarge(t *testing.T) {
	dev := gputest.Device(t, nil)
	old := gpu.Module{Name: "vq", Variants: []string{kernels75}}
	for i, c := range []struct{ m, k, n int }{
		{600_000, 16, 4096}, {400_000, 64, 1500}, {700_000, 4, 1025}, {700_000, 8, 300}, {600_000, 16, 256}, {300_000, 64, 256},
	} {
		if testing.Short() {
			c.m /= 100
		}
		for _, module := range []*gpu.Module{&cardModule, &old} {
			err := dev.Do(context.Background(), func(l *gpu.Lane) error {
				d := newCard(l, newCrew())
				d.module = module
				r := rand.New(rand.NewPCG(uint64(i), 78))
				samples := testVectors(r, c.k, c.m)
				s := map[int]shape{4: {2, 2}, 8: {4, 2}, 16: {4, 4}, 64: {8, 8}}[c.k]
				set := newCPUBlocks(d.crew, c.k, samples)
				if err := lockstepGang(d, s, []*cpuBlocks{set}, []int{c.n}, startKMeans, 2); err != nil {
					return err
				}
				// The samples as a picture, whose blocks are others.
				m := raster.New(100*s.q, c.m/100*s.p, 1, 1, 8)
				copy(m.Pix, samples)
				book := &codebook{shape: s, words: testVectors(r, c.k, c.n)}
				h := newHeader(m, &Options{block: s})
				want, _, _ := cpu{d.crew}.cut(h, [][]byte{m.Pix})
				got, _, err := d.cut(h, [][]byte{m.Pix})
				if err != nil {
					return err
				}
				want.assign(book)
				if err := got.assign(book); err != nil {
					return err
				}
				a, _ := want.table()
				b, err := got.table()
				if err != nil {
					return err
				}
				return differ("assign", b, a)
			})
			if err != nil {
				t.Errorf("%d blocks of %d samples, %d codewords, %d variants: %v", c.m, c.k, c.n, len(module.Variants), err)
			}
		}
	}
}

// mixedPictures is pictures of all kinds for one gang: 1x1, fewer blocks than codewords, flat,
// grey and RGB, volumes, and some that are sampled for small codebooks.
func mixedPictures() []*raster.Image {
	var list []*raster.Image
	for i, size := range [][2]int{{1, 1}, {5, 3}, {64, 48}, {33, 129}, {200, 150}, {7, 400}, {1, 90}, {256, 256}, {301, 99}} {
		list = append(list, scene(size[0], size[1], 1+i%3/2, 1), scene(size[0], size[1], 1, 3))
	}
	flat := raster.New(300, 200, 1, 3, 8)
	for i := range flat.Pix {
		flat.Pix[i] = 77
	}
	return append(list, flat, noise(4, 222, 111, 3))
}

// Pictures of all sizes and kinds in one gang give the bytes that each gives on the CPU.
func TestGang(t *testing.T) {
	dev := gputest.Device(t, nil)
	batch := mixedPictures()
	for _, pairs := range [][]string{
		nil, {"index=raw"}, {"n=2", "chroma-n=3"}, {"n=17", "chroma=444", "block=2x2"}, {"train=split", "block=4x2"},
		{"n=1000", "chroma-n=20", "block=8x8", "passes=1"}, {"n=60", "train=split", "passes=30"},
	} {
		o := mustOptions(t, pairs...)
		want := Codec{}.Encode(context.Background(), nil, batch, o)
		got := Codec{}.Encode(context.Background(), dev, batch, o)
		for i := range want {
			if want[i].Err != nil || got[i].Err != nil || !bytes.Equal(got[i].Data, want[i].Data) {
				t.Errorf("%q: picture %d, %s: other bytes (%v, %v)", o, i, batch[i].Shape(), want[i].Err, got[i].Err)
			}
		}
	}
}

// A gang whose context ends hands the error to every picture.
func TestGangEndsWithItsContext(t *testing.T) {
	dev := gputest.Device(t, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	cancel(stop)
	for i, e := range (Codec{}).Encode(ctx, dev, mixedPictures(), nil) {
		if e.Data != nil || !errors.Is(e.Err, stop) && !errors.Is(e.Err, context.Canceled) {
			t.Errorf("picture %d: %d bytes, error %v", i, len(e.Data), e.Err)
		}
	}
	for i, e := range (Codec{}).Encode(context.Background(), dev, mixedPictures(), nil) {
		if e.Err != nil {
			t.Errorf("picture %d of the next batch: %v", i, e.Err)
		}
	}
}

// Files and pictures are the same from the CPU and from a card: of the Kodak pictures
// where they are at hand, of large scenes in several bands, and of batches that share
// a codebook.
func TestSameBytesOnCard(t *testing.T) {
	dev := gputest.Device(t, nil)
	var batch []*raster.Image
	if testing.Short() {
		batch = append(batch, scene(200, 150, 1, 3), scene(199, 101, 2, 1))
	} else {
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
	asset, err := Codec{}.Train(context.Background(), nil, batch, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := (Codec{}).Train(context.Background(), dev, batch, nil); err != nil || !bytes.Equal(asset, again) {
		t.Fatalf("another shared codebook from the card (%v)", err)
	}
	for _, pairs := range [][]string{nil, {"index=raw", "n=1024"}, {"block=8x8", "chroma=444", "n=64", "train=split"}, {"block=2x2", "n=100"}, {"codebook=job"}} {
		var o codec.Options
		if o, err = (Codec{}).Options(pairs); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(pairs, "codebook=job") {
			if o, err = o.(*Options).WithAsset(asset); err != nil {
				t.Fatal(err)
			}
		}
		want := Codec{}.Encode(context.Background(), nil, batch, o)
		got := Codec{}.Encode(context.Background(), dev, batch, o)
		var files [][]byte
		for i := range want {
			if want[i].Err != nil || got[i].Err != nil || !bytes.Equal(got[i].Data, want[i].Data) {
				t.Fatalf("%q: picture %d, %s: other bytes (%v, %v)", o, i, batch[i].Shape(), want[i].Err, got[i].Err)
			}
			files = append(files, want[i].Data)
		}
		assets := func(context.Context, string) ([]byte, error) { return asset, nil }
		a, b := Codec{}.Decode(context.Background(), nil, files, assets), Codec{}.Decode(context.Background(), dev, files, assets)
		for i := range a {
			if a[i].Err != nil || b[i].Err != nil || !bytes.Equal(a[i].Image.Pix, b[i].Image.Pix) {
				t.Fatalf("%q: picture %d: other samples (%v, %v)", o, i, a[i].Err, b[i].Err)
			}
		}
	}
}

// A card with too little memory takes smaller batches, and leaves to the CPU what does
// not even fit alone; the bytes stay the same.
func TestLittleMemory(t *testing.T) {
	var batch []*raster.Image
	for i := range 12 {
		batch = append(batch, scene(300+10*i, 200, 1, 1+2*(i%2)))
	}
	want := Codec{}.Encode(context.Background(), nil, batch, nil)
	for _, memory := range []int64{30 << 10, 300 << 10, 3 << 20} {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		for i, e := range (Codec{}).Encode(context.Background(), dev, batch, nil) {
			if e.Err != nil || !bytes.Equal(e.Data, want[i].Data) {
				t.Errorf("%d bytes: picture %d: other bytes (%v)", memory, i, e.Err)
			}
		}
	}
}
