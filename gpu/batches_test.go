package gpu

import (
	"fmt"
	"slices"
	"testing"
)

func TestItemsAreDividedIntoBatchesOfNeighbours(t *testing.T) {
	sizes := []int{5, 1, 1, 1, 9, 2, 2, 30, 1}
	items := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
	for _, c := range []struct {
		b    Batching
		want string
	}{
		{Batching{Calls: 5, Least: 0, Most: 100}, "[[0 1 2 3] [4] [5 6] [7] [8]]"},
		{Batching{Calls: 100, Least: 4, Most: 100}, "[[0] [1 2 3] [4] [5 6] [7] [8]]"},
		{Batching{Calls: 1, Least: 0, Most: 12}, "[[0 1 2 3] [4 5] [6] [7] [8]]"},
		{Batching{Calls: 1, Least: 0, Most: 100, Items: 4}, "[[0 1 2 3] [4 5 6 7] [8]]"},
		{Batching{Least: 0, Most: 12, First: 3}, "[[0] [1 2 3] [4] [5 6] [7] [8]]"},
		{Batching{Least: 0, Most: 100, First: 6}, "[[0 1] [2 3 4] [5 6] [7] [8]]"},
		{Batching{Least: 0, Most: 7, First: 9}, "[[0 1 2] [3] [4] [5 6] [7] [8]]"},
		{Batching{}, "[[0] [1] [2] [3] [4] [5] [6] [7] [8]]"},
	} {
		if got := fmt.Sprint(c.b.Divide(items, func(i int) int { return sizes[i] })); got != c.want {
			t.Errorf("%+v: %s, want %s", c.b, got, c.want)
		}
	}
	if got := (Batching{}).Divide(nil, nil); got != nil {
		t.Errorf("no items: %v", got)
	}
}

// Calls that are at work at the same time have together as many batches as one has alone.
func TestCallsShareBatches(t *testing.T) {
	d := new(Device)
	var ends []func()
	for i, want := range []int{6, 3, 2, 1, 1, 1, 1} {
		b, end := d.Share(Batching{Calls: 6, Most: 5})
		if b != (Batching{Calls: want, Most: 5}) {
			t.Errorf("%d calls at work: %+v, want %d batches", i+1, b, want)
		}
		ends = append(ends, end)
	}
	if b, end := d.Share(Batching{Most: 5}); b != (Batching{Most: 5}) {
		t.Errorf("as few as allowed: %+v", b)
	} else {
		ends = append(ends, end)
	}
	for _, end := range ends {
		end()
	}
	b, end := d.Share(Batching{Calls: 6})
	if end(); b.Calls != 6 {
		t.Errorf("after all others: %+v", b)
	}
	b, end = (*Device)(nil).Share(Batching{Calls: 6})
	if end(); b.Calls != 6 {
		t.Errorf("without a device: %+v", b)
	}
}

func TestWithoutADeviceTheCPUDoesAllItems(t *testing.T) {
	var d *Device
	var got [][]int
	d.Run(t.Context(), [][]int{{3, 1}, {2}}, Work{CPU: func(items []int) { got = append(got, slices.Clone(items)) }})
	if fmt.Sprint(got) != "[[3 1 2]]" {
		t.Errorf("the CPU was given %v", got)
	}
}
