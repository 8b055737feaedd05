package packet

import "math"

// tagTree is a tag tree (B.10.2): the leaves by slices and rows, then the nodes of each level
// above them, the root last. Each level has half as many nodes along each axis.
type tagTree struct {
	nodes  []node
	levels []grid3 // of nodes, leaves first
}

// grid3 are columns, rows and slices. Images have one slice, volumes (15444-10) more.
type grid3 struct{ X, Y, Z int }

func (g grid3) count() int { return g.X * g.Y * g.Z }

// half is the grid of the level above.
func (g grid3) half() grid3 { return grid3{(g.X + 1) / 2, (g.Y + 1) / 2, (g.Z + 1) / 2} }

// node is a node of a tag tree. Reading raises low until the value is known; in a writer
// value is given.
type node struct {
	value uint16
	low   uint16 // the value is at least this, as far as bits say
	known bool   // bits have said that the value is low
}

func newTagTree(size grid3) tagTree {
	var t tagTree
	if size.count() == 0 {
		return t
	}
	n := 0
	for {
		t.levels = append(t.levels, size)
		n += size.count()
		if size.count() == 1 {
			break
		}
		size = size.half()
	}
	t.nodes = make([]node, n)
	return t
}

// path calls f for the nodes from the root down to leaf i, each with the bound that its
// parent has brought, and f gives the bound for the next.
func (t *tagTree) path(i int, f func(n *node, low uint16) uint16) {
	var indices [33]int
	x, rows := i%t.levels[0].X, i/t.levels[0].X
	y, z := rows%t.levels[0].Y, rows/t.levels[0].Y
	start := 0
	for k, size := range t.levels {
		indices[k] = start + (z>>k*size.Y+y>>k)*size.X + x>>k
		start += size.count()
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

// value reads the value of leaf i, or reads until it is known to be above most. To ask read
// with one limit after the other takes the same bits: no node has any before the one above
// it is known.
func (t *tagTree) value(r *bitReader, i int, most uint16) int {
	value := 0
	t.path(i, func(n *node, low uint16) uint16 {
		n.low = max(n.low, low)
		for !n.known && n.low <= most && !r.short {
			if r.bit() == 1 {
				n.known = true
			} else {
				n.low++
			}
		}
		value = int(n.low)
		return n.low
	})
	return value
}

// set gives the inner nodes of a writer's tree the least value below them.
func (t *tagTree) set(values func(i int) uint16) {
	start := 0
	for k, size := range t.levels {
		here := t.nodes[start:][:size.count()]
		for i := range here {
			here[i] = node{value: math.MaxUint16}
			if k == 0 {
				here[i].value = values(i)
			}
		}
		if k > 0 {
			below := t.levels[k-1]
			for i, n := range t.nodes[start-below.count() : start] {
				x, y, z := i%below.X/2, i/below.X%below.Y/2, i/below.X/below.Y/2
				parent := &here[(z*size.Y+y)*size.X+x]
				parent.value = min(parent.value, n.value)
			}
		}
		start += len(here)
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
