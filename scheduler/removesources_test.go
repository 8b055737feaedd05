package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// proveByBytes holds results and sources against their records, without decoding.
func proveByBytes(ctx context.Context, target *storage.Bucket, all []SourceClaim) ([]error, error) {
	faults := make([]error, len(all))
	for i, c := range all {
		if sum, _, err := storage.Sum(ctx, target, c.Claim.Target); err != nil || sum != c.Claim.TargetSHA256 {
			faults[i] = fmt.Errorf("its result: %w", cmpErr(err, "other bytes"))
			continue
		}
		for _, o := range c.Objects {
			if sum, _, err := storage.Sum(ctx, c.Source, o.Key); err != nil || sum != c.Claim.SHA256 {
				faults[i] = cmpErr(err, "other bytes")
			}
		}
	}
	return faults, nil
}

func cmpErr(err error, text string) error {
	if err == nil {
		err = errors.New(text)
	}
	return err
}

// removeSources gives why sources stay, by key; empty: they went, or may go.
func (r *rig) removeSources(opts RemoveOptions) (found map[string]string, sum RemovedSources, err error) {
	found = map[string]string{}
	opts.Found = func(o SourceObject) error {
		found[o.Key] = o.Left
		return nil
	}
	if opts.Prove == nil {
		opts.Prove = proveByBytes
	}
	sum, err = r.client.RemoveSources(r.ctx, r.target, &opts)
	return found, sum, err
}

// On every kind of store: those sources go whose result and own bytes are as recorded, and nothing else; their results are
// no orphans, and later runs have nothing to do.
func TestRemoveSourcesOnStores(t *testing.T) {
	on := func(source, target string) func(t *testing.T) {
		return func(t *testing.T) {
			r := newRigOn(t, "", source, target)
			r.worker.exact = true
			r.worker.start(t, 2)
			defer r.run(r.scheduler(nil))()
			r.put(r.source, "a/1.png", "a/2.png", "odd/ä #%.png", "lost.png", "changed.png")
			r.nights(1)
			r.put(r.source, "new.png") // has no result
			r.delete(r.target, "lost.tiny")
			if _, err := storage.Put(r.ctx, r.bucket(r.source), "changed.png", []byte("somebody's new picture"), &storage.PutOptions{Overwrite: true}); err != nil {
				t.Fatal(err)
			}
			before := r.keys(r.source)
			found, sum, err := r.removeSources(RemoveOptions{})
			if err != nil || sum.Sources != 5 || sum.Left != 2 || sum.Removed != 0 || !slices.Equal(r.keys(r.source), before) {
				t.Fatalf("without Delete: %q %+v (%v)", found, sum, err)
			}
			found, sum, err = r.removeSources(RemoveOptions{Delete: true})
			if err != nil || sum.Removed != 3 || found["a/1.png"] != "" || found["changed.png"] == "" || !strings.HasPrefix(found["lost.png"], "its result: ") {
				t.Fatalf("%q %+v (%v)", found, sum, err)
			}
			if there := r.keys(r.source); !slices.Equal(there, []string{"changed.png", "lost.png", "new.png"}) {
				t.Errorf("%q are left", there)
			}
			if _, sum, err := r.removeSources(RemoveOptions{Delete: true}); err != nil || sum.Removed != 0 || sum.Gone != 3 {
				t.Errorf("called again: %+v (%v)", sum, err)
			}
			if found, sum, err := r.orphans(OrphanOptions{}, true); err != nil || sum.Orphans != 0 || sum.Deleted != 0 {
				t.Errorf("orphans: %q %+v (%v)", found, sum, err)
			}
			results := r.keys(r.target)
			r.nights(1)
			if _, err := r.client.Prune(r.ctx, r.target, PruneRule{KeepLast: 1}, false); err != nil {
				t.Fatal(err)
			}
			if found, sum, err := r.orphans(OrphanOptions{}, true); err != nil || sum.Deleted != 0 {
				t.Errorf("orphans after a prune: %q %+v (%v)", found, sum, err)
			}
			for _, key := range results {
				if !slices.Contains(r.keys(r.target), key) {
					t.Errorf("%s is gone", key)
				}
			}
		}
	}
	cases := []services.Case{{Name: "File", Run: func(t *testing.T) { on("file://"+t.TempDir(), "file://"+t.TempDir())(t) }},
		{Name: "Memory", Run: on("mem://source", "mem://target")}}
	for name, start := range map[string]func(t testing.TB) *services.Store{"Azure": services.Azurite, "GCS": services.FakeGCS, "S3": services.VersityGW} {
		if testing.Short() {
			break
		}
		cases = append(cases, services.Case{Name: name, Run: func(t *testing.T) {
			s := start(t)
			on(s.NewBucket("source"), s.NewBucket("target"))(t)
		}})
	}
	services.AtOnce(t, nil, cases...)
}

