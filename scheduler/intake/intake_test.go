package intake

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// unreliable passes messages on as networks and queues do: some not at all, some twice, in another order, and with
// some among them that nobody sent.
func unreliable(messages <-chan []byte, pass func([]byte)) {
	rng := rand.New(rand.NewPCG(1, 2))
	var held [][]byte
	for m := range messages {
		switch n := rng.IntN(10); n {
		case 0: // lost
		case 1:
			pass(m)
			pass(m)
		case 2, 3:
			held = append(held, m)
		default:
			pass(m)
		}
		if len(held) > 4 {
			for _, h := range held {
				pass(h)
			}
			held = nil
		}
		for _, forged := range []string{`{"Records":[{"s3":{"bucket":{"name":"source"},"object":{"key":"no/such%20thing.png"}}}]}`,
			`{"Records":[{"s3":{"bucket":{"name":"other"},"object":{"key":"d0/picture.png"}}}]}`,
			`{"keys":["../../etc/passwd","/etc/passwd",".pelmill/jobs/x","","d0/"]}`, `{"Records":`, `nonsense`} {
			if rng.IntN(10) == 0 {
				pass([]byte(forged))
			}
		}
	}
}

// With events of a real store that are lost, doubled, reordered and forged, each object is compressed once.
func TestEventsAreHints(t *testing.T) {
	t.Run("NATS", func(t *testing.T) {
		server := services.NATS(t)
		gw := services.VersityGWWith(t, "--event-nats-url", server.URL(), "--event-nats-topic", "raw")
		conn, err := nats.Connect(server.URL())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		raw := make(chan []byte, 10_000)
		if _, err := conn.Subscribe("raw", func(m *nats.Msg) { raw <- m.Data }); err != nil {
			t.Fatal(err)
		}
		go unreliable(raw, func(m []byte) { conn.Publish("objects", m) })
		t.Setenv("NATS_SERVER_URL", server.URL())
		eventsAreHints(t, gw, &Options{Events: "nats://objects"})
	})
	t.Run("webhook", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		raw := make(chan []byte, 10_000)
		relay := relayServer(t, raw)
		gw := services.VersityGWWith(t, "--event-webhook-url", relay)
		to := "http://" + l.Addr().String() + "/"
		go unreliable(raw, func(m []byte) {
			go func() {
				resp, err := http.Post(to, "application/json", strings.NewReader(string(m)))
				if err == nil {
					resp.Body.Close()
				}
			}()
		})
		eventsAreHints(t, gw, &Options{Webhook: &Webhook{Address: l.Addr().String(), listen: l, wait: time.Second}})
	})
}

func eventsAreHints(t *testing.T, gw *services.S3, opts *Options) {
	r := newRig(t, gw.NewBucket("source"), gw.NewBucket("target"))
	for n := range 5 {
		r.put(n) // before there was an intake
	}
	opts.BatchWait, opts.BatchObjects, opts.Every = 100*time.Millisecond, 8, 2*time.Second
	stop := r.start(opts)
	most := 40
	if testing.Short() {
		most = 15
	}
	for n := 5; n < most; n++ {
		r.put(n)
		time.Sleep(10 * time.Millisecond)
	}
	r.done()
	r.settled()
	stop()
	r.exactlyOnce()
}

// relayServer receives messages at a URL.
func relayServer(t *testing.T, to chan<- []byte) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if body, err := io.ReadAll(req.Body); err == nil {
			to <- body
		}
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}

