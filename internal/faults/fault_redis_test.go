package faults_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/redis/go-redis/v9"
)

// outage is how long a Redis is away.
const outage = 5 * time.Second

// running starts a job of 30 chunks on two workers and comes back when 5 chunks are done, at the moment at which the
// worker of the last one commits it. rules of the proxy come besides slow results.
func running(t *testing.T, gw *services.Store, rules []faults.Rule, args ...string) (tr *trial, id string) {
	tr = inBuckets(t, gw, faults.Images(2, 300, 96)).withRedis(args...)
	tr.extra = []string{"--chunk-objects", "10"}
	tr.proxy.Set(append(rules, slowResults(200*time.Millisecond))...)
	id = tr.submit()
	tr.scheduler()
	tr.worker()
	tr.worker()
	tr.shards(id, 5)
	return tr, id
}

func freezeRedis(t *testing.T, gw *services.Store) {
	tr, id := running(t, gw, nil)
	tr.redis.Pause()
	time.Sleep(outage)
	tr.redis.Resume()
	tr.ended(id)
}

func restartRedis(t *testing.T, gw *services.Store) {
	tr, id := running(t, gw, nil, "--appendonly", "yes")
	tr.redis.Kill()
	time.Sleep(outage)
	tr.redis.Start()
	tr.ended(id)
}

func loseRedis(t *testing.T, gw *services.Store) {
	tr, id := running(t, gw, nil)
	tr.redis.Kill()
	time.Sleep(outage)
	tr.redis.Start()
	tr.ended(id)
}

func flushRedis(t *testing.T, gw *services.Store) {
	tr, id := running(t, gw, nil)
	tr.redis.CLI("flushall")
	tr.shards(id, 15)
	tr.redis.CLI("flushall")
	tr.ended(id)
}

// fillRedis has a foreign writer take all memory that Redis may use. Nothing can be written then, not even a task be
// taken from the queue.
func fillRedis(t *testing.T, gw *services.Store) {
	tr, id := running(t, gw, []faults.Rule{slowerResults(80, 10*time.Second)})
	foreign := redis.NewClient(&redis.Options{Addr: tr.redis.Addr()})
	defer foreign.Close()
	write := foreign.Pipeline()
	for i := range 32 {
		write.Set(t.Context(), fmt.Sprint("foreign:", i), strings.Repeat("x", 1<<20), 0)
	}
	write.ConfigSet(t.Context(), "maxmemory", "16mb")
	if _, err := write.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	faults.Until(t, limit, "status to say that memory is what is missing", func() bool {
		text := faults.Run(t, 0, tr.env, program(t, "cmd/pelmill"), "status", tr.target, id, "--redis", tr.redis.URL(), "--json")
		return strings.Contains(text, "memory")
	})
	other := append(tr.flags("submit"), "--redis", tr.redis.URL(), "--yes")
	if p := tr.pelmill("submit", other...); p.Wait(t, limit) != 8 || !strings.Contains(p.Stderr(), "redis is full") {
		t.Error("a submission to a full Redis is no exit code 8 with the reason")
	}
	time.Sleep(outage)
	if tr.count(jobs.Folder(id).Report()) != 0 {
		t.Fatal("the job ended on a full Redis; it is too small")
	}
	tr.proxy.Set()
	for i := range 32 {
		if err := foreign.Del(t.Context(), fmt.Sprint("foreign:", i)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	tr.ended(id)
}
