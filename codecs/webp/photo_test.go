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
)

func photoBytes(t *testing.T, c *pool.Pool, p pixels, effort int) []byte {
	t.Helper()
	p.argb = slices.Clone(p.argb)
	s, err := photo(context.Background(), c, cpuSteps{c}, p, effort)
	if err != nil {
		t.Fatal(err)
	}
	s.alpha = true
	return s.write(pools[0])
}

func unpack(t *testing.T, bitstream []byte) pixels {
	t.Helper()
	m, err := vp8l.Decode(bytes.NewReader(bitstream))
	if err != nil {
		t.Fatal(err)
	}
	n := m.(*image.NRGBA)
	p := pixels{n.Rect.Dx(), n.Rect.Dy(), nil}
	for i := 0; i < len(n.Pix); i += 4 {
		p.argb = append(p.argb, uint32(n.Pix[i+3])<<24|uint32(n.Pix[i])<<16|uint32(n.Pix[i+1])<<8|uint32(n.Pix[i+2]))
	}
	return p
}

func TestPhotosComeBackAtEveryEffort(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for _, size := range append(sizes, [2]int{260, 130}) {
		for effort := range predictorPlans {
			p := texture(r, size[0], size[1], effort%2 == 0)
			if got := unpack(t, photoBytes(t, pools[1], p, effort)); got.w != p.w || got.h != p.h || !slices.Equal(got.argb, p.argb) {
				t.Fatalf("%dx%d, effort %d: other pixels", p.w, p.h, effort)
			}
		}
	}
}

func TestPhotosDoNotDependOnThreads(t *testing.T) {
	p := texture(rand.New(rand.NewPCG(6, 2)), 250, 190, true)
	for _, effort := range []int{0, 1, 6, 9} {
		if !bytes.Equal(photoBytes(t, pools[0], p, effort), photoBytes(t, pools[1], p, effort)) {
			t.Errorf("effort %d: other bytes with other threads", effort)
		}
	}
}

func TestGroupsNeverCost(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 3))
	flat := pixels{300, 200, slices.Repeat([]uint32{0xff336699}, 300*200)}
	for _, p := range []pixels{flat, texture(r, 3, 2, true), texture(r, 40, 40, true), texture(r, 200, 150, false)} {
		for effort := range predictorPlans {
			s, err := photo(context.Background(), pools[1], cpuSteps{pools[1]}, p, effort)
			if err != nil {
				t.Fatal(err)
			}
			s.alpha = true
			many, n := len(s.write(pools[0])), s.entropy.groups
			s.entropy = entropyImage{}
			if one := len(s.write(pools[0])); many > one {
				t.Errorf("%dx%d, effort %d: %d bytes with %d groups, %d with one", p.w, p.h, effort, many, n, one)
			}
		}
	}
}

func TestTransformedIgnoresWhatIsCopied(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 4))
	p := texture(r, 64, 64, false)
	q := pixels{p.w, p.h, slices.Clone(p.argb)}
	length := make([]uint16, len(p.argb))
	for i := range p.argb {
		// The lower right quarter, which predicts no other pixel that is counted.
		if i%p.w >= 32 && i/p.w >= 32 {
			length[i], q.argb[i] = covered, opaqueBlack|r.Uint32()>>8
		}
	}
	transformed := func(p pixels) []transform {
		v := newMemoryPredictorSearch(pools[0], p, parse{length: length})
		if err := newPasses(pools[0], v, predictorPlans[1]).transforms(context.Background()); err != nil {
			t.Fatal(err)
		}
		found, _ := v.result()
		return found.transforms(p.w, p.h)
	}
	a, b := transformed(p), transformed(q)
	for i := range a {
		if !slices.Equal(a[i].data.argb, b[i].data.argb) {
			t.Errorf("transform %d depends on pixels that are copied", a[i].kind)
		}
	}
}

func TestMoreEffortMakesSmallerFiles(t *testing.T) {
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
		p := pixels{m.Bounds().Dx(), m.Bounds().Dy(), nil}
		for y := range p.h {
			for x := range p.w {
				a, b, c, _ := m.At(m.Bounds().Min.X+x, m.Bounds().Min.Y+y).RGBA()
				p.argb = append(p.argb, opaqueBlack|a>>8<<16|b>>8<<8|c>>8)
			}
		}
		var own [10]int
		for effort := range predictorPlans {
			own[effort] = len(photoBytes(t, pools[1], p, effort))
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
