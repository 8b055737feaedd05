package faults_test

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// told is an intake that hears of objects by HTTP.
type told struct {
	*trial
	url     string
	hearing sync.WaitGroup // of events that are not acknowledged
}

// intakeByHTTP starts an intake that lists its source only once, so that events and what is stored must suffice.
func intakeByHTTP(tr *trial) *told {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(services.FreePort(tr.t)))
	args := append(tr.flags("intake"), "--redis", tr.redis.URL(), "--webhook", address, "--every", "24h", "--batch-wait", "200ms", "--batch-objects", "20")
	tr.pelmill("intake", args...)
	return &told{trial: tr, url: "http://" + address + "/"}
}

// arrive stores sources and tells of each until that is acknowledged.
func (i *told) arrive(sources []faults.Source) {
	i.t.Helper()
	for _, s := range sources {
		i.write(s)
		body, _ := json.Marshal(map[string]string{"key": s.Key})
		i.hearing.Go(func() {
			for end := time.Now().Add(limit); time.Now().Before(end) && i.t.Context().Err() == nil; time.Sleep(200 * time.Millisecond) {
				resp, err := http.Post(i.url, "application/json", bytes.NewReader(body))
				if err != nil {
					continue
				}
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return
				}
			}
			i.t.Errorf("the event of %s is not acknowledged", s.Key)
		})
	}
	i.sources = append(i.sources, sources...)
}

// results is the number of objects in the target.
func (i *told) results() (n int) {
	i.t.Helper()
	for _, key := range faults.Keys(i.t, i.to) {
		if strings.HasSuffix(key, ".vq") {
			n++
		}
	}
	return n
}

// loseRedisInAnIntake ends Redis while batches are worked on and others wait. It comes back empty. Every object is
// compressed once: events that were acknowledged are in stored batches, which the intake registers with the new Redis.
func loseRedisInAnIntake(t *testing.T, gw *services.Store) {
	tr := inBuckets(t, gw, nil).withRedis()
	tr.proxy.Set(slowResults(100 * time.Millisecond))
	tr.scheduler() // without a target: it knows only of what is registered
	tr.worker()
	tr.worker()
	all := faults.Images(6, 100, 48)
	i := intakeByHTTP(tr)
	i.arrive(all[:60])
	faults.Until(t, limit, "some results", func() bool { return i.results() >= 10 })
	if n := i.results(); n >= 60 {
		t.Fatalf("all %d results are there before Redis is lost", n)
	}
	tr.redis.Kill()
	i.arrive(all[60:90])
	time.Sleep(outage)
	tr.redis.Start()
	i.arrive(all[90:])
	i.hearing.Wait()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	buckets.S3Endpoint = gw.Endpoint // jobs say that their target is tr.target
	client := &scheduler.Client{Buckets: buckets}
	faults.Until(t, limit, "the end of all batches", func() bool {
		open, ended, err := client.Unfinished(t.Context(), tr.target, jobs.IntakeToken)
		return err == nil && len(open) == 0 && ended > 0
	})
	compressed := map[string]int{}
	done, err := client.List(t.Context(), tr.target)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range done {
		err := client.Results(t.Context(), tr.target, job.ID, func(r jobs.Result) error {
			if r.Outcome != jobs.OutcomeCompressed {
				t.Errorf("%s: %s %s", r.Key, r.Outcome, r.Error)
			}
			compressed[r.Key]++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range all {
		if compressed[s.Key] != 1 {
			t.Errorf("%s was compressed %d times", s.Key, compressed[s.Key])
		}
	}
	if len(compressed) != len(all) {
		t.Errorf("%d objects were compressed, want %d", len(compressed), len(all))
	}
}
