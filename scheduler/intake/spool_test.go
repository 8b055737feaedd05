package intake

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// spoolOf is a spool of its own, without an intake.
func spoolOf(t *testing.T, source, target string, o Options) *Spool {
	t.Helper()
	buckets := storage.NewBuckets()
	t.Cleanup(func() { buckets.Close() })
	a, err := (&scheduler.Client{Buckets: buckets}).Arrivals(t.Context(), jobs.Spec{Source: source, Target: target, Codec: "vq",
		Filter: jobs.Filter{Include: []string{"*.png"}}})
	if err != nil {
		t.Fatal(err)
	}
	return newSpool(a, &o, newMetrics())
}

func (s *Spool) mustAdd(t *testing.T, a Arrival) {
	t.Helper()
	if full, err := s.Add(t.Context(), a, false); full || err != nil {
		t.Fatalf("%q: full %v (%v)", a.Key, full, err)
	}
}

func keys(items []*item) (out []string) {
	for _, it := range items {
		out = append(out, it.key)
	}
	return out
}

// What a batch is made of, and when. Times are seconds from the first arrival.
func TestSpoolMakesBatches(t *testing.T) {
	zero := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }
	for _, c := range []struct {
		name  string
		quiet time.Duration
		came  []Arrival
		held  []string
		now   float64
		want  []string
	}{
		{name: "nothing", now: 100},
		{name: "one waits for others", came: []Arrival{{Key: "a.png", At: at(0)}}, now: 9.9},
		{name: "long enough", came: []Arrival{{Key: "a.png", At: at(0)}, {Key: "b.png", At: at(9)}}, now: 10, want: []string{"a.png", "b.png"}},
		{name: "enough of them", came: []Arrival{{Key: "a.png", At: at(0)}, {Key: "b.png", At: at(0)}, {Key: "c.png", At: at(0)}, {Key: "d.png", At: at(0)}}, now: 0.1, want: []string{"a.png", "b.png", "c.png"}},
		{name: "the same twice", came: []Arrival{{Key: "a.png", At: at(0)}, {Key: "a.png", At: at(8)}}, now: 10, want: []string{"a.png"}},
		{name: "one is in a batch", held: []string{"a.png"}, came: []Arrival{{Key: "a.png", At: at(0)}, {Key: "b.png", At: at(0)}}, now: 11, want: []string{"b.png"}},
		{name: "its name may be taken", held: []string{"a.png"}, came: []Arrival{{Key: "a.jpg.png", At: at(0)}, {Key: "a.tif.png", At: at(0)}, {Key: "a.png", At: at(0)}}, now: 11, want: []string{"a.jpg.png", "a.tif.png"}},
		{name: "a folder that is not quiet", quiet: 20 * time.Second, came: []Arrival{{Key: "s/a.png", At: at(0)}, {Key: "s/b.png", At: at(15)}, {Key: "t/c.png", At: at(0)}}, now: 30, want: []string{"t/c.png"}},
		{name: "a quiet folder", quiet: 20 * time.Second, came: []Arrival{{Key: "s/a.png", At: at(0)}, {Key: "s/b.png", At: at(15)}}, now: 35, want: []string{"s/a.png", "s/b.png"}},
		{name: "a folder that is never quiet", quiet: time.Second, came: []Arrival{{Key: "s/a.png", At: at(0)}, {Key: "s/b.png", At: at(9.9)}}, now: 10, want: []string{"s/a.png"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spoolOf(t, "mem://source", "mem://target", Options{BatchObjects: 3, BatchWait: 10 * time.Second, Quiet: c.quiet})
			for _, key := range c.held {
				s.hold([]*item{{key: key}})
			}
			for _, a := range c.came {
				s.mustAdd(t, a)
			}
			items, next := s.ripe(at(c.now))
			if got := keys(items); !slices.Equal(got, c.want) || len(got) == 0 && next <= 0 {
				t.Errorf("%v, next after %v, want %v", got, next, c.want)
			}
		})
	}
}

