package faults_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// flippedWidth is the width of images for which the faultworker flips a bit of each file that its codec makes.
const flippedWidth = 41

// flips has a worker whose codec's files have one wrong bit, another one at each attempt, as from a card that computes
// wrongly. Verification must not let one through that decodes to another image, or of a lossy codec to one that is not like the
// source. Pictures have neighbours without a wrong bit.
func flips(t *testing.T, size int, l *ledger) {
	rng := seed.Rand(t)
	list := slices.DeleteFunc(slices.Clone(chosenWorks(t)), func(w work) bool { return w.codec == codecs.Auto })
	if size < attempts*leastFlipped*len(list) { // a few of them
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:max(1, size/attempts/leastFlipped)]
	}
	for _, w := range list {
		flipsOf(t, w, max(leastFlipped, size/len(list)/attempts), rng, l)
	}
}

// flipsOf flips bits of n files.
func flipsOf(t *testing.T, w work, n int, rng *rand.Rand, l *ledger) {
	t.Helper()
	args := []string{"-codec", w.codec, "-seed", fmt.Sprint(rng.Uint32())}
	var all []faults.Source
	if pictures := w.sources(0, 1, flippedWidth)[0]; strings.HasSuffix(pictures.Key, "m") || strings.HasSuffix(pictures.Key, ".png") {
		for i := range 10 {
			all = append(all, faults.RawImage(rng.Uint64(), fmt.Sprintf("a/%05d.ppm", i), 48, 40+i))
		}
		for i := range n {
			s := faults.RawImage(rng.Uint64(), fmt.Sprintf("b/%05d-flipped.ppm", i), flippedWidth, 30+i%7)
			s.Want = []jobs.Outcome{jobs.OutcomeCompressed, jobs.OutcomeFailed}
			all = append(all, s)
		}
	} else {
		args = append(args, "-flip-all")
		all = w.sources(rng.Uint64(), n, 48)
		for i := range all {
			all[i].Want = []jobs.Outcome{jobs.OutcomeCompressed, jobs.OutcomeFailed}
		}
	}
	tr := w.of(inFolders(t, all)).withRedis()
	l.add(countImages, int64(len(all)))
	tr.extra = []string{"--chunk-objects", "200", "--fail-ratio", "1"}
	id := tr.submit()
	tr.scheduler()
	worker := tr.faultWorker(args...)
	f := tr.ended(id) // what was stored decodes to its source, whatever bit it has wrong
	by, err := codecs.Resolve(nil, w.codec, 0, codec.JoinPairs(w.options))
	if err != nil {
		t.Fatal(err)
	}
	exact := by.Codec.Info().KeepsImages(by.Options)
	caught, harmless, like := 0, 0, 0
	for _, s := range all {
		r := f.Results[s.Key]
		switch {
		case s.Want == nil:
		case r.Outcome == jobs.OutcomeCompressed && (exact || r.DecodedHash == r.PixelHash):
			caught, harmless = caught+r.Attempts-1, harmless+1
		case r.Outcome == jobs.OutcomeCompressed:
			caught, like = caught+r.Attempts-1, like+1
		case r.Class != class.Verify:
			t.Errorf("%s: %s: class %q, want %q", w.name, s.Key, r.Class, class.Verify)
		default:
			caught += r.Attempts
		}
	}
	l.add(countFaults, int64(caught+harmless+like))
	l.add("caught", int64(caught))
	l.add("harmless: the right image comes back", int64(harmless))
	l.add("of lossy codecs: an image like the source comes back", int64(like))
	l.say("%s: %d bits flipped, %d caught, %d harmless, %d images like the source", w.name, caught+harmless+like, caught, harmless, like)
	if exact && caught == 0 {
		t.Errorf("%s: no flipped bit was caught", w.name)
	}
	worker.Kill()
}

// leastFlipped is how many images of a codec have a flipped bit at least. One in seventy bits is harmless, so that a single
// image may have none that is caught.
const leastFlipped = 4

// attempts is how often an object is tried whose result fails verification.
const attempts = 3
