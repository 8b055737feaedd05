package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// place is a target in which several jobs work.
type place struct {
	t        *testing.T
	buckets  *storage.Buckets
	target   string
	metadata bool  // objects have metadata that says whose they are
	all      *fake // knows the files of every encoder
	jobs     []*job
}

// onEveryStore runs a test in an empty target of each kind of store.
func onEveryStore(t *testing.T, test func(p *place)) {
	var cases []services.Case
	for _, store := range []struct {
		name   string
		target func(t *testing.T) string
	}{
		{"mem", func(*testing.T) string { return "mem://target" }},
		{"file", func(t *testing.T) string { return t.TempDir() }},
		{"s3", func(t *testing.T) string { return services.VersityGW(t).NewBucket("target") }},
		{"gs", func(t *testing.T) string { return services.FakeGCS(t).NewBucket("target") }},
		{"azblob", func(t *testing.T) string { return services.Azurite(t).NewBucket("target") }},
	} {
		cases = append(cases, services.Case{Name: store.name, Run: func(t *testing.T) {
			target := store.target(t)
			// A server starts once; each case has a folder of it.
			path, query, _ := strings.Cut(target, "?")
			if query != "" {
				query = "?" + query
			}
			test(&place{t: t, target: path + "/%s" + query, metadata: store.name != "file"})
		}})
	}
	services.AtOnce(t, nil, cases...)
}

// in gives a folder of the target to a subtest.
func (p *place) in(name string, test func(p *place)) {
	p.t.Run(name, func(t *testing.T) {
		sub := &place{t: t, metadata: p.metadata, all: &fake{}, buckets: storage.NewBuckets()}
		t.Cleanup(func() { sub.buckets.Close() })
		sub.target = strings.ReplaceAll(p.target, "%s", strings.ReplaceAll(name, " ", "-"))
		test(sub)
	})
}

// keys of every source.
var placeKeys = []string{"a.png", "b/c.png", "b/d.png", "e.png"}

// source fills a bucket with images that depend on a seed.
func (p *place) source(name string, seed uint64) string {
	p.t.Helper()
	url := "mem://" + name
	b, err := p.buckets.Open(p.t.Context(), url)
	if err != nil {
		p.t.Fatal(err)
	}
	for i, key := range placeKeys {
		data := png(p.t, photo(100*seed+uint64(i), 20, 20, 3))
		if _, err := storage.Put(p.t.Context(), b, key, data, &storage.PutOptions{Overwrite: true}); err != nil {
			p.t.Fatal(err)
		}
	}
	return url
}

// encoder is a codec with options that make other bytes of the same images.
func (p *place) encoder(options string) *fake {
	f := &fake{}
	f.encode = func(_ context.Context, _ *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		file := options + m.Hash()
		f.images.Store(file, m)
		p.all.images.Store(file, m)
		return []byte("fake " + file), nil, true
	}
	return f
}

// plan makes a job, as the scheduler does: with what earlier jobs of the same
// source recorded.
func (p *place) plan(source string, change func(*jobs.Spec)) *job {
	p.t.Helper()
	j := newJobIn(p.t, p.buckets, source, p.target, &fake{}, change)
	var entries []jobs.Entry
	for _, key := range placeKeys {
		o, _, err := storage.Stat(j.ctx, j.source, key)
		if err != nil {
			p.t.Fatal(err)
		}
		e := jobs.Entry{Key: key, Size: o.Size, ETag: o.ETag, ModTime: o.ModTime}
		for _, old := range slices.Backward(p.jobs) {
			if old.spec.Source != j.spec.Source {
				continue
			}
			if r, ok := old.recorded()[key]; ok && r.Target != "" {
				e.Old = append(e.Old, jobs.Version{Job: old.spec.ID, Size: r.TargetSize, SHA256: r.TargetSHA256})
			}
		}
		entries = append(entries, e)
	}
	j.plan(entries...)
	p.jobs = append(p.jobs, j)
	return j
}

func (j *job) writeJSON(key string, v any) {
	j.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		j.t.Fatal(err)
	}
	j.write(key, data)
}

// recorded is results of the chunks that have a shard.
func (j *job) recorded() map[string]jobs.Result {
	if ok, err := j.target.Exists(j.ctx, jobs.Folder(j.spec.ID).Result(0)); err != nil || !ok {
		return nil
	}
	return j.results()
}

// end writes the report.
func (j *job) end() {
	j.writeJSON(jobs.Folder(j.spec.ID).Report(), jobs.Report{Job: j.spec.ID, State: jobs.StateDone, Finished: time.Now()})
}

