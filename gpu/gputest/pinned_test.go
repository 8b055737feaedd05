//go:build cuda && cgo

package gputest_test

import (
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
