package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// TestClaims writes what jobs recorded of one key and looks which records still
// count, and which of them are told that another source object has the key now.
func TestClaims(t *testing.T) {
	type done struct {
		source, key, content string
		ends                 int // order in which the jobs end; 0: has not ended
	}
	for name, c := range map[string]struct {
		jobs []done // in the order of submission
		only int    // index and 1; 0: all
		want []string
	}{
		"one":                       {jobs: []done{{"one", "a.png", "x", 1}}, want: []string{"0"}},
		"the same source again":     {jobs: []done{{"one", "a.png", "x", 1}, {"one", "a.png", "y", 2}}, want: []string{"1"}},
		"another source":            {jobs: []done{{"one", "a.png", "x", 1}, {"two", "a.png", "y", 2}}, want: []string{"0 by 1", "1"}},
		"another source, twice":     {jobs: []done{{"one", "a.png", "x", 1}, {"one", "a.png", "y", 2}, {"two", "a.png", "z", 3}}, want: []string{"1 by 2", "2"}},
		"another key":               {jobs: []done{{"one", "a.jpg", "x", 1}, {"one", "a.png", "y", 2}}, want: []string{"0 by 1", "1"}},
		"another source, same file": {jobs: []done{{"one", "a.png", "x", 1}, {"two", "a.png", "x", 2}}, want: []string{"0", "1"}},
		"the older job ended later": {jobs: []done{{"one", "a.png", "x", 2}, {"two", "a.png", "y", 1}}, want: []string{"0", "1 by 0"}},
		"a job that has not ended":  {jobs: []done{{"one", "a.png", "x", 0}, {"two", "a.png", "y", 1}}, want: []string{"0", "1 by 0"}},
		"one job of them":           {jobs: []done{{"one", "a.png", "x", 1}, {"two", "a.png", "y", 2}}, only: 1, want: []string{"0 by 1"}},
		"one job, rewritten":        {jobs: []done{{"one", "a.png", "x", 1}, {"one", "a.png", "y", 2}}, only: 1},
		"the last job":              {jobs: []done{{"one", "a.png", "x", 1}, {"two", "a.png", "y", 2}}, only: 2, want: []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			b := r.bucket(r.target)
			start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			ids := map[string]int{}
			var order []string
			for i, d := range c.jobs {
				created := start.Add(time.Duration(i) * time.Minute)
				spec := jobs.Spec{ID: jobs.NewID(created), Created: created, Source: "mem://" + d.source, Target: b.URL, Codec: "tiny", Version: 1}
				spec.Defaults()
				ids[spec.ID], order = i, append(order, spec.ID)
				f := folder{b: b, id: spec.ID}
				record := jobs.Result{Key: d.key, Outcome: jobs.OutcomeCompressed, Target: "a.tiny", TargetSize: 1, TargetSHA256: d.content}
				var lines storage.Lines
				_, _, err := storage.Frame(&lines, []jobs.Shard{{Job: spec.ID}})
				if err == nil {
					_, _, err = storage.Frame(&lines, []jobs.Result{record})
				}
				if err == nil {
					err = f.put(r.ctx, jobs.Folder(spec.ID).Result(0), lines.Bytes(), false)
				}
				if err == nil {
					err = f.putJSON(r.ctx, jobs.Folder(spec.ID).Spec(), spec, false)
				}
				if err == nil && d.ends > 0 {
					report := jobs.Report{Job: spec.ID, State: jobs.StateDone, Attempted: 1, Finished: start.Add(time.Duration(d.ends) * time.Hour)}
					err = f.putJSON(r.ctx, jobs.Folder(spec.ID).Report(), report, false)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			only := ""
			if c.only > 0 {
				only = order[c.only-1]
			}
			var got []string
			err := r.client.Claims(r.ctx, b.URL, only, func(claim jobs.Claim) error {
				i := slices.IndexFunc(c.jobs, func(d done) bool { return d.key == claim.Key && d.content == claim.TargetSHA256 })
				for j, d := range c.jobs { // the same file: in the order of the answers
					if j > i && d.content == claim.TargetSHA256 && len(got) == 0 {
						i = j
					}
				}
				text := fmt.Sprint(i)
				if claim.Owner != nil {
					text += fmt.Sprint(" by ", ids[claim.Owner.Job])
					if want := "mem://" + c.jobs[ids[claim.Owner.Job]].source; claim.Owner.Source != want {
						t.Errorf("source %s, want %s", claim.Owner.Source, want)
					}
				}
				got = append(got, text)
				return nil
			})
			slices.Sort(got)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}