// do runs all chunks of a job.
func (p *place) do(j *job, c *fake) {
	p.t.Helper()
	w := j.worker(Options{Device: "cpu"}, c)
	for i := range j.tasks {
		if err := j.chunk(w, i); err != nil {
			p.t.Error(err)
		}
	}
}

// run plans a job over a source of its own and runs it.
func (p *place) run(source string, seed uint64, change func(*jobs.Spec)) *job {
	p.t.Helper()
	j := p.plan(p.source(source, seed), change)
	p.do(j, p.encoder(""))
	return j
}

// wants compares the outcomes of a job: all are the same, and a failure names
// the owner and the next step.
func (p *place) wants(j *job, outcome jobs.Outcome, texts ...string) {
	p.t.Helper()
	for key, r := range j.results() {
		if r.Outcome != outcome || outcome == jobs.OutcomeFailed && r.Class != class.Exists {
			p.t.Errorf("%s: %s (%s: %s), want %s", key, r.Outcome, r.Class, r.Error, outcome)
			continue
		}
		for _, text := range texts {
			if !strings.Contains(r.Error, text) {
				p.t.Errorf("%s: %q, want %q in it", key, r.Error, text)
			}
		}
	}
}

// verifies holds the target against the records of a job: all claims are as
// recorded, and there are so many.
func (p *place) verifies(j *job, results int64) {
	p.t.Helper()
	report, err := VerifyTarget(j.ctx, j.target, j.each, &VerifyOptions{Codecs: []codec.Codec{p.all}})
	if err != nil || report.Objects != results || report.Bad() != 0 {
		p.t.Errorf("job %s: %+v, %v; want %d good results", j.spec.ID, report, err, results)
	}
}

