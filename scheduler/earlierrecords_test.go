package scheduler

import (
	"fmt"
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
	"github.com/pelmill/pelmill/storage"
)

// A plan that is made while old jobs are pruned knows what they have done: from them, or from the list that stands for them.
func TestPlansBesideAPrune(t *testing.T) {
	store := services.VersityGW(t)
	for _, e := range store.Env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	store.NewBucket("target")
	behind, err := url.Parse(store.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	r := newRigOn(t, "", "mem://source", "s3://target")
	r.buckets.S3Endpoint = store.Endpoint
	w := &worker{}
	spec := jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny"}
	if _, err := r.client.complete(r.ctx, &spec); err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		entry := jobs.Entry{Key: fmt.Sprintf("%d.png", n), Size: 10, ETag: "e"}
		r.past(time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC), []jobs.Result{w.object(r.ctx, nil, &spec, entry)})
	}
	through := httputil.NewSingleHostReverseProxy(behind)
	var prune sync.Once
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/spec.json") { // the folders are listed
			prune.Do(func() {
				if p, err := r.client.Prune(r.ctx, r.target, PruneRule{KeepLast: 1}, false); err != nil || len(p.Jobs) != 3 {
					t.Errorf("prune: %+v (%v)", p, err)
				}
			})
		}
		through.ServeHTTP(rw, req)
	}))
	defer proxy.Close()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	buckets.S3Endpoint = proxy.URL
	b, err := buckets.Open(r.ctx, r.target)
	if err != nil {
		t.Fatal(err)
	}
	past := newPastJobs()
	specs, err := earlier(r.ctx, b, &spec, past)
	if err != nil {
		t.Fatal(err)
	}
	l, err := openEarlier(r.ctx, b, history{specs: specs, past: past, want: &keyRanges{prefixes: []string{"0", "1", "2", "3"}}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for n := range 4 {
		if p, ok, err := l.next(); err != nil || !ok || p.key != fmt.Sprintf("%d.png", n) {
			t.Fatalf("record %d: %+v, %v (%v)", n, p, ok, err)
		}
	}
}
