//go:build cuda && cgo

package gputest_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
)

// TestPinningHoldsUpNobodyElse: while the driver pins memory, others take and give back what is pinned, and ask for it.
func TestPinningHoldsUpNobodyElse(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 2, Pinned: 64 << 20})
	first, err := d.Host(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	idle, err := d.Host(9 << 20)
	if err != nil {
		t.Fatal(err)
	}
	idle.Free()
	fake.HangAt, fake.Hang = fake.Calls+2, 1 // after cuCtxSetCurrent
	slow := make(chan error, 1)
	go func() {
		h, err := d.Host(20 << 20)
		if err == nil {
			h.Free()
		}
		slow <- err
	}()
	until(t, "the driver pins memory", func() bool { return fake.Inside == 1 && fake.Calls == fake.HangAt })
	again, err := d.Host(9 << 20)
	if err != nil {
		t.Error(err)
	}
	again.Free()
	if err := d.Do(t.Context(), func(l *gpu.Lane) error {
		if !l.Pinned(first.Bytes) || l.Pinned(make([]byte, 10)) {
			t.Error("what is pinned is told wrongly")
		}
		_, err := l.Host(9 << 20)
		return err
	}); err != nil {
		t.Error(err)
	}
	// The memory on its way counts already.
	if _, err := d.Host(44 << 20); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("65 MiB of 64: %v", err)
	}
	select {
	case err := <-slow:
		t.Errorf("the call that hangs returned: %v", err)
	default:
	}
	fake.Hang = 0
	if err := <-slow; err != nil {
		t.Error(err)
	}
	first.Free()
	closed(t, d)
}

// TestPinnedMemoryIsSharedByMany takes, writes and gives back pinned memory on many goroutines and lanes, with a budget that
// is not enough for all and a driver that fails now and then.
func TestPinnedMemoryIsSharedByMany(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 3, Pinned: 24 << 20})
	use := func(r *rand.Rand, host func(int) (*gpu.Host, error)) error {
		h, err := host(1 + r.IntN(1<<(10+r.IntN(14))))
		if err != nil {
			return err
		}
		mark := byte(1 + r.IntN(255))
		h.Bytes[0], h.Bytes[len(h.Bytes)-1] = mark, mark
		time.Sleep(time.Duration(r.IntN(50)) * time.Microsecond)
		if h.Bytes[0] != mark || h.Bytes[len(h.Bytes)-1] != mark {
			t.Error("somebody else wrote here")
		}
		h.Free()
		return nil
	}
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			for range 150 {
				err := use(r, d.Host)
				if i%2 == 1 {
					err = d.Do(context.Background(), func(l *gpu.Lane) error { return use(r, l.Host) })
				}
				if err != nil && !errors.Is(err, gpu.ErrOutOfMemory) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	// All of it can be had again.
	h, err := d.Host(24 << 20)
	if err != nil {
		t.Fatal(err)
	}
	h.Free()
	closed(t, d)
}