func TestSpoolReleases(t *testing.T) {
	s := spoolOf(t, "mem://source", "mem://target", Options{BatchObjects: 3, BatchWait: time.Nanosecond})
	s.mustAdd(t, Arrival{Key: "a.png"})
	first, err := s.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.mustAdd(t, Arrival{Key: "a.png"})
	if items, _ := s.ripe(time.Now().Add(time.Hour)); len(items) > 0 {
		t.Fatalf("%v is in two batches", keys(items))
	}
	s.release(first)
	second, err := s.take(t.Context())
	if err != nil || len(second) != 1 {
		t.Fatalf("%v (%v)", keys(second), err)
	}
	s.release(second)
	if len(s.held)+len(s.waiting)+len(s.order)+len(s.folders) > 0 {
		t.Errorf("something stays: %+v", s)
	}
}

// Objects of the target, of other buckets and those that the filter leaves out never come into the spool.
func TestInboxDrops(t *testing.T) {
	s := spoolOf(t, "s3://bucket/scans", "s3://bucket/scans/out", Options{BatchObjects: 100, BatchWait: time.Second})
	in := newInbox(s)
	done := 0
	for _, body := range []string{
		`{"bucket":"other","key":"scans/a.png"}`, `{"bucket":"bucket","key":"elsewhere/a.png"}`, `{"bucket":"bucket","key":"scans/out/a.png"}`,
		`{"bucket":"bucket","key":"scans/.pelmill/a.png"}`, `{"bucket":"bucket","key":"scans/x/.pelmill/a.png"}`, `{"bucket":"bucket","key":"scans/a.txt"}`,
		`{"bucket":"bucket","key":"scans/../a.png"}`, `{"bucket":"bucket","key":"scans/d/"}`, `{"bucket":"bucket","key":"scans/"}`, `{"bucket":"bucket","key":"scansa.png"}`, `what?`,
	} {
		if full, err := in.deliver(t.Context(), []byte(body), nil, false, func() { done++ }); full || err != nil {
			t.Fatalf("%s: full %v (%v)", body, full, err)
		}
	}
	if len(s.waiting) != 0 || done != 11 {
		t.Errorf("%d wait, %d messages are done", len(s.waiting), done)
	}
	in.deliver(t.Context(), []byte(`{"bucket":"bucket","keys":["scans/a.png","scans/b/c.png"]}`), nil, false, func() { done++ })
	if got := keys(s.order); !slices.Equal(got, []string{"a.png", "b/c.png"}) || done != 11 {
		t.Errorf("%v wait, %d messages are done", got, done)
	}
}

