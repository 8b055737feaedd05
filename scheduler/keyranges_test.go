package scheduler

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

func TestKeyRanges(t *testing.T) {
	r := &keyRanges{prefixes: []string{"a/b", "a/d.", "c"}}
	for key, want := range map[string]bool{"a": false, "a/b": true, "a/bc.png": true, "a/c": false, "a/d": false, "a/d.x": true, "b": false, "c": true, "cc": true, "d": false, "": false} {
		if r.has(key) != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
	for _, c := range []struct {
		first, last string
		want        bool
	}{
		{"a", "a/a", false}, {"a", "a/b", true}, {"a/bz", "a/bzz", true}, {"a/c", "a/d", false}, {"a/c", "b", true},
		{"b", "bz", false}, {"b", "c", true}, {"cz", "cz", true}, {"d", "z", false},
	} {
		if r.meets(c.first, c.last) != c.want {
			t.Errorf("%q to %q: %v", c.first, c.last, !c.want)
		}
	}
}

// past stores the folder of a job that is done with these results.
func (r *rig) past(created time.Time, results []jobs.Result) jobs.Spec {
	r.t.Helper()
	spec := jobs.Spec{ID: jobs.NewID(created), Source: r.source, Target: r.target, Codec: "tiny", Version: 1, Options: "book=none", Created: created}
	spec.Defaults()
	slices.SortFunc(results, func(a, b jobs.Result) int { return strings.Compare(a.Key, b.Key) })
	f := folder{b: r.bucket(r.target), id: spec.ID}
	report := jobs.Report{Job: spec.ID, State: jobs.StateDone, Attempted: 1, Finished: created}
	m := merging{put: func(n int, data []byte) error {
		key := jobs.Folder(f.id).Merged(n)
		report.Results = append(report.Results, key)
		return f.put(r.ctx, key, data, false)
	}}
	var lines bytes.Buffer
	for i := range results {
		lines.Write(jsonLine(r.t, &results[i]))
	}
	for _, err := range []error{
		m.add(lines.Bytes()), m.end(), f.putJSON(r.ctx, jobs.Folder(f.id).Spec(), spec, false),
		f.putJSON(r.ctx, jobs.Folder(f.id).Report(), report, false),
	} {
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return spec
}

// A plan by the records in the ranges of its keys is the plan by all records, whatever names collide.
func TestRangesChangeNoPlan(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(7, 8))
	var names []string
	for _, dir := range []string{"", "a/", "a.b/", "b/"} {
		for _, stem := range []string{"a", "ab", "a.b", "a-", "b", "1.2.3", "1.2.4"} {
			for _, ext := range []string{"", ".png", ".jpg", ".tiny", ".png.tiny", ".PNG", ".x"} {
				names = append(names, dir+stem+ext)
			}
		}
	}
	spec := jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny"}
	if _, err := r.client.complete(r.ctx, &spec); err != nil {
		t.Fatal(err)
	}
	w := &worker{write: true}
	for n := range 12 {
		w.earlier = n == 3
		created := time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC)
		var results []jobs.Result
		for _, i := range rng.Perm(len(names))[:40] {
			results = append(results, w.object(r.ctx, r.bucket(r.target), &spec, jobs.Entry{Key: names[i], Size: 10, ETag: "e", Full: n%2 == 0}))
		}
		r.past(created, results)
	}
	past := newPastJobs()
	specs, err := earlier(r.ctx, r.bucket(r.target), &spec, past)
	if err != nil || len(specs) != 12 {
		t.Fatalf("%d jobs (%v)", len(specs), err)
	}
	for range 120 {
		var list []jobs.Entry
		for _, i := range rng.Perm(len(names))[:1+rng.IntN(8)] {
			list = append(list, jobs.Entry{Key: names[i], Size: 10, ETag: []string{"e", "f"}[rng.IntN(2)]})
		}
		slices.SortFunc(list, func(a, b jobs.Entry) int { return strings.Compare(a.Key, b.Key) })
		all := func(_ context.Context, fn func(jobs.Entry) error) error {
			for _, e := range list {
				if err := fn(e); err != nil {
					return err
				}
			}
			return nil
		}
		want, err := rangesOf(r.ctx, all, int64(len(list)), jobs.Extensions{".tiny"})
		if err != nil {
			t.Fatal(err)
		}
		var plans []string
		for _, h := range []history{{specs: specs}, {specs: specs, past: past, want: want}} {
			f, err := findStatus(r.ctx, &spec, jobs.Extensions{".tiny"}, r.bucket(r.target), all, h, false, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%d done, %d collisions", f.doneObjects, f.collisions)
			for i, e := range list {
				if err := f.target(&e, int64(i), jobs.Extensions{".tiny"}, r.bucket(r.target)); err != nil {
					t.Fatal(err)
				}
				text += fmt.Sprintf("\n%+v done %v", e, f.done.has(int64(i)))
			}
			f.close()
			plans = append(plans, text)
		}
		if plans[0] != plans[1] {
			t.Fatalf("by all records:\n%s\nby those in the ranges:\n%s", plans[0], plans[1])
		}
	}
}

// historyReads counts the reads of folders of jobs but that of the newest.
type historyReads struct {
	mu       sync.Mutex
	newest   string
	requests int
	bytes    int64
}

func (h *historyReads) take() (requests int, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	requests, bytes = h.requests, h.bytes
	h.requests, h.bytes = 0, 0
	return requests, bytes
}

// The plan of a batch costs the same however many batches there were, with keys in the order of time and with random ones.
func TestBatchesCostTheSame(t *testing.T) {
	store := services.VersityGW(t)
	for _, e := range store.Env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	behind, err := url.Parse(store.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	through := httputil.NewSingleHostReverseProxy(behind)
	for _, order := range []string{"by time", "random"} {
		if testing.Short() && order == "random" {
			continue
		}
		t.Run(order, func(t *testing.T) {
			var reads historyReads
			proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				_, rest, ours := strings.Cut(req.URL.Path, "/"+jobs.JobsDir)
				id, _, _ := strings.Cut(rest, "/")
				reads.mu.Lock()
				counts := ours && req.Method != http.MethodPut && id != "" && id != reads.newest
				reads.mu.Unlock()
				if !counts {
					through.ServeHTTP(rw, req)
					return
				}
				counted := &countingWriter{ResponseWriter: rw}
				through.ServeHTTP(counted, req)
				reads.mu.Lock()
				reads.requests++
				reads.bytes += counted.n
				reads.mu.Unlock()
			}))
			defer proxy.Close()
			bucket := strings.ReplaceAll(order, " ", "-")
			r := newRigOn(t, "", "mem://source", "s3://"+bucket)
			store.NewBucket(bucket)
			r.buckets.S3Endpoint = proxy.URL
			r.worker.write = false
			r.worker.start(t, 1)
			s := r.scheduler(nil)
			defer r.run(s)()
			const batches, objects, every = 24, 60, 4
			rng := rand.New(rand.NewPCG(1, 2))
			key := func(n int) string {
				if order == "random" {
					return fmt.Sprintf("%016x.png", rng.Uint64())
				}
				return fmt.Sprintf("%08d.png", n)
			}
			var requests []int
			var bytes []int64
			for n := range batches {
				var list []jobs.Entry
				for k := range objects {
					list = append(list, jobs.Entry{Key: key(n*objects + k), Size: 10, ETag: "e"})
				}
				reads.take()
				spec, err := r.client.SubmitEntries(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny", AutoStart: true, ChunkObjects: objects}, list)
				if err != nil {
					t.Fatal(err)
				}
				reads.mu.Lock()
				reads.newest = spec.ID
				reads.mu.Unlock()
				r.wait("the end of a batch", func() bool {
					_, ended, err := r.client.Ended(r.ctx, r.target, spec.ID)
					return err == nil && ended
				})
				made, read := reads.take()
				requests, bytes = append(requests, made), append(bytes, read)
				if n%every == every-1 {
					if _, err := r.client.Prune(r.ctx, r.target, PruneRule{KeepLast: 2, BySize: true}, false); err != nil {
						t.Fatal(err)
					}
				}
			}
			sum := func(from, to int) (n int, b int64) {
				for i := from; i < to; i++ {
					n, b = n+requests[i], b+bytes[i]
				}
				return n, b
			}
			n1, b1 := sum(every, 3*every)
			n2, b2 := sum(batches-2*every, batches)
			t.Logf("requests %v\nbytes %v", requests, bytes)
			if n2 > n1+n1/2+10 {
				t.Errorf("%d reads of earlier jobs for early batches, %d for as many late ones", n1, n2)
			}
			if order == "by time" && b2 > b1+b1/2+10_000 {
				t.Errorf("%d bytes of earlier jobs are read for early batches, %d for as many late ones", b1, b2)
			}
		})
	}
}

type countingWriter struct {
	http.ResponseWriter
	n int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.n += int64(n)
	return n, err
}

func (w *countingWriter) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(w.ResponseWriter, r)
	w.n += n
	return n, err
}
