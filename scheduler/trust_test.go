package scheduler

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// logText is a log that several goroutines write.
type logText struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// evil is an S3 bucket at an address that nobody allowed, and how often it was
// asked for.
func evil(t *testing.T) (requests *atomic.Int64, bucket string) {
	requests = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	return requests, "s3://bucket?endpoint=" + server.URL + "&region=us-east-1&use_path_style=true"
}

func (r *rig) allow(prefixes ...string) {
	r.t.Helper()
	var err error
	if r.buckets.Allow, err = storage.Plain().Plus(prefixes...); err != nil {
		r.t.Fatal(err)
	}
}

// A job that asks for more than the scheduler may open is refused, with its reason
// in its status and once in the log; others go on, and so does this one as soon as
// its folder is right or another scheduler may.
func TestJobsThatAskForMoreThanIsAllowed(t *testing.T) {
	requests, bucket := evil(t)
	for name, change := range map[string]func(*jobs.Spec){
		"source with an endpoint": func(s *jobs.Spec) { s.Source = bucket },
		"source is a folder":      func(s *jobs.Spec) { s.Source = "file:///etc" },
		"source is other memory":  func(s *jobs.Spec) { s.Source = "mem://other" },
		"for another target":      func(s *jobs.Spec) { s.Target = "mem://source" },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.fill(3)
			r.allow("mem://source", "mem://target")
			good := r.submit(nil)
			spec := r.submit(nil)
			bad := spec
			change(&bad)
			r.rewrite(spec.ID, bad)
			var log logText
			stop := r.run(r.scheduler(&Options{Log: slog.New(slog.NewTextHandler(&log, nil))}))
			r.waitState(spec.ID, jobs.StateRefused)
			st, err := r.client.Status(r.ctx, r.target, spec.ID)
			if err != nil || st.Why == "" || st.Why != st.State.Reason {
				t.Errorf("why %q, reason %q, %v", st.Why, st.State.Reason, err)
			}
			r.worker.start(t, 1)
			r.ended(good.ID)
			if n := strings.Count(log.String(), "job is refused"); n != 1 {
				t.Errorf("%d lines in the log, want one:\n%s", n, log.String())
			}
			for _, key := range []string{jobs.Folder(spec.ID).State(), jobs.Folder(spec.ID).Listing(), jobs.Folder(spec.ID).Report()} {
				if ok, err := exists(r.ctx, r.bucket(r.target), key); ok || err != nil {
					t.Errorf("%s was written (%v)", key, err)
				}
			}
			stop()
			r.rewrite(spec.ID, spec)
			r.run(r.scheduler(nil))
			r.ended(spec.ID)
		})
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests at an address that nobody allowed", n)
	}
}

// rewrite changes a job's specification behind everybody's back.
func (r *rig) rewrite(id string, spec jobs.Spec) {
	r.t.Helper()
	data, err := json.Marshal(spec)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := storage.Put(r.ctx, r.bucket(r.target), jobs.Folder(id).Spec(), data, &storage.PutOptions{Overwrite: true}); err != nil {
		r.t.Fatal(err)
	}
}

// What somebody else registers leads to no request, and to no folder.
func TestRegistrationsThatAskForMoreThanIsAllowed(t *testing.T) {
	requests, bucket := evil(t)
	r := newRig(t)
	r.fill(1)
	r.allow("mem://source", "mem://target")
	register := map[string]string{
		"20260102-030405-aaaa": bucket,
		"20260102-030405-aaab": "file:///etc",
		"20260102-030405-aaac": "\x1b]0;title\a",
		"../../etc/passwd":     bucket,
		"{x}":                  "mem://target",
	}
	for id, url := range register {
		if err := r.conn.Job(id).Register(r.ctx, url); err != nil {
			t.Fatal(err)
		}
	}
	var log logText
	r.run(r.scheduler(&Options{Log: slog.New(slog.NewTextHandler(&log, nil))}))
	r.worker.start(t, 1)
	r.ended(r.submit(nil).ID)
	r.wait("three refusals", func() bool { return strings.Count(log.String(), "job is refused") >= 3 })
	if n := strings.Count(log.String(), "job is refused"); n != 3 {
		t.Errorf("%d lines in the log, want 3:\n%s", n, log.String())
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests at an address that nobody allowed", n)
	}
}

// Options in a job's folder cannot make a command read a file of the operator's.
func TestRetryTakesNoFileFromAStoredSpecification(t *testing.T) {
	r := newRig(t)
	r.fill(2)
	r.worker.outcome = func(jobs.Entry) jobs.Outcome { return jobs.OutcomeFailed }
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	spec := r.submit(nil)
	r.ended(spec.ID)
	bad := spec
	bad.Options = "book=/etc/passwd"
	r.rewrite(spec.ID, bad)
	if _, err := r.client.Retry(r.ctx, r.target, spec.ID, nil, nil); err == nil || !strings.Contains(err.Error(), "command line") {
		t.Errorf("retry: %v, want that it is refused", err)
	}
	bad = spec
	bad.ID = "20260102-030405-abcd"
	r.rewrite(spec.ID, bad)
	if _, err := r.client.Status(r.ctx, r.target, spec.ID); err == nil {
		t.Error("a specification of another job is shown as this one's")
	}
}
