package intake

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// Objects that lie side by side are looked up by listings, others one by one, and all as they are.
func TestObjectsSideBySideAreListed(t *testing.T) {
	store := services.VersityGW(t)
	for _, e := range store.Env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	store.NewBucket("source")
	behind, err := url.Parse(store.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	asked := map[string]int{}
	through := httputil.NewSingleHostReverseProxy(behind)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		if asked[req.Method]++; req.URL.Query().Has("list-type") {
			asked["LIST"]++
		}
		mu.Unlock()
		through.ServeHTTP(w, req)
	}))
	defer proxy.Close()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	buckets.S3Endpoint = proxy.URL
	r := &rig{t: t, buckets: buckets, source: "s3://source", target: "mem://target"}
	in, err := New(t.Context(), &scheduler.Client{Buckets: buckets}, jobs.Spec{Source: r.source, Target: r.target, Codec: "vq", Filter: jobs.Filter{MinSize: 3}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	from := r.open(r.source)
	b := &batch{in: in}
	want := map[string]int64{}
	put := func(key string, size int) {
		t.Helper()
		if err := from.WriteAll(t.Context(), key, make([]byte, size), nil); err != nil {
			t.Fatal(err)
		}
		if want[key] = int64(size); size < 3 {
			delete(want, key)
		}
		b.held = append(b.held, &item{key: key})
	}
	for n := range 100 {
		put(fmt.Sprintf("many/%02dé.png", n), n)
	}
	for n := range 3 {
		put(fmt.Sprintf("few/%d.png", n), 10+n)
	}
	for _, key := range []string{"many/50.png", "few/a.png", "none/a.png"} {
		b.held = append(b.held, &item{key: key})
	}
	clear(asked)
	if err := b.lookUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, it := range b.items {
		o, _, err := storage.Stat(t.Context(), from, it.key)
		if size, ok := want[it.key]; err != nil || !ok || it.entry.Size != size || it.entry.ETag != o.ETag || !it.entry.ModTime.Equal(o.ModTime) {
			t.Errorf("%+v, want %d bytes of %+v (%v)", it.entry, size, o, err)
		}
		delete(want, it.key)
	}
	if len(want) > 0 {
		t.Errorf("not in the batch: %v", want)
	}
	mu.Lock()
	defer mu.Unlock()
	if heads := asked["HEAD"] - len(b.items); asked["LIST"] != 1 || heads != 6 {
		t.Errorf("%d listings and %d requests for single objects, want 1 and 6: %v", asked["LIST"], heads, asked)
	}
}

// What is said of an object that cannot be looked up says why and has nothing of its key.
func TestTroublesHaveNoKeys(t *testing.T) {
	store := services.VersityGW(t)
	for _, e := range store.Env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	buckets := storage.NewBuckets()
	defer buckets.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	buckets.S3Endpoint = closed.URL
	r := &rig{t: t, buckets: buckets, source: "s3://source", target: "mem://target"}
	in, err := New(t.Context(), &scheduler.Client{Buckets: buckets}, jobs.Spec{Source: r.source, Target: r.target, Codec: "vq"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	in.log = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	b := &batch{in: in, held: []*item{{key: "Doe John/1970 01+é/scan.png"}}}
	go func() { over <- b.lookUp(ctx) }()
	for len(in.metrics.unready(ctx)) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	said := strings.Join(in.metrics.unready(ctx), " ")
	cancel()
	if err := <-over; err == nil {
		t.Error("looked up in a store that is away")
	}
	if !strings.Contains(said, "refused") && !strings.Contains(said, "cannot be reached") || !strings.Contains(log.String(), "cannot look up an object") {
		t.Errorf("it does not say why: %q, %q", said, &log)
	}
	for _, part := range []string{"Doe", "John", "1970", "scan"} {
		if strings.Contains(said+log.String(), part) {
			t.Errorf("it has %q: %q, %q", part, said, &log)
		}
	}
}
