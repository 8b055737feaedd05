package packet

import (
	"math/rand/v2"
	"testing"
)

// A header has a zero bit behind each byte 0xFF, and does not end with one (B.10.1).
func TestBitsAreStuffed(t *testing.T) {
	for n := range 40 {
		w := newBitWriter(nil)
		for range n {
			w.bits(1, 1)
		}
		data := w.end()
		for i, b := range data {
			if i > 0 && data[i-1] == 0xff && b >= 0x80 {
				t.Fatalf("%d ones: % x", n, data)
			}
		}
		if len(data) > 0 && data[len(data)-1] == 0xff {
			t.Fatalf("%d ones: % x ends with ff", n, data)
		}
		r := bitReader{data: append(data, 0xab)}
		for i := range n {
			if r.bit() != 1 {
				t.Fatalf("%d ones: bit %d of % x is 0", n, i, data)
			}
		}
		if end := r.end(); end != len(data) || r.short {
			t.Fatalf("%d ones: the header ends at %d of % x", n, end, data)
		}
	}
}

// The example of B.10.2: leaves 1, 3, 2, 3, 2, 3 / 2, 2, 1, 4, 3, 2 / 2, 2, 2, 2, 1, 2.
func TestTagTreeOfTheStandard(t *testing.T) {
	values := []uint16{1, 3, 2, 3, 2, 3, 2, 2, 1, 4, 3, 2, 2, 2, 2, 2, 1, 2}
	tree := (*Memory)(nil).newTagTree(grid3{6, 3, 1})
	tree.set(func(i int) uint16 { return values[i] })
	w := newBitWriter(nil)
	for i := range 3 {
		tree.write(w, i, values[i]+1)
	}
	// 01111 for the first, 001 for the second, 101 for the third.
	if got := w.end(); got[0] != 0b01111001 || got[1] != 0b10100000 {
		t.Errorf("%08b", got)
	}
}

// Trees of all sizes read what they wrote, asked for in any steps.
func TestTagTreesComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, size := range []grid3{{1, 1, 1}, {1, 2, 1}, {2, 1, 1}, {5, 3, 1}, {16, 16, 1}, {17, 9, 1}, {1, 1, 5}, {3, 5, 4}, {2, 1, 9}} {
		values := make([]uint16, size.count())
		for i := range values {
			values[i] = uint16(r.IntN(9))
		}
		tree, back := (*Memory)(nil).newTagTree(size), (*Memory)(nil).newTagTree(size)
		tree.set(func(i int) uint16 { return values[i] })
		w := newBitWriter(nil)
		for limit := uint16(1); limit < 12; limit += 2 {
			for i := range values {
				tree.write(w, i, limit)
			}
		}
		in := bitReader{data: w.end()}
		for limit := uint16(1); limit < 12; limit += 2 {
			for i, v := range values {
				if got := back.read(&in, i, limit); got != (v < limit) {
					t.Fatalf("%v: leaf %d is %d, and below %d is %v", size, i, v, limit, got)
				}
			}
		}
	}
}

func TestNumbersOfPasses(t *testing.T) {
	for n := 1; n <= 164; n++ {
		w := newBitWriter(nil)
		writePasses(w, n)
		if got := readPasses(&bitReader{data: w.end()}); got != n {
			t.Errorf("%d passes are read as %d", n, got)
		}
	}
}

// A node has the least value of the eight below it: the root of 3 x 2 x 2 leaves has two.
func TestTagTreeWithSlices(t *testing.T) {
	values := []uint16{5, 6, 9, 7, 5, 8, 5, 5, 4, 3, 5, 6}
	tree := (*Memory)(nil).newTagTree(grid3{3, 2, 2})
	tree.set(func(i int) uint16 { return values[i] })
	want := append(values, 3, 4, 3) // the leaves 0, 1, 3, 4, 6, 7, 9, 10; the others; the root
	for i, n := range tree.nodes {
		if n.value != want[i] {
			t.Errorf("node %d is %d, want %d", i, n.value, want[i])
		}
	}
}
