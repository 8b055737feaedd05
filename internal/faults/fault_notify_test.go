package faults_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/notify"
)

// hook is a receiver of notifications that verifies every one with the library of Standard Webhooks.
type hook struct {
	*httptest.Server
	secret string
	file   string // with the secret

	mu     sync.Mutex
	answer func(w http.ResponseWriter) // nil: 200
	ids    []string                    // of what came
	events map[string]notify.Event     // by id
	bodies map[string]string
}

func newHook(t *testing.T) *hook {
	h := &hook{secret: "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32))), events: map[string]notify.Event{}, bodies: map[string]string{}}
	h.file = filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(h.file, []byte(h.secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	verify, err := standardwebhooks.NewWebhook(h.secret)
	if err != nil {
		t.Fatal(err)
	}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verify.Verify(body, r.Header)
		}
		var e notify.Event
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		id := r.Header.Get("webhook-id")
		h.mu.Lock()
		if before, again := h.bodies[id]; err != nil || id != e.ID || again && before != string(body) {
			t.Errorf("%s: %v, %s", id, err, body)
		}
		h.ids, h.events[id], h.bodies[id] = append(h.ids, id), e, string(body)
		answer := h.answer
		h.mu.Unlock()
		if answer != nil {
			answer(w)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// answers sets what the receiver does from now on.
func (h *hook) answers(answer func(w http.ResponseWriter)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

// came gives the ids of what came and how many different ones there are.
func (h *hook) came() (ids []string, different int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(ids, h.ids...), len(h.events)
}

// A scheduler is killed while the receiver has a notification and has not answered: the next scheduler sends it again, under
// the same id. The receiver fails meanwhile. Redis loses everything in between.
func TestNotificationsSurviveTheScheduler(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	h := newHook(t)
	tr := inFolders(t, faults.Images(5, 20, 40)).withRedis()
	tr.extra = append(tr.extra, "--notify", h.URL+"/path")
	flags := []string{"scheduler", "file://" + tr.target, "--redis", tr.redis.URL(), "--tick", "50ms", "--notify-secret-file", h.file, "--notify-allow", "127.0.0.0/8"}
	start := func() *faults.Process {
		return faults.Start(t, "scheduler", tr.env, program(t, "cmd/pelmill"), flags...)
	}
	release := make(chan struct{})
	defer close(release)
	h.answers(func(http.ResponseWriter) { <-release })
	first := start()
	tr.worker()
	id := tr.submitted()
	faults.Until(t, limit, "the first attempt", func() bool { ids, _ := h.came(); return len(ids) >= 1 })
	first.Kill()
	h.answers(func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) })
	tr.redis.CLI("flushall")
	second := start()
	faults.Until(t, limit, "an attempt that fails", func() bool { ids, _ := h.came(); return len(ids) >= 2 })
	faults.Until(t, limit, "a log line", func() bool { return strings.Contains(second.Stderr(), "it is tried again") })
	second.Kill()
	h.answers(nil)
	third := start()
	faults.Until(t, limit, "the delivery", func() bool { return strings.Contains(third.Stderr(), "notification is delivered") })
	ids, different := h.came()
	if different != 1 {
		t.Errorf("%d different notifications of one end: %q", different, ids)
	}
	e := h.events[ids[0]]
	if e.Type != "com.github.pelmill.job.done" || e.Subject != id || !strings.Contains(string(e.Data), `"state":"done"`) {
		t.Errorf("%+v %s", e, e.Data)
	}
	faults.Until(t, limit, "the job to leave Redis", func() bool { return tr.redis.CLI("hlen", "pelmill:jobs") == "0" })
	for _, p := range []*faults.Process{first, second, third} {
		if log := p.Stderr(); strings.Contains(log, h.secret) || strings.Contains(log, "/path") {
			t.Error("a log has the secret or the path of the URL")
		}
	}
	// Nothing more comes of a restart.
	third.Kill()
	fourth := start()
	faults.Until(t, limit, "the target to be looked at", func() bool { return strings.Contains(fourth.Stderr(), "scheduler starts") })
	time.Sleep(time.Second)
	if now, _ := h.came(); len(now) != len(ids) {
		t.Errorf("%d notifications after the delivery of %d", len(now), len(ids))
	}
}

// A job without --redis tells of its failure before its process ends; a receiver at an address that is not allowed hears nothing.
func TestLocalJobsNotify(t *testing.T) {
	h := newHook(t)
	tr := inFolders(t, faults.Images(5, 90, 40)) // with the limit of calls, long enough to be seen over its limit of failures
	bad := filepath.Join(tr.source, "a-bad")
	if err := os.MkdirAll(bad, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1.png", "2.png", "3.png"} {
		if err := os.WriteFile(filepath.Join(bad, name), []byte("\x89PNG\r\n\x1a\nno picture"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"compress", tr.source, tr.target, "--codec", "vq", "-q", "--fail-ratio", "0.01", "--fail-min", "1", "--chunk-objects", "3",
		"--notify", h.URL, "--notify-secret-file", h.file}
	args = append(args, long...)
	faults.Run(t, 6, tr.env, program(t, "cmd/pelmill"), args...)
	if ids, _ := h.came(); len(ids) != 0 {
		t.Errorf("%q came to an address that is not allowed", ids)
	}
	args[2] += "2"
	faults.Run(t, 6, tr.env, program(t, "cmd/pelmill"), append(args, "--notify-allow", "127.0.0.1")...)
	ids, different := h.came()
	if different != 1 || len(ids) != 1 {
		t.Fatalf("%q", ids)
	}
	if e := h.events[ids[0]]; e.Type != "com.github.pelmill.job.failed" || !strings.Contains(string(e.Data), `"limit":true`) {
		t.Errorf("%+v %s", e, e.Data)
	}
	faults.Run(t, 2, tr.env, program(t, "cmd/pelmill"), "compress", tr.source, tr.target, "--codec", "vq", "--notify", h.URL)
	faults.Run(t, 2, tr.env, program(t, "cmd/pelmill"), "compress", tr.source, tr.target, "--codec", "vq", "--notify", "https://user:pass@example.com/", "--notify-secret-file", h.file)
}

// A receiver that wants no more notifications (410) is asked once, and one that sends elsewhere (307) leads nobody there.
func TestReceiversThatAreGone(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	gone, moved, elsewhere := newHook(t), newHook(t), newHook(t)
	gone.answers(func(w http.ResponseWriter) { w.WriteHeader(http.StatusGone) })
	moved.answers(func(w http.ResponseWriter) {
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	tr := inFolders(t, faults.Images(5, 20, 40)).withRedis()
	tr.extra = append(tr.extra, "--notify", gone.URL, "--notify", moved.URL)
	metrics := net.JoinHostPort("127.0.0.1", strconv.Itoa(services.FreePort(t)))
	s := faults.Start(t, "scheduler", tr.env, program(t, "cmd/pelmill"), "scheduler", "file://"+tr.target, "--redis", tr.redis.URL(), "--tick", "50ms",
		"--notify-secret-file", gone.file, "--notify-allow", "127.0.0.0/8", "--metrics-listen", metrics)
	tr.worker()
	id := tr.submitted()
	faults.Until(t, limit, "both answers", func() bool {
		log := s.Stderr()
		return strings.Contains(log, "notification is given up") && strings.Contains(log, "redirects are not followed")
	})
	resp, err := http.Get("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(text), `pelmill_notifications_total{result="given_up"} 1`) || !strings.Contains(string(text), `pelmill_notifications_total{result="delivered"} 0`) {
		t.Errorf("metrics (%v): %s", err, text)
	}
	// The second answer may have been asked for again by now, the first one never is.
	for _, c := range []struct {
		h           *hook
		least, most int
	}{{gone, 1, 1}, {moved, 1, 1 << 30}, {elsewhere, 0, 0}} {
		if ids, _ := c.h.came(); len(ids) < c.least || len(ids) > c.most {
			t.Errorf("%d notifications came, want %d to %d", len(ids), c.least, c.most)
		}
	}
	// What became of an attempt is logged before it is stored.
	var files []string
	faults.Until(t, limit, "the notification that was given up to be stored so", func() bool {
		ended := 0
		if files, err = filepath.Glob(filepath.Join(tr.target, filepath.FromSlash(jobs.Folder(id).Notices()), "*.json")); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), "410 Gone") {
				ended++
			}
		}
		return ended == 1
	})
	if len(files) != 2 {
		t.Errorf("%d notifications in the job's folder, want 2", len(files))
	}
}
