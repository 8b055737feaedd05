package deflate

const (
	depth       = 300 // of the search at a position
	depthBehind = 150 // and at the next, where that has a match

	goodMatch = 130 // bytes; is taken without a look at the next position

	// byteCost is what the bytes behind a match are worth in a comparison with a longer one,
	// in 1/16 bit each. Of 8 to 128 this gives the least bytes for photographs, and for
	// drawings as few as any from 64 on.
	byteCost = 72
)

// parse makes tokens of the bytes from at on, as many as are held at a time, and returns
// where they end.
func (e *Encoder) parse(at int) int {
	f, c := &e.finder, &e.costs
	if e.tokens == nil {
		e.tokens = make([]token, 0, maxTokens)
		e.list = make([]segment, 0, maxSegments)
	}
	tokens, list := e.tokens[:0], e.list[:0]
	data := f.data
	began, first := at, 0 // of the segment
	finish := func() {    // the segment
		list = list[:len(list)+1]
		s := &list[len(list)-1]
		s.tokens, s.bytes = len(tokens)-first, at-began
		s.count(tokens[first:])
		c.learn(&s.histogram)
		s.cost = s.histogram.cost()
		began, first = at, len(tokens)
	}
	for at < len(data) && len(tokens) < maxTokens {
		if len(tokens)-first >= segmentTokens && len(list) < maxSegments-1 {
			finish()
		}
		length, distance := f.find(at, 0, depth)
		if length == 0 || !c.pays(data[at:], length, distance) {
			tokens = append(tokens, token(data[at]))
			at++
			continue
		}
		known := at + 1 // positions before this one have been searched
		for length < goodMatch && len(tokens) < maxTokens-1 {
			l, d := f.find(at+1, length-1, depthBehind)
			known = at + 2
			if l == 0 || !c.better(data[at], length, distance, l, d) {
				break
			}
			tokens = append(tokens, token(data[at]))
			at++
			length, distance = l, d
		}
		tokens = append(tokens, match(length, distance))
		f.insert(known, at+length)
		at += length
	}
	finish()
	e.tokens, e.list = tokens, list
	return at
}

// costs is what symbols are expected to cost, in 1/16 bit, by those of the segment before.
type costs struct {
	literal  [256]uint16
	length   [maxMatch + 1]uint16 // with extra bits
	distance [distances]uint16    // with extra bits
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
		c.literal[i] = uint16(min(max((log2(uint32(len(head))+256)-log2(n+1))/16, usualLeast), 9*16))
	}
	for l := range lengthSymbol {
		c.length[minMatch+l] = usual + 16*uint16(lengthExtra[lengthSymbol[l]])
	}
	for s, extra := range distanceExtra {
		c.distance[s] = usual + 16*uint16(extra)
	}
}

// learn takes the costs of a segment.
func (c *costs) learn(h *histogram) {
	cost := func(all, count uint32, extra uint8) uint16 {
		return uint16(min(log2(all+1)-log2(count+1), 13<<8)/16 + 16*uint32(extra))
	}
	all, far := sum(h.symbols[:]), sum(h.distances[:])
	for i := range c.literal {
		c.literal[i] = max(cost(all, h.symbols[i], 0), 8)
	}
	for l := range lengthSymbol {
		s := lengthSymbol[l]
		c.length[minMatch+l] = cost(all, h.symbols[257+int(s)], lengthExtra[s])
	}
	for s := range c.distance {
		c.distance[s] = cost(far, h.distances[s], distanceExtra[s])
	}
}

func sum(counts []uint32) (n uint32) {
	for _, v := range counts {
		n += v
	}
	return n
}

// match is the cost of a match.
func (c *costs) match(length, distance int) int {
	return int(c.length[length]) + int(c.distance[distanceSymbol(distance)])
}

// pays reports whether a match costs less than its bytes as literals.
func (c *costs) pays(data []byte, length, distance int) bool {
	cost := c.match(length, distance)
	for _, v := range data[:length] {
		if cost -= int(c.literal[v]); cost < 0 {
			return true
		}
	}
	return false
}

// better reports whether a literal and the second match, which begins behind it, are better
// than the first match.
func (c *costs) better(literal byte, length, distance, nextLength, nextDistance int) bool {
	one := c.match(length, distance)
	other := int(c.literal[literal]) + c.match(nextLength, nextDistance)
	return one+(1+nextLength-length)*byteCost > other
}
