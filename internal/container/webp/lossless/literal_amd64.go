package lossless

//go:noescape
func literalsBMI2(s *scan, t *literalTable, next *uint32, left, n int)

//go:noescape
func greensBMI2(s *scan, t *literalTable, fixed uint32, n int)

// literals decodes the next n pixels, which are of one row, or fewer: up to another symbol, to a group whose literals have
// codes for alpha, or to the last bytes of the data. The first left pixels, or all, are of the tile whose tables are t; next says
// how many bytes behind the first tables those of the tiles behind it are, and of one more.
func (s *scan) literals(t *literalTable, next []uint32, left, n int) {
	literalsBMI2(s, t, &next[0], left, n)
}

// greens is literals for one flat group: only green has a code.
func (s *scan) greens(t *literalTable, fixed uint32, n int) { greensBMI2(s, t, fixed, n) }
