package scheduler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// listed gives the keys of a job's manifest.
func (r *rig) listed(id string) []string {
	r.t.Helper()
	b := r.bucket(r.target)
	at, ok, err := getJSON[listing](r.ctx, b, jobs.Folder(id).Listing())
	if err != nil || !ok {
		r.t.Fatalf("listing of %s: %v, %v", id, ok, err)
	}
	keys := []string{}
	err = manifest(folder{b: b, id: id}, at.Parts)(r.ctx, func(e jobs.Entry) error {
		keys = append(keys, e.Key)
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return keys
}

// again runs a job like the ones before but with options that make everything anew,
// and one that is the same, and checks what they take for sources.
func (r *rig) again(option string, want ...string) {
	r.t.Helper()
	id := r.submit(func(s *jobs.Spec) { s.Options = "book=sha256:" + option }).ID
	report := r.ended(id)
	if got := r.listed(id); !slices.Equal(got, want) {
		r.t.Errorf("source %s, target %s, option %s: sources %q, want %q", r.source, r.target, option, got, want)
	}
	if report.Counts.Compressed != int64(len(want)) {
		r.t.Errorf("source %s, target %s, option %s: %+v", r.source, r.target, option, report.Counts)
	}
	id = r.submit(func(s *jobs.Spec) { s.Options = "book=sha256:" + option }).ID
	if c := r.ended(id).Counts; c.Skipped != int64(len(want)) || c.Objects != c.Skipped {
		r.t.Errorf("source %s, target %s, option %s: the same job again: %+v", r.source, r.target, option, c)
	}
}

// Results never become sources, however source and target overlap, and files of
// the user with a result's extension are sources.
func TestResultsAreNoSources(t *testing.T) {
	for _, tt := range []struct{ source, target string }{
		{"photos", "photos"},
		{"photos", "alias"},
		{"alias", "photos"},
		{"photos", "photos/out"},
		{"photos", "toout"},
		{"alias", "photos/out"},
		{"photos/out", "photos"},
		{"toout", "alias"},
		{"mem://photos", "mem://photos"},
		{"mem://photos", "mem://photos/out"},
		{"mem://photos/out", "mem://photos"},
		{"mem://photos/out", "mem://photos?x=y"},
	} {
		t.Run(strings.ReplaceAll(tt.source+" to "+tt.target, "/", "_"), func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			if err := os.MkdirAll("photos/out", 0o777); err != nil {
				t.Fatal(err)
			}
			for name, to := range map[string]string{"alias": "photos", "toout": "photos/out"} {
				if err := os.Symlink(to, name); err != nil {
					t.Fatal(err)
				}
			}
			r := newRigOn(t, "", tt.source, tt.target)
			r.worker.start(t, 1)
			r.run(r.scheduler(nil))
			keys := []string{"a/x.png", "d.bmp", "d.tiny", "out2/y.png"}
			r.put(tt.source, keys...)
			r.again("1", keys...)
			r.again("2", keys...)

			// In the place of a result, an object of another size is the user's.
			if tt.source == tt.target {
				key := "a/x.tiny"
				if _, err := storage.Put(r.ctx, r.bucket(tt.source), key, []byte("drawn by hand"), &storage.PutOptions{Overwrite: true}); err != nil {
					t.Fatal(err)
				}
				id := r.submit(func(s *jobs.Spec) { s.Options = "book=sha256:2" }).ID
				r.ended(id)
				if got, want := r.listed(id), append([]string{"a/x.png", key}, keys[1:]...); !slices.Equal(got, want) {
					t.Errorf("sources %q, want %q", got, want)
				}
			}
		})
	}
}

// What a job that has not ended stored without recording it is no source either.
func TestResultsWithoutARecordAreNoSources(t *testing.T) {
	t.Parallel()
	for _, place := range []string{t.TempDir(), "mem://place"} {
		r := newRigOn(t, "", place, place)
		r.put(place, "a.png", "b.png", "c.png")
		old, file := "b.tiny", filepath.Join(place, "b.tiny")
		r.put(place, old)
		if place != "mem://place" {
			if err := os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		r.run(r.scheduler(nil))
		first := r.submit(func(s *jobs.Spec) { s.Filter.Include = []string{"*.png"} }).ID
		r.waitState(first, jobs.StateRunning) // without a worker
		meta := map[string]string{"pelmill_fingerprint": "f"}
		if _, err := storage.Put(r.ctx, r.bucket(place), "a.tiny", []byte("killed before it was recorded"), &storage.PutOptions{Metadata: meta}); err != nil {
			t.Fatal(err)
		}
		second := r.submit(func(s *jobs.Spec) { s.Options, s.AutoStart = "book=sha256:2", false }).ID
		r.waitState(second, jobs.StatePlanned)
		if got, want := r.listed(second), []string{"a.png", "b.png", "b.tiny", "c.png"}; !slices.Equal(got, want) {
			t.Errorf("%s: sources %q, want %q", place, got, want)
		}
	}
}

func TestAGivenManifestNamesNoResults(t *testing.T) {
	t.Parallel()
	for _, lacking := range []int{0, statAtMost} {
		r := newRigOn(t, "", "mem://place", "mem://place")
		r.worker.start(t, 1)
		r.run(r.scheduler(nil))
		r.put(r.source, "a.png", "d.tiny")
		r.ended(r.submit(nil).ID)
		list := "a.png\na.tiny\nd.tiny\nd.tiny.tiny\nnone.tiny\n"
		want := []string{"a.png", "d.tiny"}
		for i := range lacking {
			key := fmt.Sprintf("more/%04d", i)
			r.put(r.source, key)
			list, want = list+key+"\n", append(want, key)
		}
		spec, err := r.client.Submit(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny", AutoStart: true}, strings.NewReader(list), FilesFrom)
		if err != nil {
			t.Fatal(err)
		}
		r.ended(spec.ID)
		if got := r.listed(spec.ID); !slices.Equal(got, append(want, "none.tiny")) {
			t.Errorf("%d sources, want %d: %q", len(got), len(want)+1, got[:3])
		}
	}
}

func TestSourcesAreNotCopiedToThemselves(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		source, target string
		refused        bool
	}{
		{dir, filepath.Join(dir, "alias"), true},
		{dir, filepath.Join(dir, "out"), false},
		{"mem://a", "mem://a", true},
		{"mem://a", "mem://a/b", false},
	} {
		r := newRigOn(t, "", tt.source, tt.target)
		_, err := r.client.Submit(context.Background(), jobs.Spec{Source: tt.source, Target: tt.target, Codec: "tiny", Larger: "copy"}, nil, "")
		if (err != nil) != tt.refused || err != nil && !strings.Contains(err.Error(), "are the same") {
			t.Errorf("%s, %s: %v; refused: %v", tt.source, tt.target, err, tt.refused)
		}
	}
}
