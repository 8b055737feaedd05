package page_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api"
	"github.com/pelmill/pelmill/scheduler/page"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

// rig is a scheduler with its page, on folders.
type rig struct {
	t       testing.TB
	ctx     context.Context
	source  string
	target  string
	conn    *queue.Conn
	buckets *storage.Buckets
	client  *scheduler.Client
	opts    page.Options
	prices  *jobs.Prices
	policy  *storage.Policy
	server  *httptest.Server
	token   string // sent with every request; empty: none
}

func newRig(t testing.TB, redis string, tokens *api.Tokens, opts page.Options) *rig {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	dir := t.TempDir()
	r := &rig{t: t, ctx: ctx, source: filepath.Join(dir, "in"), target: filepath.Join(dir, "out"), opts: opts,
		prices: &jobs.Prices{Currency: "EUR", Get: 0.0000004, Put: 0.000005, GBMonth: 0.023}}
	var err error
	if r.conn, err = queue.Open(ctx, redis, &queue.Options{Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if r.policy, err = storage.Only(dir); err != nil {
		t.Fatal(err)
	}
	r.buckets = storage.NewBuckets()
	r.buckets.Allow = r.policy
	r.client = &scheduler.Client{Buckets: r.buckets, Conn: r.conn}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := scheduler.New(r.conn, r.buckets, &scheduler.Options{Tick: 20 * time.Millisecond}).Run(ctx, r.target); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		r.buckets.Close()
		r.conn.Close()
	})
	r.server = r.serve(tokens)
	return r
}

// serve starts an API with a page.
func (r *rig) serve(tokens *api.Tokens) *httptest.Server {
	r.t.Helper()
	target, err := storage.Canonical(r.target)
	if err != nil {
		r.t.Fatal(err)
	}
	a := api.New(r.client, &api.Options{Targets: []string{target}, Allow: r.policy, Tokens: tokens, Prices: r.prices,
		Page: func(a *api.API) http.Handler { return page.New(a, r.client, &r.opts) }})
	server := httptest.NewServer(a.Handler())
	r.t.Cleanup(func() {
		a.Close()
		server.Close()
	})
	return server
}

// work has a worker do chunks until the test ends.
func (r *rig) work() {
	w, err := worker.New(r.conn, r.buckets, &worker.Options{Device: "cpu", CPU: 1, Grace: time.Second})
	if err != nil {
		r.t.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	r.t.Cleanup(func() { cancel(); <-ended })
}

// picture is a small PNG file.
func picture(t testing.TB, i int) []byte {
	m := image.NewRGBA(image.Rect(0, 0, 24, 16))
	for p := range 24 * 16 {
		m.Set(p%24, p/24, color.RGBA{uint8(i * 40), uint8(p * 3), uint8(p), 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (r *rig) write(name string, data []byte) {
	r.t.Helper()
	path := filepath.Join(r.source, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		r.t.Fatal(err)
	}
}

// ask makes a request; form is posted where it is not nil. Redirects are not followed.
func (r *rig) ask(path string, form url.Values) (*http.Response, string) {
	r.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(r.ctx, method, r.server.URL+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if r.token != "" {
		req.AddCookie(&http.Cookie{Name: api.Cookie, Value: r.token})
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res, string(data)
}

// want makes a request whose answer must have a status and texts.
func (r *rig) want(status int, path string, form url.Values, texts ...string) (*http.Response, string) {
	r.t.Helper()
	res, body := r.ask(path, form)
	if res.StatusCode != status {
		r.t.Fatalf("%s: %d, want %d: %s", path, res.StatusCode, status, body)
	}
	for _, text := range texts {
		if !strings.Contains(body, text) {
			r.t.Errorf("%s does not say %q: %s", path, text, body)
		}
	}
	return res, body
}

// ended makes a job, waits for its end and gives its id.
func (r *rig) ended(change func(*jobs.Spec)) string {
	r.t.Helper()
	spec := jobs.Spec{Source: r.source, Target: r.target, Codec: "webp", AutoStart: true}
	if change != nil {
		change(&spec)
	}
	spec, err := r.client.Submit(r.ctx, spec, nil, "")
	if err != nil {
		r.t.Fatal(err)
	}
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := r.client.Report(r.ctx, r.target, spec.ID); err == nil {
			return spec.ID
		}
		if time.Now().After(end) {
			r.t.Fatal("waited four minutes for the end of a job")
		}
	}
}
