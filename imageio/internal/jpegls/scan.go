package jpegls

import "math/bits"

// context holds the statistics of one context of the regular mode (T.87, A.2.1).
type context struct {
	a, b, n int32 // sum of error magnitudes, bias, occurrences
	c       int32 // correction of predictions
}

// runContext holds those of an interrupted run; nn counts negative errors.
type runContext struct{ a, n, nn int32 }

// scanner decodes the data of one scan.
type scanner struct {
	parameters
	bitReader
	gradient []int8 // regions of local gradients, see parameters.gradients

	contexts [365]context // by (q1*9 + q2)*9 + q3
	runs     [2]runContext
	runIndex []int // of each component, or one where samples are interleaved

	failed bool // a code or a run was malformed
}

// reset prepares for the first line of a scan or of a restart interval (T.87, A.2.1).
func (s *scanner) reset() {
	for i := range s.contexts {
		s.contexts[i] = context{a: s.a, n: 1}
	}
	s.runs = [2]runContext{{a: s.a, n: 1}, {a: s.a, n: 1}}
	clear(s.runIndex)
}

// A line holds width samples of each component, one component after the other, each
// with one sample before and one behind it:
//
//	above:  c b d     line[0] is a sample before the first: b of the first sample
//	line:   a x       line[width+1] repeats the last, as d of the next line
//
// scan decodes the scan whose header was read last and leaves d.pos behind its data.
func (d *decoder) scan() error {
	p, err := d.parameters()
	if err != nil {
		return err
	}
	n := len(d.scanned)
	s := &scanner{parameters: p, bitReader: bitReader{data: d.data, pos: d.pos}, gradient: p.gradients(), runIndex: make([]int, n)}
	s.reset()
	stride := d.width + 2
	line, above := make([]uint16, n*stride), make([]uint16, n*stride)
	for y := range d.height {
		if d.restartInterval > 0 && y > 0 && y%d.restartInterval == 0 {
			if err := s.restart((y/d.restartInterval - 1) % 8); err != nil {
				return err
			}
			s.reset()
			clear(above)
		}
		for c := range n {
			line[c*stride] = above[c*stride+1]
			above[c*stride+d.width+1] = above[c*stride+d.width]
		}
		if n > 1 && d.interleave == Samples {
			s.sampleLine(line, above, stride, n)
		} else {
			for c := range n {
				s.line(line[c*stride:(c+1)*stride], above[c*stride:(c+1)*stride], &s.runIndex[c])
			}
		}
		if s.overrun() {
			return errCutShort
		}
		if s.failed {
			return malformed("its data hold a code or a run that there cannot be")
		}
		d.store(y, line, stride)
		line, above = above, line
	}
	d.pos = s.pos
	return nil
}

// line decodes a line of one component (T.87, A.2 to A.7).
func (s *scanner) line(line, above []uint16, runIndex *int) {
	width := len(line) - 2
	above = above[:len(line)]
	gradient, t3 := s.gradient, s.t3
	a, c, b := int32(line[0]), int32(above[0]), int32(above[1])
	for x := 1; x <= width; {
		d := int32(above[x+1])
		q := contextOf(gradient, t3, d-b, b-c, c-a)
		if q != 0 {
			v := s.regular(q, a, b, c)
			line[x] = uint16(v)
			a, c, b = v, b, d
			x++
			continue
		}
		n := s.run(width+1-x, runIndex)
		for i := range n {
			line[x+i] = uint16(a)
		}
		if x += n; x > width || s.failed {
			return
		}
		b = int32(above[x])
		v := s.interrupted(a, b, *runIndex, a == b)
		if *runIndex > 0 {
			*runIndex--
		}
		line[x] = uint16(v)
		a, c, b = v, b, int32(above[x+1])
		x++
	}
}

// sampleLine decodes a line of n components whose samples are interleaved: a run is
// one of all of them (T.87, B.2).
func (s *scanner) sampleLine(line, above []uint16, stride, n int) {
	width := stride - 2
	var q [4]int
	for x := 1; x <= width; {
		any := 0
		for i := range n {
			at := i*stride + x
			a, b, c, d := int32(line[at-1]), int32(above[at]), int32(above[at-1]), int32(above[at+1])
			q[i] = contextOf(s.gradient, s.t3, d-b, b-c, c-a)
			any |= q[i]
		}
		if any != 0 {
			for i := range n {
				at := i*stride + x
				line[at] = uint16(s.regular(q[i], int32(line[at-1]), int32(above[at]), int32(above[at-1])))
			}
			x++
			continue
		}
		count := s.run(width+1-x, &s.runIndex[0])
		for i := range n {
			at := i*stride + x
			for j := range count {
				line[at+j] = line[at-1]
			}
		}
		if x += count; x > width || s.failed {
			return
		}
		for i := range n {
			at := i*stride + x
			line[at] = uint16(s.interrupted(int32(line[at-1]), int32(above[at]), s.runIndex[0], false))
		}
		if s.runIndex[0] > 0 {
			s.runIndex[0]--
		}
		x++
	}
}

