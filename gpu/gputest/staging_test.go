//go:build cuda && cgo

package gputest_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/gpu"
)

// spans runs everything on goroutines of its own.
func spans(n, size int, f func(lo, hi int)) {
	var wg sync.WaitGroup
	for lo := 0; lo < n; lo += size {
		wg.Go(func() { f(lo, min(n, lo+size)) })
	}
	wg.Wait()
}

// scattered is parts of n bytes in all, with room between some, and the bytes up to the
// end of the last.
func scattered(r *rand.Rand, n int) (parts []gpu.Part, end int) {
	for end < n {
		end += r.IntN(2) * r.IntN(500)
		p := gpu.Part{At: end, Bytes: make([]byte, 1+r.IntN(1+n/3))}
		for i := range p.Bytes {
			p.Bytes[i] = byte(r.Uint32())
		}
		parts, end = append(parts, p), p.At+len(p.Bytes)
	}
	return parts, end
}

// pin moves parts into pinned memory, one after the other.
func pin(d *gpu.Device, parts []gpu.Part) (*gpu.Host, error) {
	n := 0
	for _, p := range parts {
		n += len(p.Bytes)
	}
	h, err := d.Host(n)
	if err != nil {
		return nil, err
	}
	at := h.Bytes
	for i := range parts {
		copy(at, parts[i].Bytes)
		parts[i].Bytes, at = at[:len(parts[i].Bytes)], at[len(parts[i].Bytes):]
	}
	return h, nil
}

func TestStagingCopiesPartsThereAndBack(t *testing.T) {
	fake.Reset()
	d := open(t, nil)
	for _, pinned := range []bool{false, true} {
		err := d.Do(t.Context(), func(l *gpu.Lane) error {
			staging := &gpu.Staging{Lane: l, Spans: spans}
			r := rand.New(rand.NewPCG(1, 2))
			var b *gpu.Buffer
			// Of several sizes, up and down: staging buffers are kept, and change.
			for _, n := range []int{1, 1000, 5 << 20, 300_000, 40 << 20, 9 << 20} {
				parts, end := scattered(r, n)
				want := make([][]byte, len(parts))
				for i := range parts {
					want[i] = bytes.Clone(parts[i].Bytes)
				}
				var host *gpu.Host
				if pinned {
					var err error
					if host, err = pin(d, parts); err != nil {
						return err
					}
				}
				if err := l.Room(&b, end); err != nil {
					return err
				}
				if err := staging.Upload(b, end, parts); err != nil {
					return err
				}
				back := slices.Clone(parts)
				for i := range back {
					back[i].Bytes = make([]byte, len(parts[i].Bytes))
				}
				if err := staging.Download(back, b, end); err != nil {
					return err
				}
				if host != nil {
					host.Free()
				}
				for i := range back {
					if !bytes.Equal(back[i].Bytes, want[i]) {
						return fmt.Errorf("%d bytes, pinned %v: part %d of %d came back with other bytes", n, pinned, i, len(parts))
					}
				}
			}
			return errors.Join(staging.Upload(b, 0, nil), staging.Download(nil, b, 0))
		})
		if err != nil {
			t.Error(err)
		}
	}
	closed(t, d)
}

