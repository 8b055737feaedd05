package webp

import (
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/raster"
)

// loaded is loadImage into new memory.
func loaded(c *pool.Pool, m *raster.Image, exact bool) format.Pixels {
	return loadImage(make([]uint32, m.Width*m.Height), c, m, exact)
}

func TestExactKeepsHiddenColours(t *testing.T) {
	m := raster.New(2, 1, 1, 4, 8)
	copy(m.Pix, []byte{1, 2, 3, 0, 4, 5, 6, 1})
	for exact, want := range map[bool]uint32{true: 0x00010203, false: 0} {
		if p := loaded(testimages.Pools[0], m, exact); p.ARGB[0] != want || p.ARGB[1] != 0x01040506 {
			t.Errorf("exact=%t: %08x, want %08x and 01040506", exact, p.ARGB, want)
		}
	}
}

func TestStoreIsTheInverseOfLoad(t *testing.T) {
	if vectors {
		t.Run("vectors", storeIsTheInverseOfLoad)
		vectors = false
		defer func() { vectors = true }()
	}
	t.Run("go", storeIsTheInverseOfLoad)
}

func storeIsTheInverseOfLoad(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for n := 1; n < 70; n++ {
		m := imageOf(r, "noise", n, 1, 3)
		got := make([]uint32, n)
		loadSamples(got, m.Pix, 3)
		for i, v := range got {
			if want := 0xff000000 | uint32(m.Pix[3*i])<<16 | uint32(m.Pix[3*i+1])<<8 | uint32(m.Pix[3*i+2]); v != want {
				t.Fatalf("pixel %d of %d: %08x, want %08x", i, n, v, want)
			}
		}
		if back := store(n, 1, rgba(m).Pix, false, true); back.Hash() != m.Hash() {
			t.Fatalf("%d pixels come back as others", n)
		}
	}
	for _, kind := range kinds {
		for channels := 1; channels <= 4; channels++ {
			m := imageOf(r, kind, 13, 7, channels)
			p := loaded(testimages.Pools[0], m, true)
			got := store(m.Width, m.Height, rgba(m).Pix, m.Alpha(), channels >= 3 && p.Grey())
			if got.Hash() != m.Hash() {
				t.Errorf("%s, %s: comes back as %s", kind, m.Shape, got.Shape)
			}
			if m.Alpha() {
				continue
			}
			var rgb []byte
			for i, v := range rgba(m).Pix {
				if i%4 < 3 {
					rgb = append(rgb, v)
				}
			}
			if got := storeOpaque(m.Width, m.Height, rgb, channels >= 3 && p.Grey()); got.Hash() != m.Hash() {
				t.Errorf("%s, %s: comes back without alpha as %s", kind, m.Shape, got.Shape)
			}
		}
	}
}

// Samples move by at most half of the coarsest step, alpha and the border not at all, and
// the lower the level the less the image is what it was.
func TestNearLossless(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for _, kind := range []string{"noise", "photo", "gradient", "sparse"} {
		m := imageOf(r, kind, 60, 50, 4)
		source := loaded(testimages.Pools[0], m, true)
		last := 0
		for _, level := range []int{100, 99, 79, 59, 39, 19} {
			p := loaded(testimages.Pools[0], m, true)
			transform.NearLossless(p, level)
			limit := 0
			if level < 100 {
				limit = 1 << (5 - level/20) / 2
			}
			changed := 0
			for i, v := range p.ARGB {
				x, y := i%p.W, i/p.W
				for s := 0; s < 32; s += 8 {
					d := channel(v, s) - channel(source.ARGB[i], s)
					if d = max(d, -d); d > 0 {
						changed += d
					}
					if border := x == 0 || y == 0 || x == p.W-1 || y == p.H-1; d > 0 && (border || s == 24) || d > limit {
						t.Fatalf("%s, level %d: sample of %d, %d moves by %d", kind, level, x, y, d)
					}
				}
			}
			if changed < last || level < 80 && kind == "noise" && changed == last {
				t.Errorf("%s, level %d: moves samples by %d in all, by %d the level above", kind, level, changed, last)
			}
			last = changed
		}
	}
}

// Images of few colours keep them: rounding would make their palette worse.
func TestNearLosslessLeavesPalettesAlone(t *testing.T) {
	m := imageOf(rand.New(rand.NewPCG(27, 28)), "256", 40, 40, 3)
	p, want := loaded(testimages.Pools[0], m, true), loaded(testimages.Pools[0], m, true)
	transform.NearLossless(p, 0)
	if err := samePixels(p, want); err != nil {
		t.Error(err)
	}
}
