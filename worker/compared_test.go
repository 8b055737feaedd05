package worker

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// comparing is what a device does that compares images: it keeps those that were not asked for. wrong makes its numbers so.
func comparing(wrong func(c *codec.Comparison)) func(codec.Original, *codec.Decoded) {
	return func(o codec.Original, d *codec.Decoded) {
		if o.Image == nil || d.Err != nil {
			return
		}
		c := codec.Comparison{Identical: bytes.Equal(o.Image.Pix, d.Image.Pix), PSNR: raster.Identical, SSIM: 1}
		if !c.Identical {
			c.PSNR, c.SSIM, _ = raster.Quality(o.Image, d.Image)
		}
		if wrong != nil {
			wrong(&c)
		}
		d.Compared = &c
		if !o.Fetch {
			bare := *d.Image
			bare.Pix, d.Image = nil, &bare
		}
	}
}

// dimmed is an image of which every sample is a little less.
func dimmed(m *raster.Image) (*raster.Image, error, bool) {
	out := *m
	out.Pix = bytes.Clone(m.Pix)
	for i, v := range out.Pix {
		out.Pix[i] = v - v/32
	}
	return &out, nil, true
}

// A device compares what it has decoded, and the records are those that cores make. Where one of its numbers is wrong none of the batch
// counts, and the results are proved all the same.
func TestTheDeviceComparesResults(t *testing.T) {
	const photos = 12
	for _, c := range []struct {
		name    string
		lossy   bool
		decode  func(*raster.Image) (*raster.Image, error, bool)
		compare func(codec.Original, *codec.Decoded)
		failed  bool
	}{
		{name: "lossy", lossy: true, decode: dimmed, compare: comparing(nil)},
		{name: "lossy, and nothing is lost", lossy: true, compare: comparing(nil)},
		{name: "lossless", compare: comparing(nil)},
		{name: "wrong PSNR", lossy: true, decode: dimmed, compare: comparing(func(c *codec.Comparison) { c.PSNR += 1e-9 }), failed: true},
		{name: "wrong SSIM", lossy: true, decode: dimmed, compare: comparing(func(c *codec.Comparison) { c.SSIM = 1 }), failed: true},
		{name: "a difference that there is not", compare: comparing(func(c *codec.Comparison) { *c = codec.Comparison{} }), failed: true},
		{name: "a difference that is not seen", lossy: true, decode: dimmed, compare: comparing(func(c *codec.Comparison) { *c = codec.Comparison{Identical: true, PSNR: raster.Identical, SSIM: 1} }), failed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			records := func(f *fake, verify string, dev bool) (map[string]jobs.Result, *Worker) {
				j := newJob(t, "mem://source", "mem://target", f, func(s *jobs.Spec) { s.Verify, s.MinPSNR = verify, 0 }).photos(photos, 20).plan()
				w := j.worker(Options{}, f)
				if dev {
					w = j.deviceWorker(Options{}, f)
					w.open.Store(true)
					w.reading.failed = true // cores read
				}
				if err := j.chunk(w, 0); err != nil {
					t.Fatal(err)
				}
				return j.results(), w
			}
			want, _ := records(&fake{lossy: c.lossy, decode: c.decode}, verifyFull, false)
			got, w := records(&fake{lossy: c.lossy, decode: c.decode, compare: c.compare}, verifyDevice, true)
			for key, r := range got {
				if x := want[key]; r.Outcome != jobs.OutcomeCompressed || r.PSNR != x.PSNR || r.SSIM != x.SSIM || r.PixelHash != x.PixelHash {
					t.Errorf("%s: %s %s, %v dB, %v; want %v dB, %v", key, r.Outcome, r.Error, r.PSNR, r.SSIM, x.PSNR, x.SSIM)
				}
			}
			// Of each batch a core compares one.
			compared := photos - w.formed.Load()
			if c.failed {
				compared = 0
			}
			if n := w.comparing.count(); w.comparing.failed.Load() != c.failed || len(got) != photos || n != compared {
				t.Errorf("%d of %d results were compared on the device, want %d of %d; it failed: %v", n, len(got), compared, photos, w.comparing.failed.Load())
			}
		})
	}
}

// A result that the device finds different, where it may not be, does not stand.
func TestTheDeviceFindsADifference(t *testing.T) {
	changed := func(m *raster.Image) (*raster.Image, error, bool) {
		out, err, _ := dimmed(m)
		return out, err, m.Width == 21
	}
	f := &fake{decode: changed, compare: comparing(nil)}
	j := newJob(t, "mem://source", "mem://target", f, func(s *jobs.Spec) { s.Verify = verifyDevice }).photos(5, 20).photos(1, 21).plan()
	w := j.deviceWorker(Options{}, f)
	w.open.Store(true)
	w.reading.failed = true
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for key, r := range j.results() {
		if r.Outcome != jobs.OutcomeCompressed {
			failed++
			if r.Class != "verify" || !strings.Contains(r.Error, "another picture") {
				t.Errorf("%s: %s, %s: %s", key, r.Outcome, r.Class, r.Error)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d results do not stand, want 1", failed)
	}
}

// An image whose samples have changed in memory since they were read is noticed, although the result decodes to what was encoded.
func TestTheOriginalChangesBeforeItIsCompared(t *testing.T) {
	f := &fake{compare: comparing(nil)}
	f.encode = func(_ context.Context, dev *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		if dev != nil && m.Width == 21 {
			m.Pix[7] ^= 1
		}
		return nil, nil, false
	}
	j := newJob(t, "mem://source", "mem://target", f, func(s *jobs.Spec) { s.Verify = verifyDevice }).photos(5, 20).photos(1, 21).plan()
	w := j.deviceWorker(Options{}, f)
	w.open.Store(true)
	w.reading.failed = true
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	if n := w.mismatches.Load(); n == 0 {
		t.Error("the change was not noticed")
	}
}
