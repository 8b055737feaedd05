package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/jobs"
)

// A job is planned from the same entries, whether they are in memory or read from storage.
func TestAManifestInMemoryIsThatInStorage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		objects, part int
		given         bool // by the user
		memory        bool // that they are planned from
	}{
		{0, partEntries, false, true},
		{1, partEntries, false, true},
		{frameEntries + 1, partEntries, false, true},
		{2500, 1000, false, true},
		{keptEntries, partEntries, false, true},
		{keptEntries + 1, partEntries, false, false},
		{40, partEntries, true, true},
	} {
		t.Run(fmt.Sprintf("%d objects in parts of %d", c.objects, c.part), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.fill(c.objects)
			spec := r.submit(func(s *jobs.Spec) { s.AutoStart = false })
			if c.given {
				list := &strings.Builder{}
				for i := range c.objects {
					fmt.Fprintf(list, "d%d/%05d.png\nnothing/%05d.png\n", i%7, i, i)
				}
				var err error
				if spec, err = r.client.Submit(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny"}, strings.NewReader(list.String()), FilesFrom); err != nil {
					t.Fatal(err)
				}
			}
			f := folder{b: r.bucket(r.target), id: spec.ID}
			lines := func(all entries) (lines []string) {
				err := all(r.ctx, func(e jobs.Entry) error {
					line, err := json.Marshal(&e)
					lines = append(lines, string(line))
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				return lines
			}
			at, all, err := prepare(r.ctx, f, &spec, r.client.Buckets, tinyCodecs, r.bucket(r.source), c.part)
			if err != nil {
				t.Fatal(err)
			}
			stored := lines(manifest(f, at.Parts))
			if int64(len(stored)) != at.Objects {
				t.Errorf("%d of %d entries are stored", len(stored), at.Objects)
			}
			if got := lines(all); !slices.Equal(got, stored) {
				t.Errorf("%d entries to plan with, %d in storage, and they differ", len(got), len(stored))
			}
			for part := range at.Parts {
				if err := f.delete(r.ctx, jobs.Folder(f.id).Manifest(part)); err != nil {
					t.Fatal(err)
				}
			}
			err = all(r.ctx, func(jobs.Entry) error { return nil })
			if fromMemory := err == nil; fromMemory != c.memory {
				t.Errorf("planned from memory: %v, want %v (%v)", fromMemory, c.memory, err)
			}
		})
	}
}
