//go:build cuda && cgo

package gputest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
)

// beside is a module other than that of most tests.
var beside = gpu.Module{Name: "beside", Variants: module.Variants}

// slowLoad opens a device and starts a batch whose load of a module does not return while
// fake.Hang is 1. code is what the load comes to.
func slowLoad(t *testing.T, o gpu.Options, code int64) (d *gpu.Device, loads chan error) {
	t.Helper()
	fake.Reset()
	d = open(t, &o)
	fake.HangAt, fake.Hang = fake.Calls+1, 1
	if code != 0 {
		fake.FailAt, fake.Code = fake.HangAt, code
	}
	loads = make(chan error, 1)
	go func() { loads <- d.Do(context.Background(), kernelOf(&module)) }()
	until(t, "the load begins", func() bool { return fake.Inside == 1 })
	return d, loads
}

func kernelOf(m *gpu.Module) func(*gpu.Lane) error {
	return func(l *gpu.Lane) error {
		_, err := l.Kernel(m, "add")
		return err
	}
}

func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for begin := time.Now(); !f(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("waited 10 s until %s", what)
		}
	}
}

// TestALoadHoldsUpOnlyThoseWhoNeedIt: while the driver compiles one module, lanes load and use others,
// and those that want the same one wait for it.
func TestALoadHoldsUpOnlyThoseWhoNeedIt(t *testing.T) {
	d, loads := slowLoad(t, gpu.Options{Lanes: 4}, 0)
	same := make(chan error, 2)
	for range 2 {
		go func() { same <- d.Do(context.Background(), kernelOf(&module)) }()
	}
	for range 3 { // its load, and its use
		if err := d.Do(t.Context(), kernelOf(&beside)); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-same:
		t.Errorf("a kernel of a module that is not loaded yet: %v", err)
	case err := <-loads:
		t.Errorf("the load returned: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	fake.Hang = 0
	for range 2 {
		if err := <-same; err != nil {
			t.Error(err)
		}
	}
	if err := <-loads; err != nil || fake.Modules != 2 {
		t.Errorf("%d modules for two: %v", fake.Modules, err)
	}
	closed(t, d)
}

// TestAFailedLoadIsTriedAgain by those who waited for it, one at a time.
func TestAFailedLoadIsTriedAgain(t *testing.T) {
	d, loads := slowLoad(t, gpu.Options{Lanes: 3}, 2)
	same := make(chan error, 2)
	var asking sync.WaitGroup
	asking.Add(2)
	for range 2 {
		go func() {
			same <- d.Do(context.Background(), func(l *gpu.Lane) error { asking.Done(); return kernelOf(&module)(l) })
		}()
	}
	asking.Wait()
	time.Sleep(5 * time.Millisecond) // until they wait
	fake.Hang = 0
	if err := <-loads; !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("the load that fails: %v", err)
	}
	for range 2 {
		if err := <-same; err != nil {
			t.Errorf("after it: %v", err)
		}
	}
	if fake.Modules != 1 {
		t.Errorf("%d modules", fake.Modules)
	}
	closed(t, d)
}

// TestWaitingForALoadEndsWithTheDevice: the lane that waits comes back while the one that loads is still in the driver.
func TestWaitingForALoadEndsWithTheDevice(t *testing.T) {
	d, loads := slowLoad(t, gpu.Options{Lanes: 2, Hang: 30 * time.Millisecond}, 0)
	waited := make(chan error, 1)
	err := d.Do(t.Context(), func(l *gpu.Lane) error {
		err := kernelOf(&module)(l)
		waited <- err
		return err
	})
	var hang *gpu.HangError
	if !errors.As(err, &hang) || hang.Call != "cuModuleLoadData" {
		t.Errorf("a load that hangs: %v", err)
	}
	if got := <-waited; got != d.Err() || fake.Inside != 1 {
		t.Errorf("the lane that waited: %v, %d calls under way", got, fake.Inside)
	}
	if first := <-loads; first != err || d.Close() != err {
		t.Errorf("the batch that loads: %v, want %v", first, err)
	}
	fake.Hang = 0
	until(t, "the driver returns", func() bool { return fake.Inside == 0 })
}

// TestLanesLoadManyModulesAtOnce: each once, whoever asks first.
func TestLanesLoadManyModulesAtOnce(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 6})
	modules := make([]gpu.Module, 5)
	for i := range modules {
		modules[i] = gpu.Module{Name: fmt.Sprint("module ", i), Variants: module.Variants}
	}
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			if err := d.Do(context.Background(), kernelOf(&modules[i%len(modules)])); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if fake.Modules != int64(len(modules)) {
		t.Errorf("%d modules on the card, want %d", fake.Modules, len(modules))
	}
	closed(t, d)
}
