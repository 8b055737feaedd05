package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/api"
)

// readers are clients that read until stop is called: n ask for a job again and again with a pause, and streams follow its events.
// took is told how long each answer took; nil: nobody is.
func (r *rig) readers(id string, n, streams int, pause time.Duration, took func(time.Duration)) (stop func()) {
	return readersOf(r.t, r.server.URL, id, n, streams, pause, took)
}

func readersOf(t testing.TB, server, id string, n, streams int, pause time.Duration, took func(time.Duration)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n + streams}}
	get := func(path string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, "GET", server+"/v1/jobs/"+id+path, nil)
		if err != nil {
			return nil, err
		}
		return client.Do(req)
	}
	var running sync.WaitGroup
	fail := func(what string, err error) {
		if ctx.Err() == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range n {
		running.Go(func() {
			time.Sleep(pause * time.Duration(i) / time.Duration(n)) // not all at one moment
			for ctx.Err() == nil {
				start := time.Now()
				res, err := get("")
				if err != nil {
					fail("reader", err)
					return
				}
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if err != nil || res.StatusCode != 200 {
					fail(res.Status, err)
				}
				if took != nil && ctx.Err() == nil {
					took(time.Since(start))
				}
				if pause == 0 {
					continue
				}
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	for range streams {
		running.Go(func() {
			res, err := get("/events")
			if err != nil {
				fail("events", err)
				return
			}
			defer res.Body.Close()
			io.Copy(io.Discard, res.Body)
		})
	}
	return func() { cancel(); running.Wait(); client.CloseIdleConnections() }
}

// However many read, storage sees one look a second, and each look costs what pelmill status costs.
func TestStorageRequestsDoNotGrowWithReaders(t *testing.T) {
	store := services.VersityGW(t)
	for _, e := range store.Env {
		for i := range e {
			if e[i] == '=' {
				t.Setenv(e[:i], e[i+1:])
				break
			}
		}
	}
	store.NewBucket("target")
	behind, err := url.Parse(store.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	through := httputil.NewSingleHostReverseProxy(behind)
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		requests.Add(1)
		through.ServeHTTP(rw, req)
	}))
	defer proxy.Close()
	r := newRigAt(t, "s3://target", store.Endpoint, proxy.URL, nil)
	r.fill(10)
	id := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 2 })
	r.until(id, "a job that waits for a worker", func(j api.Job) bool { return j.State == "running" && j.Why == "no worker is connected" })

	for _, c := range []struct{ readers, streams int }{{1, 0}, {100, 25}} {
		before, start := requests.Load(), time.Now()
		var answers atomic.Int64
		stop := r.readers(id, c.readers, c.streams, 10*time.Millisecond, func(time.Duration) { answers.Add(1) })
		r.wait("answers", func() bool { return answers.Load() > int64(20*c.readers) && time.Since(start) > 2*time.Second })
		stop()
		looks := int64(time.Since(start)/time.Second) + 2
		const aLook = 12 // reading specification, state, control, plan and report, whether there are some, and the lease
		if made := requests.Load() - before; made > looks*aLook {
			t.Errorf("%d readers and %d streams: %d requests to storage for %d answers in %v, want at most %d", c.readers, c.streams, made, answers.Load(), time.Since(start), looks*aLook)
		} else {
			t.Logf("%d readers and %d streams: %d requests to storage for %d answers in %v", c.readers, c.streams, made, answers.Load(), time.Since(start))
		}
	}
	if requests.Load() == 0 {
		t.Error("the proxy has seen no request")
	}
}
