package backref

//go:noescape
func hitsOfColoursAVX2(out, number *uint8, n int, t *hitTables, first *[mostColours]uint8)

// hitsOfColours sets out to what CacheHits gives for pixels with the given numbers of colours,
// or returns false.
func hitsOfColours(out, number []uint8, colours []uint32) bool {
	if !vectors || len(out) == 0 {
		return false
	}
	var first [mostColours]uint8
	for k, v := range colours {
		if first[k] = 0xff; v == 0 {
			first[k] = 1 // which caches are full of at first
		}
	}
	_ = number[len(out)-1]
	hitsOfColoursAVX2(&out[0], &number[0], len(out), newHitTables(colours), &first)
	return true
}
