//go:build cuda && cgo

package gputest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
)

// opening is how many calls of the driver the opening of a device takes without anything that is made ahead. What is, comes
// behind them: first cuCtxSetCurrent, then the load or the pinning.
func opening(t *testing.T, lanes int) int64 {
	t.Helper()
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: lanes})
	n := fake.Calls
	closed(t, d)
	fake.Reset()
	return n
}

// TestExpectedModulesAreLoadedAhead: a lane that wants a kernel of theirs finds it without the driver.
func TestExpectedModulesAreLoadedAhead(t *testing.T) {
	n := opening(t, 2)
	d := open(t, &gpu.Options{Lanes: 2, Modules: []*gpu.Module{&module, &beside}})
	each := int64(1 + strings.Count(module.Variants[0], ".entry")) // calls for a module and its kernels
	until(t, "both modules and their kernels are there", func() bool { return fake.Calls == n+1+2*each && fake.Inside == 0 })
	var calls [2]int64
	for i := range calls {
		before := fake.Calls
		if err := d.Do(t.Context(), kernelOf(&module)); err != nil {
			t.Fatal(err)
		}
		calls[i] = fake.Calls - before
	}
	if calls[0] != calls[1] || fake.Modules != 2 {
		t.Errorf("%d calls for the first use and %d for the second, %d modules", calls[0], calls[1], fake.Modules)
	}
	closed(t, d)
}

// TestAnExpectedModuleThatFailsIsLeftToLanes: the one behind it is loaded, and a lane that needs it tries again.
func TestAnExpectedModuleThatFailsIsLeftToLanes(t *testing.T) {
	fake.Reset()
	fake.LoadAt, fake.Code = 2, 2 // behind the one that tries whether the driver takes kernels
	d := open(t, &gpu.Options{Lanes: 2, Modules: []*gpu.Module{&module, &beside}})
	until(t, "the second module is there", func() bool { return fake.Modules == 1 && fake.Inside == 0 })
	if err := d.Do(t.Context(), kernelOf(&module)); err != nil || fake.Modules != 2 {
		t.Errorf("%v, %d modules", err, fake.Modules)
	}
	closed(t, d)
}

// TestAnExpectedModuleThatHangs: lanes that need it wait for it no longer than for a call of their own.
func TestAnExpectedModuleThatHangs(t *testing.T) {
	fake.Reset()
	fake.LoadAt, fake.Hang = 2, 1
	d := open(t, &gpu.Options{Lanes: 2, Modules: []*gpu.Module{&module}, Hang: 50 * time.Millisecond})
	until(t, "the load begins", func() bool { return fake.Inside == 1 })
	var hang *gpu.HangError
	if err := d.Do(context.Background(), kernelOf(&module)); !errors.As(err, &hang) || hang.Call != "cuModuleLoadData" {
		t.Errorf("%v", err)
	}
	fake.Hang = 0
	d.Close()
	until(t, "the driver returns", func() bool { return fake.Inside == 0 })
}

// TestAnExpectedModuleThatHangsWhereLanesDoNotBegin: nobody waits for ever for a card that is given up.
func TestAnExpectedModuleThatHangsWhereLanesDoNotBegin(t *testing.T) {
	n := opening(t, 2)
	fake.LoadAt, fake.Hang = 2, 1
	fake.FailAt, fake.Code, fake.Sticky = n-2, 2, 1
	if d, err := gpu.OpenWith("cuda", &gpu.Options{Lanes: 2, Modules: []*gpu.Module{&module}, Hang: 50 * time.Millisecond}); err == nil {
		t.Error("it is open")
		d.Close()
	}
	fake.Hang = 0
	until(t, "the driver returns", func() bool { return fake.Inside == 0 })
}

// TestExpectedModulesAreNoLongerLoadedWhenTheDeviceIsClosed: Close waits for the one that is being loaded.
func TestExpectedModulesAreNoLongerLoadedWhenTheDeviceIsClosed(t *testing.T) {
	calls := func(modules ...*gpu.Module) int64 {
		fake.Reset()
		fake.LoadAt, fake.Hang = 2, 1
		d := open(t, &gpu.Options{Lanes: 2, Modules: modules})
		until(t, "the first load begins", func() bool { return fake.Inside == 1 })
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			closed(t, d)
		}()
		until(t, "the lanes have ended", func() bool { return fake.Streams == 0 })
		fake.Hang = 0
		<-ended
		return fake.Calls
	}
	if one, two := calls(&module), calls(&module, &beside); one != two {
		t.Errorf("%d calls of the driver with one module, %d with another one behind it", one, two)
	}
}

