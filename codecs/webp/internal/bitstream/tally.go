package bitstream

// tally is how many runs there are of each symbol, and how many in all.
type tally struct {
	counts [19]uint32
	runs   int
}

// add counts n runs of symbol.
func (t *tally) add(symbol uint8, n int) {
	t.counts[symbol] += uint32(n)
	t.runs += n
}

// repeats counts what the function of that name codes.
func (t *tally) repeats(n int, v, symbol uint8, meta *[19]uint8) {
	if n < runLeast[repeatLength] { // the least of all runs
		t.add(v, n)
		return
	}
	best, _ := bestRepeats(n, v, symbol, meta)
	t.add(symbol, best)
	t.add(v, max(0, n-best*runMost[symbol]))
}

// zeros counts what the function of that name codes.
func (t *tally) zeros(n int, meta *[19]uint8) {
	long := 0
	if n >= runLeast[repeatZeros] {
		long = longZeros(n, meta)
	}
	t.add(repeatZeros, long)
	t.repeats(max(0, n-long*runMost[repeatZeros]), 0, repeatZero, meta)
}

// lengthParts is what tallies need of the lengths of a code.
type lengthParts struct {
	// single is the tally of those that no run codes: too few neighbours are equal, or they tell what a run repeats.
	single tally

	long []same // the others
	end  int    // how many lengths there are but for the zeros at the end, which are in neither
}

// divide finds the parts of lengths, of which some are not 0, in memory as neighbours does.
func divide(memory []same, lengths []uint8) lengthParts {
	p := lengthParts{end: len(lengths)}
	for lengths[p.end-1] == 0 {
		p.end--
	}
	last, k := uint8(8), 0
	for _, s := range neighbours(memory, lengths[:p.end]) {
		if s.length != last && s.length > 0 {
			last = s.length
			p.single.counts[last]++
			s.n--
		}
		if int(s.n) < runLeast[repeatLength] { // the least of all runs
			p.single.counts[s.length] += uint32(s.n)
		} else {
			memory[k] = s
			k++
		}
	}
	p.long = memory[:k]
	for _, n := range p.single.counts {
		p.single.runs += int(n)
	}
	return p
}

// tally counts what runs codes of the lengths but for the zeros at the end.
func (p *lengthParts) tally(meta *[19]uint8) tally {
	t := p.single
	for _, s := range p.long {
		if s.length == 0 {
			t.zeros(int(s.n), meta)
		} else {
			t.repeats(int(s.n), s.length, repeatLength, meta)
		}
	}
	return t
}
