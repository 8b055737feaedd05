package deflate

// planner finds the tokens of a chunk that cost least. Its kernel is in plan_amd64.s, which finds
// the costs at the beginning.
type planner struct {
	costs
	steps [chunkBytes]token      // the first token of the cheapest from each position on
	least [chunkBytes + 2]uint32 // what they cost, that of position i in place i+1
}

// planGo sets the steps for the bytes of a chunk, from the last to the first. At each the
// choice is between a literal, the longest match, the same a byte shorter, and the nearest
// match; of equals the token with the lowest number is taken. A match ends in the chunk.
// There is no branch in a step: what is chosen looks like chance.
func (p *planner) planGo(data []byte, longest, nearest *[chunkBytes]uint32) {
	n := len(data)
	least, steps := p.least[:n+2], p.steps[:n]
	least[0], least[n+1] = 0, 0
	next := uint32(0)
	for i := n - 1; i >= 0; i-- {
		// The cost lies above the token. Tokens of lengths that are no match mean nothing, and cost
		// too much to be taken.
		best := uint64(next+p.literal[data[i]])<<32 | uint64(data[i])<<16

		k := longest[i&(chunkBytes-1)]
		l, far := min(int(k/oneByte), n-i), windowSize-1-k%oneByte
		cost := p.far(far)
		t := matchBit + uint32(l-minMatch)<<16 + far
		best = min(best,
			uint64(p.length[(l+1)&511]+cost+least[i+l+1])<<32|uint64(t),
			uint64(p.length[l&511]+cost+least[i+l])<<32|uint64(t-1<<16))

		k = nearest[i&(chunkBytes-1)]
		l, far = min(int(k/oneByte), n-i), windowSize-1-k%oneByte
		t = matchBit + uint32(l-minMatch)<<16 + far
		best = min(best, uint64(p.length[(l+1)&511]+p.far(far)+least[i+l+1])<<32|uint64(t))

		next = uint32(best >> 32)
		least[i+1], steps[i] = next, token(best)
	}
}

// costs is what symbols are expected to cost, in 1/16 bit, by those of the segment before.
type costs struct {
	literal  [256]uint32
	length   [512]uint32 // with extra bits, of the length that is one less than the place
	distance [512]uint32 // with extra bits, in the places of distanceSymbols
}

// never is what a length costs that no match has.
const never = 1 << 20

// far is the cost of a distance less 1.
func (c *costs) far(d uint32) uint32 {
	i := d
	if d >= 256 {
		i = 256 + d>>7
	}
	return c.distance[i&511]
}

// set sets the costs of the symbols of lengths and distances, whose extra bits it adds.
func (c *costs) set(length *[len(lengthExtra)]uint32, distance *[distances]uint32) {
	for i := range minMatch + 1 {
		c.length[i] = never
	}
	for l, s := range lengthSymbol {
		c.length[minMatch+1+l] = length[s] + 16*uint32(lengthExtra[s])
	}
	for i, s := range distanceSymbols {
		c.distance[i] = distance[s] + 16*uint32(distanceExtra[s])
	}
}

// reset expects literals as they are in the data, and matches as they often are.
func (c *costs) reset(data []byte) {
	const (
		usual      = 5 * 16 // of the symbol of a length or a distance
		usualLeast = 56     // of a literal: those that are frequent are mostly in matches
	)
	var counts [256]uint32
	head := data[:min(len(data), windowSize)]
	for _, v := range head {
		counts[v]++
	}
	for i, n := range counts {
		c.literal[i] = min(max((log2(uint32(len(head))+256)-log2(n+1))/16, usualLeast), 9*16)
	}
	var length [len(lengthExtra)]uint32
	var distance [distances]uint32
	for s := range length {
		length[s] = usual
	}
	for s := range distance {
		distance[s] = usual
	}
	c.set(&length, &distance)
}

// learn takes the costs of a segment.
func (c *costs) learn(h *histogram) {
	cost := func(all, count uint32) uint32 { return min(log2(all+1)-log2(count+1), 13<<8) / 16 }
	all, far := sum(h.symbols[:]), sum(h.distances[:])
	for i := range c.literal {
		c.literal[i] = max(cost(all, h.symbols[i]), 8)
	}
	var length [len(lengthExtra)]uint32
	var distance [distances]uint32
	for s := range length {
		length[s] = cost(all, h.symbols[257+s])
	}
	for s := range distance {
		distance[s] = cost(far, h.distances[s])
	}
	c.set(&length, &distance)
}

func sum(counts []uint32) (n uint32) {
	for _, v := range counts {
		n += v
	}
	return n
}
