package format

// EntropyImage says which prefix code group each tile uses (RFC 9649, 3.7.2.2). With Bits
// 0 there is one group and no tiles.
type EntropyImage struct {
	Bits   int      // log2 of the side of a tile in pixels, 2 to 9
	Groups int      // how many there are; numbers of groups are below this
	Group  []uint16 // by tile in raster order: the number of its group
}

// Used is the number of groups that a decoder reads: those up to the highest number of a
// tile, also where no tile has a number between.
func (g *EntropyImage) Used() int {
	n := 0
	for _, k := range g.Group {
		n = max(n, int(k))
	}
	return n + 1
}

// Renumber numbers the groups that tiles use in the order in which they first appear. It
// returns the old number of each.
func (g *EntropyImage) Renumber() (old []int) {
	to := make([]uint16, g.Groups)
	for i, k := range g.Group {
		if to[k] == 0 {
			old = append(old, int(k))
			to[k] = uint16(len(old))
		}
		g.Group[i] = to[k] - 1
	}
	g.Groups = len(old)
	return old
}
