package faults_test

import (
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

func TestSourcesAreTheSameOnEveryRun(t *testing.T) {
	all := func() []faults.Source { return append(faults.Images(3, 8, 64), faults.Poison(3, 6)...) }
	a, b := all(), all()
	stems := map[string]bool{}
	for i := range a {
		if a[i].Key != b[i].Key || string(a[i].Data) != string(b[i].Data) {
			t.Errorf("source %d differs", i)
		}
		stems[jobs.Stem(a[i].Key, "")] = true
	}
	if len(stems) != len(a) {
		t.Errorf("%d different stems of %d sources", len(stems), len(a))
	}
}

// TestImagesSuitTheCodec holds the fault tests to their assumption: every image can be read, its result is smaller
// than its source, and it looks like it.
func TestImagesSuitTheCodec(t *testing.T) {
	c := vq(t)
	opts, err := c.Options([]string{"n=16"})
	if err != nil {
		t.Fatal(err)
	}
	worst := raster.Identical
	for _, s := range append(faults.Images(1, 40, 96), faults.Images(2, 40, 64)...) {
		m, err := imageio.Decode(s.Data, nil)
		if err != nil || m.Hash() != s.Image.Hash() {
			t.Fatalf("%s: %v, or another picture", s.Key, err)
		}
		enc := c.Encode(t.Context(), codec.Run{}, codec.Items(m), opts)[0]
		if enc.Err != nil || len(enc.Data) >= len(s.Data) {
			t.Fatalf("%s: %d bytes of %d, %v", s.Key, len(enc.Data), len(s.Data), enc.Err)
		}
		dec := c.Decode(t.Context(), codec.Run{}, [][]byte{enc.Data}, nil)[0]
		if dec.Err != nil {
			t.Fatalf("%s: %v", s.Key, dec.Err)
		}
		psnr, err := raster.PSNR(m, dec.Image)
		if err != nil {
			t.Fatal(err)
		}
		worst = min(worst, psnr)
	}
	t.Logf("worst picture: %.2f dB", worst)
	if worst < faults.MinPSNR {
		t.Errorf("the worst picture has %.2f dB, the checker wants %d", worst, faults.MinPSNR)
	}
	for _, s := range faults.Poison(1, 12) {
		if m, err := imageio.Decode(s.Data, nil); err == nil && !strings.HasSuffix(s.Key, ".jpg") {
			t.Errorf("%s was read as %s", s.Key, m.Shape)
		}
	}
}
