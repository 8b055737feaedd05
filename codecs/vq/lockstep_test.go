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

// The steps on a card give, after every step, what the steps in Go give: for random
// images of odd sizes, all block sizes, whole and in bands, with and without tensor
// cores. The message names the first step that differs.
func TestLockstep(t *testing.T) {
	dev := gputest.Device(t, nil)
	images := 10000
	if testing.Short() {
		images = 100 // under compute-sanitizer a kernel takes a hundred times as long
	}
	old := gpu.Module{Name: "vq", Variants: []string{kernels75}} // as on cards before 8.0
	const at = 50                                                // images for a batch
	for first := 0; first < images; first += at {
		err := dev.Do(context.Background(), func(l *gpu.Lane) error {
			for seed := first; seed < first+at; seed++ {
				d := newCard(l, pool.New())
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
	t.Logf("%d pictures on %s", images, dev.Name())
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

func lockstep(d *card, r *rand.Rand) error {
	s := []shape{{2, 2}, {4, 2}, {4, 4}, {8, 8}}[r.IntN(4)]
	m := randomImage(r, 1+2*r.IntN(2))
	o := &Options{block: s, half: r.IntN(2) == 0}
	h := newHeader(m, o)
	pix := slicesOf([]*raster.Image{m})
	c := cpu{d.pool}
	var want, got [2]blockSet
	var err error
	if want[0], want[1], err = c.cut(h, pix); err != nil {
		return err
	}
	if got[0], got[1], err = d.cut(h, pix); err != nil {
		return err
	}
	what := fmt.Sprintf("%s, %d in all, blocks of %s, half %v, bands of %d bytes", m.Shape, m.Depth, s, h.half(), d.band)
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

// Files and images are the same from the CPU and from a card: of the Kodak images
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
