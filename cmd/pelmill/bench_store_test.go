package main

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/storage"
)

// smallObjects is how many objects BenchmarkSmallObjects has at SCALE=1.
const smallObjects = 200_000

// BenchmarkSmallObjects is a job over many objects of about 1.8 KB on an S3 server, with a scheduler, three
// workers and Redis as processes of their own, all on this machine. SCALE is the share of 200,000 objects, by default 0.01.
// The server keeps connections open, as stores do: by default it ends them with each answer, and every request begins with
// a new one.
// It prints
//
//	plan            from the submission to the plan, with listing and sample
//	job             from the start of the planned job to its end
//	estimate        what the plan expected for that, as a share of it
//	requests        an object, of a job of at most 2,000 objects with a proxy in front of the store that counts
//	second run      over the same objects, from the submission to its end
//	changed         a run after 1 % of the objects changed, which must compress these and no others
//	compress        the same objects by one compress without a cluster, with the CPU time of the process an object
func BenchmarkSmallObjects(b *testing.B) {
	scale := 0.01
	if text := os.Getenv("SCALE"); text != "" {
		var err error
		if scale, err = strconv.ParseFloat(text, 64); err != nil || scale <= 0 {
			b.Fatalf("SCALE=%s: want a number above 0", text)
		}
	}
	n := max(100, int(scale*smallObjects))
	program, err := faults.Build(b.TempDir(), "cmd/pelmill")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c := &storeBench{b: b, program: program, store: services.VersityGWWith(b, "--keep-alive")}
		c.requests(min(2000, n))
		c.runs(n)
		c.compress(n)
	}
}

// storeBench is a cluster beside an S3 server.
type storeBench struct {
	b       *testing.B
	program string
	store   *services.S3
	env     []string // of the processes
}

// start starts Redis, a scheduler and three workers for the store at an address, and gives what ends them.
func (c *storeBench) start(endpoint string) (end func()) {
	c.env = []string{"PELMILL_S3_ENDPOINT=" + endpoint, "PELMILL_REDIS=" + services.Redis(c.b).URL()}
	var all []*faults.Process
	for _, verb := range []string{"scheduler", "worker", "worker", "worker"} {
		all = append(all, faults.Start(c.b, verb, c.env, c.program, verb))
	}
	for strings.Count(faults.Run(c.b, 0, c.env, c.program, "workers", "--json"), `"state":"`) < 3 {
		time.Sleep(100 * time.Millisecond)
	}
	return func() {
		for _, p := range all {
			p.Kill()
		}
	}
}

// pelmill runs a verb and gives the last line of its output of a type.
func (c *storeBench) pelmill(kind string, args ...string) map[string]any {
	c.b.Helper()
	out := faults.Run(c.b, 0, c.env, c.program, append(args, "--json")...)
	var found map[string]any
	for line := range strings.Lines(out) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			c.b.Fatalf("%v: %q: %v", args, line, err)
		}
		if v["type"] == kind {
			found = v
		}
	}
	return found
}

// fill makes a bucket with objects from first up to last as files, as the server stores them.
func (c *storeBench) fill(bucket string, first, last int) {
	c.b.Helper()
	c.store.NewBucket(bucket)
	for i := first; i < last; i++ {
		s := smallObject(i, 0)
		path := filepath.Join(c.store.Root, bucket, filepath.FromSlash(s.Key))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, s.Data, 0o644)
		}
		if err != nil {
			c.b.Fatal(err)
		}
		sum := md5.Sum(s.Data)
		unix.Setxattr(path, "user.etag", []byte(hex.EncodeToString(sum[:])), 0) // without it the server lists no etag
	}
}

// smallObject is a PNG file of about 1.8 KB, in folders of 1,000.
func smallObject(i, version int) faults.Source {
	return faults.Image(uint64(i)<<8|uint64(version), smallKey(i), 27, 27)
}

func smallKey(i int) string { return fmt.Sprintf("d%03d/picture-%06d.png", i/1000, i) }