// What records lack for the evidence that is asked for.
func TestEvidence(t *testing.T) {
	done := jobs.OutcomeCompressed
	for _, tt := range []struct {
		name   string
		record jobs.Result
		enough []Evidence
	}{
		{"the source's bytes come back", jobs.Result{Outcome: done, SHA256: "1", Exact: "jpeg"}, Evidences()},
		{"a series", jobs.Result{Outcome: done, Exact: "series", Parts: []jobs.Part{{Key: "a", SHA256: "1"}}}, Evidences()},
		{"a copy", jobs.Result{Outcome: jobs.OutcomeKept, SHA256: "1", TargetSHA256: "1"}, Evidences()},
		{"no copy", jobs.Result{Outcome: jobs.OutcomeKept, SHA256: "1", TargetSHA256: "2"}, nil},
		{"the same samples", jobs.Result{Outcome: done, SHA256: "1", PixelHash: "p", DecodedHash: "p"}, []Evidence{EvidencePixels, EvidenceResult}},
		{"a DICOM file", jobs.Result{Outcome: done, SHA256: "1", Exact: "dicom", PixelHash: "p", DecodedHash: "p"}, []Evidence{EvidencePixels, EvidenceResult}},
		{"lossy", jobs.Result{Outcome: done, SHA256: "1", PixelHash: "p", DecodedHash: "q"}, []Evidence{EvidenceResult}},
		{"not verified", jobs.Result{Outcome: done, SHA256: "1", PixelHash: "p"}, []Evidence{EvidenceResult}},
		{"no checksum", jobs.Result{Outcome: done, PixelHash: "p", DecodedHash: "p"}, nil},
	} {
		for _, e := range append(Evidences(), "") {
			want := slices.Contains(tt.enough, e) || e == "" && slices.Contains(tt.enough, EvidenceFile)
			if why := lacks(&tt.record, e); (why == "") != want {
				t.Errorf("%s, evidence %q: %q", tt.name, e, why)
			}
		}
	}
}

// Killed at any moment, no source is gone whose result is not there, and the next call does the rest.
func TestKilledRemoveSources(t *testing.T) {
	killed := errors.New("killed")
	r := newRig(t)
	r.worker.exact = true
	r.worker.start(t, 2)
	defer r.run(r.scheduler(nil))()
	for k := 0; ; k++ {
		for i := range 4 {
			r.put(r.source, fmt.Sprintf("%d-%d.png", k, i))
		}
		r.nights(1)
		sources := r.keys(r.source)
		var n atomic.Int64
		r.client.before = func(string) error {
			if n.Add(1) > int64(k) {
				return killed
			}
			return nil
		}
		_, _, err := r.removeSources(RemoveOptions{Delete: true})
		if err != nil && !errors.Is(err, killed) {
			t.Fatal(err)
		}
		r.client.before = nil
		there := r.keys(r.source)
		for _, key := range sources {
			if result := strings.TrimSuffix(key, ".png") + ".tiny"; !slices.Contains(there, key) && !slices.Contains(r.keys(r.target), result) {
				t.Errorf("killed before step %d: %s is gone, and so is its result", k, key)
			}
		}
		if _, sum, err := r.orphans(OrphanOptions{}, true); err != nil || sum.Deleted != 0 {
			t.Errorf("killed before step %d: orphans %+v (%v)", k, sum, err)
		}
		if _, sum, err := r.removeSources(RemoveOptions{Delete: true}); err != nil || int(sum.Removed) != len(there) {
			t.Errorf("killed before step %d and called again: %+v of %d (%v)", k, sum, len(there), err)
		}
		if left := r.keys(r.source); len(left) != 0 {
			t.Errorf("killed before step %d and called again: %q are left", k, left)
		}
		if err == nil {
			break
		}
	}
}

// Sources of a job that has not ended stay, those in the target, those that somebody replaces at the last moment, and
// those that the caller keeps.
func TestSourcesThatStay(t *testing.T) {
	r := newRigOn(t, "", "mem://both", "mem://both/results")
	r.worker.exact = true
	r.worker.start(t, 2)
	defer r.run(r.scheduler(nil))()
	r.put(r.source, "a.png", "b.png", "kept.png")
	r.nights(1)
	replace := func(ctx context.Context, b *storage.Bucket, all []SourceClaim) ([]error, error) {
		faults, err := proveByBytes(ctx, b, all)
		if _, perr := storage.Put(ctx, r.bucket(r.source), "b.png", []byte("newer"), &storage.PutOptions{Overwrite: true}); perr != nil {
			err = perr
		}
		return faults, err
	}
	keep := func(key string) string {
		if key == "kept.png" {
			return "it is kept"
		}
		return ""
	}
	found, sum, err := r.removeSources(RemoveOptions{Delete: true, Prove: replace, Keep: keep})
	want := map[string]string{"a.png": "", "b.png": "it was replaced a moment ago", "kept.png": "it is kept"}
	if err != nil || !maps.Equal(found, want) || sum.Removed != 1 {
		t.Errorf("%q %+v (%v), want %q", found, sum, err, want)
	}
	r.put(r.source, "c.png")
	r.worker.held.Store(true)
	spec := r.submit(nil)
	r.wait("a chunk at work", func() bool { return r.worker.working.Load() > 0 })
	if found, sum, err := r.removeSources(RemoveOptions{Delete: true}); err != nil || sum.Removed != 0 || !strings.Contains(found["kept.png"], spec.ID) {
		t.Errorf("beside a job: %q %+v (%v)", found, sum, err)
	}
	r.worker.held.Store(false)
	r.ended(spec.ID)
	inside := newRigOn(t, "", "mem://whole/part", "mem://whole")
	inside.worker.exact = true
	inside.worker.start(t, 2)
	defer inside.run(inside.scheduler(nil))()
	inside.put(inside.source, "a.png")
	inside.nights(1)
	if found, sum, err := inside.removeSources(RemoveOptions{Delete: true}); err != nil || sum.Removed != 0 || !strings.Contains(found["a.png"], "in the target") {
		t.Errorf("inside the target: %q %+v (%v)", found, sum, err)
	}
}
