package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// intakeObjects is how many objects BenchmarkIntake has at SCALE=1.
const intakeObjects = 100_000

// BenchmarkIntake puts objects of about 1.8 KB on an S3 server, whose events come over NATS with 10 % of them lost and
// 10 % doubled, to an intake with a scheduler, two workers and Redis as processes of their own, all on this machine. SCALE
// is the share of 100,000 objects, by default 0.01. Each object must be compressed exactly once. It prints the time from
// PUT to the result of objects whose event came, and of all, those that a listing found included.
func BenchmarkIntake(b *testing.B) {
	scale := 0.01
	if text := os.Getenv("SCALE"); text != "" {
		var err error
		if scale, err = strconv.ParseFloat(text, 64); err != nil || scale <= 0 {
			b.Fatalf("SCALE=%s: want a number above 0", text)
		}
	}
	n := max(100, int(scale*intakeObjects))
	program, err := faults.Build(b.TempDir(), "cmd/pelmill")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		newIntakeBench(b, program).run(n)
	}
}

// intakeBench is a cluster with an intake beside an S3 server.
type intakeBench struct {
	*storeBench
	conn *nats.Conn
	lost map[string]bool // keys whose events were lost
	mu   sync.Mutex
}

func newIntakeBench(b *testing.B, program string) *intakeBench {
	server := services.NATS(b)
	conn, err := nats.Connect(server.URL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	i := &intakeBench{storeBench: &storeBench{b: b, program: program}, conn: conn, lost: map[string]bool{}}
	rng := rand.New(rand.NewPCG(5, 6))
	raw, err := conn.Subscribe("raw", func(m *nats.Msg) {
		switch rng.IntN(10) {
		case 0:
			i.lose(string(m.Data))
			return
		case 1:
			conn.Publish("objects", m.Data)
		}
		conn.Publish("objects", m.Data)
	})
	if err == nil {
		err = raw.SetPendingLimits(-1, -1)
	}
	if err != nil {
		b.Fatal(err)
	}
	i.store = services.VersityGWWith(b, "--event-nats-url", server.URL(), "--event-nats-topic", "raw")
	i.env = []string{"NATS_SERVER_URL=" + server.URL()}
	return i
}

// lose remembers the key of an event of the source.
func (i *intakeBench) lose(event string) {
	_, rest, _ := strings.Cut(event, `"key":"`)
	key, _, _ := strings.Cut(rest, `"`)
	i.mu.Lock()
	defer i.mu.Unlock()
	if strings.HasSuffix(key, ".png") { // others are of the target
		i.lost[key] = true
	}
}

func (i *intakeBench) run(n int) {
	b := i.b
	const target = "s3://target" // as jobs say
	source := i.store.NewBucket("source")
	i.store.NewBucket("target")
	env := i.env
	defer i.start(i.store.Endpoint)()
	env = append(env, i.storeBench.env...)
	intake := faults.Start(b, "intake", env, i.program, "intake", "s3://source", target, "--codec", "vq", "--events", "nats://objects",
		"--every", "1m", "--batch-wait", "2s")
	defer intake.Kill()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	from, err := buckets.Open(b.Context(), source)
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	var putting sync.WaitGroup
	next := make(chan int)
	for range 4 {
		putting.Go(func() {
			for k := range next {
				s := smallObject(k, 0)
				if err := from.WriteAll(context.Background(), s.Key, s.Data, nil); err != nil {
					b.Errorf("put %s: %v", s.Key, err)
				}
			}
		})
	}
	for k := range n {
		next <- k
	}
	close(next)
	putting.Wait()
	put := time.Since(began)
	count := func() (results int) {
		filepath.WalkDir(filepath.Join(i.store.Root, "target"), func(path string, _ os.DirEntry, _ error) error {
			if strings.HasSuffix(path, ".vq") {
				results++
			}
			return nil
		})
		return results
	}
	faults.Until(b, 30*time.Minute, "all results", func() bool {
		time.Sleep(time.Second + time.Duration(n)*20*time.Microsecond)
		return count() >= n
	})
	took := time.Since(began)
	buckets.S3Endpoint = i.store.Endpoint
	client := &scheduler.Client{Buckets: buckets}
	faults.Until(b, time.Minute, "the end of the batches", func() bool {
		open, _, err := client.Unfinished(context.Background(), target, jobs.IntakeToken)
		time.Sleep(200 * time.Millisecond)
		return err == nil && len(open) == 0
	})
	intake.Signal(syscall.SIGTERM)
	intake.Wait(b, time.Minute)
	fmt.Printf("\n%d objects put in %.1f s, all results after %.1f s, %.1f objects/s\n", n, put.Seconds(), took.Seconds(), float64(n)/took.Seconds())
	i.exactlyOnce(client, n)
	i.latencies(n)
	b.ReportMetric(float64(n)/took.Seconds(), "objects/s")
}

// exactlyOnce checks the records of all batches.
func (i *intakeBench) exactlyOnce(client *scheduler.Client, n int) {
	b := i.b
	const target = "s3://target"
	compressed := map[string]int{}
	seen := map[string]bool{} // records: those in the list of a prune that was ended are also in the jobs'
	all, err := client.List(b.Context(), target)
	if err != nil {
		b.Fatal(err)
	}
	for _, job := range all {
		err := client.Results(b.Context(), target, job.ID, func(r jobs.Result) error {
			if r.Outcome != jobs.OutcomeCompressed {
				b.Errorf("%s: %s %s", r.Key, r.Outcome, r.Error)
			}
			line, _ := json.Marshal(r)
			if !seen[string(line)] {
				compressed[r.Key]++
			}
			seen[string(line)] = true
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	wrong := 0
	for k := range n {
		if compressed[smallKey(k)] != 1 {
			wrong++
		}
	}
	if wrong > 0 || len(compressed) != n {
		b.Errorf("%d of %d objects were not compressed exactly once; %d have results", wrong, n, len(compressed))
	}
	fmt.Printf("each of %d exactly once in %d batches; %d events were lost\n", len(compressed), len(all), len(i.lost))
}

// latencies prints the time from PUT to result, by the times of the server's files.
func (i *intakeBench) latencies(n int) {
	var told, all []float64
	for k := range n {
		key := smallKey(k)
		from, err := os.Stat(filepath.Join(i.store.Root, "source", key))
		if err != nil {
			i.b.Fatal(err)
		}
		to, err := os.Stat(filepath.Join(i.store.Root, "target", strings.TrimSuffix(key, ".png")+".vq"))
		if err != nil {
			i.b.Fatal(err)
		}
		d := to.ModTime().Sub(from.ModTime()).Seconds()
		all = append(all, d)
		if !i.lost[key] {
			told = append(told, d)
		}
	}
	for _, l := range []struct {
		name string
		of   []float64
	}{{"events", told}, {"all", all}} {
		slices.Sort(l.of)
		median, p99 := l.of[len(l.of)/2], l.of[len(l.of)*99/100]
		fmt.Printf("PUT to result, %s: median %.1f s, p99 %.1f s, longest %.1f s\n", l.name, median, p99, l.of[len(l.of)-1])
		i.b.ReportMetric(median, l.name+"-median-s")
		i.b.ReportMetric(p99, l.name+"-p99-s")
	}
}
