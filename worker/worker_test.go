package worker

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/vq"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
)

// The straight line: PNG through the embedded queue and vq to results, shards and
// counts.
func TestRunCompressesAJob(t *testing.T) {
	for _, target := range []string{"mem://target", t.TempDir()} {
		j := newJob(t, "mem://source", target, vq.Codec{}, func(s *jobs.Spec) { s.ChunkObjects = 7 }).queued()
		j.photos(23, 64).plan()
		w := j.worker(Options{}, vq.Codec{})
		counts := j.run(w)
		if counts.Objects != 23 || counts.Compressed != 23 {
			t.Errorf("counts %+v, want 23 compressed", counts)
		}
		for key, r := range j.results() {
			if r.Outcome != jobs.OutcomeCompressed || r.Verified != "full" || r.PSNR < 20 || r.SSIM <= 0 || r.Target != jobs.Stem(key, ".vq")+".vq" {
				t.Errorf("%s: %+v", key, r)
			}
		}
	}
}

// TestTransfers: there are 16 for each card and without one, unless the options say otherwise.
func TestTransfers(t *testing.T) {
	for cards, want := range []int{16, 16, 32, 48} {
		if got := fetchersFor(cards); got != want {
			t.Errorf("%d beside %d cards, want %d", got, cards, want)
		}
	}
	for _, c := range []struct{ asked, want int }{{0, 16}, {3, 3}, {40, 40}} {
		o := Options{Fetchers: c.asked}
		if err := o.defaults(); err != nil {
			t.Fatal(err)
		}
		for _, device := range []*gpu.Device{nil, {}} {
			w := newWorker(nil, nil, o, device)
			if cap(w.fetches) != c.want || cap(w.stores) != c.want || w.opts.Fetchers != c.want {
				t.Errorf("%d asked for on %q: %d fetches and %d stores at once, %d in the options", c.asked, device.Name(), cap(w.fetches), cap(w.stores), w.opts.Fetchers)
			}
		}
	}
}
