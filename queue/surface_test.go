package queue

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/jobs"
)

// surface is what must hold on every kind of Redis.
var surface = []struct {
	name string
	test func(t *testing.T, c *Conn)
}{
	{"registry", testRegistry},
	{"an id is claimed once", testClaim},
	{"enqueue is idempotent", testEnqueue},
	{"a half lost task does not block its id", testHalfLost},
	{"withdraw leaves active tasks", testWithdraw},
	{"an archived task revives", testRevive},
	{"commit counts once", testCommit},
	{"chunks at work are counted until they are committed", testReport},
	{"the pace of a job", testPace},
	{"limits hold for all workers together", testLimits},
	{"commits at once count once", testCommitAtOnce},
	{"init replaces", testInit},
	{"bitmaps of all sizes", testBitmaps},
	{"lost data is noticed", testLost},
	{"signal", testSignal},
	{"blocked jobs", testBlocked},
	{"forget leaves nothing", testForget},
	{"flights", testFlights},
	{"leader lock", testLead},
	{"reap", testReap},
	{"health", testHealth},
	{"serve runs every task once, highest priority first", testServe},
	{"failures are tried again, panics too", testRetry},
	{"a task handed back returns at once and burns no attempt", testHandBack},
	{"a task put off returns later and burns no attempt", testLater},
	{"a chunk that always fails blocks its job", testAttempts},
	{"junk is dropped", testJunk},
	{"no more handlers than slots", testSlots},
	{"shutdown hands back", testShutdown},
	{"workers", testWorkers},
}

