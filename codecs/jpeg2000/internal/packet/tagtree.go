package packet

import "image"

// tagTree is a tag tree (B.10.2): the leaves by rows, then the nodes of each level above
// them, the root last.
type tagTree struct {
	nodes  []node
	levels []image.Point // columns and rows of nodes, leaves first
}

// node is a node of a tag tree. Reading raises low until the value is known; in a writer
// value is given.
type node struct {
	value uint16
	low   uint16 // the value is at least this, as far as bits say
	known bool   // bits have said that the value is low
}

func newTagTree(size image.Point) tagTree {
	var t tagTree
	if count(size) == 0 {
		return t
	}
	n := 0
	for {
		t.levels = append(t.levels, size)
		n += count(size)
		if count(size) == 1 {
			break
		}
		size = image.Pt((size.X+1)/2, (size.Y+1)/2)
	}
	t.nodes = make([]node, n)
	return t
}

// path calls f for the nodes from the root down to leaf i, each with the bound that its
// parent has brought, and f gives the bound for the next.
func (t *tagTree) path(i int, f func(n *node, low uint16) uint16) {
	var indices [33]int
	x, y := i%t.levels[0].X, i/t.levels[0].X
	start := 0
	for k, size := range t.levels {
		indices[k] = start + y>>k*size.X + x>>k
		start += count(size)
	}
	low := uint16(0)
	for k := len(t.levels) - 1; k >= 0; k-- {
		low = f(&t.nodes[indices[k]], low)
	}
}

// read reads until it is known whether the value of leaf i is below limit, and says so.
func (t *tagTree) read(r *bitReader, i int, limit uint16) bool {
	below := false
	t.path(i, func(n *node, low uint16) uint16 {
		n.low = max(n.low, low)
		for !n.known && n.low < limit && !r.short {
			if r.bit() == 1 {
				n.known = true
			} else {
				n.low++
			}
		}
		below = n.known && n.low < limit
		return n.low
	})
	return below
}

// set gives the inner nodes of a writer's tree the least value below them.
func (t *tagTree) set(values func(i int) uint16) {
	start := 0
	for k, size := range t.levels {
		for i := range count(size) {
			n := &t.nodes[start+i]
			*n = node{}
			if k == 0 {
				n.value = values(i)
				continue
			}
			below := t.levels[k-1]
			x, y := 2*(i%size.X), 2*(i/size.X)
			first := start - count(below)
			n.value = t.nodes[first+y*below.X+x].value
			for _, p := range [3]image.Point{{x + 1, y}, {x, y + 1}, {x + 1, y + 1}} {
				if p.X < below.X && p.Y < below.Y {
					n.value = min(n.value, t.nodes[first+p.Y*below.X+p.X].value)
				}
			}
		}
		start += count(size)
	}
}

// write writes what read with the same arguments reads.
func (t *tagTree) write(w *bitWriter, i int, limit uint16) {
	t.path(i, func(n *node, low uint16) uint16 {
		n.low = max(n.low, low)
		for !n.known && n.low < limit {
			if n.value == n.low {
				w.bits(1, 1)
				n.known = true
			} else {
				w.bits(0, 1)
				n.low++
			}
		}
		return n.low
	})
}