// requests counts the requests of a job of n objects.
func (c *storeBench) requests(n int) {
	end, err := url.Parse(c.store.Endpoint)
	if err != nil {
		c.b.Fatal(err)
	}
	var requests atomic.Int64
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(end)
		r.Out.Host = r.In.Host // which is signed
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	c.fill("counted", 0, n)
	c.store.NewBucket("counted-target")
	defer c.start(front.URL)()
	const source, target = "s3://counted", "s3://counted-target"
	c.pelmill("plan", "submit", source, target, "--codec", "vq", "--sample", "0")
	requests.Store(0)
	c.pelmill("job", "start", target)
	s := c.pelmill("summary", "watch", target)
	fmt.Printf("\n%d objects: %.2f requests an object, with those of the watching, %v compressed\n",
		n, float64(requests.Load())/float64(n), s["compressed"])
	c.b.ReportMetric(float64(requests.Load())/float64(n), "requests/object")
}

// runs measures a job of n objects, and those after it.
func (c *storeBench) runs(n int) {
	b := c.b
	c.fill("source", 0, n)
	c.store.NewBucket("target")
	defer c.start(c.store.Endpoint)()
	const source, target = "s3://source", "s3://target"
	began := time.Now()
	p := c.pelmill("plan", "submit", source, target, "--codec", "vq")
	plan := time.Since(began)
	expected := p["expect"].(map[string]any)["seconds"].(float64)
	fmt.Printf("%d objects: planned after %.1f s, %.0f s expected\n", n, plan.Seconds(), expected)
	began = time.Now()
	c.pelmill("job", "start", target)
	s := c.pelmill("summary", "watch", target)
	job := time.Since(began)
	if s["compressed"] != float64(n) {
		b.Fatalf("the first run: %v", s)
	}
	fmt.Printf("job %.1f s, %.1f objects/s; the estimate is %.2f of that\n", job.Seconds(), float64(n)/job.Seconds(), expected/job.Seconds())
	b.ReportMetric(plan.Seconds(), "plan-s")
	b.ReportMetric(float64(n)/job.Seconds(), "objects/s")
	b.ReportMetric(expected/job.Seconds(), "estimate/time")

	again := func(what string, compressed int) {
		b.Helper()
		began := time.Now()
		c.pelmill("job", "submit", source, target, "--codec", "vq", "--yes")
		s := c.pelmill("summary", "watch", target)
		took := time.Since(began).Seconds()
		if compressed > 0 && (s["compressed"] != float64(compressed) || s["skipped"] != float64(n-compressed)) ||
			compressed == 0 && s["skipped"] != float64(n) {
			b.Fatalf("%s: %v", what, s)
		}
		fmt.Printf("%s: %.1f s, %d compressed\n", what, took, compressed)
		b.ReportMetric(took, what+"-s")
	}
	again("second-run", 0)
	buckets := storage.NewBuckets()
	defer buckets.Close()
	at, err := buckets.Open(b.Context(), c.store.URL("source"))
	if err != nil {
		b.Fatal(err)
	}
	changed := 0
	for i := 7; i < n; i += 100 {
		s := smallObject(i, 1)
		if bytes.Equal(s.Data, smallObject(i, 0).Data) {
			b.Fatalf("%s does not change", s.Key)
		}
		if _, err := storage.Put(b.Context(), at, s.Key, s.Data, &storage.PutOptions{Overwrite: true}); err != nil {
			b.Fatal(err)
		}
		changed++
	}
	again("changed", changed)
}

// compress measures what an object costs the process that compresses it.
func (c *storeBench) compress(n int) {
	c.fill("alone", 0, n)
	for _, name := range []string{"vq", "webp"} {
		c.store.NewBucket("alone-" + name)
		cmd := exec.Command(c.program, "compress", "s3://alone", "s3://alone-"+name, "--codec", name, "--json")
		cmd.Env = append(os.Environ(), "PELMILL_S3_ENDPOINT="+c.store.Endpoint)
		began := time.Now()
		out, err := cmd.Output()
		took := time.Since(began)
		if err != nil || !bytes.Contains(out, fmt.Appendf(nil, `"compressed":%d,`, n)) {
			c.b.Fatalf("%v: %v\n%s", cmd, err, out[max(0, len(out)-2000):])
		}
		cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() * 1000 / float64(n)
		fmt.Printf("compress with %s: %.1f s, %.3f ms of CPU an object\n", name, took.Seconds(), cpu)
		c.b.ReportMetric(cpu, name+"-cpu-ms/object")
	}
}