func testRegistry(t *testing.T, c *Conn) {
	ctx := t.Context()
	if target, err := c.Job("a").Target(ctx); err != nil || target != "" {
		t.Fatalf("target of an unknown job: %q, %v", target, err)
	}
	for _, target := range []string{"s3://x/y", "s3://x/z"} {
		if err := c.Job("a").Register(ctx, target); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Job("b").Register(ctx, "file:///t"); err != nil {
		t.Fatal(err)
	}
	all, err := c.Jobs(ctx)
	if want := map[string]string{"a": "s3://x/z", "b": "file:///t"}; err != nil || !maps.Equal(all, want) {
		t.Fatalf("jobs %v, %v: want %v", all, err, want)
	}
	for range 2 {
		if err := c.Job("a").Unregister(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if target, err := c.Job("b").Target(ctx); err != nil || target != "file:///t" {
		t.Fatalf("target %q, %v", target, err)
	}
}

func testClaim(t *testing.T, c *Conn) {
	var all sync.WaitGroup
	var had atomic.Int64
	for range 20 {
		all.Go(func() {
			ok, err := c.Job("a").Claim(t.Context())
			if err != nil {
				t.Error(err)
			}
			if ok {
				had.Add(1)
			}
		})
	}
	all.Wait()
	if had.Load() != 1 {
		t.Errorf("%d submissions have the id", had.Load())
	}
	if ok, err := c.Job("b").Claim(t.Context()); err != nil || !ok {
		t.Errorf("another id: %t, %v", ok, err)
	}
	if all, err := c.Jobs(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("claimed ids are registered: %v, %v", all, err)
	}
	if left, err := c.Redis().TTL(t.Context(), "pelmill:claim:a").Result(); err != nil || left <= 0 || left > claimTime {
		t.Errorf("the claim lasts %s more, %v", left, err)
	}
	if err := c.Job("a").Unregister(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ok, err := c.Job("a").Claim(t.Context()); err != nil || !ok {
		t.Errorf("an id whose job has left the queue: %t, %v", ok, err)
	}
}

func testEnqueue(t *testing.T, c *Conn) {
	for p := range jobs.Priorities {
		enqueue(t, c, p, task(p))
		wantErr(t, c.Tasks(p).Enqueue(t.Context(), task(p)), ErrQueued)
		wantState(t, c, p, task(p), "pending")
		wantDepth(t, c, p, Depth{Pending: 1})
	}
	for _, p := range []int{-1, jobs.Priorities} {
		if err := c.Tasks(p).Enqueue(t.Context(), task(9)); err == nil {
			t.Errorf("priority %d was taken", p)
		}
	}
	wantState(t, c, 0, task(9), "")
}

func testHalfLost(t *testing.T, c *Conn) {
	enqueue(t, c, 1, task(1), task(2))
	// What an eviction leaves: the hash without its place in the list.
	if err := c.Redis().Del(t.Context(), asynqKey(1, "pending")).Err(); err != nil {
		t.Fatal(err)
	}
	enqueue(t, c, 1, task(1))
	wantErr(t, c.Tasks(1).Enqueue(t.Context(), task(1)), ErrQueued)
	wantState(t, c, 1, task(2), "")
	wantDepth(t, c, 1, Depth{Pending: 1})
}

// activate makes the queue's oldest task active, as a worker does.
func activate(t testing.TB, c *Conn, priority int, lease time.Time) string {
	t.Helper()
	ctx := t.Context()
	id, err := c.Redis().RPopLPush(ctx, asynqKey(priority, "pending"), asynqKey(priority, "active")).Result()
	if err != nil {
		t.Fatal(err)
	}
	c.Redis().HSet(ctx, asynqKey(priority, "t:"+id), "state", "active")
	c.Redis().HDel(ctx, asynqKey(priority, "t:"+id), "pending_since")
	if err := c.Redis().ZAdd(ctx, asynqKey(priority, "lease"), redis.Z{Score: float64(lease.Unix()), Member: id}).Err(); err != nil {
		t.Fatal(err)
	}
	return id
}

func testWithdraw(t *testing.T, c *Conn) {
	ctx := t.Context()
	var all []jobs.Task
	for i := range 3 * withdrawBatch {
		all = append(all, task(i))
	}
	enqueue(t, c, 2, all...)
	active := activate(t, c, 2, time.Now().Add(time.Minute))
	if active != task(0).ID() {
		t.Fatalf("first out is %s", active)
	}
	if err := c.inspect.ArchiveTask(queueName(2), task(5).ID()); err != nil {
		t.Fatal(err)
	}
	n, err := c.Tasks(2).Withdraw(ctx, append(all[:450:450], task(100_000)))
	if err != nil || n != 449 {
		t.Fatalf("withdrew %d, %v: want 449", n, err)
	}
	wantDepth(t, c, 2, Depth{Pending: int64(len(all) - 450), Active: 1})
	wantState(t, c, 2, task(0), "active")
	wantState(t, c, 2, task(1), "")
	wantState(t, c, 2, task(450), "pending")
	if n, err := c.Tasks(2).Withdraw(ctx, all); err != nil || n != len(all)-450 {
		t.Fatalf("withdrew %d, %v: want the other %d", n, err, len(all)-450)
	}
	enqueue(t, c, 2, task(1))
}

func testRevive(t *testing.T, c *Conn) {
	enqueue(t, c, 0, task(1), task(2))
	if err := c.inspect.ArchiveTask(queueName(0), task(1).ID()); err != nil {
		t.Fatal(err)
	}
	wantErr(t, c.Tasks(0).Enqueue(t.Context(), task(1)), ErrQueued)
	wantState(t, c, 0, task(1), "archived")
	wantDepth(t, c, 0, Depth{Pending: 1, Archived: 1})
	if err := c.Tasks(0).Revive(t.Context(), task(1)); err != nil {
		t.Fatal(err)
	}
	wantDepth(t, c, 0, Depth{Pending: 2})
	wantErr(t, c.Tasks(0).Revive(t.Context(), task(2)), ErrQueued)
	wantDepth(t, c, 0, Depth{Pending: 2})
}

func counts(n int64) jobs.Counts {
	return jobs.Counts{Objects: n, Compressed: n - 1, Failed: 1, Mismatched: 1, BytesIn: n << 40, BytesRaw: n << 41, BytesOut: n << 39}
}

func commit(t testing.TB, c *Conn, job string, index int, n int64, want committed) {
	t.Helper()
	if got, err := c.Job(job).commit(t.Context(), index, counts(n)); err != nil || got != want {
		t.Fatalf("commit of chunk %d: %v, %v: want %v", index, got, err, want)
	}
}

func wantProgress(t testing.TB, c *Conn, job string, done []byte, total jobs.Counts) {
	t.Helper()
	p, ok, err := c.Job(job).Progress(t.Context())
	bits, got := p.Done, p.Counts
	if err != nil || !ok || !bytes.Equal(bits, done) || got != total {
		t.Fatalf("progress %08b %+v %v %v: want %08b %+v", bits, got, ok, err, done, total)
	}
}

func testCommit(t *testing.T, c *Conn) {
	ctx := t.Context()
	commit(t, c, "j", 0, 5, jobLost)
	if err := c.Job("j").Init(ctx, 10, nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	wantProgress(t, c, "j", []byte{0, 0}, jobs.Counts{})
	var want jobs.Counts
	for i, index := range []int{9, 0, 3} {
		n := int64(10 * (i + 1))
		commit(t, c, "j", index, n, newlyCounted)
		commit(t, c, "j", index, 99, alreadyCounted)
		want.Plus(counts(n))
	}
	wantProgress(t, c, "j", []byte{0b10010000, 0b01000000}, want)
	for _, index := range []int{-1, 10, 1 << 30} {
		if got, err := c.Job("j").commit(ctx, index, counts(1)); err == nil {
			t.Errorf("chunk %d of 10: %v", index, got)
		}
	}
	for index, want := range map[int]bool{0: true, 1: false, 9: true, 10: false} {
		if done, err := c.Job("j").IsDone(ctx, index); err != nil || done != want {
			t.Errorf("chunk %d done: %v, %v: want %v", index, done, err, want)
		}
	}
	wantProgress(t, c, "j", []byte{0b10010000, 0b01000000}, want)
}

func testCommitAtOnce(t *testing.T, c *Conn) {
	ctx := t.Context()
	const chunks, workers = 20, 8
	if err := c.Job("j").Init(ctx, chunks, nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	var first atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range chunks {
				got, err := c.Job("j").commit(ctx, i, counts(2))
				if err != nil || got == jobLost {
					t.Error(got, err)
				}
				if got == newlyCounted {
					first.Add(1)
				}
			}
		})
	}
	all.Wait()
	if first.Load() != chunks {
		t.Errorf("%d commits were first: want %d", first.Load(), chunks)
	}
	var want jobs.Counts
	for range chunks {
		want.Plus(counts(2))
	}
	wantProgress(t, c, "j", []byte{0xff, 0xff, 0xf0}, want)
}

func testInit(t *testing.T, c *Conn) {
	ctx := t.Context()
	if err := c.Job("j").Init(ctx, 20, nil, counts(3)); err != nil {
		t.Fatal(err)
	}
	commit(t, c, "j", 19, 5, newlyCounted)
	done := NewBitmap(12)
	SetBit(done, 2)
	if err := c.Job("j").Init(ctx, 12, done, counts(7)); err != nil {
		t.Fatal(err)
	}
	wantProgress(t, c, "j", done, counts(7))
	commit(t, c, "j", 2, 5, alreadyCounted)
	// Bits behind the last chunk are nobody's.
	if err := c.Job("j").Init(ctx, 3, []byte{0xff}, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	wantProgress(t, c, "j", []byte{0b11100000}, jobs.Counts{})
	if err := c.Job("j").Init(ctx, 3, []byte{0, 0}, jobs.Counts{}); err == nil {
		t.Error("a bitmap longer than the chunks was taken")
	}
}

func testBitmaps(t *testing.T, c *Conn) {
	for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, 1000} {
		job := fmt.Sprintf("j%d", n)
		if err := c.Job(job).Init(t.Context(), n, nil, jobs.Counts{}); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			commit(t, c, job, n-1, 1, newlyCounted)
		}
		p, ok, err := c.Job(job).Progress(t.Context())
		done := p.Done
		if err != nil || !ok || len(done) != (n+7)/8 {
			t.Fatalf("%d chunks: bitmap of %d bytes, %v, %v", n, len(done), ok, err)
		}
		for i := range n {
			if Bit(done, i) != (i == n-1) {
				t.Fatalf("%d chunks: bit %d is %v", n, i, Bit(done, i))
			}
		}
		if Bit(done, len(done)*8) {
			t.Fatal("a bit behind the end is set")
		}
	}
}

func testReport(t *testing.T, c *Conn) {
	ctx := t.Context()
	job := c.Job("j")
	report := func(chunks map[int]jobs.Counts) {
		t.Helper()
		if err := job.Report(ctx, chunks); err != nil {
			t.Fatal(err)
		}
	}
	want := func(total, atWork jobs.Counts) {
		t.Helper()
		p, ok, err := job.Progress(ctx)
		if err != nil || !ok || p.Counts != total || p.AtWork != atWork {
			t.Fatalf("%+v and %+v at work, %v, %v; want %+v and %+v", p.Counts, p.AtWork, ok, err, total, atWork)
		}
	}
	report(map[int]jobs.Counts{0: counts(5)})
	if _, ok, err := job.Progress(ctx); ok || err != nil {
		t.Fatalf("a report has made a job: %v, %v", ok, err)
	}
	if err := job.Init(ctx, 10, nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	want(jobs.Counts{}, jobs.Counts{})
	report(map[int]jobs.Counts{0: counts(5), 3: counts(7)})
	want(jobs.Counts{}, counts2(5, 7))
	report(map[int]jobs.Counts{0: counts(6)})
	want(jobs.Counts{}, counts2(6, 7))
	commit(t, c, "j", 0, 9, newlyCounted)
	want(counts(9), counts(7))
	report(map[int]jobs.Counts{0: counts(8)}) // came late
	want(counts(9), counts(7))
	if err := c.Redis().HSet(ctx, jobKey("j", "work"), "4", "-5 1 x", "5", "", "6", reportText(&jobs.Counts{Objects: 5000, Compressed: 5000})).Err(); err != nil {
		t.Fatal(err)
	}
	want(counts(9), counts(7))
	if err := job.Forget(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Redis().Exists(ctx, jobKey("j", "work")).Result(); n != 0 || err != nil {
		t.Fatalf("%d keys are left, %v", n, err)
	}
}

func counts2(a, b int64) jobs.Counts {
	c := counts(a)
	c.Plus(counts(b))
	return c
}

// Three workers that take of one limit together are as slow as one.
func testLimits(t *testing.T, c *Conn) {
	ctx := t.Context()
	take := func(requests int, down, up int64) time.Duration {
		t.Helper()
		wait, _, err := c.Job("j").Take(ctx, requests, down, up)
		if err != nil {
			t.Fatal(err)
		}
		return wait
	}
	if wait := take(100, 1<<40, 1<<40); wait != 0 {
		t.Errorf("a wait of %v without a limit", wait)
	}
	if err := c.Job("j").SetRates(ctx, jobs.Rates{Up: 1000, Requests: 2}); err != nil {
		t.Fatal(err)
	}
	since, err := c.Job("j").LimitedSince(ctx)
	if since == 0 || err != nil {
		t.Errorf("limited since %v, %v", since, err)
	}
	begun := time.Now() // what passes while the test runs is no longer waited for
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if least := want - time.Since(begun) - time.Millisecond; got > want || got < least {
			t.Errorf("%s: a wait of %v, want %v to %v", what, got, least, want)
		}
	}
	near("the first", take(0, 1<<40, 10_000), 0)
	near("after 10,000 bytes", take(0, 0, 20_000), 10*time.Second)
	near("after 30,000", take(100, 0, 1), 30*time.Second)
	near("after 100 requests", take(1, 0, 0), 50*time.Second)
	set := func(r jobs.Rates) int64 {
		t.Helper()
		if err := c.Job("j").SetRates(ctx, r); err != nil {
			t.Fatal(err)
		}
		since, err := c.Job("j").LimitedSince(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return since
	}
	// A scheduler says again and again what holds.
	if got := set(jobs.Rates{Up: 1000, Requests: 2}); got != since {
		t.Errorf("the same limits since %d, and since %d", since, got)
	}
	near("under the same limits", take(1, 0, 0), 50500*time.Millisecond)
	// Nobody waits for what was taken of an earlier limit.
	changed := set(jobs.Rates{Up: 1000, Requests: 3})
	if _, got, err := c.Job("j").Take(ctx, 30, 0, 0); err != nil || changed <= since || got != changed {
		t.Errorf("limits since %d, then %d, taken of those since %d (%v)", since, changed, got, err)
	}
	near("under another limit", take(1, 0, 0), 10*time.Second)
	if since := set(jobs.Rates{}); since != 0 {
		t.Errorf("limited since %d", since)
	}
	near("without a limit again", take(1, 0, 1), 0)
}

func testPace(t *testing.T, c *Conn) {
	ctx := t.Context()
	var p jobs.Pace
	for i := range 10 {
		p.Look(time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC), true, jobs.Work{Objects: int64(i)}, jobs.Work{Objects: 100})
	}
	if err := c.Job("j").SetPace(ctx, p); err != nil {
		t.Fatal(err)
	}
	got, err := c.Job("j").Pace(ctx)
	if a, _ := got.Rate(); err != nil || a < 0.9 || a > 1.2 {
		t.Errorf("%v objects/s, %v; want 1", a, err)
	}
	if err := c.Redis().Set(ctx, jobKey("j", "pace"), `{"at":"2026-01-02T03:04:05Z","points":[]}`, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Job("j").Pace(ctx); err != nil || !got.At.IsZero() {
		t.Errorf("%+v, %v of a pace without points", got, err)
	}
}

func testLost(t *testing.T, c *Conn) {
	ctx := t.Context()
	for _, part := range []string{"", "meta", "done", "counts"} {
		if err := c.Job("j").Init(ctx, 10, nil, jobs.Counts{}); err != nil {
			t.Fatal(err)
		}
		commit(t, c, "j", 4, 2, newlyCounted)
		if part == "" {
			flush(t, c)
		} else if err := c.Redis().Del(ctx, jobKey("j", part)).Err(); err != nil {
			t.Fatal(err)
		}
		commit(t, c, "j", 5, 2, jobLost)
		if _, ok, err := c.Job("j").Progress(ctx); err != nil || ok {
			t.Fatalf("progress without %q: ok %v, %v", part, ok, err)
		}
	}
	if done, err := c.Job("nobody").IsDone(ctx, 4); err != nil || done {
		t.Fatalf("chunk of an unknown job done: %v, %v", done, err)
	}
}

func testSignal(t *testing.T, c *Conn) {
	ctx := t.Context()
	if s, err := c.Job("j").Signal(ctx); err != nil || s != "" {
		t.Fatalf("signal %q, %v: want none", s, err)
	}
	if err := c.Job("j").SetSignal(ctx, jobs.StateCancelled); err != nil {
		t.Fatal(err)
	}
	commit(t, c, "j", 0, 1, jobLost) // a signal does not make a job
	if err := c.Job("j").Init(ctx, 1, nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Job("j").Signal(ctx); err != nil || s != jobs.StateCancelled {
		t.Fatalf("signal %q, %v: want %q", s, err, jobs.StateCancelled)
	}
}

func testForget(t *testing.T, c *Conn) {
	ctx := t.Context()
	if err := c.Job("j").Init(ctx, 5000, nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Job("j").SetSignal(ctx, jobs.StatePaused); err != nil {
		t.Fatal(err)
	}
	if err := c.Job("j").Block(ctx, jobs.Block{}); err != nil {
		t.Fatal(err)
	}
	for chunk := range 600 {
		if err := c.Job("j").Begin(ctx, chunk, []int{1}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := c.Job("j").Forget(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if left := keys(t, c, "*{j}*"); len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
}

func testFlights(t *testing.T, c *Conn) {
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(chunk int, want map[int]int) {
		t.Helper()
		if got, err := c.Job("j").Flights(ctx, chunk); err != nil || !maps.Equal(got, want) {
			t.Fatalf("flights of chunk %d: %v, %v: want %v", chunk, got, err, want)
		}
	}
	want(0, map[int]int{})
	check(c.Job("j").Begin(ctx, 0, nil))
	check(c.Job("j").Begin(ctx, 0, []int{0, 1, 2}))
	check(c.Job("j").Begin(ctx, 1, []int{0}))
	check(c.Job("j").End(ctx, 0, []int{1}))
	want(0, map[int]int{0: 1, 2: 1}) // the process died here
	check(c.Job("j").Begin(ctx, 0, []int{2}))
	want(0, map[int]int{0: 1, 2: 2})
	check(c.Job("j").End(ctx, 0, []int{0, 1, 2}))
	check(c.Job("j").End(ctx, 0, []int{0}))
	check(c.Job("j").End(ctx, 0, nil))
	want(0, map[int]int{})
	want(1, map[int]int{0: 1})
	if ttl := c.Redis().TTL(ctx, jobKey("j", "flight:1")).Val(); ttl < 24*time.Hour {
		t.Errorf("a flight is remembered for %v", ttl)
	}
	check(c.Job("j").End(ctx, 1, []int{0}))
	if left := keys(t, c, "*{j}*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func testLead(t *testing.T, c *Conn) {
	ctx := t.Context()
	lead := func(holder string, ttl time.Duration) int64 {
		t.Helper()
		fence, ok, err := c.Lead(ctx, "job:1", holder, ttl)
		if err != nil || ok != (fence > 0) {
			t.Fatal(fence, ok, err)
		}
		return fence
	}
	a := lead("a", time.Minute)
	if a == 0 || lead("a", time.Minute) != a {
		t.Fatal("the holder cannot renew")
	}
	if lead("b", time.Minute) != 0 {
		t.Fatal("two holders")
	}
	fence := leadKeys("job:1")[1]
	if ttl := c.Redis().TTL(ctx, fence).Val(); ttl < 6*24*time.Hour || ttl > 8*24*time.Hour {
		t.Errorf("the fence is remembered for %v", ttl)
	}
	c.Redis().Persist(ctx, fence) // as earlier versions had it
	if lead("a", time.Minute) != a || c.Redis().TTL(ctx, fence).Val() <= 0 {
		t.Error("a renewed lock has a fence that is remembered for ever")
	}
	if _, ok, _ := c.Lead(ctx, "job:2", "b", time.Minute); !ok {
		t.Fatal("locks are not independent")
	}
	if err := c.Resign(ctx, "job:1", "b"); err != nil || lead("b", time.Minute) != 0 {
		t.Fatal("somebody else resigned for the holder", err)
	}
	if err := c.Resign(ctx, "job:1", "a"); err != nil {
		t.Fatal(err)
	}
	b := lead("b", 50*time.Millisecond)
	if b <= a {
		t.Fatalf("fence %d after %d", b, a)
	}
	var again int64
	until(t, "the lock of b expires", func() bool { again = lead("a", time.Minute); return again > 0 })
	if again <= b {
		t.Fatalf("fence %d after %d", again, b)
	}
	flush(t, c)
	if fence := lead("b", time.Minute); fence <= again {
		t.Fatalf("fence %d after %d and a loss of all data", fence, again)
	}
	if _, _, err := c.Lead(ctx, "job:1", "a", 0); err == nil {
		t.Error("a lock for no time was given")
	}
}

func testHealth(t *testing.T, c *Conn) {
	ctx := t.Context()
	if err := c.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	used, max, err := c.Memory(ctx)
	if err != nil || max != 0 || (used == 0) != c.Embedded() {
		t.Errorf("memory %d of %d, %v", used, max, err)
	}
	if policy, err := c.Policy(ctx); err != nil || policy != "noeviction" {
		t.Errorf("policy %q, %v", policy, err)
	}
	if skew, err := c.Clock(ctx); err != nil || skew.Abs() > time.Minute {
		t.Errorf("clock %v off, %v", skew, err)
	}
	version, err := c.Version(ctx)
	if err != nil || (version == "") != c.Embedded() {
		t.Errorf("version %q, %v", version, err)
	}
	if s := c.String(); strings.Contains(s, "p/w") || strings.Contains(s, "p%2F") {
		t.Errorf("the password is in %q", s)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.Tasks(0).Enqueue(cancelled, task(0)); err == nil {
		t.Error("enqueued although the context had ended")
	}
}
