package backref

// candidateStore keeps the candidates of positions, in blocks of one size, so that they need
// no larger memory to move to as they become more.
type candidateStore struct {
	blocks [][]Candidate // of keptBlock; of a position how many there are, then these
}

const (
	keptBlock = 1 << 14

	// keptCandidates is how many of a pixel a band keeps on average. Those of the
	// positions above that are found again in each pass, as they depend on the pixels
	// alone: it bounds the memory of images that repeat themselves in many ways.
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
		c.blocks = append(c.blocks, make([]Candidate, 0, keptBlock))
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
