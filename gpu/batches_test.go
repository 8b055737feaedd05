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

func TestWithoutADeviceTheCPUDoesAllItems(t *testing.T) {
	var d *Device
	var got [][]int
	d.Run(t.Context(), [][]int{{3, 1}, {2}}, Work{CPU: func(items []int) { got = append(got, slices.Clone(items)) }})
	if fmt.Sprint(got) != "[[3 1 2]]" {
		t.Errorf("the CPU was given %v", got)
	}
}
