package scheduler

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// orphans deletes, or lists only, and gives what was found: target keys with the reason why
// one was left.
func (r *rig) orphans(opts OrphanOptions, doDelete bool) (found map[string]string, sum Orphans, err error) {
	found = map[string]string{}
	note := func(o Orphan) error {
		found[o.Target] = o.Left
		return nil
	}
	opts.Found, opts.Left = note, note
	if doDelete {
		opts.Delete = func(Orphans) (bool, error) { return true, nil }
	}
	sum, err = r.client.Orphans(r.ctx, r.target, &opts)
	return found, sum, err
}

// keys lists a bucket without pelmill's own objects.
func (r *rig) keys(url string) (list []string) {
	r.t.Helper()
	err := walk(r.ctx, r.bucket(url), "", "", func(o storage.Object) error {
		list = append(list, o.Key)
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func (r *rig) delete(url string, keys ...string) {
	r.t.Helper()
	for _, key := range keys {
		if err := storage.Delete(r.ctx, r.bucket(url), key); err != nil {
			r.t.Fatal(err)
		}
	}
}

// On every kind of store: beside a job at work, ended jobs are pruned and what they have done stays
// done; results without source are found and deleted, and nothing else.
func TestHousekeepingOnStores(t *testing.T) {
	on := func(source, target string, metadata bool) func(t *testing.T) {
		return func(t *testing.T) {
			r := newRigOn(t, "", source, target)
			r.worker.start(t, 2)
			defer r.run(r.scheduler(nil))()
			r.fill(9)
			r.put(r.source, "odd/ä #%.png", "z.png")
			pruneBesideAJob(t, r)
			deleteOrphans(t, r, metadata)
		}
	}
	cases := []services.Case{{Name: "File", Run: func(t *testing.T) { on("file://"+t.TempDir(), "file://"+t.TempDir(), false)(t) }},
		{Name: "Memory", Run: on("mem://source", "mem://target", true)}}
	for name, start := range map[string]func(t testing.TB) *services.Store{"Azure": services.Azurite, "GCS": services.FakeGCS, "S3": services.VersityGW} {
		if testing.Short() {
			break
		}
		cases = append(cases, services.Case{Name: name, Run: func(t *testing.T) {
			s := start(t)
			on(s.NewBucket("source"), s.NewBucket("target"), true)(t)
		}})
	}
	services.AtOnce(t, nil, cases...)
}

// pruneBesideAJob prunes while a job has chunks at work, which then ends as if nothing had been.
func pruneBesideAJob(t *testing.T, r *rig) {
	ids := r.nights(3)
	r.put(r.source, "later.png")
	r.worker.held.Store(true)
	spec := r.submit(nil)
	r.wait("a chunk at work", func() bool { return r.worker.working.Load() > 0 })
	claims := claimed(t, r.client, r.target)
	p, err := r.client.Prune(r.ctx, r.target, PruneRule{KeepLast: 1}, false)
	if err != nil || !slices.Equal(p.Jobs, ids[:2]) || !slices.Equal(p.Kept, ids[2:]) || len(p.Lists) != 1 || p.Records != 11 {
		t.Fatalf("%+v (%v)", p, err)
	}
	if got := claimed(t, r.client, r.target); !slices.Equal(got, claims) {
		t.Errorf("%q before the prune, %q after it", claims, got)
	}
	r.worker.held.Store(false)
	if report := r.ended(spec.ID); report.Counts.Compressed != 1 || report.Counts.Skipped != 11 {
		t.Errorf("the job beside the prune: %+v", report.Counts)
	}
	again := r.nights(1)[0]
	if plan, err := r.client.Plan(r.ctx, r.target, again); err != nil || plan.Skipped != 12 || len(plan.Chunks) > 0 {
		t.Errorf("a run after the prune: %d of %d done (%v)", plan.Skipped, plan.Objects, err)
	}
}

func deleteOrphans(t *testing.T, r *rig, metadata bool) {
	gone := []string{"d1/00001.png", "d3/00003.png", "odd/ä #%.png", "d4/00004.png", "d5/00005.png"}
	r.delete(r.source, gone...)
	b := r.bucket(r.target)
	if _, err := storage.Put(r.ctx, b, "d4/00004.tiny", []byte("somebody's own"), &storage.PutOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"d1/00001.tiny": "", "d3/00003.tiny": "", "odd/ä #%.tiny": "", "d4/00004.tiny": "it is not what was recorded", "d5/00005.tiny": ""}
	found, sum, err := r.orphans(OrphanOptions{}, false)
	if err != nil || !maps.Equal(found, want) || sum.Results != 12 || sum.Orphans != 5 || sum.Left != 1 || sum.Deleted != 0 {
		t.Fatalf("%q, %+v (%v), want %q", found, sum, err, want)
	}
	if metadata { // the same bytes, made from something else
		got, err := storage.Get(r.ctx, b, "d5/00005.tiny", 1000, nil)
		if err == nil {
			other := map[string]string{"pelmill_source": jobs.SourceID("mem://elsewhere", "x.png")}
			_, err = storage.Put(r.ctx, b, "d5/00005.tiny", got.Data, &storage.PutOptions{Overwrite: true, Metadata: other})
		}
		if err != nil {
			t.Fatal(err)
		}
		want["d5/00005.tiny"] = "it is the result of another source"
	}
	found, sum, err = r.orphans(OrphanOptions{}, true)
	if err != nil || !maps.Equal(found, want) || sum.Deleted != sum.Orphans-sum.Left || metadata != (sum.Deleted == 3) {
		t.Fatalf("%q, %+v (%v), want %q", found, sum, err, want)
	}
	there := r.keys(r.target)
	for target, left := range want {
		if slices.Contains(there, target) == (left == "") {
			t.Errorf("%s: there %v, left %q", target, left == "", left)
		}
	}
	if claims := claimed(t, r.client, r.target); len(there) != 12-int(sum.Deleted) || len(claims) != len(there) {
		t.Errorf("%d objects and %d claims after %d deletions of 12", len(there), len(claims), sum.Deleted)
	}
	r.put(r.source, gone[0])
	again := r.nights(1)[0]
	if plan, err := r.client.Plan(r.ctx, r.target, again); err != nil || plan.Objects-plan.Skipped != 1 {
		t.Errorf("a source that is back: %d of %d are done (%v)", plan.Skipped, plan.Objects, err)
	}
	r.nights(1)
	if _, err := r.client.Prune(r.ctx, r.target, PruneRule{KeepLast: 1}, false); err != nil {
		t.Fatal(err)
	}
	if claims := claimed(t, r.client, r.target); len(claims) != 13-int(sum.Deleted) {
		t.Errorf("%d claims after a prune", len(claims))
	}
	if lists, err := deletions(r.ctx, b); err != nil || len(lists) != 0 {
		t.Errorf("%d lists of deleted results are left that no record needs (%v)", len(lists), err)
	}
}

// A source that cannot be listed, or that has none of the objects, deletes nothing.
func TestOrphansOfASourceThatIsAway(t *testing.T) {
	dir := t.TempDir()
	r := newRigOn(t, "", "file://"+dir+"/source", "file://"+dir+"/target")
	r.worker.start(t, 2)
	defer r.run(r.scheduler(nil))()
	r.fill(8)
	r.nights(1)
	all := r.keys(r.target)
	r.delete(r.source, r.keys(r.source)...)
	r.put(r.source, "something else.txt")
	var gone *GoneError
	if _, _, err := r.orphans(OrphanOptions{}, true); !errors.As(err, &gone) || gone.Results != 8 {
		t.Errorf("a source without any of the objects: %v, want a GoneError", err)
	}
	if found, sum, err := r.orphans(OrphanOptions{AllGone: true}, false); err != nil || sum.Orphans != 8 || len(found) != 8 {
		t.Errorf("believed: %+v (%v)", sum, err)
	}
	// Results that were deleted before need no source; one that is left needs it.
	r.delete(r.target, "d1/00001.tiny")
	if _, sum, err := r.orphans(OrphanOptions{AllGone: true}, true); err != nil || sum.Deleted != 7 || sum.Missing != 1 {
		t.Fatalf("believed: %+v (%v)", sum, err)
	}
	if _, _, err := r.orphans(OrphanOptions{}, true); !errors.As(err, &gone) || gone.Results != 1 {
		t.Errorf("one record without source and without result, seven that were deleted: %v, want a GoneError of 1", err)
	}
	r.put(r.source, "d1/00001.png")
	r.nights(1)
	r.delete(r.source, "d1/00001.png")
	if _, sum, err := r.orphans(OrphanOptions{AllGone: true}, true); err != nil || sum.Deleted != 1 {
		t.Fatalf("the last result: %+v (%v)", sum, err)
	}
	if found, sum, err := r.orphans(OrphanOptions{}, true); err != nil || sum != (Orphans{Results: 1}) || len(found) > 0 {
		t.Errorf("everything but something else was deleted before: %q %+v (%v), want nothing", found, sum, err)
	}
	r.fill(8)
	r.nights(1)
	r.delete(r.source, r.keys(r.source)...)
	r.put(r.source, "another thing.txt")
	if all = r.keys(r.target); len(all) != 9 {
		t.Fatalf("%q", all)
	}
	// It goes away between the listing and the deletion.
	r.put(r.source, "d0/00000.png")
	opts := OrphanOptions{Delete: func(Orphans) (bool, error) {
		r.delete(r.source, "d0/00000.png")
		return true, nil
	}}
	if sum, err := r.client.Orphans(r.ctx, r.target, &opts); err == nil || !strings.Contains(err.Error(), "lost it meanwhile") || sum.Deleted != 0 {
		t.Errorf("a source that goes away: %+v, %v", sum, err)
	}
	r.client.Buckets = storage.NewBuckets()
	defer r.client.Buckets.Close()
	if err := os.Rename(dir+"/source", dir+"/away"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.orphans(OrphanOptions{AllGone: true}, true); err == nil || !strings.Contains(err.Error(), "cannot be listed") {
		t.Errorf("a source that is not there: %v", err)
	}
	if now := r.keys(r.target); !slices.Equal(now, all) {
		t.Errorf("%d results are left of %d", len(now), len(all))
	}
}

// Killed at any moment: no record tells of a result that is gone, and the next call does the rest.
func TestKilledOrphans(t *testing.T) {
	killed := errors.New("killed")
	r := newRig(t)
	r.worker.start(t, 2)
	defer r.run(r.scheduler(nil))()
	for k := 0; ; k++ {
		for i := range 6 {
			r.put(r.source, fmt.Sprintf("%d-%d.png", k, i))
		}
		r.put(r.source, "stays.png")
		r.nights(1)
		for i := range 4 {
			r.delete(r.source, fmt.Sprintf("%d-%d.png", k, i))
		}
		var n atomic.Int64 // several results are deleted at once
		r.client.before = func(string) error {
			if n.Add(1) > int64(k) {
				return killed
			}
			return nil
		}
		_, _, err := r.orphans(OrphanOptions{}, true)
		if err != nil && !errors.Is(err, killed) {
			t.Fatal(err)
		}
		r.client.before = nil
		there := r.keys(r.target)
		for _, claim := range claimed(t, r.client, r.target) {
			if target, _, _ := strings.Cut(claim, " "); !slices.Contains(there, target) {
				t.Errorf("killed before step %d: a record tells of %s, which is gone", k, target)
			}
		}
		if _, _, err := r.orphans(OrphanOptions{}, true); err != nil {
			t.Fatal(err)
		}
		if there, claims := r.keys(r.target), claimed(t, r.client, r.target); len(there) != len(claims) || len(there) != len(r.keys(r.source)) {
			t.Errorf("killed before step %d and called again: %d results, %d claims, %d sources", k, len(there), len(claims), len(r.keys(r.source)))
		}
		if err == nil {
			break
		}
	}
}

// What a job that has not ended has planned stays, until it has ended.
func TestOrphansBesideAJob(t *testing.T) {
	r := newRig(t)
	r.worker.start(t, 2)
	defer r.run(r.scheduler(nil))()
	r.put(r.source, "a.png", "b.png", "c.png")
	r.nights(1)
	r.put(r.source, "d.png", "e.png")
	r.worker.held.Store(true)
	spec := r.submit(nil)
	r.wait("a chunk at work", func() bool { return r.worker.working.Load() > 0 })
	r.delete(r.source, "a.png", "d.png")
	found, sum, err := r.orphans(OrphanOptions{}, true)
	if err != nil || sum.Deleted != 1 || found["a.tiny"] != "" || slices.Contains(r.keys(r.target), "a.tiny") {
		t.Errorf("%q %+v (%v)", found, sum, err)
	}
	r.worker.held.Store(false)
	r.ended(spec.ID)
	if got, want := r.keys(r.target), []string{"b.tiny", "c.tiny", "d.tiny", "e.tiny"}; !slices.Equal(got, want) {
		t.Errorf("after the job: %q, want %q", got, want)
	}
	if found, sum, err := r.orphans(OrphanOptions{}, true); err != nil || sum.Deleted != 1 || len(found) != 1 {
		t.Errorf("after the job: %q %+v (%v)", found, sum, err)
	}
	// A job that is paused after it wrote something, and one that has only a plan.
	r.put(r.source, "f.png")
	r.worker.held.Store(true)
	spec = r.submit(nil)
	r.wait("f's result", func() bool { return slices.Contains(r.keys(r.target), "f.tiny") })
	r.delete(r.source, "b.png", "f.png")
	if found, sum, err := r.orphans(OrphanOptions{}, true); err != nil || sum.Deleted != 1 || found["f.tiny"] != "" {
		t.Errorf("beside a job that has not recorded its result: %q %+v (%v)", found, sum, err)
	}
	if !slices.Contains(r.keys(r.target), "f.tiny") {
		t.Error("the result of a job at work was deleted")
	}
	r.worker.held.Store(false)
	r.ended(spec.ID)
}

// Whatever jobs of several sources have done in whatever order, exactly those results are deleted
// that are as recorded and that no source object stands for, as a search through everything says.
func TestOrphansProperty(t *testing.T) {
	rnd := seed.Rand(t)
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		r := newRig(t)
		r.worker.start(t, 2)
		stop := r.run(r.scheduler(nil))
		sources := []string{"mem://source", "mem://other/prefix", "mem://third"}
		name := func() string { return fmt.Sprintf("%c/%c.png", 'a'+rnd.IntN(3), 'a'+rnd.IntN(4)) }
		type made struct{ md5, source, key string }
		results := map[string][]made{} // by target key: what jobs made there, in their order
		r.worker.same = rnd.IntN(2) == 0
		note := func(source, id string) {
			err := r.client.Results(r.ctx, r.target, id, func(res jobs.Result) error {
				if res.Outcome == jobs.OutcomeCompressed {
					results[res.Target] = append(results[res.Target], made{res.TargetMD5, source, res.Key})
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 6 {
			source := sources[rnd.IntN(len(sources))]
			for range 1 + rnd.IntN(8) {
				if rnd.IntN(3) == 0 {
					storage.Delete(r.ctx, r.bucket(source), name())
					continue
				}
				key := name()
				if _, err := storage.Put(r.ctx, r.bucket(source), key, []byte("content of "+key), nil); err != nil {
					t.Fatal(err)
				}
			}
			spec := r.submit(func(s *jobs.Spec) { s.Source, s.Overwrite = source, true })
			r.ended(spec.ID)
			note(source, spec.ID)
		}
		for i, source := range sources {
			r.put(source, fmt.Sprintf("z%d.png", i)) // so that no source has lost everything
			spec := r.submit(func(s *jobs.Spec) { s.Source, s.Overwrite = source, true })
			r.ended(spec.ID)
			note(source, spec.ID)
		}
		for range 3 {
			storage.Delete(r.ctx, r.bucket(sources[rnd.IntN(3)]), name())
		}
		for _, key := range r.keys(r.target) {
			if rnd.IntN(8) == 0 && key[0] != 'z' {
				r.delete(r.target, key)
				r.put(r.target, key)
			}
		}
		want := r.keys(r.target)
		want = slices.DeleteFunc(want, func(key string) bool {
			all := results[key]
			for _, m := range all {
				if m.md5 != all[len(all)-1].md5 {
					continue
				}
				if there, err := exists(r.ctx, r.bucket(m.source), m.key); err != nil || there {
					return false
				}
			}
			got, err := storage.Get(r.ctx, r.bucket(r.target), key, 1000, nil)
			return err == nil && strings.HasPrefix(string(got.Data), "tiny ")
		})
		if _, _, err := r.orphans(OrphanOptions{}, true); err != nil {
			t.Fatal(err)
		}
		if got := r.keys(r.target); !slices.Equal(got, want) {
			t.Fatalf("left %q, want %q, of %v", got, want, results)
		}
		stop()
	}
}
