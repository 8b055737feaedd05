package faults_test

import (
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

// badStorage compresses through a proxy that does one kind of fault to a share of the calls, for the source and the
// target alike. Equal calls fail at most four times, and storage tries six times, so that every object must end well
// whatever the random choices are.
func badStorage(rules ...faults.Rule) func(t *testing.T, gw *services.Store) {
	return func(t *testing.T, gw *services.Store) {
		tr := inBuckets(t, gw, faults.Images(5, 60, 96))
		tr.extra = []string{"--chunk-objects", "10"}
		for i := range rules {
			rules[i].Each = 4
		}
		tr.proxy.Set(rules...)
		if code := tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		for _, r := range rules {
			if tr.proxy.Done(r.Fault) == 0 {
				t.Errorf("no fault %q was done in %d calls", r.Fault, tr.proxy.Calls())
			}
		}
		tr.check(tr.job())
	}
}
