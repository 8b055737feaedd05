package faults_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

// changes replaces, restores or removes a source object at each request of a job in turn.
func changes(t *testing.T, size int, l *ledger) { changesOn(t, services.VersityGW(t), size, l) }

// How a source changes.
const (
	replaced = iota
	replacedAndRestored
	removed
	waysToChange
)

func changesOn(t *testing.T, gw *services.Store, size int, l *ledger) {
	rng := seed.Rand(t)
	calls := 0
	w := drawWork(t, rng, l)
	t.Run("none", func(t *testing.T) { calls = changing(t, gw, w, -1, 0, rng.Uint64(), l) })
	if t.Failed() || calls == 0 {
		return
	}
	// All requests are met when as many changes are made as there are; fewer are spread over them.
	for i := range size {
		at, way := i%calls, rng.IntN(waysToChange)
		if size < calls {
			at = i*calls/size + rng.IntN(calls/size)
		}
		images := rng.Uint64()
		t.Run(fmt.Sprint(i), func(t *testing.T) { changing(t, gw, w, at, way, images, l) })
	}
}

// changing compresses three images of which the second changes before request number at. Whatever is recorded must be true of
// the version that it names, and one more run must bring the target to what the source is by then.
func changing(t *testing.T, gw *services.Store, w work, at, way int, images uint64, l *ledger) (calls int) {
	tr := w.of(inBuckets(t, gw, w.sources(images, 3, 40)))
	l.add(countImages, 3)
	s := &tr.sources[1]
	old := *s
	now := w.version(images+1, s.Key, 48)
	var n atomic.Int64
	tr.proxy.Before(func(faults.Call) {
		i := int(n.Add(1)) - 1
		switch {
		case i == at && way == removed:
			if err := tr.from.Delete(t.Context(), s.Key); err != nil {
				t.Error(err)
			}
		case i == at:
			tr.write(now)
		case i == at+4 && way == replacedAndRestored:
			tr.write(old)
		}
	})
	code := tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit)
	if code != 0 && code != 3 {
		t.Errorf("exit code %d, want 0, or 3 where the change was met", code)
	}
	tr.proxy.Before(func(faults.Call) {})
	calls = int(n.Load())
	if at < 0 {
		tr.check(tr.job())
		return calls
	}
	l.fault("the source changes (%s) before request %d of %d", [...]string{"replaced", "replaced and restored", "removed"}[way], at, calls)
	s.Want = []jobs.Outcome{jobs.OutcomeCompressed, jobs.OutcomeFailed}
	s.Also = []faults.Source{{Key: s.Key, Data: now.Data, Image: now.Image}}
	first := tr.job()
	all := tr.sources
	if _, planned := faults.Records(t, tr.to, first)[s.Key]; !planned && way == removed {
		tr.sources = slices.Delete(slices.Clone(all), 1, 2) // it was gone before it was listed
	}
	tr.check(first)
	if way == removed {
		return calls
	}
	final := now
	if got, err := tr.from.ReadAll(t.Context(), s.Key); err != nil || !bytes.Equal(got, now.Data) {
		if final = old; !bytes.Equal(got, old.Data) || way == replaced && err == nil && at < calls {
			t.Errorf("the source has %d bytes that nobody wrote, %v", len(got), err)
		}
	}
	s.Data, s.Image, s.Also, s.Want = final.Data, final.Image, nil, nil
	if code := tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit); code != 0 && code != 4 {
		t.Errorf("one more run: exit code %d, want 0, or 4 where nothing has changed", code)
	}
	ids := tr.jobs()
	if last := ids[len(ids)-1]; last != first {
		tr.check(last, first)
	}
	return calls
}