// A server of S3 that shows a folder has no ETags for files that were not put through it. They are compressed once, too,
// and again when they change.
func TestFilesBehindAServer(t *testing.T) {
	gw := services.VersityGW(t)
	r := newRig(t, gw.NewBucket("source"), gw.NewBucket("target"))
	write := func(n int, key string) {
		t.Helper()
		path := filepath.Join(gw.Root, "source", key)
		if err := os.WriteFile(path, faults.Image(uint64(n), key, 9, 9+n).Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		key := fmt.Sprintf("scan-%d.png", n)
		write(n, key)
		r.keys = append(r.keys, key)
	}
	r.start(&Options{Every: 300 * time.Millisecond, BatchWait: 50 * time.Millisecond})
	r.done()
	r.settled()
	time.Sleep(time.Second) // of listings that find nothing to do
	r.settled()
	r.exactlyOnce()
	write(7, "scan-1.png")
	faults.Until(t, time.Minute, "the changed file to be compressed", func() bool {
		time.Sleep(50 * time.Millisecond)
		compressed, _ := r.outcomes()
		return compressed["scan-1.png"] == 2
	})
}

// A process that is killed at any moment loses nothing and does nothing twice.
func TestKilledIntake(t *testing.T) {
	r := newRig(t, "file://"+t.TempDir(), "file://"+t.TempDir())
	rng := rand.New(rand.NewPCG(3, 4))
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PELMILL_TEST_INTAKE_SOURCE="+r.source, "PELMILL_TEST_INTAKE_TARGET="+r.target)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	kills := 4
	if testing.Short() {
		kills = 2
	}
	n := 0
	for range kills {
		cmd := start()
		for range 10 {
			r.put(n)
			n++
			time.Sleep(time.Duration(rng.IntN(40)) * time.Millisecond)
		}
		time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	cmd := start()
	r.done()
	r.settled()
	cmd.Process.Kill()
	cmd.Wait()
	r.exactlyOnce()
}

// Two intakes of the same source and target do no harm: each object has its result, which no other one replaces, and none
// is done more than once by each.
func TestTwoIntakes(t *testing.T) {
	r := newRig(t, "file://"+t.TempDir(), "file://"+t.TempDir())
	opts := func() *Options {
		return &Options{Every: 200 * time.Millisecond, BatchWait: 50 * time.Millisecond, BatchObjects: 5, Lease: true}
	}
	for n := range 6 {
		r.put(n) // both find these
	}
	first, second := r.start(opts()), r.start(opts())
	for n := 6; n < 20; n++ {
		r.put(n)
		time.Sleep(20 * time.Millisecond)
	}
	r.done()
	r.settled()
	first()
	second()
	compressed, other := r.outcomes()
	for _, key := range r.keys {
		if n := compressed[key]; n < 1 || n > 2 {
			t.Errorf("%q was compressed %d times by two intakes", key, n)
		}
	}
	for what := range other {
		if !strings.Contains(what, "skipped") {
			t.Errorf("%s", what)
		}
	}
	if len(compressed) != len(r.keys) {
		t.Errorf("%d objects have results, want %d", len(compressed), len(r.keys))
	}
}

// pushes is a source of a test.
type pushes struct {
	run func(ctx context.Context, to *Spool) error
}

func (p *pushes) Run(ctx context.Context, to *Spool) error { return p.run(ctx, to) }

// A changed object is done again, one that came again is not, and what is acknowledged is stored.
func TestAcknowledgedIsStored(t *testing.T) {
	r := newRig(t, "mem://source", "mem://target")
	first := r.put(0)
	acks := make(chan string, 100)
	hints := make(chan string)
	source := &pushes{func(ctx context.Context, to *Spool) error {
		for {
			select {
			case key := <-hints:
				to.Add(ctx, Arrival{Key: key, Done: func() { acks <- key }}, true)
			case <-ctx.Done():
				return nil
			}
		}
	}}
	r.start(&Options{Every: time.Hour, BatchWait: 20 * time.Millisecond}, source)
	r.done() // by the first listing
	r.settled()
	second := r.put(1)
	for _, key := range []string{second, second, first, "missing.png", ".pelmill/x", "a/"} {
		hints <- key
		if got := <-acks; got != key {
			t.Fatalf("%q is acknowledged, want %q", got, key)
		}
	}
	stored := map[string]int{}
	client := &scheduler.Client{Buckets: r.buckets}
	all, err := client.List(t.Context(), r.target)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range all {
		if err := client.Given(t.Context(), r.target, job.ID, func(e jobs.Entry) error { stored[e.Key]++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 2 || stored[first] == 0 || stored[second] == 0 || len(stored) != 2 {
		t.Errorf("acknowledged, and stored are %v in %d jobs", stored, len(all))
	}
	r.done()
	r.settled()
	r.exactlyOnce()
	other, err := storage.Get(t.Context(), r.open(r.source), second, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Put(t.Context(), r.open(r.source), first, other.Data, &storage.PutOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	hints <- first
	<-acks
	r.settled()
	if compressed, _ := r.outcomes(); compressed[first] != 2 || compressed[second] != 1 {
		t.Errorf("after a change: %v", compressed)
	}
}

// Months of batches leave a bounded history: old ones are pruned, and what they did stays done.
func TestHistoryIsPruned(t *testing.T) {
	r := newRig(t, "mem://source", "mem://target")
	hints := make(chan string)
	source := &pushes{func(ctx context.Context, to *Spool) error {
		for {
			select {
			case key := <-hints:
				to.Add(ctx, Arrival{Key: key}, true)
			case <-ctx.Done():
				return nil
			}
		}
	}}
	stop := r.start(&Options{Every: time.Hour, BatchWait: time.Millisecond, KeepLast: 2}, source)
	for n := range leastPruned + 5 {
		hints <- r.put(n)
		r.done()
	}
	r.settled()
	count := func(prefix string) (n int) {
		err := storage.Walk(t.Context(), r.open(r.target), &storage.WalkOptions{Prefix: prefix}, func(p storage.Page) error {
			n += len(p.Objects)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for end := time.Now().Add(time.Minute); count(jobs.Root+"tokens/") > leastPruned; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d tokens are left", count(jobs.Root+"tokens/"))
		}
	}
	stop()
	r.exactlyOnce()
	r.put(1000)
	r.start(&Options{Every: time.Hour, BatchWait: time.Millisecond})
	r.done()
	r.settled()
	r.exactlyOnce()
}
