//go:build cuda && cgo

package gputest_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// TestSlabsChangeNoBatch: what fits where the driver gives each block fits as well where slabs do, in as many halves, whether
// the budget or the card is the limit.
func TestSlabsChangeNoBatch(t *testing.T) {
	const budget = 256 << 20
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 40 {
		card := int64(1 << 30)
		if round%2 == 1 {
			card = budget * 3 / 4
		}
		sizes := make([][]int, 1+r.IntN(12)) // of the blocks of each item
		for i := range sizes {
			for range 1 + r.IntN(20) {
				sizes[i] = append(sizes[i], 1+r.IntN(1<<(8+r.IntN(20))))
			}
		}
		freed := r.IntN(3) == 0
		type outcome struct {
			left  []int
			stats gpu.Stats
		}
		outcomes := make([]outcome, 2)
		for i := range outcomes {
			fake.Reset()
			fake.Memory = card
			d := open(t, &gpu.Options{Lanes: 1, Memory: budget, Apart: i == 0})
			for range 2 { // the second time, memory is idle
				left, err := d.Split(t.Context(), len(sizes), func(l *gpu.Lane, from, to int) error {
					for _, item := range sizes[from:to] {
						for k, n := range item {
							b, err := l.Device(n)
							if err != nil {
								return err
							}
							if b.Ptr%256 != 0 {
								t.Errorf("memory at %d", b.Ptr)
							}
							if err := l.Stream(k%2).Fill(b, 0, min(n, 64), 1); err != nil {
								return err
							}
							if freed && k%3 == 0 {
								b.Free()
							}
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				outcomes[i].left = append(outcomes[i].left, left...)
			}
			s := d.Stats()
			if s.Memory != fake.Bytes || s.Memory > budget {
				t.Errorf("round %d: %d bytes held, the driver gave %d", round, s.Memory, fake.Bytes)
			}
			outcomes[i].stats = gpu.Stats{Halved: s.Halved, Left: s.Left}
			closed(t, d)
		}
		if a, b := outcomes[0], outcomes[1]; !slices.Equal(a.left, b.left) || a.stats != b.stats {
			t.Errorf("round %d: left %v, %+v with each block from the driver, %v, %+v with slabs", round, a.left, a.stats, b.left, b.stats)
		}
	}
}

// TestSlabsThatAreInTheWayAreLeftOut: a batch that a slab has no room for is tried once more without one.
func TestSlabsThatAreInTheWayAreLeftOut(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 1, Memory: 147 << 20})
	var blocks []int64
	left, err := d.Split(t.Context(), 1, func(l *gpu.Lane, _, _ int) error {
		for _, n := range []int{1000, 120 << 20} {
			if _, err := l.Device(n); err != nil {
				return err
			}
		}
		blocks = append(blocks, fake.Blocks, fake.Bytes)
		return nil
	})
	if want := []int64{2, 120<<20 + 1024}; err != nil || len(left) != 0 || !slices.Equal(blocks, want) {
		t.Errorf("left %v, %v, the driver gave %v, want %v", left, err, blocks, want)
	}
	// Only for this once.
	if err := d.Do(t.Context(), func(l *gpu.Lane) error { _, err := l.Device(2000); return err }); err != nil || fake.Bytes < 16<<20 {
		t.Errorf("%v, %d bytes", err, fake.Bytes)
	}
	if s := d.Stats(); s.Halved != 0 || s.Left != 0 {
		t.Errorf("%+v", s)
	}
	closed(t, d)
}

func TestCheckersOfMemorySeeEachBlock(t *testing.T) {
	given := gpu.Options{Lanes: 1}
	for _, o := range []*gpu.Options{nil, &given} {
		for variable, want := range map[string]int64{"": 1, "1": 3} {
			t.Run("", func(t *testing.T) {
				t.Setenv("PELMILL_SANITIZE", variable)
				fake.Reset()
				d := gputest.Device(t, o)
				err := d.Do(t.Context(), func(l *gpu.Lane) error {
					for range 3 {
						if _, err := l.Device(1000); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil || fake.Blocks != want || given.Apart {
					t.Errorf("%v, the driver gave %d pieces of memory, want %d; the caller's options are %+v", err, fake.Blocks, want, given)
				}
			})
		}
	}
}

// TestLanesHaveMemoryAhead: blocks of all sizes lie in what a lane has from the start, as long as there is room, and the driver is not
// asked for any of them. Lanes for light work have none, nor has a lane whose budget is small, or a device that keeps blocks apart.
func TestLanesHaveMemoryAhead(t *testing.T) {
	const ahead = 16 << 20
	blocks := func(sizes ...int) func(*gpu.Lane) error {
		return func(l *gpu.Lane) error {
			for _, n := range sizes {
				if _, err := l.Device(n); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, c := range []struct {
		what   string
		o      gpu.Options
		blocks int64 // of the driver, once the device is open
	}{
		{"two lanes", gpu.Options{Lanes: 2, Ahead: ahead}, 2},
		{"an eighth of the budget", gpu.Options{Lanes: 1, Memory: 10 * ahead, Ahead: ahead}, 1},
		{"less than an eighth", gpu.Options{Lanes: 1, Memory: 8 * ahead, Ahead: ahead}, 0}, // light lanes have a part of it
		{"apart", gpu.Options{Lanes: 2, Ahead: ahead, Apart: true}, 0},
	} {
		fake.Reset()
		d := open(t, &c.o)
		if fake.Blocks != c.blocks || fake.Bytes != c.blocks*ahead || d.Stats().Memory != fake.Bytes {
			t.Errorf("%s: %d blocks of %d bytes, %d counted", c.what, fake.Blocks, fake.Bytes, d.Stats().Memory)
		}
		if c.blocks > 0 {
			for range 3 {
				if err := d.Do(t.Context(), blocks(9<<20, 100, 6<<20)); err != nil || fake.Blocks != c.blocks {
					t.Errorf("%s: %v, %d blocks of the driver", c.what, err, fake.Blocks)
				}
			}
			if err := d.Do(t.Context(), blocks(17<<20)); err != nil || fake.Blocks != c.blocks+1 {
				t.Errorf("%s: a larger one: %v, %d blocks of the driver", c.what, err, fake.Blocks)
			}
			if err := d.Do(t.Context(), func(l *gpu.Lane) error { return batch(l, pixels) }); err != nil {
				t.Error(err)
			}
		}
		closed(t, d)
	}

	// Whatever call fails while the device is opened: it opens without the memory that the driver does not have, and leaves nothing where
	// it does not open.
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 2, Ahead: ahead})
	n := fake.Calls
	closed(t, d)
	refused := 0
	for at := int64(1); at <= n; at++ {
		fake.Reset()
		fake.FailAt, fake.Code = at, 2
		d, err := gpu.OpenWith("cuda", &gpu.Options{Lanes: 2, Ahead: ahead})
		if err == nil {
			if fake.Blocks < 2 {
				refused++
			}
			if err := d.Do(t.Context(), blocks(9<<20, 100)); err != nil {
				t.Errorf("call %d: %v", at, err)
			}
			closed(t, d)
		} else if fake.Blocks != 0 || fake.Contexts != 0 || fake.Events != 0 || fake.Streams != 0 {
			t.Errorf("call %d: %d blocks, %d contexts, %d events and %d streams are left", at, fake.Blocks, fake.Contexts, fake.Events, fake.Streams)
		}
	}
	if refused != 2 {
		t.Errorf("the device was opened %d times without the memory of one of two lanes", refused)
	}
}

// TestLanesHaveEventsAhead: a batch that waits for a few events does not ask the driver for them.
func TestLanesHaveEventsAhead(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 1})
	events := fake.Events
	if err := d.Do(t.Context(), func(l *gpu.Lane) error {
		for range 4 {
			if _, err := l.Event(); err != nil {
				return err
			}
		}
		return nil
	}); err != nil || fake.Events != events {
		t.Errorf("%v, %d events of the driver, %d before", err, fake.Events, events)
	}
	closed(t, d)
}
