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
