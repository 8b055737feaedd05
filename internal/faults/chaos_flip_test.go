package faults_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// lossless are the codecs whose results must give the image back, with options that make them so.
var lossless = []struct {
	name    string
	options []string
}{
	{"webp", nil}, {"pcwt", nil}, {"jpeg2000", nil}, {"jpeg2000", []string{"mode=ht"}},
}

// flippedWidth is the width of images for which the faultworker flips a bit of each file that its codec makes.
const flippedWidth = 41

// flips has a worker whose codec's files have one wrong bit, another one at each attempt, as from a card that computes
// wrongly. Verification must not let one through that decodes to another image.
func flips(t *testing.T, size int, l *ledger) {
	rng := seed.Rand(t)
	for _, c := range lossless {
		var good []faults.Source
		for i := range 10 {
			good = append(good, faults.RawImage(rng.Uint64(), fmt.Sprintf("a/%05d.ppm", i), 48, 40+i))
		}
		tr := inFolders(t, good).withRedis()
		tr.codec, tr.options = c.name, c.options
		bad := map[string]bool{}
		for i := range max(leastFlipped, size/len(lossless)/attempts) {
			s := faults.RawImage(rng.Uint64(), fmt.Sprintf("b/%05d-flipped.ppm", i), flippedWidth, 30+i%7)
			s.Want = []jobs.Outcome{jobs.OutcomeCompressed, jobs.OutcomeFailed}
			tr.sources, bad[s.Key] = append(tr.sources, s), true
			tr.write(s)
		}
		l.add(countImages, int64(len(tr.sources)))
		tr.extra = []string{"--chunk-objects", "200", "--fail-ratio", "1"}
		id := tr.submit()
		tr.scheduler()
		w := tr.faultWorker("-codec", c.name, "-seed", fmt.Sprint(rng.Uint32()))
		f := tr.ended(id) // what was stored decodes to its source, whatever bit it has wrong
		caught, harmless := 0, 0
		for key := range bad {
			switch r := f.Results[key]; {
			case r.Outcome == jobs.OutcomeCompressed:
				caught, harmless = caught+r.Attempts-1, harmless+1
			case r.Class != class.Verify:
				t.Errorf("%s: %s: class %q, want %q", c.name, key, r.Class, class.Verify)
			default:
				caught += r.Attempts
			}
		}
		l.add(countFaults, int64(caught+harmless))
		l.add("caught", int64(caught))
		l.add("harmless: the right image comes back", int64(harmless))
		l.say("%s %s: %d bits flipped, %d caught, %d harmless", c.name, strings.Join(c.options, " "), caught+harmless, caught, harmless)
		if caught == 0 {
			t.Errorf("%s: no flipped bit was caught", c.name)
		}
		w.Kill()
	}
}

// leastFlipped is how many images of a codec have a flipped bit at least. One in seventy bits is harmless, so that a single
// image may have none that is caught.
const leastFlipped = 4

// attempts is how often an object is tried whose result fails verification.
const attempts = 3
