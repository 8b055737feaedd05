package deflate

// refLengthCost is the least sum of counts times lengths of any prefix code of at most limit
// bits, by trying all of them.
func refLengthCost(counts []uint32, limit int) int {
	best := -1
	var try func(i, room, cost int)
	try = func(i, room, cost int) { // room of 1<<limit is what is left of the codes
		if i == len(counts) {
			if best < 0 || cost < best {
				best = cost
			}
			return
		}
		for l := 1; l <= limit; l++ {
			if left := room - 1<<(limit-l); left >= 0 {
				try(i+1, left, cost+l*int(counts[i]))
			}
		}
	}
	try(0, 1<<limit, 0)
	return best
}

// refDistanceSymbol reads the table of RFC 1951, 3.2.5, from its first row on.
func refDistanceSymbol(distance int) int {
	base := 1
	for s, extra := range distanceExtra {
		if base += 1 << extra; distance < base {
			return s
		}
	}
	return -1
}
