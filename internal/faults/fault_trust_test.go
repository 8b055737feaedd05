package faults_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// TestRedisIsNotTrusted runs a scheduler and a worker on a Redis and a target into which somebody else writes: jobs
// registered at an S3 service of his, a specification whose source is there, tasks of such jobs. Nothing may be
// requested from that service, and a job of the rightful owner is done all the same.
func TestRedisIsNotTrusted(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	var asked atomic.Int64
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		t.Logf("requested: %s %s, signed: %v", r.Method, r.URL, r.Header.Get("Authorization") != "")
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(evil.Close)
	const planted, forged = "20260102-030405-aaaa", "20260102-030405-aaab"
	bucket := services.S3URL(evil.URL, "bucket")

	tr := inFolders(t, faults.Images(5, 6, 40)).withRedis()
	tr.env = append(tr.env, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true")
	spec := `{"id":"` + forged + `","source":"` + bucket + `","target":"file://` + tr.target +
		`","codec":"vq","version":1,"auto_start":true,"verify":"full","larger":"leave","chunk_objects":10,"chunk_bytes":1000,"sample":3}`
	if err := tr.to.WriteAll(t.Context(), jobs.Folder(forged).Spec(), []byte(spec), nil); err != nil {
		t.Fatal(err)
	}
	tr.redis.CLI("hset", "pelmill:jobs", planted, bucket, forged, "file://"+tr.target)
	conn, err := queue.Open(t.Context(), tr.redis.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	for _, id := range []string{planted, forged} {
		if err := conn.Tasks(0).Enqueue(t.Context(), jobs.Task{Job: id}); err != nil {
			t.Fatal(err)
		}
	}

	scheduler := tr.scheduler()
	worker := tr.worker()
	id := tr.submitted()
	faults.Until(t, limit, "the report", func() bool { return tr.count(jobs.Folder(id).Report()) == 1 })
	for _, p := range []*faults.Process{scheduler, worker} {
		faults.Until(t, limit, "both jobs to be refused", func() bool { return strings.Count(p.Stderr(), "job is refused") >= 2 })
	}
	text := faults.Run(t, 0, tr.env, program(t, "cmd/pelmill"), "status", tr.target, forged, "--redis", tr.redis.URL())
	if !strings.Contains(text, "refused: ") {
		t.Errorf("status of the forged job:\n%s", text)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests at the service that Redis names", n)
	}
}

// submitted submits the job of a trial whose target has others.
func (tr *trial) submitted() (id string) {
	tr.t.Helper()
	args := append(tr.flags("submit"), "--redis", tr.redis.URL(), "--yes", "-q")
	return strings.TrimSpace(faults.Run(tr.t, 0, tr.env, program(tr.t, "cmd/pelmill"), args...))
}
