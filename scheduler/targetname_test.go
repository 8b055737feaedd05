package scheduler

import (
	"strings"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// Results that would be called as a folder of the target keep their extension, and those that no name helps are known
// before anything is encoded.
func TestThePlanFindsNamesThatTheTargetCannotHold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.source, r.target = t.TempDir(), t.TempDir()
	long := strings.Repeat("n", 252)
	r.put(r.source, "a.png", "a.tiny/x.png", "b.png", "b.tiny/x.png", "b.png.tiny/x.png", long+".p", "c.png")
	spec := r.submit(nil)
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	report := r.ended(spec.ID)
	if c := report.Counts; c.Compressed != 5 || c.Failed != 2 {
		t.Errorf("%+v", c)
	}
	plan, err := r.client.Plan(r.ctx, r.target, spec.ID)
	if err != nil || plan.Unfit != 2 || plan.Collisions != 2 {
		t.Errorf("%d names that do not fit, %d collisions (%v)", plan.Unfit, plan.Collisions, err)
	}
	for _, key := range []string{"a.png.tiny", "a.tiny/x.tiny", "b.tiny/x.tiny", "b.png.tiny/x.tiny", "c.tiny"} {
		if ok, err := exists(r.ctx, r.bucket(r.target), key); !ok || err != nil {
			t.Errorf("no %s (%v)", key, err)
		}
	}
	err = r.client.Results(r.ctx, r.target, spec.ID, func(o jobs.Result) error {
		if o.Outcome == jobs.OutcomeFailed && (o.Class != class.Key || !strings.Contains(o.Error, "target")) {
			t.Errorf("%s: class %s (%s)", o.Key, o.Class, o.Error)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
