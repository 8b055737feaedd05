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

func (m *Memory) newTagTree(size grid3) tagTree {
	if size.count() == 0 {
		return tagTree{}
	}
	depth, n := 1, size.count()
	for s := size; s.count() > 1; depth++ {
		s = s.half()
		n += s.count()
	}
	t := m.takeTree(depth, n)
	for k := range t.levels {
		t.levels[k] = size
		size = size.half()
	}
	return t
}

// unknown are the nodes to leaf i, from the leaf up, that are not known, and the bound that the
// lowest known node above them has brought. No node is known before the one above it.
func (t *tagTree) unknown(i int, indices *[33]int) (n int, low uint16) {
	x, rows := i%t.levels[0].X, i/t.levels[0].X
	y, z := rows, 0
	if t.levels[0].Z > 1 {
		y, z = rows%t.levels[0].Y, rows/t.levels[0].Y
	}
	start := 0
	for k := range t.levels {
		size := &t.levels[k]
		at := start + (z>>k*size.Y+y>>k)*size.X + x>>k
		if node := &t.nodes[at]; node.known {
			return k, node.low
		}
		indices[k] = at
		start += size.count()
	}
	return len(t.levels), 0
}

// read reads until it is known whether the value of leaf i is below limit, and says so.
func (t *tagTree) read(r *bitReader, i int, limit uint16) bool {
	var indices [33]int
	k, low := t.unknown(i, &indices)
	known := true
	for k--; k >= 0; k-- {
		n := &t.nodes[indices[k]]
		n.low = max(n.low, low)
		for !n.known && n.low < limit && !r.short {
			if r.bit() == 1 {
				n.known = true
			} else {
				n.low++
			}
		}
		known, low = n.known, n.low
	}
	return known && low < limit
}

// value reads the value of leaf i, or reads until it is known to be above most. To ask read
// with one limit after the other takes the same bits: no node has any before the one above
// it is known.
func (t *tagTree) value(r *bitReader, i int, most uint16) int {
	var indices [33]int
	k, low := t.unknown(i, &indices)
	for k--; k >= 0; k-- {
		n := &t.nodes[indices[k]]
		n.low = max(n.low, low)
		for !n.known && n.low <= most && !r.short {
			if r.bit() == 1 {
				n.known = true
			} else {
				n.low++
			}
		}
		low = n.low
	}
	return int(low)
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
	var indices [33]int
	k, low := t.unknown(i, &indices)
	for k--; k >= 0; k-- {
		n := &t.nodes[indices[k]]
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
		low = n.low
	}
}