// TestSmallPinnedMemoryComesFromSlabs: pieces have bytes of their own, the card copies from them, and few calls make them.
func TestSmallPinnedMemoryComesFromSlabs(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 1})
	r := rand.New(rand.NewPCG(8, 9))
	var hosts []*gpu.Host
	var want [][]byte
	for i := range 500 {
		if i%3 == 2 {
			k := r.IntN(len(hosts))
			hosts[k].Free()
			hosts, want = append(hosts[:k], hosts[k+1:]...), append(want[:k], want[k+1:]...)
		}
		h, err := d.Host(1 + r.IntN(1<<18))
		if err != nil {
			t.Fatal(err)
		}
		copy(h.Bytes, bytes.Repeat([]byte{byte(i), byte(i >> 8), 3, 5, 7}, len(h.Bytes)/5+1))
		hosts, want = append(hosts, h), append(want, bytes.Clone(h.Bytes))
	}
	if fake.Pinned > 8 || fake.Registered != fake.Pinned {
		t.Errorf("%d calls for 500 pieces, %d of them for pages that are there", fake.Pinned, fake.Registered)
	}
	err := d.Do(t.Context(), func(l *gpu.Lane) error {
		b, err := l.Device(1 << 18)
		if err != nil {
			return err
		}
		for i, h := range hosts {
			got := make([]byte, len(want[i]))
			if err := errors.Join(l.Stream(0).Upload(b, 0, h.Bytes), l.Stream(0).Download(got, b, 0), l.Sync()); err != nil {
				return err
			}
			if !l.Pinned(h.Bytes) || !bytes.Equal(got, want[i]) {
				t.Errorf("piece %d of %d bytes: pinned %v, or other bytes", i, len(got), l.Pinned(h.Bytes))
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, h := range hosts {
		h.Free()
	}
	// A large piece begins a huge page, and takes a call.
	before := fake.Registered
	h, err := d.Host(5<<20 - 1)
	if err != nil || fake.Registered != before+1 || len(h.Bytes) != 5<<20-1 {
		t.Fatalf("%v, %d calls for a large piece", err, fake.Registered-before)
	}
	h.Bytes[len(h.Bytes)-1] = 1
	h.Free()
	closed(t, d)
}

// TestASlabOnItsWayIsWaitedFor by those who need a small piece: it has room for all.
func TestASlabOnItsWayIsWaitedFor(t *testing.T) {
	for _, refused := range []int64{0, 2} {
		fake.Reset()
		d := open(t, &gpu.Options{Lanes: 1})
		fake.HangAt, fake.Hang = fake.Calls+2, 1
		if refused != 0 { // of both: the driver neither pins what is there nor has memory for a slab
			fake.RefusePages, fake.FailAt, fake.Code = 801, fake.HangAt+20, 2
		}
		hosts := make(chan *gpu.Host, 20)
		var all sync.WaitGroup
		take := func() {
			h, err := d.Host(1000)
			if err != nil {
				t.Error(err)
			}
			hosts <- h
		}
		all.Go(take)
		until(t, "the slab is on its way", func() bool { return fake.Inside == 1 && fake.Calls == fake.HangAt })
		for range 19 {
			all.Go(take)
		}
		until(t, "all wait", func() bool { return fake.Calls == fake.HangAt+19 }) // cuCtxSetCurrent
		time.Sleep(2 * time.Millisecond)
		if len(hosts) != 0 || fake.Calls != fake.HangAt+19 {
			t.Errorf("%d pieces before the slab is there, %d calls", len(hosts), fake.Calls-fake.HangAt)
		}
		fake.Hang = 0
		all.Wait()
		close(hosts)
		if refused == 0 && fake.Pinned != 1 || refused != 0 && fake.Pinned != 20 {
			t.Errorf("refused %d: %d calls for 20 pieces", refused, fake.Pinned)
		}
		for h := range hosts {
			h.Free()
		}
		closed(t, d)
	}
}

// TestWhatTheDriverDoesNotPinItMakes: pages that are there are offered to it once.
func TestWhatTheDriverDoesNotPinItMakes(t *testing.T) {
	fake.Reset()
	fake.RefusePages = 801
	d := open(t, &gpu.Options{Lanes: 1})
	var hosts []*gpu.Host
	for i, want := range []int64{3, 2, 2} { // with cuCtxSetCurrent
		before := fake.Calls
		h, err := d.Host((5 + i) << 20)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, h)
		if n := fake.Calls - before; n != want || fake.Pinned != int64(i+1) || fake.Registered != 0 {
			t.Errorf("piece %d: %d calls, want %d; %d pinned, of them %d of pages that are there", i, n, want, fake.Pinned, fake.Registered)
		}
	}
	for _, h := range hosts {
		h.Free()
	}
	closed(t, d)

	// A card that is lost while it pins.
	fake.Reset()
	fake.RefusePages = 700
	d = open(t, &gpu.Options{Lanes: 1})
	if _, err := d.Host(5 << 20); !errors.Is(err, gpu.ErrFatal) || d.Err() == nil || fake.Pinned != 0 {
		t.Errorf("%v, %d pinned", err, fake.Pinned)
	}
	d.Close()
}

// TestRegion: memory that is used before the device is open is pinned then, with what is in it, until the device is closed.
func TestRegion(t *testing.T) {
	const size = 5<<20 - 1
	for _, end := range []string{"close", "discard"} {
		fake.Reset()
		whole, err := gpu.NewRegion(4<<20 + size)
		if err != nil {
			t.Fatal(err)
		}
		r := whole.Part(4<<20, size)
		if r.Make(); len(r.Bytes) != size {
			t.Fatalf("%d bytes of %d", len(r.Bytes), size)
		}
		for i := range r.Bytes {
			r.Bytes[i] = byte(i * 7)
		}
		d := open(t, &gpu.Options{Lanes: 1, Pinned: 4 << 20})
		pinned := func(b []byte) (is bool) {
			if err := d.Do(t.Context(), func(l *gpu.Lane) error { is = l.Pinned(b); return batch(l, b[:100]) }); err != nil {
				t.Fatal(err)
			}
			return is
		}
		if pinned(r.Bytes) {
			t.Error("it is pinned before anybody pins it")
		}
		before := fake.Registered
		if err := d.Pin(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if !pinned(r.Bytes) || !pinned(r.Bytes[size-100:]) || pinned(whole.Bytes[:100]) || fake.Registered != before+1 {
			t.Errorf("it is not pinned as a whole, by %d calls", fake.Registered-before)
		}
		for i := range r.Bytes {
			if r.Bytes[i] != byte(i*7) {
				t.Fatalf("byte %d is another one once it is pinned", i)
			}
		}
		if end == "discard" {
			if err := d.Discard(); err != nil || fake.Contexts != 0 {
				t.Errorf("%v, %d contexts are left", err, fake.Contexts)
			}
			r.Bytes[size-1]++
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		} else {
			closed(t, d)
		}
		r.Bytes[0]++
		for range 2 { // a second call does nothing
			if err := errors.Join(r.Free(), whole.Free()); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := gpu.NewRegion(0); err == nil {
		t.Error("a region of no bytes")
	}
}

// TestRegionIsPinnedWhileTheDeviceIsOpened, as soon as one card has its lanes and no sooner; whatever the driver fails with, nobody waits
// for ever.
func TestRegionIsPinnedWhileTheDeviceIsOpened(t *testing.T) {
	r, err := gpu.NewRegion(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Free()
	var n int64
	for _, cards := range []int64{2, 1} {
		fake.Reset()
		fake.Cards = cards
		d := open(t, &gpu.Options{Lanes: 2})
		n = fake.Calls
		closed(t, d)
		fake.Reset()
		fake.Cards, fake.HangAt, fake.Hang = cards, n, 1
		d, err := gpu.StartWith("cuda", &gpu.Options{Lanes: 2})
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the last lane begins", func() bool { return fake.Inside == 1 && fake.Calls == n })
		pinned := make(chan error, 1)
		go func() { pinned <- d.Pin(t.Context(), r) }()
		if cards == 2 {
			if err := <-pinned; err != nil || fake.Registered != 1 {
				t.Errorf("one of two cards is open: %v, %d calls", err, fake.Registered)
			}
		} else {
			select {
			case err := <-pinned:
				t.Errorf("no card is open: %v", err)
			case <-time.After(20 * time.Millisecond):
			}
			if fake.Registered != 0 || fake.Calls != n {
				t.Errorf("no card is open: %d calls for the region, %d of %d", fake.Registered, fake.Calls, n)
			}
		}
		fake.Hang = 0
		if err := d.Opened(t.Context()); err != nil {
			t.Error(err)
		}
		if cards == 1 {
			if err := <-pinned; err != nil || fake.Registered != 1 {
				t.Errorf("the card is open: %v, %d calls", err, fake.Registered)
			}
		}
		closed(t, d)
	}

	for at := int64(1); at <= n; at++ {
		fake.Reset()
		fake.FailAt, fake.Code = at, 2
		d, err := gpu.StartWith("cuda", &gpu.Options{Lanes: 2})
		if err != nil {
			continue
		}
		pinned := make(chan error, 1)
		go func() { pinned <- d.Pin(t.Context(), r) }()
		opened := d.Opened(t.Context())
		var own *gpu.Error // of a call for the region
		if err := <-pinned; err != nil && opened == nil && !(errors.As(err, &own) && (own.Call == "cuMemHostRegister" || own.Call == "cuCtxSetCurrent")) {
			t.Errorf("call %d of %d fails: the device is open and the region is not pinned: %v", at, n, err)
		}
		d.Close()
	}
}

// TestLanesWaitForTheirRegion: while the driver pins one, whoever asks for what lies there waits, and nobody else; regions are pinned in the
// order of the calls, and staging buffers behind those that wait.
func TestLanesWaitForTheirRegion(t *testing.T) {
	whole, err := gpu.NewRegion(6 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Free()
	parts := []*gpu.Region{whole.Part(0, 2<<20), whole.Part(2<<20, 2<<20)}
	n := opening(t, 3)
	fake.HangAt, fake.Hang = n+2, 1 // the context is made current before
	d, err := gpu.StartWith("cuda", &gpu.Options{Lanes: 3})
	if err != nil {
		t.Fatal(err)
	}
	pins := make(chan error, len(parts))
	for i, r := range parts {
		go func() { pins <- d.Pin(context.Background(), r) }()
		if i == 0 {
			until(t, "the driver pins", func() bool { return fake.Inside == 1 })
		}
	}
	time.Sleep(5 * time.Millisecond) // until the second one waits
	pinned := func(b []byte) (is bool, err error) {
		err = d.Do(context.Background(), func(l *gpu.Lane) error { is = l.Pinned(b); return nil })
		return is, err
	}
	type verdict struct {
		is  bool
		err error
	}
	verdicts := make(chan verdict, len(parts))
	for _, r := range parts {
		go func() {
			is, err := pinned(r.Bytes[100:200])
			verdicts <- verdict{is, err}
		}()
	}
	if is, err := pinned(whole.Bytes[4<<20:][:100]); is || err != nil {
		t.Errorf("what nobody pins: %v, %v", is, err)
	}
	select {
	case v := <-verdicts:
		t.Errorf("a region that is being pinned: %+v", v)
	case err := <-pins:
		t.Errorf("a region is pinned: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	fake.Hang = 0
	for range parts {
		if err := <-pins; err != nil {
			t.Error(err)
		}
		if v := <-verdicts; !v.is || v.err != nil {
			t.Errorf("a region that was pinned meanwhile: %+v", v)
		}
	}
	if fake.Registered != 2 {
		t.Errorf("%d calls for two regions", fake.Registered)
	}
	closed(t, d)

	// A region that is refused is memory like any other, also for those that waited, and the next one is pinned.
	n = opening(t, 2)
	fake.FailAt, fake.Code = n+2, 801
	fake.HangAt, fake.Hang = n+2, 1
	d = open(t, &gpu.Options{Lanes: 2})
	for i, r := range parts {
		go func() { pins <- d.Pin(context.Background(), r) }()
		if i == 0 {
			until(t, "the driver pins", func() bool { return fake.Inside == 1 })
		}
	}
	go func() {
		is, err := pinned(parts[0].Bytes[:100])
		verdicts <- verdict{is, err}
	}()
	time.Sleep(5 * time.Millisecond)
	fake.Hang = 0
	failed := 0
	for range parts {
		if err := <-pins; err != nil {
			failed++
		}
	}
	if v := <-verdicts; v.is || v.err != nil || failed != 1 {
		t.Errorf("a region that is refused: %+v, %d failed", v, failed)
	}
	if is, err := pinned(parts[1].Bytes[:100]); !is || err != nil {
		t.Errorf("the next one: %v, %v", is, err)
	}
	closed(t, d)

	// Staging buffers are pinned behind regions that wait: of the calls behind the opening the first one that pins is refused.
	n = opening(t, 2)
	fake.HangAt, fake.Hang = n, 1
	fake.FailAt, fake.Code = n+2, 801
	d, err = gpu.StartWith("cuda", &gpu.Options{Lanes: 2, Staging: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the last lane begins", func() bool { return fake.Inside == 1 && fake.Calls == n })
	go func() { pins <- d.Pin(context.Background(), parts[0]) }()
	time.Sleep(5 * time.Millisecond)
	fake.Hang = 0
	if err := <-pins; err == nil {
		t.Error("a region was pinned behind staging buffers")
	}
	if err := d.Do(t.Context(), hosts(9<<20, 100)); err != nil || fake.Pinned != 1 {
		t.Errorf("staging buffers: %v, %d calls", err, fake.Pinned)
	}
	closed(t, d)

	// A driver that hangs ends the wait of all.
	n = opening(t, 2)
	fake.HangAt, fake.Hang = n+2, 1
	d = open(t, &gpu.Options{Lanes: 2, Hang: 50 * time.Millisecond})
	for _, r := range parts {
		go func() { pins <- d.Pin(context.Background(), r) }()
	}
	until(t, "the driver pins", func() bool { return fake.Inside == 1 })
	if is, err := pinned(parts[1].Bytes[:100]); is || !errors.Is(err, gpu.ErrFatal) {
		t.Errorf("a driver that hangs: %v, %v", is, err)
	}
	for range parts {
		if err := <-pins; !errors.Is(err, gpu.ErrFatal) {
			t.Errorf("a driver that hangs: %v", err)
		}
	}
	d.Close()
	fake.Hang = 0
	until(t, "the driver returns", func() bool { return fake.Inside == 0 })

	// Whichever of them it hangs for: the other one was pinned before.
	n = opening(t, 2)
	fake.HangAt, fake.Hang = n+3, 1
	d, err = gpu.StartWith("cuda", &gpu.Options{Lanes: 2, Hang: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range parts {
		go func() { pins <- d.Pin(context.Background(), r) }()
	}
	lost := 0
	for range parts {
		if err := <-pins; errors.Is(err, gpu.ErrFatal) {
			lost++
		} else if err != nil {
			t.Error(err)
		}
	}
	if lost != 1 || d.Err() == nil {
		t.Errorf("a driver that hangs for the second of two regions: %d are lost, %v", lost, d.Err())
	}
	d.Close()
	fake.Hang = 0
	until(t, "the driver returns", func() bool { return fake.Inside == 0 })
}

// TestRegionThatIsNotPinned stays memory, whatever stands in the way.
func TestRegionThatIsNotPinned(t *testing.T) {
	r, err := gpu.NewRegion(100)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Free()
	fake.Reset()
	fake.RefusePages = 801
	d := open(t, &gpu.Options{Lanes: 1})
	if err := d.Pin(t.Context(), r); err == nil || errors.Is(err, gpu.ErrFatal) {
		t.Errorf("a driver that does not pin what is there: %v", err)
	}
	r.Bytes[99] = 1
	closed(t, d)

	fake.Reset()
	fake.RefusePages = 700
	d = open(t, &gpu.Options{Lanes: 1})
	if err := d.Pin(t.Context(), r); !errors.Is(err, gpu.ErrFatal) || d.Err() == nil {
		t.Errorf("a card that is lost meanwhile: %v", err)
	}
	if err := d.Pin(t.Context(), r); !errors.Is(err, gpu.ErrFatal) {
		t.Errorf("a card that is lost: %v", err)
	}
	d.Close()
}

// TestDiscard: the contexts of all cards end with what they hold, and what is pinned stays readable, unless the driver has made it.
func TestDiscard(t *testing.T) {
	for _, refuse := range []int64{0, 801} {
		fake.Reset()
		fake.Cards, fake.RefusePages = 2, refuse
		d := open(t, &gpu.Options{Lanes: 2})
		used, err := d.Host(5 << 20)
		if err != nil {
			t.Fatal(err)
		}
		idle, err := d.Host(7 << 20)
		if err != nil {
			t.Fatal(err)
		}
		idle.Free()
		for range 4 {
			if err := d.Do(t.Context(), func(l *gpu.Lane) error { return batch(l, used.Bytes[:100]) }); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // a second call does nothing
			if err := d.Discard(); err != nil {
				t.Error(err)
			}
		}
		want := int64(0)
		if refuse != 0 {
			want = 2
		}
		if fake.Contexts != want || fake.Modules == 0 {
			t.Errorf("refused %d: %d contexts are left, want %d; %d modules: what goes with a context is not freed before", refuse, fake.Contexts, want, fake.Modules)
		}
		for i := range used.Bytes {
			used.Bytes[i]++
		}
		if err := d.Do(t.Context(), func(*gpu.Lane) error { return nil }); !errors.Is(err, gpu.ErrNoDevice) {
			t.Errorf("a batch behind it: %v", err)
		}
		calls := fake.Calls
		if err := d.Close(); err != nil { // keeps what is used
			t.Error(err)
		}
		used.Bytes[0]++
		used.Free()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if fake.Calls != calls {
			t.Errorf("%d calls of the driver after its contexts are gone", fake.Calls-calls)
		}
	}
	// A card that fails now has done its work.
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 1})
	fake.FailAt, fake.Code = fake.Calls+1, 700
	var e *gpu.Error
	if err := d.Discard(); !errors.As(err, &e) || e.Call != "cuDevicePrimaryCtxRelease" || d.Err() != nil {
		t.Errorf("%v, and the device is lost by %v", err, d.Err())
	}
	var none *gpu.Device
	if err := none.Discard(); err != nil {
		t.Error(err)
	}
	fake.Reset()
}
