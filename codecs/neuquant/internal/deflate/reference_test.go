package deflate

import "math/bits"

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

// refLog2 is log2 by integers alone.
func refLog2(n uint32) uint32 {
	k := bits.Len32(n) - 1
	x := uint64(n) << 30 >> k // 1 to 2 in 2^-30
	x = x >> 22 << 22
	v := uint32(k)
	for range 8 {
		x = x * x >> 30
		v <<= 1
		if x >= 2<<30 {
			x >>= 1
			v |= 1
		}
	}
	return v
}

// refEntropy adds up what each symbol takes.
func refEntropy(n []uint32) int {
	all, sum := 0, 0
	for _, v := range n {
		if v > 0 {
			all += int(v)
			sum += symbolCost - int(v)*int(refLog2(v))
		}
	}
	if all > 0 {
		sum += all * int(refLog2(uint32(all)))
	}
	return sum
}
