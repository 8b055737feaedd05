package scheduler

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/notify"
	"github.com/pelmill/pelmill/storage"
)

// A budget that is used up is told once, a second one again, and the end after them.
func TestPausesAndEndsAreTold(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var came []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		for _, event := range []string{notify.Done, notify.Failed, notify.Paused} {
			one := event + " " + r.Header.Get("webhook-id")
			// A scheduler that ends before it has noted an answer leaves the next one to send the same again.
			if strings.Contains(string(body), "pelmill.job."+event+`"`) && !slices.Contains(came, one) {
				came = append(came, one)
			}
		}
	}))
	defer s.Close()
	told := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), came...)
	}
	r := newRig(t)
	r.worker.start(t, 2)
	sender := notify.New(notify.Options{Secrets: notify.Secrets{[]byte(strings.Repeat("x", 32))}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	stop := r.run(r.scheduler(&Options{Notify: sender}))
	r.fill(40)
	spec := r.submit(func(s2 *jobs.Spec) {
		s2.ChunkObjects, s2.Settings.MaxObjects, s2.Notify = 2, pointer(int64(10)), []string{s.URL + "/a", s.URL + "/b"}
	})
	r.wait("the pause to be told", func() bool { return len(told()) == 2 })
	// Neither another scheduler nor another priority tells it again.
	stop()
	defer r.run(r.scheduler(&Options{Notify: sender}))()
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Settings: jobs.Settings{Priority: pointer(2)}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if got := told(); len(got) != 2 {
		t.Fatalf("%q", got)
	}
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Want: jobs.WantRun}); err != nil {
		t.Fatal(err)
	}
	r.wait("the second pause to be told", func() bool { return len(told()) == 4 })
	if err := r.client.Control(r.ctx, r.target, spec.ID, jobs.Control{Settings: jobs.Settings{MaxObjects: pointer(int64(0))}}); err != nil {
		t.Fatal(err)
	}
	r.ended(spec.ID)
	r.wait("the end to be told", func() bool { return len(told()) == 6 })
	for i, one := range told() {
		if strings.HasPrefix(one, notify.Done) != (i >= 4) {
			t.Errorf("%d: %s", i, one)
		}
	}
	r.wait("the job to leave the queue", func() bool { all, err := r.conn.Jobs(r.ctx); return err == nil && len(all) == 0 })
}

// A process that does a job itself ends once it has seen the job's report, with what its scheduler still does. The end is told
// all the same: nobody else would tell of it.
func TestTheEndIsToldByAProcessThatEndsWithIt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		outcome jobs.Outcome
		ends    string // end of the key, before or after the write of which the process ends
	}{
		{"done", jobs.OutcomeCompressed, "/report.json!"},
		{"failed", jobs.OutcomeFailed, "/report.json!"},
		{"before the report is read back", jobs.OutcomeCompressed, "/report.json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var came atomic.Int64
			receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Add(1) }))
			defer receiver.Close()
			r := newRig(t)
			r.worker.outcome = func(jobs.Entry) jobs.Outcome { return test.outcome }
			r.worker.start(t, 2)
			r.fill(40)
			sender := notify.New(notify.Options{Secrets: notify.Secrets{[]byte(strings.Repeat("x", 32))}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
			to, err := r.buckets.Open(r.ctx, r.target)
			if err != nil {
				t.Fatal(err)
			}
			s := r.scheduler(&Options{Notify: sender})
			ctx, end := context.WithCancel(r.ctx)
			defer end()
			s.before = func(key string) error {
				if strings.HasSuffix(key, test.ends) {
					if test.ends == "/report.json" { // a write that the end meets before it returns
						if _, err := storage.Put(r.ctx, to, key, []byte("{}\n"), nil); err != nil {
							t.Error(err)
						}
					}
					end()
					time.Sleep(100 * time.Millisecond) // whatever looks only at the end of ctx has seen it then
				}
				return nil
			}
			r.submit(func(s2 *jobs.Spec) { s2.ChunkObjects, s2.Notify = 2, []string{receiver.URL} })
			if err := s.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if n := came.Load(); n != 1 {
				t.Errorf("the end was told %d times, want once", n)
			}
		})
	}
}