// hosts asks for blocks of pinned memory in a lane.
func hosts(sizes ...int) func(*gpu.Lane) error {
	return func(l *gpu.Lane) error {
		for _, n := range sizes {
			h, err := l.Host(n)
			if err != nil {
				return err
			}
			h.Bytes[0], h.Bytes[n-1] = 1, 2
		}
		return nil
	}
}

// TestStagingBuffersArePinnedAhead: those of all lanes lie in memory that was pinned at once, and larger ones do not.
func TestStagingBuffersArePinnedAhead(t *testing.T) {
	fake.Reset()
	fake.Cards = 2
	d := open(t, &gpu.Options{Lanes: 2, Staging: 32 << 20})
	until(t, "the memory is pinned", func() bool { return fake.Registered == 2 && fake.Inside == 0 })
	for range 4 {
		if err := d.Do(t.Context(), hosts(9<<20, 9<<20, 4<<20, 4<<20, 100, 16<<20)); err != nil {
			t.Error(err)
		}
	}
	if fake.Pinned != 2 {
		t.Errorf("%d calls of the driver for memory of two cards", fake.Pinned)
	}
	if err := d.Do(t.Context(), hosts(16<<20+1)); err != nil || fake.Pinned != 3 {
		t.Errorf("%v, %d calls behind a block that is larger", err, fake.Pinned)
	}
	closed(t, d)
}

// TestStagingBuffersAreWaitedFor: while the driver pins their memory nobody pins another one for them, but for larger blocks.
func TestStagingBuffersAreWaitedFor(t *testing.T) {
	n := opening(t, 3)
	fake.HangAt, fake.Hang = n+2, 1
	d := open(t, &gpu.Options{Lanes: 3, Staging: 32 << 20})
	waits := make(chan error, 2)
	until(t, "the driver pins", func() bool { return fake.Inside == 1 })
	for _, size := range []int{9 << 20, 100} {
		go func() { waits <- d.Do(context.Background(), hosts(size)) }()
	}
	if err := d.Do(t.Context(), hosts(20<<20)); err != nil {
		t.Error(err)
	}
	select {
	case err := <-waits:
		t.Errorf("a block of memory that is not there: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	fake.Hang = 0
	for range cap(waits) {
		if err := <-waits; err != nil {
			t.Error(err)
		}
	}
	if fake.Pinned != 2 {
		t.Errorf("%d calls for the memory and a larger block", fake.Pinned)
	}
	closed(t, d)
}

// TestStagingBuffersWithoutMemoryAhead: where the driver refuses it, or the budget has no room for it, lanes pin what they need.
func TestStagingBuffersWithoutMemoryAhead(t *testing.T) {
	for _, c := range []struct {
		what   string
		o      gpu.Options
		refuse int64 // pages that are there
	}{
		{"refused", gpu.Options{Lanes: 2, Staging: 32 << 20}, 801},
		{"a quarter of the budget is less", gpu.Options{Lanes: 2, Staging: 32 << 20, Pinned: 200 << 20}, 0},
	} {
		fake.Reset()
		fake.RefusePages = c.refuse
		d := open(t, &c.o)
		if err := d.Do(t.Context(), hosts(9<<20, 9<<20)); err != nil || fake.Pinned != 2 {
			t.Errorf("%s: %v, %d pinned", c.what, err, fake.Pinned)
		}
		closed(t, d)
	}

	// A context that cannot be made current.
	n := opening(t, 2)
	fake.FailAt, fake.Code = n+1, 2
	d := open(t, &gpu.Options{Lanes: 2, Staging: 32 << 20})
	if err := d.Do(t.Context(), hosts(9<<20, 9<<20)); err != nil || fake.Pinned != 2 {
		t.Errorf("no context: %v, %d pinned", err, fake.Pinned)
	}
	closed(t, d)

	// A card that is lost while it pins: nobody waits for the memory any more.
	fake.Reset()
	fake.RefusePages = 700
	d = open(t, &gpu.Options{Lanes: 2, Staging: 32 << 20})
	if err := d.Do(t.Context(), hosts(9<<20)); !errors.Is(err, gpu.ErrFatal) || fake.Pinned != 0 {
		t.Errorf("a card that is lost: %v, %d pinned", err, fake.Pinned)
	}
	d.Close()

	// A card whose context does not come.
	fake.Reset()
	for at := int64(1); ; at++ {
		fake.Reset()
		fake.FailAt, fake.Code = at, 2
		d, err := gpu.OpenWith("cuda", &gpu.Options{Lanes: 2, Staging: 32 << 20})
		if err == nil {
			closed(t, d)
			break
		}
		if left := fake.Left(); left != "" {
			t.Errorf("call %d failed, and there are %s", at, left)
		}
	}
}
