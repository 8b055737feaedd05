package webp

// entropyImage says which group of prefix codes each tile uses. With bits 0 there is one group.
type entropyImage struct {
	bits, groups int
	group        []uint16
}

// used is the number of groups up to the last that a tile uses.
func (g *entropyImage) used() int {
	n := 0
	for _, k := range g.group {
		n = max(n, int(k))
	}
	return n + 1
}

// renumber numbers the groups that are in use in the order in which they first appear.
func (g *entropyImage) renumber() {
	to := make([]uint16, g.groups)
	n := uint16(0)
	for i, k := range g.group {
		if to[k] == 0 {
			n++
			to[k] = n
		}
		g.group[i] = to[k] - 1
	}
	g.groups = int(n)
}
