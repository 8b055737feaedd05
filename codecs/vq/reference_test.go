package vq

// The slow, obviously right versions that the steps are compared with, written from
// the paper and from README.md.

// refSearch is Algorithm 1 with the squared distance of eq. 1: for every block the
// first codeword of least distance.
func refSearch(samples []byte, words []byte, k int) []key {
	var keys []key
	for x := 0; x < len(samples); x += k {
		best, nearest := 1<<62, 0
		for f := 0; f < len(words)/k; f++ {
			dist := 0
			for z := 0; z < k; z++ {
				d := int(samples[x+z]) - int(words[f*k+z])
				dist += d * d
			}
			if dist < best {
				best, nearest = dist, f
			}
		}
		keys = append(keys, makeKey(uint32(best), nearest))
	}
	return keys
}
