package gpu

import (
	"strings"
	"testing"
)

// tablePTX has a kernel whose blocks are bounded and one whose blocks are not.
const tablePTX = `.version 6.3
.target sm_75
.visible .entry bounded(
	.param .u64 bounded_param_0,
	.param .u32 bounded_param_1
)
.maxntid 128, 1, 1                      // @bounded
{ ret; }
.visible .entry plain(
	.param .u64 plain_param_0
)
{ ret; }
`

type (
	countedParams struct {
		list Ptr
		n    uint32
	}
	plainParams struct{ list Ptr }
)

func testTable() *Table[int] {
	threads := func(n *int) int { return *n }
	return &Table[int]{&Module{Name: "test", Variants: []string{tablePTX}}, map[string]Entry[int]{
		"bounded": {Params: countedParams{}, Block: 128, Threads: threads},
		"plain":   {Params: plainParams{}, Threads: threads},
	}}
}

func TestATableIsComparedWithThePTX(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *Table[int])
		want   string // part of the error, empty: none
	}{
		"as it is":            {func(*Table[int]) {}, ""},
		"a kernel is left":    {func(t *Table[int]) { delete(t.Kernels, "plain") }, "kernel plain of variant 0 is not in the table"},
		"a kernel too many":   {func(t *Table[int]) { t.Kernels["other"] = t.Kernels["plain"] }, "no kernel other"},
		"other parameters":    {func(t *Table[int]) { t.Kernels["plain"] = t.Kernels["bounded"] }, "field n has no parameter"},
		"blocks too large":    {func(t *Table[int]) { e := t.Kernels["bounded"]; e.Block = 0; t.Kernels["bounded"] = e }, "blocks of 128 threads, not 256"},
		"no number of theirs": {func(t *Table[int]) { e := t.Kernels["plain"]; e.Threads = nil; t.Kernels["plain"] = e }, "one of Threads and Grid"},
	} {
		table := testTable()
		c.change(table)
		err := table.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestGridsHaveARowForEachItem(t *testing.T) {
	table := testTable()
	for _, c := range []struct {
		kernel string
		items  []int
		want   Grid
	}{
		{"bounded", []int{1, 300, 20}, Grid{Blocks: [3]int{3, 3}, Threads: [3]int{128}}},
		{"bounded", []int{256}, Grid{Blocks: [3]int{2, 1}, Threads: [3]int{128}}},
		{"plain", []int{257, 0}, Grid{Blocks: [3]int{2, 2}, Threads: [3]int{BlockThreads}}},
		{"plain", []int{0}, Grid{Blocks: [3]int{1, 1}, Threads: [3]int{BlockThreads}}},
	} {
		entry := table.Kernels[c.kernel]
		if got := entry.grid(&Info{}, c.items); got != c.want {
			t.Errorf("%s for %v: %v, want %v", c.kernel, c.items, got, c.want)
		}
	}
}
