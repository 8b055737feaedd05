package gpu

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Table is all kernels of a module, by their names in the PTX, each with its parameters
// and its grid. E is what grids follow from: the sizes of one item of a batch.
type Table[E any] struct {
	Module  *Module
	Kernels map[string]Entry[E]
}

// Entry says what a kernel takes and how its launches are divided. A launch has a row of
// blocks for each item of a batch: blockIdx.y is the number of the item, and the rows are
// as long as the largest item needs.
type Entry[E any] struct {
	Params  any            // the zero value of the struct of its parameters
	Block   int            // threads of a block; 0: [BlockThreads]
	Threads func(e *E) int // threads that item e takes, at least

	// Grid takes the place of Block and Threads where the division is another one.
	Grid func(card *Info, items []E) Grid
}

// BlockThreads is the size of blocks where nothing else is said.
const BlockThreads = 256

// grid is how a launch of the kernel for the items is divided.
func (k *Entry[E]) grid(card *Info, items []E) Grid {
	if k.Grid != nil {
		return k.Grid(card, items)
	}
	block, most := k.block(), 0
	for i := range items {
		most = max(most, k.Threads(&items[i]))
	}
	return Grid{
		Blocks:  [3]int{max(1, (most+block-1)/block), len(items)},
		Threads: [3]int{block},
	}
}

func (k *Entry[E]) block() int {
	if k.Block == 0 {
		return BlockThreads
	}
	return k.Block
}

// LaunchFor puts a launch of a kernel of t, for the items of a batch, into the stream.
// params is a pointer to a struct of the type that the table gives.
func LaunchFor[E, P any](t *Table[E], s *Stream, kernel string, items []E, params *P) error {
	entry, ok := t.Kernels[kernel]
	if !ok {
		return fmt.Errorf("gpu: launch %s: the table of %s has no such kernel", kernel, t.Module.Name)
	}
	if want := reflect.TypeOf(entry.Params); reflect.TypeFor[P]() != want {
		return fmt.Errorf("gpu: launch %s: parameters of type %T, the kernel takes %v", kernel, *params, want)
	}
	k, err := s.lane.Kernel(t.Module, kernel)
	if err != nil {
		return err
	}
	card := s.lane.Card()
	return Launch(s, k, entry.grid(&card, items), params)
}

var maxThreadsLine = regexp.MustCompile(`\.maxntid\s+(\d+)`)

// Check compares the table with all variants of the module's PTX: they have the same
// kernels, each finds its parameters where the struct has them, and no block has more
// threads than the kernel was compiled for. Blocks of entries with Grid are not known
// here.
func (t *Table[E]) Check() error {
	var all error
	for i, text := range t.Module.Variants {
		list, err := layouts(text)
		if err != nil {
			return err
		}
		for name := range list {
			if _, ok := t.Kernels[name]; !ok {
				all = errors.Join(all, fmt.Errorf("gpu: module %s: kernel %s of variant %d is not in the table", t.Module.Name, name, i))
			}
		}
		bounds := threadBounds(text)
		for name, entry := range t.Kernels {
			if bound := bounds[name]; bound > 0 && entry.Grid == nil && entry.block() > bound {
				all = errors.Join(all, fmt.Errorf("gpu: module %s: kernel %s of variant %d takes blocks of %d threads, not %d",
					t.Module.Name, name, i, bound, entry.block()))
			}
		}
	}
	for name, entry := range t.Kernels {
		if (entry.Threads == nil) == (entry.Grid == nil) {
			all = errors.Join(all, fmt.Errorf("gpu: module %s: kernel %s needs one of Threads and Grid", t.Module.Name, name))
		}
		all = errors.Join(all, CheckParams(t.Module, name, entry.Params))
	}
	return all
}

// threadBounds is the largest blocks of kernels that a PTX text bounds.
func threadBounds(text string) map[string]int {
	bounds := make(map[string]int)
	entries := entryLine.FindAllStringSubmatchIndex(text, -1)
	for _, at := range entries {
		// The directives of a kernel lie between its parameters and its body.
		head, _, _ := strings.Cut(text[at[1]:], "{")
		if m := maxThreadsLine.FindStringSubmatch(head); m != nil {
			bounds[text[at[2]:at[3]]], _ = strconv.Atoi(m[1])
		}
	}
	return bounds
}