// A key of a target belongs to the source object that its result was made from.
func TestOneSourceDoesNotReplaceAnothersResults(t *testing.T) {
	overwrite := func(s *jobs.Spec) { s.Overwrite = true }
	all := int64(len(placeKeys))
	onEveryStore(t, func(p *place) {
		p.in("another source", func(p *place) {
			first := p.run("one", 1, nil)
			first.end()
			second := p.run("two", 2, nil)
			p.wants(second, jobs.OutcomeFailed, first.spec.ID, first.spec.Source, "--overwrite")
			p.verifies(first, all)
		})
		p.in("another source that overwrites", func(p *place) {
			first := p.run("one", 1, nil)
			first.end()
			second := p.run("two", 2, overwrite)
			p.wants(second, jobs.OutcomeCompressed)
			p.verifies(second, all)
		})
		p.in("another source that overwrites a running job", func(p *place) {
			first := p.run("one", 1, nil)
			second := p.run("two", 2, overwrite)
			p.wants(second, jobs.OutcomeFailed, first.spec.ID, first.spec.Source, "pelmill cancel "+first.target.URL+" "+first.spec.ID)
			p.verifies(first, all)
		})
		p.in("a job that waits for its start", func(p *place) {
			waiting := p.plan(p.source("one", 1), nil)
			waiting.writeJSON(jobs.Folder(waiting.spec.ID).State(), jobs.StateRecord{State: jobs.StatePlanned})
			for _, key := range []string{"a.fake", "b/c.fake", "b/d.fake", "e.fake"} {
				waiting.write(key, []byte("somebody's"))
			}
			second := p.run("two", 2, overwrite)
			p.wants(second, jobs.OutcomeCompressed)
		})
		p.in("a cancelled job", func(p *place) {
			first := p.run("one", 1, nil)
			first.writeJSON(jobs.Folder(first.spec.ID).Control(), jobs.Control{Want: jobs.WantCancel})
			second := p.run("two", 2, overwrite)
			p.wants(second, jobs.OutcomeCompressed)
		})
		p.in("a job without a folder", func(p *place) {
			first := p.run("one", 1, nil)
			for _, key := range []string{jobs.Folder(first.spec.ID).Spec(), jobs.Folder(first.spec.ID).Plan(), jobs.Folder(first.spec.ID).Chunks(0), jobs.Folder(first.spec.ID).Result(0)} {
				if err := storage.Delete(first.ctx, first.target, key); err != nil {
					p.t.Fatal(err)
				}
			}
			p.jobs = nil
			second := p.run("two", 2, nil)
			p.wants(second, jobs.OutcomeFailed, "--overwrite")
			third := p.plan(second.spec.Source, overwrite)
			second.end()
			p.do(third, p.encoder(""))
			p.wants(third, jobs.OutcomeCompressed)
		})
		p.in("the same source that changed", func(p *place) {
			first := p.run("one", 1, nil)
			first.end()
			second := p.run("one", 2, nil)
			p.wants(second, jobs.OutcomeCompressed)
			p.verifies(second, all)
			second.end()
			third := p.run("one", 3, nil)
			p.wants(third, jobs.OutcomeCompressed)
			p.verifies(third, all)
		})
		p.in("the same source while its job runs", func(p *place) {
			first := p.run("one", 1, nil)
			second := p.plan("mem://one", overwrite)
			p.do(second, p.encoder("other"))
			p.wants(second, jobs.OutcomeFailed, first.spec.ID, "has not ended")
			p.verifies(first, all)
		})
		p.in("copies of sources", func(p *place) {
			// What does not become smaller goes under the source's own key.
			copies := func(s *jobs.Spec) { s.Larger = "copy" }
			large := &fake{encode: func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
				return make([]byte, 1<<20), nil, true
			}}
			first := p.plan(p.source("one", 1), copies)
			p.do(first, large)
			p.wants(first, jobs.OutcomeKept)
			first.end()
			second := p.plan(p.source("two", 2), copies)
			p.do(second, large)
			p.wants(second, jobs.OutcomeFailed, first.spec.ID)
			p.verifies(first, all)
			third := p.plan(p.source("one", 3), copies)
			p.do(third, large)
			p.wants(third, jobs.OutcomeKept)
			p.verifies(third, all)
		})
		p.in("delivered twice", func(p *place) {
			first := p.run("one", 1, nil)
			if err := storage.Delete(first.ctx, first.target, jobs.Folder(first.spec.ID).Result(0)); err != nil {
				p.t.Fatal(err)
			}
			p.do(first, p.encoder(""))
			p.wants(first, jobs.OutcomeCompressed)
			p.verifies(first, all)
		})
		p.in("the same pictures in two sources", func(p *place) {
			first := p.run("one", 1, nil)
			first.end()
			second := p.run("two", 1, nil)
			second.end()
			if p.metadata {
				p.wants(second, jobs.OutcomeFailed, first.spec.ID)
			} else {
				p.wants(second, jobs.OutcomeCompressed) // the files are there, and nothing says whose they are
			}
			// Whoever recorded a file keeps it.
			third := p.run("two", 2, nil)
			p.wants(third, jobs.OutcomeFailed, first.spec.ID)
			p.verifies(first, all)
		})
		p.in("a result that says no source", func(p *place) {
			// As versions before wrote them.
			one := p.source("one", 1)
			first := p.plan(one, nil)
			p.do(first, p.encoder(""))
			for _, r := range first.results() {
				got, err := storage.Get(first.ctx, first.target, r.Target, -1, nil)
				if err != nil {
					p.t.Fatal(err)
				}
				if _, err := storage.Put(first.ctx, first.target, r.Target, got.Data,
					&storage.PutOptions{Overwrite: true, Metadata: map[string]string{metaFingerprint: r.Fingerprint}}); err != nil {
					p.t.Fatal(err)
				}
			}
			first.end()
			second := p.run("two", 2, nil)
			p.wants(second, jobs.OutcomeFailed, first.spec.ID)
			second.end()
			third := p.plan(one, nil)
			p.do(third, p.encoder("other"))
			p.wants(third, jobs.OutcomeCompressed)
		})
	})
}

// Jobs that work at the same time share no key: each result is as its record
// says, and whoever came later says so.
func TestJobsAtOnceShareNoKey(t *testing.T) {
	onEveryStore(t, func(p *place) {
		for name, sources := range map[string][]string{"two sources": {"one", "two"}, "one source with two options": {"one", "one"}} {
			for _, over := range []bool{false, true} {
				p.in(fmt.Sprintf("%s overwrite %v", name, over), func(p *place) {
					p.source("one", 1)
					p.source("two", 2)
					var both []*job
					for _, s := range sources {
						both = append(both, p.plan("mem://"+s, func(s *jobs.Spec) { s.Overwrite = over }))
					}
					var work sync.WaitGroup
					for i, j := range both {
						work.Go(func() { p.do(j, p.encoder(fmt.Sprint("options ", i, " "))) })
					}
					work.Wait()
					total := 0
					for i, j := range both {
						won := 0
						for key, r := range j.results() {
							switch {
							case r.Outcome == jobs.OutcomeCompressed:
								won++
							case r.Class != class.Exists || !strings.Contains(r.Error, both[1-i].spec.ID):
								p.t.Errorf("job %d: %s: %s (%s: %s), want exists and the other job's id", i, key, r.Outcome, r.Class, r.Error)
							}
						}
						total += won
						p.verifies(j, int64(won))
					}
					if total != len(placeKeys) {
						p.t.Errorf("%d results of %d keys", total, len(placeKeys))
					}
				})
			}
		}
	})
}
