package webp

import (
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/raster"
)

// Memory finds of a large image by some of its rows what the encoder finds by all.
func TestPhotographByRows(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	answers := map[bool]int{}
	for channels := 1; channels <= 4; channels++ {
		for _, noise := range []int{1, 3, 40} {
			m := raster.New(1201, 1003, 1, channels, 8)
			for i := range m.Pix {
				pixel := i / channels
				m.Pix[i] = byte(pixel%1201/9 + pixel/1201/5 + i%channels*50 + r.IntN(noise))
			}
			if search.SampledRows(m.Width, m.Height, search.AnalysisPixels) == nil {
				t.Fatal("all rows are looked at")
			}
			for _, exact := range []bool{false, true} {
				seen := search.Analyse(loaded(testimages.Pools[0], m, exact), search.AnalysisPixels)
				got, want := photograph(m, exact), seen.IsPhoto()
				if answers[want]++; got != want {
					t.Errorf("%d channels, noise %d, exact %v: %v, want %v", channels, noise, exact, got, want)
				}
			}
		}
	}
	if answers[true] == 0 || answers[false] == 0 {
		t.Errorf("answers %v", answers)
	}
}
