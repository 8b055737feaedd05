//go:build cuda && cgo

package gputest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/driver"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// fake is the driver of this test binary.
var fake *gputest.Fake

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pelmill-fake-driver")
	if err != nil {
		panic(err)
	}
	status := 0
	switch os.Getenv("PELMILL_FAKE_INIT") {
	case "":
		fake, err = gputest.LoadFake(dir, status)
	case "missing":
		err = driver.Open("libpelmill-no-such-driver.so.1")
		status = 803
	case "hangs":
		var library string
		if fake, library, err = gputest.BuildFake(dir); err == nil {
			fake.Hang = 1
			go driver.Open(library)
		}
		for err == nil && fake.Inside == 0 {
			time.Sleep(time.Millisecond)
		}
	case "found": // by the system, as the real one is
	default:
		status = 803
		fake, err = gputest.LoadFake(dir, status)
	}
	if err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// module has the one kernel
//
//	void add(uint64_t *out, const uint8_t *in, uint32_t n, uint16_t step, uint8_t flag)
var module = gpu.Module{Name: "test", Variants: []string{`
.version 6.3
.target sm_75
.address_size 64
.visible .entry add(
	.param .u64 add_param_0,
	.param .u64 add_param_1,
	.param .u32 add_param_2,
	.param .u16 add_param_3,
	.param .u8 add_param_4
)
{ ret; }
`}}

type addParams struct {
	out, in gpu.Ptr
	n       uint32
	step    uint16
	flag    uint8
}

