package neuquant

import (
	"context"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// drawing is an image of so many colours, of which few have most of the pixels, with three or
// four channels; of four, so many colours in a hundred are partly transparent.
func drawing(rng *rand.Rand, colours, w, h, channels, glass int) *raster.Image {
	palette := make([]uint32, colours)
	for i := range palette {
		palette[i] = rng.Uint32() | opaque
		if i > 0 && i%3 == 0 { // next to another one
			palette[i] = palette[i-1] ^ 1<<(8*rng.IntN(3))
		}
		if channels == 4 && rng.IntN(100) < glass {
			palette[i] = palette[i]&^opaque | uint32(rng.IntN(256))<<24
		}
	}
	m := raster.New(w, h, 1, channels, 8)
	put(m.Pix, channels, func(i int) uint32 {
		if i < colours {
			return palette[i]
		}
		return palette[rng.IntN(1+rng.IntN(1+rng.IntN(colours)))]
	})
	return m
}

// squaredError is the sum over the pixels of a scope of the squared distances to the nearest
// entry of their parts.
func squaredError(d *paletteScope, of [][]uint32) (sum uint64) {
	for i := range d.all.n() {
		v := d.all.at(i)
		for k := range d.parts {
			if d.parts[k].kind() == d.class(v) {
				least := ^uint32(0)
				for _, e := range of[k] {
					least = min(least, distance(v, e))
				}
				sum += uint64(least)
			}
		}
	}
	return sum
}

func TestCountIsEveryColour(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, kind := range kinds {
		for _, n := range []int{1, 2, 600, 5000, 20000} {
			p := problem{values: colours(rng, kind, n, true), opaque: true}
			want := map[uint32]uint32{}
			for _, v := range p.values {
				want[v]++
			}
			if rng.IntN(2) == 0 {
				p = asSamples(p)
			}
			if count(&p, len(want)-1) != nil {
				t.Fatalf("%s: %d colours are not too many for %d", kind, len(want), len(want)-1)
			}
			got := count(&p, len(want))
			if got == nil || len(got.colours) != len(want) {
				t.Fatalf("%s: not %d colours", kind, len(want))
			}
			for i, v := range got.colours {
				if got.weights[i] != want[v] || got.slots[got.slot(v)] != uint32(i+1) {
					t.Fatalf("%s: colour %08x occurs %d times, want %d", kind, v, got.weights[i], want[v])
				}
			}
		}
	}
}

// Pixels of no more colours than most never exceed them, and those of a photograph do soon.
func TestExceeds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, colours := range []int{1, 300, mostCounted, mostCounted + 1, 4 * mostCounted, 1 << 20} {
		p := problem{values: make([]uint32, 1<<18)}
		for i := range p.values {
			p.values[i] = uint32(rng.IntN(colours))*0x01000193 | opaqueAlpha
		}
		different := map[uint32]bool{}
		for _, v := range p.values {
			different[v] = true
		}
		got := p.exceeds(mostCounted)
		if got && len(different) <= mostCounted || !got && colours >= 4*mostCounted {
			t.Errorf("%d colours: exceeds %v", len(different), got)
		}
	}
}

// The refinement by exact counts gives no worse palette than it was given, of as many
// entries, with at least one for each part, whatever the number of goroutines.
func TestExactRefinementIsNoWorse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	ctx := context.Background()
	for _, c := range []struct{ colours, entries, channels, glass int }{
		{300, 256, 3, 0}, {300, 16, 3, 0}, {1500, 256, 3, 0}, {9, 2, 3, 0},
		{400, 256, 4, 50}, {400, 100, 4, 2}, {1500, 200, 4, 95}, {40, 3, 4, 50}, {300, 2, 4, 50},
	} {
		m := drawing(rng, c.colours, 70, 50, c.channels, c.glass)
		o := defaults
		o.colours = c.entries
		d := newPaletteScope(m, &o)
		if d.counted == nil {
			t.Fatalf("%+v: the colours are not counted", c)
		}
		var given [][]uint32
		entries := 0
		for i := range d.parts {
			p := &d.parts[i]
			list := p.exact
			if list == nil {
				list = train(&p.problem, 10)
			}
			given = append(given, list)
			entries += len(list)
		}
		before := squaredError(d, given)
		got, err := d.refineExactly(ctx, pool.Of(1), given, o.refine)
		if err != nil {
			t.Fatal(err)
		}
		if after := squaredError(d, got); after > before {
			t.Errorf("%+v: an error of %d after the refinement, %d before", c, after, before)
		}
		n := 0
		for i, list := range got {
			n += len(list)
			if len(list) == 0 {
				t.Errorf("%+v: no entry for part %d", c, i)
			}
			for _, e := range list {
				if d.parts[i].opaque && e < opaque {
					t.Errorf("%+v: entry %08x for opaque colours", c, e)
				}
			}
		}
		if n != entries || len(got) != len(d.parts) {
			t.Errorf("%+v: %d entries for %d parts, want %d for %d", c, n, len(got), entries, len(d.parts))
		}
		again, err := d.refineExactly(ctx, pool.Of(3), given, o.refine)
		if err != nil || !slices.EqualFunc(again, got, slices.Equal[[]uint32]) {
			t.Errorf("%+v: other entries with three goroutines, %v", c, err)
		}
	}
}

// Where a picture has hardly more colours than entries, those that are merged are the rare
// and the near ones, and where one part needs more entries than its share, it gets them.
func TestDrawingsAreNearlyExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		colours, channels, glass int
		least                    float64
	}{{280, 3, 0, 60}, {400, 3, 0, 50}, {300, 4, 50, 55}, {320, 4, 10, 50}} {
		m := drawing(rng, c.colours, 400, 300, c.channels, c.glass)
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), nil)[0]
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e.Data}, nil)[0]
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		got, err := raster.PSNR(m, d.Image)
		if err != nil {
			t.Fatal(err)
		}
		if got < c.least {
			t.Errorf("%+v: %.1f dB", c, got)
		}
	}
}

// The error about the mean is w q - s^2 over w, which can be more than 64 bits have.
func TestSpreadIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 1000 {
		var s moments
		for range 1 + rng.IntN(5) {
			s.add(rng.Uint32(), 1+rng.Uint64N(1<<rng.IntN(28)))
		}
		for c := range s.s {
			b := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
			want := new(big.Int).Mul(b(s.w), b(s.q[c]))
			want.Sub(want, new(big.Int).Mul(b(s.s[c]), b(s.s[c])))
			want.Add(want, b(s.w-1)).Div(want, b(s.w))
			if got := s.spread(c); got != want.Uint64() {
				t.Fatalf("%+v, component %d: %d, want %d", s, c, got, want)
			}
		}
	}
}

func TestMergeIsTheReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		x := &exactly{}
		var list []refCounted
		for part := range x.part {
			for range rng.IntN(40) {
				v := rng.Uint32() & 0x0f0f0f0f // so that some pairs cost the same
				w := 1 + rng.Uint32N(4)
				x.part[part].colours = append(x.part[part].colours, v)
				x.part[part].weights = append(x.part[part].weights, w)
				list = append(list, refCounted{refUnpack(v), part, int(w)})
			}
		}
		x.entries = make([]uint32, 2+rng.IntN(40))
		want := refMerged(list, len(x.entries))
		x.merge()
		var colours []refColour
		first := 0
		for _, c := range want {
			if colours = append(colours, c.c); c.part == 0 {
				first++
			}
		}
		if !slices.Equal(x.entries, refPack(colours)) || x.first != first {
			t.Fatalf("%d colours: %08x, want %08x", len(list), x.entries, refPack(colours))
		}
	}
}
