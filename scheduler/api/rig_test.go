package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

// rig is a scheduler with its API, and a worker, on folders.
type rig struct {
	t       testing.TB
	ctx     context.Context
	dir     string // everything below it is allowed
	source  string
	target  string
	conn    *queue.Conn
	buckets *storage.Buckets
	client  *scheduler.Client
	api     *api.API
	server  *httptest.Server
	token   string // sent with every request; empty: none
}

func newRig(t testing.TB, change func(*api.Options)) *rig {
	t.Helper()
	return newRigAt(t, "", "", "", change)
}

// newRigAt has its target in a bucket at an endpoint, which the API reaches through another endpoint than everybody else.
func newRigAt(t testing.TB, bucket, endpoint, apiEndpoint string, change func(*api.Options)) *rig {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{t: t, ctx: ctx, dir: t.TempDir()}
	r.source, r.target = filepath.Join(r.dir, "in"), filepath.Join(r.dir, "out")
	var err error
	if r.conn, err = queue.Open(ctx, "", nil); err != nil {
		t.Fatal(err)
	}
	allowed := []string{r.dir}
	if bucket != "" {
		r.target, allowed = bucket, append(allowed, bucket)
	}
	policy, err := storage.Only(allowed...)
	if err != nil {
		t.Fatal(err)
	}
	r.buckets = storage.NewBuckets()
	r.buckets.Allow, r.buckets.S3Endpoint = policy, endpoint
	r.client = &scheduler.Client{Buckets: r.buckets, Conn: r.conn}
	own := *r.client
	if apiEndpoint != "" {
		own.Buckets = storage.NewBuckets()
		own.Buckets.Allow, own.Buckets.S3Endpoint = policy, apiEndpoint
		t.Cleanup(func() { own.Buckets.Close() })
	}
	target, err := storage.Canonical(r.target)
	if err != nil {
		t.Fatal(err)
	}
	opts := &api.Options{Targets: []string{target}, Allow: policy}
	if change != nil {
		change(opts)
	}
	r.api = api.New(&own, opts)
	r.server = httptest.NewServer(r.api.Handler())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := scheduler.New(r.conn, r.buckets, &scheduler.Options{Tick: 20 * time.Millisecond}).Run(ctx, r.target); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		r.api.Close()
		r.server.CloseClientConnections()
		r.server.Close()
		cancel()
		<-ended
		r.buckets.Close()
		r.conn.Close()
	})
	return r
}

// work has a worker do chunks until the returned function is called.
func (r *rig) work() (stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.ctx)
	w, err := worker.New(r.conn, r.buckets, &worker.Options{Device: "cpu", CPU: 1, Grace: time.Second})
	if err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	stop = func() { cancel(); <-ended }
	r.t.Cleanup(stop)
	return stop
}

// fill writes n small pictures, each of another colour, and files of the given names that are none.
func (r *rig) fill(n int, bad ...string) {
	r.t.Helper()
	write := func(name string, data []byte) {
		path := filepath.Join(r.source, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			r.t.Fatal(err)
		}
	}
	for i := range n {
		m := image.NewRGBA(image.Rect(0, 0, 8, 8))
		for p := range 64 {
			m.Set(p%8, p/8, color.RGBA{uint8(i), uint8(p * 3), uint8(i >> 8), 255})
		}
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			r.t.Fatal(err)
		}
		write(fmt.Sprintf("d%d/%04d.png", i%3, i), b.Bytes())
	}
	for _, name := range bad {
		write(name, []byte("no picture"))
	}
}

func (r *rig) submit(change func(*jobs.Spec)) string {
	r.t.Helper()
	spec := jobs.Spec{Source: r.source, Target: r.target, Codec: "webp", AutoStart: true}
	if change != nil {
		change(&spec)
	}
	spec, err := r.client.Submit(r.ctx, spec, nil, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return spec.ID
}

// ask makes a request with pairs of header names and values. body may be nil, a string as it is, or what JSON is made of.
func (r *rig) ask(method, path string, body any, header ...string) (*http.Response, string) {
	r.t.Helper()
	var from io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		from = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			r.t.Fatal(err)
		}
		from = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(r.ctx, method, r.server.URL+path, from)
	if err != nil {
		r.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := r.server.Client().Do(req)
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

// want makes a request whose answer must have a status, and reads it into to, which may be nil.
func (r *rig) want(status int, to any, method, path string, body any, header ...string) *http.Response {
	r.t.Helper()
	res, text := r.ask(method, path, body, header...)
	if res.StatusCode != status {
		r.t.Fatalf("%s %s: %d, want %d: %s", method, path, res.StatusCode, status, text)
	}
	kind := "application/json"
	if status >= 400 {
		kind = "application/problem+json"
	}
	if got := res.Header.Get("Content-Type"); got != kind && to != nil {
		r.t.Errorf("%s %s: answer of type %q, want %q", method, path, got, kind)
	}
	if to != nil {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			r.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return res
}

func (r *rig) job(id string) (j api.Job) {
	r.t.Helper()
	r.want(200, &j, "GET", "/v1/jobs/"+id, nil)
	return j
}

// until waits for a job to be as it should, to tell a hang from a busy machine.
func (r *rig) until(id, what string, ok func(api.Job) bool) (j api.Job) {
	r.t.Helper()
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if j = r.job(id); ok(j) {
			return j
		}
		if time.Now().After(end) {
			r.t.Fatalf("waited four minutes for %s: %+v", what, j)
		}
	}
}

func (r *rig) untilState(id, state string) api.Job {
	r.t.Helper()
	return r.until(id, "state "+state, func(j api.Job) bool { return j.State == state })
}
