package deflate

// parse makes tokens of the bytes from at on, as many as are held at a time, and returns
// where they end. It takes a chunk after the other, with a good match behind it if there is one.
func (e *Encoder) parse(at int) int {
	f, c := &e.finder, &e.planner
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
	for at < len(data) && len(tokens) <= maxTokens-chunkBytes {
		if len(tokens)-first >= segmentTokens && len(list) < maxSegments-1 {
			finish()
		}
		end, good := f.search(at)
		c.plan(data[at:end], &f.longest, &f.nearest)
		for i := 0; i < end-at; {
			t := c.steps[i]
			tokens = append(tokens, t)
			i += 1 + int((t>>16&255+minMatch-1)&-(t/matchBit)) // without a branch, which nobody could foretell
		}
		at = end
		if good != 0 {
			tokens = append(tokens, matchOf(good))
			at += int(good / oneByte)
		}
	}
	finish()
	e.tokens, e.list = tokens, list
	return at
}

// matchOf is the token of a key.
func matchOf(key uint32) token {
	return matchBit | token(key/oneByte-minMatch)<<16 | token(windowSize-1-key%oneByte)
}
