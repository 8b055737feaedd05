package backref

// candidateStore keeps the candidates of positions. It grows by blocks of one size, so that
// nothing moves to larger memory but the only block of a small image, which begins with as many as a band keeps.
type candidateStore struct {
	blocks [][]Candidate // of at most keptBlock: for each position how many it has, then these
}

const (
	keptBlock = 1 << 14

	// keptCandidates is how many a band keeps for each of its pixels on average, 32 bytes a
	// pixel. Those of further positions are found again in each pass, with the same result.
	// It bounds the memory of images that repeat themselves in many ways.
	keptCandidates = 8
)

// add keeps the candidates of a position unless there are more than most with them, and
// returns where.
func (c *candidateStore) add(list []Candidate, most int) (at uint32, ok bool) {
	n := len(c.blocks)
	if n == 0 || len(c.blocks[n-1])+1+len(list) > keptBlock {
		if (n+1)*keptBlock > max(most, keptBlock) {
			return 0, false
		}
		c.blocks = append(c.blocks, make([]Candidate, 0, min(most, keptBlock)))
		n++
	}
	block := &c.blocks[n-1]
	at = uint32((n-1)*keptBlock + len(*block))
	*block = append(append(*block, Candidate(len(list))), list...)
	return at, true
}

// at returns what add has kept.
func (c *candidateStore) at(at uint32) []Candidate {
	block := c.blocks[at/keptBlock][at%keptBlock:]
	return block[1 : 1+block[0]]
}