func TestPutAndZeros(t *testing.T) {
	fake.Reset()
	d := open(t, nil)
	err := d.Do(t.Context(), func(l *gpu.Lane) error {
		s := l.Stream(0)
		a, err := s.Put(gpu.Bytes([]uint32{1, 0x04030201}))
		if err != nil {
			return err
		}
		b, err := s.Zeros(5)
		if err != nil {
			return err
		}
		got := make([]byte, 13)
		if err := errors.Join(s.Download(got[:8], a, 0), s.Download(got[8:], b, 0), s.Sync()); err != nil {
			return err
		}
		if want := []byte{1, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0}; !bytes.Equal(got, want) {
			t.Errorf("% x, want % x", got, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	closed(t, d)
}

func TestLaunchForTakesOnlyWhatTheTableHas(t *testing.T) {
	fake.Reset()
	d := open(t, nil)
	table := &gpu.Table[int]{Module: &module, Kernels: map[string]gpu.Entry[int]{
		"add":  {Params: addParams{}, Block: 64, Threads: func(n *int) int { return *n }},
		"lost": {Params: addParams{}, Threads: func(n *int) int { return *n }},
	}}
	err := d.Do(t.Context(), func(l *gpu.Lane) error {
		s := l.Stream(0)
		if err := gpu.LaunchFor(table, s, "add", []int{65, 3}, &addParams{n: 2}); err != nil {
			return err
		}
		if want := [7]int64{2, 2, 1, 64, 1, 1, 0}; fake.Grid != want {
			t.Errorf("grid %v, want %v", fake.Grid, want)
		}
		for want, err := range map[string]error{
			"the table of test has no such kernel":    gpu.LaunchFor(table, s, "sub", []int{1}, &addParams{}),
			"the kernel takes gputest_test.addParams": gpu.LaunchFor(table, s, "add", []int{1}, &struct{ a uint64 }{}),
			"has no kernel lost":                      gpu.LaunchFor(table, s, "lost", []int{1}, &addParams{}),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		return nil
	})
	if err != nil || fake.Launches != 1 {
		t.Errorf("%v, %d launches", err, fake.Launches)
	}
	closed(t, d)
}

// Items that no lane has the memory for are left to the CPU, and what fails or panics in
// one batch does not touch the others.
func TestRunLeavesWhatDoesNotFitToTheCPU(t *testing.T) {
	fake.Reset()
	fake.Memory = 64 << 20
	d := open(t, &gpu.Options{Lanes: 2, Memory: 32 << 20})
	sizes := []int{1, 17, 3, 2, 40, 5} // MiB, of which a lane has 16
	broken := errors.New("broken")
	var mu sync.Mutex
	got := make([]string, len(sizes))
	note := func(items []int, what string) {
		mu.Lock()
		defer mu.Unlock()
		for _, i := range items {
			got[i] = what
		}
	}
	work := gpu.Work{
		Device: func(l *gpu.Lane, items []int) error {
			for _, i := range items {
				if sizes[i] == 3 {
					return broken
				}
				if _, err := l.Device(sizes[i] << 20); err != nil {
					return err
				}
			}
			note(items, "device")
			return nil
		},
		CPU:    func(items []int) { note(items, "CPU") },
		Failed: func(items []int, err error) { note(items, err.Error()) },
	}
	d.Run(t.Context(), [][]int{{0, 1}, {2, 3}, {4, 5}}, work)
	if want := []string{"device", "CPU", "broken", "broken", "CPU", "device"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	func() {
		defer func() {
			if p := recover(); p == nil {
				t.Error("a panic did not reach the caller")
			}
		}()
		work.Device = func(*gpu.Lane, []int) error { panic("an odd picture") }
		d.Run(t.Context(), [][]int{{0}, {1}}, work)
	}()
	closed(t, d)
}

// TestCopiesWaitForKernelsBefore: no copy between host and card is put behind kernels, which would keep a queue from the copies of
// other lanes, but for small ones to the card of memory that is not pinned, which need no queue.
func TestCopiesWaitForKernelsBefore(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 1})
	const n = 1 << 20
	shared, err := d.Host(n)
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Free()
	if err := d.Do(t.Context(), func(l *gpu.Lane) error {
		s, other := l.Stream(0), l.Stream(1)
		k, err := l.Kernel(&module, "add")
		if err != nil {
			return err
		}
		b, err := s.Zeros(n)
		if err != nil {
			return err
		}
		launch := func(on *gpu.Stream) error {
			return gpu.Launch(on, k, gpu.Grid{Blocks: [3]int{1}, Threads: [3]int{256}}, &addParams{b.Ptr, b.Ptr, 3, 4, 5})
		}
		parts := []gpu.Part{{At: 100, Bytes: shared.Bytes[:n/2]}}
		for _, c := range []struct {
			what  string
			copy  func() error
			waits bool
		}{
			{"an upload", func() error { return s.Upload(b, 0, shared.Bytes[:8]) }, true},
			{"a large upload of other memory", func() error { return s.Upload(b, 0, make([]byte, 64<<10+1)) }, true},
			{"a small upload of other memory", func() error { return s.Upload(b, 0, make([]byte, 64<<10)) }, false},
			{"a download", func() error { return s.Download(shared.Bytes[:8], b, 0) }, true},
			{"an upload of parts", func() error { return s.UploadParts(b, parts) }, true},
			{"a download of parts", func() error { return s.DownloadParts(parts, b) }, true},
		} {
			for _, before := range []struct {
				what    string
				kernels func() error
				some    bool
			}{
				{"nothing", func() error { return nil }, false},
				{"a kernel", func() error { return launch(s) }, true},
				{"a kernel of the other stream", func() error { return errors.Join(launch(other), s.Follow(other)) }, true},
				{"a kernel that was waited for", func() error { return errors.Join(launch(s), s.Sync()) }, false},
			} {
				if err := errors.Join(l.Sync(), before.kernels()); err != nil {
					return err
				}
				calls, syncs := fake.Calls, fake.Syncs
				if err := c.copy(); err != nil {
					return err
				}
				if waited, want := fake.Syncs > syncs, c.waits && before.some; waited != want {
					t.Errorf("%s after %s: waits %v, want %v (%d calls)", c.what, before.what, waited, want, fake.Calls-calls)
				}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if fake.Behind != 0 {
		t.Errorf("%d copies are behind kernels", fake.Behind)
	}
}

// TestCopiesKeepNobodyFromTheDriver: a copy to memory that is not pinned is begun when the stream has come to rest, and others are
// waited for by nobody.
func TestCopiesKeepNobodyFromTheDriver(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 1})
	shared, err := d.Host(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Free()
	if err := d.Do(t.Context(), func(l *gpu.Lane) error {
		s := l.Stream(0)
		own, err := l.Host(1 << 10)
		if err != nil {
			return err
		}
		b, err := s.Zeros(1 << 10)
		if err != nil {
			return err
		}
		for _, c := range []struct {
			what string
			to   []byte
			most int64 // calls of the driver
		}{
			{"pinned memory of the lane", own.Bytes[512:], 1}, {"pinned memory", shared.Bytes[:512], 1}, {"other memory", make([]byte, 512), 3},
		} {
			if err := s.Fill(b, 0, b.Size, 7); err != nil {
				return err
			}
			before := fake.Calls
			if err := s.Download(c.to, b, 0); err != nil {
				return err
			}
			if calls := fake.Calls - before; calls > c.most {
				t.Errorf("%s: %d calls of the driver, want %d", c.what, calls, c.most)
			}
			if c.to[511] != 7 {
				t.Errorf("%s: the copy ends with %d", c.what, c.to[511])
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if fake.Held != 0 {
		t.Errorf("%d copies waited within the driver", fake.Held)
	}
}