// regular decodes a sample in the regular mode, with the context q of -364 to 364
// (T.87, A.4 to A.6).
func (s *scanner) regular(q int, a, b, c int32) int32 {
	sign := int32(q >> 63) // -1 for contexts that are mirrored (A.3.4), else 0
	t := &s.contexts[(q^int(sign))-int(sign)]
	// Prediction by edges and its correction (A.4.1, A.4.2).
	px := a + b - c
	low, high := min(a, b), max(a, b)
	if c >= high {
		px = low
	} else if c <= low {
		px = high
	}
	px = min(max(px+(t.c^sign)-sign, 0), s.maxval)

	k := golombParameter(t.n, t.a)
	m := s.golomb(k, s.limit, s.qbpp)
	if m < 0 {
		s.failed = true
		m = 0
	}
	// Undo the mapping (A.5.2): even numbers are not negative, odd ones are.
	e := m>>1 ^ -(m & 1)
	if k == 0 && 2*t.b <= -t.n {
		e = ^e
	}
	t.update(e, s.resetAt)
	v := px + (e ^ sign) - sign
	// Modulo RANGE (A.4.5).
	if v < 0 {
		v += s.maxval + 1
	} else if v > s.maxval {
		v -= s.maxval + 1
	}
	if uint32(v) > uint32(s.maxval) {
		s.failed = true
		v = 0
	}
	return v
}

// golombParameter is the least k with n << k >= a (T.87, A.5.1); n is positive.
func golombParameter(n, a int32) int {
	if a <= n {
		return 0
	}
	k := bits.Len32(uint32(a-1)) - bits.Len32(uint32(n))
	if n<<k < a {
		k++
	}
	return k
}

// update is T.87, A.6.1 and A.6.2.
func (t *context) update(e, resetAt int32) {
	t.b += e
	t.a += max(e, -e)
	if t.n == resetAt {
		t.a >>= 1
		t.b >>= 1 // -((1-b)>>1) for negative numbers, as the standard has it
		t.n >>= 1
	}
	t.n++
	if t.b <= -t.n {
		t.b = max(t.b+t.n, 1-t.n)
		t.c = max(t.c-1, -128)
	} else if t.b > 0 {
		t.b = min(t.b-t.n, 0)
		t.c = min(t.c+1, 127)
	}
}

// run decodes the length of a run of up to rest samples (T.87, A.7.1). A run that is
// shorter has been interrupted.
func (s *scanner) run(rest int, index *int) int {
	n := 0
	for s.take(1) == 1 {
		step := 1 << runLengths[*index]
		if step > rest-n {
			return rest // the line ends within the step
		}
		n += step
		if *index < 31 {
			*index++
		}
		if n == rest {
			return n
		}
	}
	n += int(s.take(int(runLengths[*index])))
	if n >= rest {
		s.failed = true
		return rest
	}
	return n
}

// interrupted decodes the sample that ends a run (T.87, A.7.2). same is RItype 1:
// the run's value goes on above.
func (s *scanner) interrupted(a, b int32, index int, same bool) int32 {
	kind, temp := 0, s.runs[0].a
	if same {
		kind, temp = 1, s.runs[1].a+s.runs[1].n>>1
	}
	t := &s.runs[kind]
	k := golombParameter(t.n, temp)
	m := s.golomb(k, s.limit-int(runLengths[index])-1, s.qbpp)
	if m < 0 {
		s.failed = true
		return 0
	}
	// Undo the mapping (A.7.2.2): the low bit says whether the error has the sign that
	// is the less likely one.
	m0 := m + int32(kind)
	odd := m0 & 1
	e := (m0 + odd) >> 1
	if (k != 0 || 2*t.nn >= t.n) == (odd == 1) {
		e = -e
	}
	if e < 0 {
		t.nn++
	}
	t.a += (m + 1 - int32(kind)) >> 1
	if t.n == s.resetAt {
		t.a >>= 1
		t.n >>= 1
		t.nn >>= 1
	}
	t.n++
	v := b + e
	if same {
		v = a + e
	} else if a > b {
		v = b - e
	}
	if v < 0 {
		v += s.maxval + 1
	} else if v > s.maxval {
		v -= s.maxval + 1
	}
	if uint32(v) > uint32(s.maxval) {
		s.failed = true
		v = 0
	}
	return v
}

// store puts a line of the scan's components into the image.
func (d *decoder) store(y int, line []uint16, stride int) {
	channels := len(d.components)
	for i, c := range d.scanned {
		row := line[i*stride+1 : i*stride+1+d.width]
		if d.bits <= 8 {
			to := d.pix[y*d.width*channels+c:]
			for x, v := range row {
				to[x*channels] = byte(v)
			}
			continue
		}
		to := d.pix[2*(y*d.width*channels+c):]
		for x, v := range row {
			to[2*x*channels] = byte(v)
			to[2*x*channels+1] = byte(v >> 8)
		}
	}
}
