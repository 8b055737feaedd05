package webp

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// The steps on a device give, after every step, what the steps in Go give: for batches of
// random images, each with steps of its own. The message names the first that differs.
func TestLockstep(t *testing.T) {
	dev := gputest.Device(t, nil)
	batches, members := 60, 40
	if testing.Short() {
		batches, members = 2, 10 // under compute-sanitizer a kernel takes a hundred times as long
	}
	workers := pool.New()
	o := &Options{exact: true, nearLossless: 100}
	for first := range batches {
		images := make([]*raster.Image, members)
		for i := range images {
			images[i] = oddImage(rand.New(rand.NewPCG(uint64(first), uint64(i))))
		}
		errs := make([]error, members)
		err := dev.Do(t.Context(), func(l *gpu.Lane) error {
			return newBatch(l, pool.Shared(4)).encode(images, o, func(d steps, i int) {
				errs[i] = lockstep(workers, d, rand.New(rand.NewPCG(uint64(first), uint64(1000+i))), images[i])
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range errs {
			if err != nil {
				t.Errorf("batch %d, picture %d, %s: %v", first, i, images[i].Shape, err)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d batches of %d pictures on %s", batches, members, dev.Name())
}

// oddImage is noise, a slope, few values, one value or stripes, opaque or not, with
// sides of up to 150.
func oddImage(r *rand.Rand) *raster.Image {
	side := func() int {
		if r.IntN(4) == 0 {
			return max(1, 1<<r.IntN(7)-1+r.IntN(3)) // about as long as tiles are
		}
		return 1 + r.IntN(1+r.IntN(150))
	}
	m := raster.New(side(), side(), 1, 1+r.IntN(4), 8)
	kind, a, b := r.IntN(5), r.IntN(5), r.IntN(5)
	for i := range m.Pix {
		x, y := i/m.Channels%m.Width, i/m.Channels/m.Width
		switch kind {
		case 0:
			m.Pix[i] = byte(r.IntN(256))
		case 1:
			m.Pix[i] = byte(a*x + b*y + 40*(i%m.Channels) + r.IntN(8))
		case 2:
			m.Pix[i] = byte(85 * r.IntN(4))
		case 3:
			m.Pix[i] = byte(50 * a)
		case 4:
			m.Pix[i] = byte(255 * (x / 8 % 2))
		}
	}
	if m.Alpha() && r.IntN(3) == 0 {
		for i := m.Channels - 1; i < len(m.Pix); i += m.Channels {
			m.Pix[i] = 255
		}
	}
	return m
}

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

// lockstep takes an image through random steps on both sides.
func lockstep(workers *pool.Pool, d search.Steps, r *rand.Rand, m *raster.Image) error {
	made, _ := cpuSteps{workers}.PredictorSearch(loaded(testimages.Pools[0], m, true))
	a := made.(*memoryPredictorSearch)
	if made, err := d.PredictorSearch(loaded(testimages.Pools[0], m, true)); err != nil {
		return err
	} else if err := lockstepPasses(workers, r, a, made.(*devicePredictorSearch)); err != nil {
		return err
	}
	return lockstepCopies(workers, d, r, loaded(testimages.Pools[0], m, true))
}

// lockstepCopies takes an image, or another one with repeats of its size, through random
// steps of the search for backward references on both sides.
func lockstepCopies(workers *pool.Pool, d search.Steps, r *rand.Rand, p format.Pixels) error {
	if r.IntN(2) == 0 {
		colours := []int{2, 4, 16, 17, 256, 1 + r.IntN(400)}
		p = testimages.Drawn(r, p.W, p.H, colours[r.IntN(len(colours))])
	}
	var made search.PredictorSearch
	switch palette := transform.PaletteOf(p.ARGB); {
	case palette != nil && r.IntN(2) == 0:
		p = transform.IndexPixels(p, palette)
	case r.IntN(3) == 0:
		var err error
		if made, err = d.PredictorSearch(p); err != nil {
			return err
		}
		made.SetModes(2+r.IntN(3), uint8(r.IntN(transform.ModeCount)))
		p = made.Transformed()
	}
	f := backref.ReferencePlans[r.IntN(len(backref.ReferencePlans))]
	a := backref.NewMemoryReferenceSearch(p)
	b, err := d.ReferenceSearch(p, made)
	if err != nil {
		return err
	}
	q, other := backref.NewParser(a, f), backref.NewParser(b, f)
	if err := differ("hits", other.Hits, q.Hits); err != nil {
		return err
	}
	if len(q.Bands) != len(other.Bands) {
		return fmt.Errorf("%d bands, want %d", len(other.Bands), len(q.Bands))
	}
	for k, band := range q.Bands {
		for i := band.Lo; i < band.Hi; i++ {
			if err := differ(fmt.Sprint("candidates of position ", i), other.Bands[k].At(i), band.At(i)); err != nil {
				return err
			}
		}
	}
	s := &bitstream.Stream{Width: p.W, Height: p.H, Small: backref.ParseSmall, Pixels: p, Parse: q.Greedy()}
	t := &bitstream.Stream{Width: p.W, Height: p.H, Small: backref.ParseSmall, Pixels: p}
	size := 3 + r.IntN(4)
	for round := range 1 + r.IntN(4) {
		if round > 0 {
			s.Parse = q.Cheapest(s.Parse.CacheBits, s.Entropy, entropy.CostsOf(a.Histograms(s.Entropy)), f.LongReference, f.AllLengthsTo)
		}
		t.Parse = format.Parse{CacheBits: s.Parse.CacheBits, Length: slices.Clone(s.Parse.Length), Value: slices.Clone(s.Parse.Value)}
		a.SetParse(&s.Parse)
		b.SetParse(&t.Parse)
		bits := a.ChooseCache()
		if got := b.ChooseCache(); got != bits {
			return fmt.Errorf("%d bits of cache, want %d", got, bits)
		}
		if r.IntN(3) == 0 {
			bits = r.IntN(format.MaxCacheBits + 1)
		}
		a.SetCache(bits)
		b.SetCache(bits)
		if err := sameCounts(a, b, s.Entropy); err != nil {
			return err
		}
		got := b.Cluster(s.Entropy, size, entropy.MaxStartGroups)
		s.Entropy = a.Cluster(s.Entropy, size, entropy.MaxStartGroups)
		if got.Groups != s.Entropy.Groups || got.Bits != s.Entropy.Bits {
			return fmt.Errorf("cluster: %d groups on tiles of %d bits, want %d on %d", got.Groups, got.Bits, s.Entropy.Groups, s.Entropy.Bits)
		}
		if err := differ("cluster", got.Group, s.Entropy.Group); err != nil {
			return err
		}
		if err := sameCounts(a, b, s.Entropy); err != nil {
			return err
		}
	}
	if r.IntN(3) == 0 {
		s.Entropy = format.EntropyImage{}
	}
	t.Entropy, t.Packer = s.Entropy, b.Packer(s.Entropy)
	want, packed := s.Write(testimages.Pools[0]), t.Write(testimages.Pools[0])
	if err := b.Failed(); err != nil {
		return err
	}
	return differ("pack references", packed, want)
}

// sameCounts compares histograms.
func sameCounts(a, b backref.ReferenceSearch, g format.EntropyImage) error {
	got := b.Histograms(g)
	for k, want := range a.Histograms(g) {
		if err := differ(fmt.Sprint("histogram of group ", k, " of ", len(got)), got[k], want); err != nil {
			return err
		}
	}
	return b.Failed()
}

func lockstepPasses(workers *pool.Pool, r *rand.Rand, a *memoryPredictorSearch, b *devicePredictorSearch) error {
	if a.opaque != b.opaque() {
		return fmt.Errorf("load: opaque %v, want %v", b.opaque(), a.opaque)
	}
	predictor := 2 + r.IntN(4)
	colour, group := predictor+r.IntN(3), predictor+r.IntN(3)
	mode := uint8(r.IntN(transform.ModeCount))
	a.SetModes(predictor, mode)
	b.SetModes(predictor, mode)
	if err := sameCanvas("fill", a, b); err != nil {
		return err
	}
	hist := a.Histograms()
	tables := make([]uint16, len(hist))
	cost := func() error {
		hist = a.Histograms()
		if err := differ("histograms", b.Histograms(), hist); err != nil {
			return err
		}
		tables = make([]uint16, len(hist))
		by := []func([]uint32, []uint16){entropy.IdealCosts, entropy.CodeCosts}[r.IntN(2)]
		for at := 0; at < len(hist); at += a.Symbols() {
			by(hist[at:at+a.Symbols()], tables[at:at+a.Symbols()])
		}
		return nil
	}
	for range 1 + r.IntN(8) {
		if err := cost(); err != nil {
			return err
		}
		switch r.IntN(5) {
		case 0, 1:
			var own [transform.ModeCount]uint32
			for i := range own {
				own[i] = uint32(r.IntN(2000))
			}
			skip := 1 << r.IntN(3)
			want, got := a.ChooseModes(predictor, skip, &own, tables), b.ChooseModes(predictor, skip, &own, tables)
			if err := differ("predict", got[:], want[:]); err != nil {
				return err
			}
		case 2:
			own := new(transform.MultiplierCosts)
			for i := range own {
				for j := range own[i] {
					own[i][j] = uint16(r.IntN(1000))
				}
			}
			skip := 1 << r.IntN(3)
			want := a.ChooseMultipliers(colour, skip, transform.ColourSteps, own, tables)
			got := b.ChooseMultipliers(colour, skip, transform.ColourSteps, own, tables)
			for i := range want {
				if err := differ("recolour", got[i][:], want[i][:]); err != nil {
					return err
				}
			}
		case 3:
			want := a.TileCosts(group, tables)
			if err := differ("tileCosts", b.TileCosts(group, tables), want); err != nil {
				return err
			}
			n := 2 + r.IntN(40)
			g := entropy.StartGroups(want, make([]bool, len(want)), n)
			g.Bits = group
			b.SetEntropyImage(g) // the search in memory keeps the slice
			a.SetEntropyImage(g)
		case 4:
			if a.entropy.Bits == 0 {
				continue
			}
			own := make([]uint32, a.entropy.Groups)
			for i := range own {
				own[i] = []uint32{uint32(r.IntN(3000)), entropy.NoGroup, entropy.Closed}[max(0, r.IntN(20)-17)]
			}
			near := r.IntN(3)
			want, regrets := a.AssignGroups(own, near, tables)
			got, gotRegrets := b.AssignGroups(own, near, tables)
			if err := differ("assign", got, want); err != nil {
				return err
			}
			if err := differ("assign: regrets", gotRegrets, regrets); err != nil {
				return err
			}
		}
		if err := sameCanvas("after a step", a, b); err != nil {
			return err
		}
	}
	if a.entropy.Bits > 0 && r.IntN(3) == 0 {
		a.SetEntropyImage(format.EntropyImage{})
		b.SetEntropyImage(format.EntropyImage{})
	}
	return samePacked(a, b)
}

// sameCanvas compares all that the two sides hold.
func sameCanvas(step string, a *memoryPredictorSearch, b *devicePredictorSearch) error {
	want, _ := a.Result()
	got, err := b.Result()
	if err != nil {
		return err
	}
	if err := differ(step+": modes", got.Modes, want.Modes); err != nil {
		return err
	}
	if err := differ(step+": groups", got.Entropy.Group, want.Entropy.Group); err != nil {
		return err
	}
	if want.Multipliers != nil {
		if err := differ(step+": multipliers", got.Multipliers.Element, want.Multipliers.Element); err != nil {
			return err
		}
	}
	coded := b.coloured
	if coded == nil {
		coded = b.residual
	}
	list := b.fetch(b.argb, b.residual, coded)
	for i, want := range [][]uint32{a.source.ARGB, a.residual, a.coded.ARGB} {
		if err := differ(step+": "+[]string{"argb", "residual", "coded"}[i], gpu.View[uint32](list[i]), want); err != nil {
			return err
		}
	}
	return b.err
}

// samePacked compares the streams of the two sides.
func samePacked(a *memoryPredictorSearch, b *devicePredictorSearch) error {
	var streams [2][]byte
	for i, v := range []search.PredictorSearch{a, b} {
		found, err := v.Result()
		if err != nil {
			return err
		}
		w, h := v.Size()
		s := &bitstream.Stream{Width: w, Height: h, Small: backref.ParseSmall, Transforms: found.Transforms(w, h), Pixels: found.Pixels, Entropy: found.Entropy, Packer: found.Packer}
		streams[i] = s.Write(testimages.Pools[0])
	}
	if b.err != nil {
		return b.err
	}
	return differ("pack", streams[1], streams[0])
}

// Files are the same from the CPU and from a device: of random images in batches of all
// sizes, of the Kodak images where they are at hand, and with every effort.
func TestSameBytesOnCard(t *testing.T) {
	dev := gputest.Device(t, nil)
	var batch []*raster.Image
	for i := range 150 {
		batch = append(batch, oddImage(rand.New(rand.NewPCG(77, uint64(i)))))
	}
	for i, kind := range kinds {
		r := rand.New(rand.NewPCG(78, uint64(i)))
		batch = append(batch, imageOf(r, kind, 70+r.IntN(60), 90, 3), imageOf(r, kind, 64, 64, 4))
	}
	sets := [][]string{{"exact=false"}, {"near-lossless=60"}}
	for effort := range 10 {
		sets = append(sets, []string{fmt.Sprint("effort=", effort)})
	}
	if testing.Short() {
		batch, sets = batch[:20], sets[:1]
	}
	for _, pairs := range sets {
		sameBytes(t, dev, batch, pairs)
	}
	if testing.Short() {
		return
	}
	var photos []*raster.Image
	for n := 1; n <= 24; n++ {
		if m, ok := kodak(t, n); ok {
			photos = append(photos, m)
		}
	}
	t.Logf("%d pictures of the Kodak suite", len(photos))
	for _, pairs := range [][]string{{"effort=1"}, {"effort=6"}, {"effort=9"}} {
		sameBytes(t, dev, photos, pairs)
	}
	large := drawings(t)
	var small []*raster.Image
	for _, m := range large {
		if m.Width*m.Height <= 1<<18 {
			small = append(small, m)
		}
	}
	t.Logf("%d graphics", len(large))
	for _, pairs := range [][]string{{"effort=0"}, {"effort=1"}, {"effort=6"}} {
		sameBytes(t, dev, large, pairs)
	}
	sameBytes(t, dev, small, []string{"effort=9"})
}

// sameBytes encodes a batch on both sides.
func sameBytes(t *testing.T, dev *gpu.Device, batch []*raster.Image, pairs []string) {
	t.Helper()
	o, err := Codec{}.Options(pairs)
	if err != nil {
		t.Fatal(err)
	}
	want := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(batch...), o)
	got := Codec{}.Encode(context.Background(), codec.Run{Device: dev}, codec.Items(batch...), o)
	for i := range want {
		if want[i].Err != nil || got[i].Err != nil || !bytes.Equal(got[i].Data, want[i].Data) {
			t.Errorf("%q: picture %d, %s: other bytes (%v, %v)", pairs, i, batch[i].Shape, want[i].Err, got[i].Err)
		}
	}
}