// A flood of events takes bounded memory: what the spool has no room for stays with the sender.
func TestFloodIsBounded(t *testing.T) {
	s := spoolOf(t, "mem://source", "mem://target", Options{BatchObjects: 1000, BatchWait: time.Hour})
	in := newInbox(s)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	full := 0
	for n := range 100_000 {
		body := fmt.Appendf(nil, `{"bucket":"source","key":"a folder with a long name/%d.png"}`, n)
		if refused, err := in.deliver(t.Context(), body, nil, false, func() {}); err != nil {
			t.Fatal(err)
		} else if refused {
			full++
		}
	}
	same := fmt.Appendf(nil, `{"key":"a folder with a long name/%d.png"}`, 0)
	for range 10 * mostDone {
		in.deliver(t.Context(), same, nil, false, func() {})
	}
	if len(s.waiting) != s.most || full != 100_000-s.most || len(s.order[0].done) != mostDone {
		t.Errorf("%d wait, %d were refused, %d messages of one object", len(s.waiting), full, len(s.order[0].done))
	}
	if after := heap(); after > before+20<<20 {
		t.Errorf("%d bytes for %d objects", after-before, s.most)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := in.deliver(ctx, []byte(`{"key":"one more.png"}`), nil, true, func() {}); err == nil {
		t.Error("a full spool takes one more")
	}
}

func TestWebhook(t *testing.T) {
	s := spoolOf(t, "mem://source", "mem://target", Options{BatchObjects: 1, BatchWait: time.Hour})
	w := &Webhook{Address: "0.0.0.0:9400", Token: "a secret of some length", log: slog.New(slog.DiscardHandler)}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	if err := (&Webhook{Address: ":9400"}).Check(); err != nil {
		t.Errorf("loopback: %v", err)
	}
	for _, open := range []string{"0.0.0.0:9400", "10.1.2.3:9400", "[::]:9400", "example.org:9400"} {
		if err := (&Webhook{Address: open}).Check(); err == nil {
			t.Errorf("%s is served without a token", open)
		}
	}
	server := httptest.NewServer(w.handler(t.Context(), newInbox(s)))
	defer server.Close()
	impatient := *w
	impatient.wait = time.Millisecond
	late := httptest.NewServer(impatient.handler(t.Context(), newInbox(s)))
	defer late.Close()
	go func() {
		for {
			items, err := s.take(t.Context())
			if err != nil {
				return
			}
			for _, it := range items {
				if it.key != "held.png" {
					it.acknowledge()
				}
			}
			s.release(items)
		}
	}()
	for _, c := range []struct {
		name, method, token, body string
		want                      int
		answer                    string
	}{
		{"no token", "POST", "", `{"key":"a.png"}`, 401, ""},
		{"a wrong token", "POST", "another secret of it", `{"key":"a.png"}`, 401, ""},
		{"stored", "POST", w.Token, `{"key":"a.png"}`, 200, ""},
		{"nothing to do", "POST", w.Token, `{"key":"a.txt"}`, 200, ""},
		{"malformed", "POST", w.Token, `{{{`, 200, ""},
		{"not stored in time", "POST", w.Token, `{"key":"held.png"}`, 503, ""},
		{"too long", "POST", w.Token, strings.Repeat("x", maxMessage+1), 413, ""},
		{"no message", "GET", w.Token, "", 405, ""},
		{"who may send", "OPTIONS", w.Token, "", 200, ""},
		{"Event Grid asks", "POST", w.Token, `[{"eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","data":{"validationCode":"512d"}}]`, 200, `{"validationResponse":"512d"}`},
		{"SNS asks", "POST", w.Token, `{"Type":"SubscriptionConfirmation","SubscribeURL":"http://169.254.169.254/"}`, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := server.URL
			if c.want == 503 {
				url = late.URL
			}
			req, _ := http.NewRequest(c.method, url+"/any", strings.NewReader(c.body))
			if c.token != "" {
				req.SetBasicAuth("sender", c.token)
			}
			for _, basic := range []bool{true, false} {
				if !basic {
					req, _ = http.NewRequest(c.method, url, strings.NewReader(c.body))
					if c.token != "" {
						req.Header.Set("Authorization", "Bearer "+c.token)
					}
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != c.want || c.answer != "" && string(body) != c.answer || c.want == 503 && resp.Header.Get("Retry-After") == "" {
					t.Errorf("%s %s", resp.Status, body)
				}
			}
		})
	}
}

func TestCheckEvents(t *testing.T) {
	for url, want := range map[string]string{
		"nats://objects": "", "nats://objects?queue=a": "", "awssqs://sqs.eu-central-1.amazonaws.com/1/q?region=eu-central-1": "",
		"gcppubsub://projects/p/subscriptions/s": "", "azuresb://topic?subscription=s": "",
		"kafka://group?topic=t": `"kafka" is no queue that this build knows (awssqs, azuresb, gcppubsub, nats)`, "rabbit://q": "is no queue",
		"objects": "is no queue", "nats://": "names no subject", "://secret": "cannot be read",
	} {
		err := CheckEvents(url)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the URL: %v", url, err)
		}
	}
}
