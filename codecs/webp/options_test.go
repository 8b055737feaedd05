package webp

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

func TestOptions(t *testing.T) {
	const usual = "effort=6 exact=true metadata=keep near-lossless=100"
	for pairs, want := range map[string]string{
		"":                         usual,
		"effort=9":                 "effort=9 exact=true metadata=keep near-lossless=100",
		"effort=9 effort=0":        "effort=0 exact=true metadata=keep near-lossless=100",
		"exact=false":              "effort=6 exact=false metadata=keep near-lossless=100",
		"metadata=strip":           "effort=6 exact=true metadata=strip near-lossless=100",
		"near-lossless=0 effort=6": "effort=6 exact=true metadata=keep near-lossless=0",
	} {
		o, err := Codec{}.Options(strings.Fields(pairs))
		if err != nil || o.String() != want {
			t.Errorf("%q: %v (%v), want %s", pairs, o, err, want)
			continue
		}
		lossy := strings.Contains(want, "exact=false") || strings.Contains(want, "near-lossless=0")
		if (Codec{}).Info().KeepsImages(o) == lossy {
			t.Errorf("%q: keeps pictures is %t", pairs, lossy)
		}
	}
	for _, bad := range []string{"effort=10", "effort=-1", "effort=", "effort=x", "exact=1", "metadata=all", "near-lossless=101", "quality=3"} {
		if _, err := (Codec{}).Options([]string{bad}); err == nil || !strings.Contains(err.Error(), "webp: option ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// An image that the format cannot hold is refused with what would work.
func TestRefusalsSayWhatWorks(t *testing.T) {
	signed := raster.New(2, 2, 1, 1, 8)
	signed.Signed = true
	for want, m := range map[string]*raster.Image{
		"convert the samples to 8 bits": raster.New(2, 2, 1, 3, 16),
		"shift them to 0 to 255":        signed,
		"slices as pictures":            raster.New(2, 2, 2, 1, 8),
		"cut the picture":               raster.New(16384, 1, 1, 1, 8),
	} {
		err := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), nil)[0].Err
		if u := (*codec.UnsupportedError)(nil); !errors.As(err, &u) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", m.Shape, err, want)
		}
	}
}

// The longest sides there are.
func TestLongestSides(t *testing.T) {
	for _, size := range [][2]int{{maxSide, 1}, {1, maxSide}, {maxSide, 2}} {
		m := raster.New(size[0], size[1], 1, 3, 8)
		for i := range m.Pix {
			m.Pix[i] = byte(i * i >> 8)
		}
		got, err := decoded(encoded(t, m, "effort=1"))
		if err != nil || got.Hash() != m.Hash() {
			t.Errorf("%s: comes back as another picture (%v)", m.Shape, err)
		}
	}
}
