package packet

import (
	"math/rand/v2"
	"testing"
)

// A value read at once is that which the standard finds by asking with one limit after the
// other, and takes the same bits.
func TestValuesOfTagTreesAreReadAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		size := grid3{1 + r.IntN(9), 1 + r.IntN(9), 1 + r.IntN(2)}
		written := (*Memory)(nil).newTagTree(size)
		values := make([]uint16, size.count())
		for i := range values {
			values[i] = uint16(r.IntN(12))
		}
		written.set(func(i int) uint16 { return values[i] })
		w := newBitWriter(nil)
		order := r.Perm(len(values))[:1+r.IntN(len(values))]
		for _, i := range order {
			for limit := uint16(1); limit <= values[i]+1; limit++ {
				written.write(w, i, limit)
			}
		}
		w.bits(0, 16)
		steps, once := (*Memory)(nil).newTagTree(size), (*Memory)(nil).newTagTree(size)
		bySteps, atOnce := bitReader{data: w.data}, bitReader{data: w.data}
		for _, i := range order {
			n := uint16(0)
			for !steps.read(&bySteps, i, n+1) {
				n++
			}
			got := once.value(&atOnce, i, 11)
			if got != int(values[i]) || n != values[i] || bySteps.pos != atOnce.pos || bySteps.left != atOnce.left {
				t.Fatalf("leaf %d of %v: %d at once, %d by steps, want %d", i, size, got, n, values[i])
			}
		}
	}
}

// A value above the greatest that there may be ends the reading, as the end of the bits does.
func TestValuesOfTagTreesAreBounded(t *testing.T) {
	tree := (*Memory)(nil).newTagTree(grid3{4, 4, 1})
	r := bitReader{data: make([]byte, 100)}
	if got := tree.value(&r, 5, 30); got != 31 || r.pos > 8 {
		t.Errorf("%d after %d bytes", got, r.pos)
	}
	tree, r = (*Memory)(nil).newTagTree(grid3{4, 4, 1}), bitReader{}
	if tree.value(&r, 5, 30); !r.short {
		t.Error("no bits are enough")
	}
}
