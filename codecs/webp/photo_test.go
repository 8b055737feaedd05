package webp

import (
	"bytes"
	"context"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/image/vp8l"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

func photoBytes(t *testing.T, c *pool.Pool, p format.Pixels, effort int) []byte {
	t.Helper()
	p.ARGB = slices.Clone(p.ARGB)
	s, err := search.Photo(context.Background(), c, cpuSteps{c}, p, effort)
	if err != nil {
		t.Fatal(err)
	}
	s.Alpha = true
	return s.Write(testimages.Pools[0])
}

func unpack(t *testing.T, bitstream []byte) format.Pixels {
	t.Helper()
	m, err := vp8l.Decode(bytes.NewReader(bitstream))
	if err != nil {
		t.Fatal(err)
	}
	n := m.(*image.NRGBA)
	p := format.Pixels{W: n.Rect.Dx(), H: n.Rect.Dy(), ARGB: nil}
	for i := 0; i < len(n.Pix); i += 4 {
		p.ARGB = append(p.ARGB, uint32(n.Pix[i+3])<<24|uint32(n.Pix[i])<<16|uint32(n.Pix[i+1])<<8|uint32(n.Pix[i+2]))
	}
	return p
}

// The codes by which a photograph keeps its groups are those of its pixels.
func TestPhotosKeepTheCodesOfTheirGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for i, size := range [][2]int{{70, 50}, {260, 130}, {300, 301}} {
		for effort := range 8 {
			p := testimages.Texture(r, size[0], size[1], (i+effort)%2 == 0)
			s, err := search.Photo(context.Background(), testimages.Pools[1], cpuSteps{testimages.Pools[1]}, p, effort)
			if err != nil {
				t.Fatal(err)
			}
			got := s.Write(testimages.Pools[0])
			if s.Coded = nil; !bytes.Equal(got, s.Write(testimages.Pools[0])) {
				t.Fatalf("%dx%d, effort %d: other bits", size[0], size[1], effort)
			}
		}
	}
}

func TestPhotosComeBackAtEveryEffort(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for _, size := range append(testimages.Sizes, [2]int{260, 130}) {
		for effort := range search.PredictorPlans {
			if testing.Short() && effort%3 != 0 {
				continue
			}
			p := testimages.Texture(r, size[0], size[1], effort%2 == 0)
			if got := unpack(t, photoBytes(t, testimages.Pools[1], p, effort)); got.W != p.W || got.H != p.H || !slices.Equal(got.ARGB, p.ARGB) {
				t.Fatalf("%dx%d, effort %d: other pixels", p.W, p.H, effort)
			}
		}
	}
}

func TestPhotosDoNotDependOnThreads(t *testing.T) {
	w, h := 250, 190
	if testing.Short() {
		w, h = 90, 80
	}
	p := testimages.Texture(rand.New(rand.NewPCG(6, 2)), w, h, true)
	for _, effort := range []int{0, 1, 6, 9} {
		if !bytes.Equal(photoBytes(t, testimages.Pools[0], p, effort), photoBytes(t, testimages.Pools[1], p, effort)) {
			t.Errorf("effort %d: other bytes with other threads", effort)
		}
	}
}

func TestGroupsNeverCost(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 3))
	flat := format.Pixels{W: 300, H: 200, ARGB: slices.Repeat([]uint32{0xff336699}, 300*200)}
	for _, p := range []format.Pixels{flat, testimages.Texture(r, 3, 2, true), testimages.Texture(r, 40, 40, true), testimages.Texture(r, 200, 150, false)} {
		for effort := range search.PredictorPlans {
			if testing.Short() && effort%3 != 0 {
				continue
			}
			s, err := search.Photo(context.Background(), testimages.Pools[1], cpuSteps{testimages.Pools[1]}, p, effort)
			if err != nil {
				t.Fatal(err)
			}
			s.Alpha = true
			many, n := len(s.Write(testimages.Pools[0])), s.Entropy.Groups
			s.Entropy = format.EntropyImage{}
			if one := len(s.Write(testimages.Pools[0])); many > one {
				t.Errorf("%dx%d, effort %d: %d bytes with %d groups, %d with one", p.W, p.H, effort, many, n, one)
			}
		}
	}
}

func TestTransformedIgnoresWhatIsCopied(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 4))
	p := testimages.Texture(r, 64, 64, false)
	q := format.Pixels{W: p.W, H: p.H, ARGB: slices.Clone(p.ARGB)}
	length := make([]uint16, len(p.ARGB))
	for i := range p.ARGB {
		// The lower right quarter, which predicts no other pixel that is counted.
		if i%p.W >= 32 && i/p.W >= 32 {
			length[i], q.ARGB[i] = format.Covered, format.OpaqueBlack|r.Uint32()>>8
		}
	}
	transformed := func(p format.Pixels) []format.Transform {
		v := newMemoryPredictorSearch(testimages.Pools[0], p, format.Parse{Length: length})
		if err := search.NewPasses(testimages.Pools[0], v, search.PredictorPlans[1]).Transforms(context.Background()); err != nil {
			t.Fatal(err)
		}
		found, _ := v.Result()
		return found.Transforms(p.W, p.H)
	}
	a, b := transformed(p), transformed(q)
	for i := range a {
		if !slices.Equal(a[i].Data.ARGB, b[i].Data.ARGB) {
			t.Errorf("transform %d depends on pixels that are copied", a[i].Kind)
		}
	}
}

func TestMoreEffortMakesSmallerFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: the sizes of files at all efforts, with -short")
	}
	names, err := filepath.Glob("../../testdata/images/*")
	if err != nil || len(names) == 0 {
		t.Fatal("no pictures in testdata/images", err)
	}
	var total [10]int
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			continue // not a format of the standard library
		}
		p := format.Pixels{W: m.Bounds().Dx(), H: m.Bounds().Dy(), ARGB: nil}
		for y := range p.H {
			for x := range p.W {
				a, b, c, _ := m.At(m.Bounds().Min.X+x, m.Bounds().Min.Y+y).RGBA()
				p.ARGB = append(p.ARGB, format.OpaqueBlack|a>>8<<16|b>>8<<8|c>>8)
			}
		}
		var own [10]int
		for effort := range search.PredictorPlans {
			own[effort] = len(photoBytes(t, testimages.Pools[1], p, effort))
			total[effort] += own[effort]
		}
		t.Logf("%s, bytes by effort: %d", filepath.Base(name), own)
	}
	for effort, n := range total[1:] {
		if n > total[effort]*102/100 {
			t.Errorf("%d bytes at effort %d, %d at %d", n, effort+1, total[effort], effort)
		}
	}
	if total[9] > total[5] || total[6] > total[3] || total[3] > total[0] {
		t.Errorf("bytes by effort: %d", total)
	}
	t.Logf("bytes by effort: %d", total)
}