func open(t *testing.T, o *gpu.Options) *gpu.Device {
	t.Helper()
	d, err := gpu.OpenWith("cuda", o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func closed(t *testing.T, d *gpu.Device) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if left := fake.Left(); left != "" {
		t.Errorf("after Close there are %s", left)
	}
}

// batch does every kind of call once or more and checks what it can.
func batch(l *gpu.Lane, in []byte) error {
	k, err := l.Kernel(&module, "add")
	if err != nil {
		return err
	}
	src, err := l.Device(len(in))
	if err != nil {
		return err
	}
	dst, err := l.Device(len(in))
	if err != nil {
		return err
	}
	host, err := l.Host(len(in))
	if err != nil {
		return err
	}
	copy(host.Bytes, in)
	up, down := l.Stream(0), l.Stream(1)
	arrived, err := l.Event()
	if err != nil {
		return err
	}
	if err := up.Upload(src, 0, host.Bytes); err != nil {
		return err
	}
	if err := up.Fill(dst, 0, dst.Size, 7); err != nil {
		return err
	}
	if _, err := l.Blocks(k, 256, 0); err != nil {
		return err
	}
	took, err := up.Time(func() error {
		return gpu.Launch(up, k, gpu.Grid{Blocks: [3]int{2}, Threads: [3]int{256}, Shared: 60 << 10}, &addParams{dst.Ptr, src.Ptr, 3, 4, 5})
	})
	if err != nil {
		return err
	}
	if took != 1500*time.Microsecond {
		return fmt.Errorf("the launch took %v", took)
	}
	if err := up.Copy(dst, 0, src, 0, len(in)); err != nil {
		return err
	}
	if err := errors.Join(up.Record(arrived), down.Wait(arrived)); err != nil {
		return err
	}
	got := make([]byte, len(in))
	if err := down.Download(got, dst, 0); err != nil {
		return err
	}
	if err := l.Sync(); err != nil {
		return err
	}
	host.Free()
	if !bytes.Equal(got, in) {
		return errors.New("other bytes came back")
	}
	return nil
}

var pixels = bytes.Repeat([]byte("pelmill "), 1000)

func TestABatchLeavesNothingBehind(t *testing.T) {
	fake.Reset()
	d := open(t, nil)
	if d.Name() != "Fake 0" {
		t.Errorf("the device is called %q", d.Name())
	}
	for range 10 {
		if err := d.Do(t.Context(), func(l *gpu.Lane) error { return batch(l, pixels) }); err != nil {
			t.Fatal(err)
		}
	}
	if fake.Launches != 10 || fake.Modules != 1 {
		t.Errorf("%d launches, %d modules", fake.Launches, fake.Modules)
	}
	closed(t, d)
}

func TestALaunchPassesPackedParameters(t *testing.T) {
	fake.Reset()
	d := open(t, nil)
	err := d.Do(t.Context(), func(l *gpu.Lane) error {
		k, err := l.Kernel(&module, "add")
		if err != nil {
			return err
		}
		p := &addParams{1 << 40, 2 << 40, 3, 4, 5}
		return gpu.Launch(l.Stream(1), k, gpu.Grid{Blocks: [3]int{70_000, 3}, Threads: [3]int{32, 4, 2}, Shared: 1024}, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	want := le.AppendUint64(le.AppendUint64(nil, 1<<40), 2<<40)
	want = append(le.AppendUint16(le.AppendUint32(want, 3), 4), 5)
	if got := fake.Params[:fake.Size]; !bytes.Equal(got, want) {
		t.Errorf("parameters % x, want % x", got, want)
	}
	if want := [7]int64{70_000, 3, 1, 32, 4, 2, 1024}; fake.Grid != want {
		t.Errorf("grid %v, want %v", fake.Grid, want)
	}
	closed(t, d)
}

func TestImpossibleLaunchesAndCopiesAreRefused(t *testing.T) {
	fake.Reset()
	d := open(t, nil)
	one := [3]int{1}
	for name, g := range map[string]gpu.Grid{
		"no block":               {Threads: one},
		"too many blocks":        {Blocks: [3]int{1, 65_536}, Threads: one},
		"no thread":              {Blocks: one},
		"too many threads":       {Blocks: one, Threads: [3]int{512, 4}},
		"too much shared memory": {Blocks: one, Threads: one, Shared: 65 << 10},
		"negative shared memory": {Blocks: one, Threads: one, Shared: -1},
	} {
		err := d.Do(t.Context(), func(l *gpu.Lane) error {
			k, err := l.Kernel(&module, "add")
			if err != nil {
				t.Fatal(err)
			}
			return gpu.Launch(l.Stream(0), k, g, &addParams{})
		})
		if err == nil || !strings.Contains(err.Error(), "launch add") {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := d.Do(t.Context(), func(l *gpu.Lane) error {
		k, _ := l.Kernel(&module, "add")
		b, err := l.Device(100)
		if err != nil {
			return err
		}
		s := l.Stream(0)
		for name, err := range map[string]error{
			"parameters of another size": gpu.Launch(s, k, gpu.Grid{Blocks: one, Threads: one}, &struct{ a uint64 }{}),
			"upload beyond the end":      s.Upload(b, 1, make([]byte, 100)),
			"download before the start":  s.Download(make([]byte, 1), b, -1),
			"fill beyond the end":        s.Fill(b, 100, 1, 0),
			"copy beyond the end":        s.Copy(b, 50, b, 0, 51),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if _, err := l.Kernel(&module, "sub"); err == nil {
			t.Error("a kernel that is not there: no error")
		}
		if _, err := l.Device(0); err == nil {
			t.Error("0 bytes: no error")
		}
		return nil
	})
	if err != nil || fake.Launches != 0 {
		t.Errorf("%v, %d launches", err, fake.Launches)
	}
	closed(t, d)
}

// What runs in tests that fail somewhere on the way: one lane, so that the order of
// calls is always the same.
const (
	batches = 3
	lanes   = 1
)

// calls is how many calls of the driver opening, the batches and closing take.
func calls(t *testing.T) int64 {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: lanes})
	for range batches {
		if err := d.Do(t.Context(), func(l *gpu.Lane) error { return batch(l, pixels) }); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, d)
	return fake.Calls
}

func TestAnErrorAtAnyCallLeavesNothingBehind(t *testing.T) {
	n := calls(t)
	if n < 40 {
		t.Fatalf("only %d calls", n)
	}
	for _, code := range []int64{1, 2, 201, 400, 701, 999, 700, 719, 214} {
		for at := int64(1); at <= n; at++ {
			fake.Reset()
			fake.FailAt, fake.Code = at, code
			if code == 700 || code == 719 {
				fake.Sticky = 1
			}
			attempt(t, fmt.Sprintf("code %d at call %d of %d", code, at, n), code)
		}
	}
}

// attempt opens, runs batches and closes, with an error somewhere.
func attempt(t *testing.T, name string, code int64) {
	t.Helper()
	d, err := gpu.OpenWith("cuda", &gpu.Options{Lanes: lanes})
	if err != nil {
		if !errors.Is(err, gpu.ErrNoDevice) || errors.Is(err, gpu.ErrFatal) {
			t.Errorf("%s: open: %v", name, err)
		}
		if left := fake.Left(); left != "" && fake.Sticky == 0 {
			t.Errorf("%s: after Open failed there are %s", name, left)
		}
		return
	}
	fatal := map[int64]bool{700: true, 719: true, 214: true, 999: true}[code]
	failed := 0
	for range batches {
		lost := d.Err()
		err := d.Do(t.Context(), func(l *gpu.Lane) error { return batch(l, pixels) })
		if err == nil {
			continue
		}
		failed++
		var e *gpu.Error
		if !errors.As(err, &e) || int64(e.Code) != code || !strings.HasPrefix(e.Call, "cu") {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(err, gpu.ErrFatal) != fatal || errors.Is(err, gpu.ErrOutOfMemory) != (code == 2) {
			t.Errorf("%s: judged wrongly: %v", name, err)
		}
		if lost != nil && err != lost {
			t.Errorf("%s: after %v: %v", name, lost, err)
		}
	}
	if failed > 1 && !fatal || fatal && d.Err() == nil && failed > 0 {
		t.Errorf("%s: %d batches failed, the card's error is %v", name, failed, d.Err())
	}
	err = d.Close()
	if d.Err() != nil {
		if err != d.Err() {
			t.Errorf("%s: close: %v, the card's error is %v", name, err, d.Err())
		}
		return // the process would end
	}
	if err != nil && strings.Contains(err.Error(), "cuCtxSetCurrent") {
		return // what is left goes with the context
	}
	if left := fake.Left(); left != "" {
		t.Errorf("%s: after Close (%v) there are %s", name, err, left)
	}
}

func TestOutOfMemoryHalvesTheBatch(t *testing.T) {
	fake.Reset()
	fake.Memory = 64 << 20
	d := open(t, &gpu.Options{Lanes: 1, Memory: 16 << 20})
	sizes := make([]int, 37) // of the items, in MiB; some never fit
	for i := range sizes {
		sizes[i] = 1 + i*7%5
	}
	sizes[11], sizes[36] = 17, 40
	seen := make([]int, len(sizes))
	left, err := d.Split(t.Context(), len(sizes), func(l *gpu.Lane, from, to int) error {
		for i := from; i < to; i++ {
			if _, err := l.Device(sizes[i] << 20); err != nil {
				return err
			}
		}
		for i := from; i < to; i++ {
			seen[i]++
		}
		return nil
	})
	if err != nil || fmt.Sprint(left) != "[11 36]" {
		t.Errorf("left %v, %v", left, err)
	}
	for i, n := range seen {
		if want := map[bool]int{true: 0, false: 1}[i == 11 || i == 36]; n != want {
			t.Errorf("item %d was done %d times, want %d", i, n, want)
		}
	}
	closed(t, d)
}

func TestAFullCardIsNotFatal(t *testing.T) {
	fake.Reset()
	fake.Memory = 8 << 20
	d := open(t, &gpu.Options{Lanes: 1, Memory: 1 << 30})
	take := func(l *gpu.Lane, sizes ...int) error {
		for _, n := range sizes {
			if _, err := l.Device(n << 20); err != nil {
				return err
			}
		}
		return nil
	}
	if err := d.Do(t.Context(), func(l *gpu.Lane) error { return take(l, 3, 6) }); !errors.Is(err, gpu.ErrOutOfMemory) || errors.Is(err, gpu.ErrFatal) {
		t.Errorf("9 MiB on a card of 8: %v", err)
	}
	// The idle 3 MiB make room.
	if err := d.Do(t.Context(), func(l *gpu.Lane) error { return take(l, 7) }); err != nil {
		t.Errorf("7 MiB on a card of 8: %v", err)
	}
	closed(t, d)
}

func TestStatsCountWork(t *testing.T) {
	fake.Reset()
	fake.Memory = 64 << 20
	d := open(t, &gpu.Options{Lanes: 1, Memory: 16 << 20})
	if s := d.Stats(); s != (gpu.Stats{}) {
		t.Errorf("before the first batch: %+v", s)
	}
	for range 3 {
		if err := d.Do(t.Context(), func(l *gpu.Lane) error { return batch(l, pixels) }); err != nil {
			t.Fatal(err)
		}
	}
	s := d.Stats()
	if s.Waited <= 0 || s.Waited > s.Busy {
		t.Errorf("lanes waited %v of %v for the card", s.Waited, s.Busy)
	}
	d.Run(t.Context(), [][]int{{0}}, gpu.Work{
		Light:  true,
		Device: func(l *gpu.Lane, _ []int) error { return batch(l, pixels) },
		Failed: func(_ []int, err error) { t.Fatal(err) },
	})
	if after := d.Stats(); after.Waited != s.Waited || after.Busy == s.Busy {
		t.Errorf("a batch that leaves the card to others: %+v, before it %+v", after, s)
	}
	s = d.Stats()
	if s.Batches != 4 || s.Memory != fake.Bytes || s.Memory == 0 || s.Busy <= 0 || s.LaneTime != s.Busy || s.Halved != 0 || s.Left != 0 {
		t.Errorf("%+v with %d bytes on the card", s, fake.Bytes)
	}
	// In 16 MiB: all four are halved, and so are both halves; the last does not fit alone.
	sizes := []int{10, 10, 10, 20}
	_, err := d.Split(t.Context(), len(sizes), func(l *gpu.Lane, from, to int) error {
		for i := from; i < to; i++ {
			if _, err := l.Device(sizes[i] << 20); err != nil {
				return err
			}
		}
		return nil
	})
	if s := d.Stats(); err != nil || s.Halved != 3 || s.Left != 1 || s.Memory != fake.Bytes {
		t.Errorf("%+v with %d bytes on the card, %v", s, fake.Bytes, err)
	}
	closed(t, d)
}

// Light work waits for no lane that other batches have, nor is it in their way.
func TestLightWorkHasItsOwnLanes(t *testing.T) {
	fake.Reset()
	fake.Cards = 2
	d := open(t, &gpu.Options{Lanes: 2, Memory: 16 << 20})
	if fake.Streams != 2*2*(2+1) || fake.First != 2*2 {
		t.Errorf("%d streams, of which %d come first", fake.Streams, fake.First)
	}
	var budgets []int64
	begin, end := make(chan int64), make(chan struct{})
	stays := func(l *gpu.Lane, _ []int) error {
		begin <- l.Budget()
		<-end
		return batch(l, pixels)
	}
	failed := func(_ []int, err error) { t.Error(err) }
	var others, light sync.WaitGroup
	defer func() { others.Wait(); light.Wait(); closed(t, d) }()
	others.Go(func() {
		d.Run(t.Context(), [][]int{{0}, {1}, {2}, {3}}, gpu.Work{Device: stays, Failed: failed})
	})
	for range 4 {
		budgets = append(budgets, <-begin)
	}
	light.Go(func() {
		d.Run(t.Context(), [][]int{{0}, {1}}, gpu.Work{Light: true, Device: stays, Failed: failed})
	})
	for range 2 {
		budgets = append(budgets, <-begin)
	}
	if want := []int64{7 << 20, 7 << 20, 7 << 20, 7 << 20, 2 << 20, 2 << 20}; !slices.Equal(budgets, want) {
		t.Errorf("budgets %v, want %v", budgets, want)
	}
	close(end)
}

// A card with much memory has more lanes, without those for light work.
func TestLargeCardsHaveMoreLanes(t *testing.T) {
	for _, c := range []struct{ memory, lanes, light int64 }{{8 << 30, 3, 1}, {24 << 30, 3, 2}, {40 << 30, 5, 3}, {79 << 30, 9, 3}, {141 << 30, 9, 3}} {
		fake.Reset()
		fake.Memory = c.memory
		d := open(t, nil)
		if fake.Streams != 2*(c.lanes+c.light) {
			t.Errorf("%d bytes: %d streams, want those of %d lanes and of %d for light work", c.memory, fake.Streams, c.lanes, c.light)
		}
		closed(t, d)
	}
}

// A card with much memory has more lanes for light work, which have together what one would have.
func TestLargeCardsHaveMoreLanesForLightWork(t *testing.T) {
	for _, c := range []struct {
		memory int64
		lanes  int64
	}{{1 << 30, 1}, {16 << 30, 1}, {24 << 30, 2}, {36 << 30, 3}, {80 << 30, 3}} {
		fake.Reset()
		fake.Memory = c.memory
		d := open(t, &gpu.Options{Lanes: 1, Memory: 24 << 20})
		if fake.Streams != 2*(1+c.lanes) || fake.First != 2*c.lanes {
			t.Errorf("%d bytes: %d streams, of which %d come first, want %d lanes for light work", c.memory, fake.Streams, fake.First, c.lanes)
		}
		begin, end := make(chan int64), make(chan struct{})
		var items [][]int
		for i := range int(c.lanes) {
			items = append(items, []int{i})
		}
		var light sync.WaitGroup
		light.Go(func() {
			d.Run(t.Context(), items, gpu.Work{Light: true, Failed: func(_ []int, err error) { t.Error(err) }, Device: func(l *gpu.Lane, _ []int) error {
				begin <- l.Budget()
				<-end
				return nil
			}})
		})
		for range c.lanes {
			if got, want := <-begin, 3<<20/c.lanes; got != want {
				t.Errorf("%d bytes: a budget of %d, want %d", c.memory, got, want)
			}
		}
		close(end)
		light.Wait()
		closed(t, d)
	}
}

func TestSeveralCardsShareTheBatches(t *testing.T) {
	fake.Reset()
	fake.Cards = 3
	d := open(t, &gpu.Options{Lanes: 2})
	if d.Name() != "3 x Fake 0" || len(d.Cards()) != 3 {
		t.Errorf("%q, %d cards", d.Name(), len(d.Cards()))
	}
	// Six batches that wait for each other need six lanes, two on each card.
	const n = 6
	cards, all, ends := make(chan int, n), make(chan struct{}), make(chan error, n)
	for range n {
		go func() {
			ends <- d.Do(context.Background(), func(l *gpu.Lane) error {
				cards <- l.Card().Index
				<-all
				return batch(l, pixels)
			})
		}()
	}
	count := map[int]int{}
	for range n {
		count[<-cards]++
	}
	close(all)
	for range n {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if fmt.Sprint(count) != "map[0:2 1:2 2:2]" {
		t.Errorf("batches by card: %v", count)
	}
	closed(t, d)

	fake.Reset()
	fake.Cards = 3
	d, err := gpu.Open("cuda:1")
	if err != nil {
		t.Fatal(err)
	}
	err = d.Do(t.Context(), func(l *gpu.Lane) error {
		if i := l.Card(); i.Index != 1 || i.Name != "Fake 1" || i.PCI != "0000:02:00.0" || i.Capability() != 90 {
			t.Errorf("pinned to card 1, on %s", &i)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	closed(t, d)
	if _, err := gpu.Open("cuda:3"); !errors.Is(err, gpu.ErrNoDevice) {
		t.Errorf("cuda:3 of three cards: %v", err)
	}
}

func TestAPanicReachesTheCaller(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 1})
	func() {
		defer func() {
			if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "an odd picture") {
				t.Errorf("recovered %v", p)
			}
		}()
		d.Do(t.Context(), func(l *gpu.Lane) error {
			if _, err := l.Device(10); err != nil {
				t.Error(err)
			}
			panic("an odd picture")
		})
	}()
	if err := d.Do(t.Context(), func(l *gpu.Lane) error { return batch(l, pixels) }); err != nil {
		t.Errorf("the next batch: %v", err)
	}
	closed(t, d)
}

func TestTheContextEndsTheWaitForALane(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 1})
	busy, release, end := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		end <- d.Do(context.Background(), func(*gpu.Lane) error { close(busy); <-release; return nil })
	}()
	<-busy
	why := errors.New("the chunk was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := d.Do(ctx, func(*gpu.Lane) error { return nil }); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-end; err != nil {
		t.Error(err)
	}
	closed(t, d)
}

func TestPageLockedMemoryHasABudget(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 1, Pinned: 8 << 20})
	a, err := d.Host(6 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Host(3 << 20); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("9 MiB of 8: %v", err)
	}
	if v := gpu.View[uint32](a.Bytes); len(v) != 6<<18 {
		t.Errorf("a view of %d elements", len(v))
	}
	a.Free()
	a.Free()
	b, err := d.Host(7 << 20)
	if err != nil {
		t.Fatal(err)
	}
	b.Free()
	closed(t, d)
}

// TestTheDriverIsSet: a device sets what the driver reads when it starts, but not where the environment has it.
func TestTheDriverIsSet(t *testing.T) {
	names := []string{"CUDA_MODULE_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_COPY_CONNECTIONS"}
	for _, c := range []struct{ has, want [3]string }{
		{want: [3]string{"EAGER", "32", "2"}},
		{has: [3]string{"LAZY", "4", "8"}, want: [3]string{"LAZY", "4", "8"}},
	} {
		fake.Reset()
		for i, name := range names {
			t.Setenv(name, c.has[i])
			if c.has[i] == "" {
				os.Unsetenv(name)
			}
		}
		closed(t, open(t, &gpu.Options{Connections: 32}))
		for i, name := range names {
			if got := os.Getenv(name); got != c.want[i] {
				t.Errorf("with %q %s is %q, want %q", c.has, name, got, c.want[i])
			}
		}
	}
}
