//go:build cuda && cgo

package neuquant

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// differ says at which value two lists differ.
func differ[T comparable](what string, got, want []T) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("%s: value %d of %d is %v, want %v", what, i, len(got), got[i], want[i])
		}
	}
	return nil
}

// sameSolutions compares what a device made with what the CPU makes. Of all problems that
// differ it names the first few.
func sameSolutions(t *testing.T, what string, list []problem, o *Options, got []solution) {
	t.Helper()
	want := cpuSteps{pool.New()}.solve(context.Background(), list, o)
	wrong := 0
	for i := range list {
		err := got[i].err
		if err == nil {
			err = differ("entries", got[i].entries, want[i].entries)
		}
		if err == nil {
			err = differ("indices", got[i].index, want[i].index)
		}
		if err == nil {
			continue
		}
		if wrong++; wrong <= 5 {
			t.Errorf("%s: problem %d, %v, sample %d, refine %d: %v", what, i, &list[i], o.sample, o.refine, err)
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d of %d problems differ", what, wrong, len(list))
	}
}

// oddProblems are of every kind, around every size and number of entries where something
// changes.
func oddProblems(rng *rand.Rand, n int) (list []problem) {
	sizes := []int{1, 2, 3, 31, 33, 501, 502, 503, 504, 505, 1497, 2047, 2049, 5000, 9721}
	entries := []int{1, 2, 3, 15, 16, 17, 32, 33, 100, 255, 256, 256, 256}
	for range n {
		p := problem{entries: entries[rng.IntN(len(entries))], opaque: rng.IntN(2) == 0, mapped: rng.IntN(5) > 0}
		p.values = colours(rng, kinds[rng.IntN(len(kinds))], sizes[rng.IntN(len(sizes))], p.opaque)
		if p.opaque && rng.IntN(3) > 0 {
			p = asSamples(p)
		}
		list = append(list, p)
	}
	return list
}

// The steps give what those in Go give: the training alone, seen through problems that are
// not refined, the refinement of what the CPU has trained, and all together.
func TestLockstep(t *testing.T) {
	dev := gputest.Device(t, nil)
	batches, members := 3, 200
	if testing.Short() {
		batches, members = 1, 12 // under compute-sanitizer a kernel takes a hundred times as long
	}
	for _, c := range []struct {
		name           string
		train          trainer
		sample, refine int
	}{
		{"map", trainOnHost, 10, 0},
		{"train", trainOnDevice, 1, 0},
		{"train", trainOnDevice, 10, 0},
		{"train", trainOnDevice, 30, 0},
		{"refine", trainOnHost, 10, 1},
		{"refine", trainOnHost, 10, 2},
		{"refine", trainOnHost, 10, 6},
		{"refine", trainOnHost, 10, 32},
		{"all", trainOnDevice, 1, 6},
		{"all", trainWhereFaster, 10, 6},
	} {
		t.Run(fmt.Sprintf("%s-%d-%d", c.name, c.sample, c.refine), func(t *testing.T) {
			for i := range batches {
				list := oddProblems(rand.New(rand.NewPCG(uint64(i), uint64(c.sample+100*c.refine))), members)
				d := &deviceSteps{device: dev, pool: pool.New(), trainer: c.train}
				o := &Options{sample: c.sample, refine: c.refine}
				sameSolutions(t, c.name, list, o, d.solve(t.Context(), list, o))
			}
		})
	}
	t.Logf("%d batches of %d problems each on %s", batches, members, dev.Name())
}

// A training that takes several launches goes on where it stopped.
func TestLockstepLongTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a million samples")
	}
	dev := gputest.Device(t, nil)
	rng := rand.New(rand.NewPCG(7, 8))
	var list []problem
	for _, opaque := range []bool{true, false} {
		p := problem{entries: 256, opaque: opaque, mapped: true}
		p.values = colours(rng, "noise", launchSamples+launchSamples/3+17, opaque)
		list = append(list, p)
	}
	list = append(list, oddProblems(rng, 3)...)
	o := &Options{sample: 1, refine: 2}
	d := &deviceSteps{device: dev, pool: pool.New(), trainer: trainOnDevice}
	sameSolutions(t, "long", list, o, d.solve(t.Context(), list, o))
}

// Whole images, where they are at hand.
func TestLockstepKodak(t *testing.T) {
	dev := gputest.Device(t, nil)
	var list []problem
	for _, m := range devicePhotos(t) {
		list = append(list, problem{samples: m.Pix, entries: 256, opaque: true, mapped: true})
	}
	if list == nil {
		t.Skip("NOT TESTED: ../shared/data/kodak, which is no part of the project, is absent")
	}
	for _, o := range []Options{{sample: 10, refine: 6}, {sample: 1}, {sample: 30, refine: 32}} {
		for _, who := range []trainer{trainOnDevice, trainWhereFaster} {
			d := &deviceSteps{device: dev, pool: pool.New(), trainer: who}
			sameSolutions(t, "kodak", list, &o, d.solve(t.Context(), list, &o))
		}
	}
	t.Logf("%d pictures", len(list))
}

// Thousands of small problems in one batch, some of them equal.
func TestManySmallProblems(t *testing.T) {
	n := 4096
	if testing.Short() {
		n = 70
	}
	dev := gputest.Device(t, nil)
	rng := rand.New(rand.NewPCG(9, 10))
	few := oddProblems(rng, 64)
	list := make([]problem, n)
	for i := range list {
		if i < 2048 {
			list[i] = problem{entries: 2 + rng.IntN(255), opaque: true, mapped: true, values: colours(rng, kinds[i%len(kinds)], 600+rng.IntN(200), true)}
		} else {
			list[i] = few[rng.IntN(len(few))]
		}
	}
	o := &Options{sample: 10, refine: 4}
	d := &deviceSteps{device: dev, pool: pool.New(), trainer: trainOnDevice}
	got := d.solve(t.Context(), list, o)
	sameSolutions(t, "many", list, o, got)
	if other := d.solve(t.Context(), list[n/2:], o); !slices.EqualFunc(other, got[n/2:], func(a, b solution) bool {
		return slices.Equal(a.entries, b.entries) && slices.Equal(a.index, b.index)
	}) {
		t.Error("other solutions in another batch")
	}
}
