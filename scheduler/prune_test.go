package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// nights runs n jobs over what the source has, each to its end.
func (r *rig) nights(n int) (ids []string) {
	for range n {
		spec := r.submit(func(s *jobs.Spec) { s.AutoStart = true })
		r.ended(spec.ID)
		ids = append(ids, spec.ID)
	}
	return ids
}

// folderSize is the number of bytes of all folders of jobs of the target.
func (r *rig) folderSize() (n int64) {
	r.t.Helper()
	err := walk(context.Background(), r.bucket(r.target), jobs.JobsDir, "", func(o storage.Object) error {
		n += o.Size
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// After a prune what was done stays done, what an object's result was is known, and thirty
// idle runs take no room.
func TestPrune(t *testing.T) {
	for _, source := range []string{"mem", "file"} {
		t.Run(source, func(t *testing.T) {
			r := newRig(t)
			if source == "file" {
				r = newRigOn(t, "", "file://"+t.TempDir(), "file://"+t.TempDir())
			}
			r.worker.start(t, 2)
			defer r.run(r.scheduler(nil))()
			r.fill(1200)
			first := r.nights(1)[0]
			size := r.folderSize()
			r.put(r.source, "added.png")
			ids := append([]string{first}, r.nights(8)...)
			c := r.client
			claims := claimed(t, c, r.target)
			p, err := c.Prune(t.Context(), r.target, PruneRule{KeepLast: 2}, true)
			if err != nil || !slices.Equal(p.Jobs, ids[:7]) || len(p.Lists) != 0 || p.Records != 1201 {
				t.Fatalf("dry run: %+v (%v)", p, err)
			}
			if p, err = c.Prune(t.Context(), r.target, PruneRule{KeepLast: 2}, false); err != nil || len(p.Lists) != 1 || !slices.Equal(p.Kept, ids[7:]) {
				t.Fatalf("%+v (%v)", p, err)
			}
			if got := claimed(t, c, r.target); !slices.Equal(got, claims) {
				t.Errorf("%d claims before, %d after", len(claims), len(got))
			}
			if now := r.folderSize(); float64(now) > 1.2*float64(size) {
				t.Errorf("folders of %d bytes after a prune, %d after one run", now, size)
			}
			again := r.nights(1)[0]
			if plan, err := c.Plan(t.Context(), r.target, again); err != nil || plan.Skipped != 1201 || len(plan.Chunks) > 0 {
				t.Errorf("a run after the prune: %d of %d done (%v)", plan.Skipped, plan.Objects, err)
			}
			// Nothing is left to do but to add the newer runs to the list.
			if p, err = c.Prune(t.Context(), r.target, PruneRule{KeepLast: 1}, false); err != nil || len(p.Jobs) != 3 || p.Records != 1201 {
				t.Errorf("second prune: %+v (%v)", p, err)
			}
			if p, err = c.Prune(t.Context(), r.target, PruneRule{KeepLast: 1}, false); err != nil || len(p.Jobs) != 0 {
				t.Errorf("third prune: %+v (%v)", p, err)
			}
		})
	}
}

// claimed lists the targets of a target's records.
func claimed(t *testing.T, c *Client, target string) (list []string) {
	t.Helper()
	err := c.Claims(t.Context(), target, "", func(claim jobs.Claim) error {
		if claim.Target != "" {
			owner := ""
			if claim.Owner != nil {
				owner = claim.Owner.Source
			}
			list = append(list, fmt.Sprint(claim.Target, " ", claim.TargetSHA256, " ", owner))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// A prune that is killed at any moment loses nothing, and the next one ends what it began.
func TestKilledPrunes(t *testing.T) {
	killed := errors.New("killed")
	for k := 0; ; k += 1 + k/4 { // each of the first steps, then fewer
		r := newRig(t)
		r.worker.start(t, 2)
		stop := r.run(r.scheduler(nil))
		r.fill(30)
		r.nights(2)
		r.put(r.source, "b.png")
		r.nights(2)
		claims := claimed(t, r.client, r.target)
		n := 0
		c := r.client
		c.before = func(string) error {
			if n++; n > k {
				return killed
			}
			return nil
		}
		_, err := c.Prune(t.Context(), r.target, PruneRule{KeepLast: 1}, false)
		if err != nil && !errors.Is(err, killed) {
			t.Fatal(err)
		}
		done := err == nil
		c.before = nil
		if got := claimed(t, c, r.target); !slices.Equal(slices.Compact(got), claims) {
			t.Errorf("killed before step %d: %d claims, want %d", k, len(got), len(claims))
		}
		again := r.nights(1)[0]
		if plan, err := c.Plan(t.Context(), r.target, again); err != nil || plan.Skipped != plan.Objects || plan.Objects != 31 {
			t.Errorf("killed before step %d: %d of %d done (%v)", k, plan.Skipped, plan.Objects, err)
		}
		if _, err := c.Prune(t.Context(), r.target, PruneRule{KeepLast: 1}, false); err != nil {
			t.Fatal(err)
		}
		if got := claimed(t, c, r.target); !slices.Equal(got, claims) {
			t.Errorf("killed before step %d and pruned: %d claims, want %d", k, len(got), len(claims))
		}
		all, err := c.List(t.Context(), r.target)
		if err != nil || len(all) != 2 {
			t.Errorf("killed before step %d and pruned: %d jobs, want the last one and a done-list (%v)", k, len(all), err)
		}
		err = walk(t.Context(), r.bucket(r.target), jobs.JobsDir, "", func(o storage.Object) error {
			// Of a list that was not finished there is no report; it is taken away a day later.
			if strings.HasSuffix(o.Key, "report.json") && !slices.ContainsFunc(all, func(s Summary) bool { return strings.HasPrefix(o.Key, jobs.Folder(s.ID).Dir()) }) {
				return fmt.Errorf("%s is left", o.Key)
			}
			return nil
		})
		if err != nil {
			t.Errorf("killed before step %d: %v", k, err)
		}
		stop()
		if done {
			break
		}
	}
}

// Of a target that two sources share, each key stays with who wrote it last.
func TestPruneKeepsOwners(t *testing.T) {
	r := newRig(t)
	r.worker.start(t, 2)
	defer r.run(r.scheduler(nil))()
	r.put(r.source, "a.png", "b.png")
	r.put("mem://other", "a.png", "c.png")
	r.nights(1)
	for _, source := range []string{"mem://other", r.source} {
		spec := r.submit(func(s *jobs.Spec) { s.Source, s.AutoStart, s.Overwrite = source, true, true })
		r.ended(spec.ID)
	}
	c := r.client
	claims := claimed(t, c, r.target)
	r.nights(1)
	if _, err := c.Prune(t.Context(), r.target, PruneRule{KeepLast: 1}, false); err != nil {
		t.Fatal(err)
	}
	got := claimed(t, c, r.target)
	for _, line := range got {
		if !slices.Contains(claims, line) {
			t.Errorf("after the prune: %s, before %q", line, claims)
		}
	}
}

// One process prunes a target at a time, until its lease is old.
func TestOnePruneAtATime(t *testing.T) {
	r := newRig(t)
	b := r.bucket(r.target)
	_, release, err := lockPrune(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.Prune(t.Context(), r.target, PruneRule{KeepLast: 1}, false); !errors.Is(err, ErrPruning) {
		t.Errorf("beside another one: %v", err)
	}
	release()
	f := folder{b: b}
	if err := f.putJSON(t.Context(), jobs.Prune, jobs.Lease{Renewed: time.Now().Add(-2 * pruneLease)}, true); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.Prune(t.Context(), r.target, PruneRule{KeepLast: 1}, false); err != nil {
		t.Errorf("behind a process that has ended: %v", err)
	}
	if there, err := exists(t.Context(), b, jobs.Prune); err != nil || there {
		t.Errorf("the lease stays (%v)", err)
	}
}
