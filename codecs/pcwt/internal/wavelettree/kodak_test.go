package wavelettree

import (
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pool"
)

// kodak is image n of the Kodak suite in grey, less 128.
func kodak(t testing.TB, n int) wavelet.Plane[int32] {
	f, err := os.Open(filepath.Join("..", "..", "..", "..", "..", "shared", "data", "kodak", fmt.Sprintf("%02d.png", n)))
	if err != nil {
		t.Skip("NOT TESTED: no Kodak images in ../shared/data")
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	p := wavelet.NewPlane[int32](m.Bounds().Dx(), m.Bounds().Dy())
	for y := range p.Height {
		for x := range p.Row(y) {
			r, g, b, _ := m.At(x, y).RGBA()
			p.Row(y)[x] = int32((299*(r>>8)+587*(g>>8)+114*(b>>8)+500)/1000) - 128
		}
	}
	return p
}

// TestKodakSizes holds the coder to its sizes, in which one bit more in a thousand shows.
func TestKodakSizes(t *testing.T) {
	const most, mostWithZeroSigns = 2_803_000, 2_884_000
	sum, withZeroSigns := 0, 0
	for n := 1; n <= 12; n++ {
		planes := []wavelet.Plane[int32]{kodak(t, n)}
		p := DefaultParams(planes[0].Width, planes[0].Height)
		sum += len(Encode(pool.New(), planes, p))
		p.ZeroSigns = true
		withZeroSigns += len(Encode(pool.New(), planes, p))
	}
	t.Logf("%d bytes, with zero signs %d", sum, withZeroSigns)
	if sum > most || withZeroSigns > mostWithZeroSigns {
		t.Errorf("Kodak 1 to 12 take %d bytes, with zero signs %d; at most %d and %d", sum, withZeroSigns, most, mostWithZeroSigns)
	}
}

func BenchmarkKodak(b *testing.B) {
	plane := kodak(b, 5)
	planes := []wavelet.Plane[int32]{plane}
	data := Encode(pool.Of(1), planes, DefaultParams(plane.Width, plane.Height))
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(plane.Samples)))
		b.ReportAllocs()
		for b.Loop() {
			Encode(pool.Of(1), planes, DefaultParams(plane.Width, plane.Height))
		}
	})
	b.Run("decode", func(b *testing.B) {
		back := empty(plane.Width, plane.Height, 1)
		b.SetBytes(int64(len(plane.Samples)))
		b.ReportAllocs()
		for b.Loop() {
			if err := Decode(pool.Of(1), data, plane.Width, plane.Height, back, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
