package format

// EntropyImage says which group of prefix codes each tile uses. With bits 0 there is one group.
type EntropyImage struct {
	Bits, Groups int
	Group        []uint16
}

// Used is the number of groups up to the last that a tile uses.
func (g *EntropyImage) Used() int {
	n := 0
	for _, k := range g.Group {
		n = max(n, int(k))
	}
	return n + 1
}

// Renumber numbers the groups that are in use in the order in which they first appear.
func (g *EntropyImage) Renumber() {
	to := make([]uint16, g.Groups)
	n := uint16(0)
	for i, k := range g.Group {
		if to[k] == 0 {
			n++
			to[k] = n
		}
		g.Group[i] = to[k] - 1
	}
	g.Groups = int(n)
}
