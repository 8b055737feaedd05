package jpegls

// encoder is T.87, annex A, as it is written there, for NEAR = 0: the reference for
// the decoder. Names are those of the standard.
type encoder struct {
	maxval, t1, t2, t3, reset int
	rang, qbpp, limit         int

	A, B, C, N [367]int
	Nn         [2]int
	runIndex   [4]int

	out  []byte
	acc  int
	free int // bits of acc that are still free
}

type settings struct {
	interleave   Interleave
	preset       preset // written where it is not the zero value
	restartLines int
}

func encode(h *Header, sample func(x, y, c int) int, s settings) []byte {
	out := []byte{0xff, 0xd8}
	segment := func(marker byte, body ...byte) {
		out = append(out, 0xff, marker, byte((len(body)+2)>>8), byte(len(body)+2))
		out = append(out, body...)
	}
	frame := []byte{byte(h.Bits), byte(h.Height >> 8), byte(h.Height), byte(h.Width >> 8), byte(h.Width), byte(h.Components)}
	for c := range h.Components {
		frame = append(frame, byte(c+1), 0x11, 0)
	}
	segment(0xf7, frame...)
	p := s.preset
	if p != (preset{}) {
		body := []byte{1}
		for _, v := range []int{p.maxval, p.t1, p.t2, p.t3, p.reset} {
			body = append(body, byte(v>>8), byte(v))
		}
		segment(0xf8, body...)
	}
	if s.restartLines > 0 {
		segment(0xdd, byte(s.restartLines>>8), byte(s.restartLines))
	}
	scans := [][]int{{}}
	for c := range h.Components {
		if s.interleave == Planes && c > 0 {
			scans = append(scans, nil)
		}
		scans[len(scans)-1] = append(scans[len(scans)-1], c)
	}
	for _, components := range scans {
		head := []byte{byte(len(components))}
		for _, c := range components {
			head = append(head, byte(c+1), 0)
		}
		segment(0xda, append(head, 0, byte(s.interleave), 0)...)
		e := newEncoder(h, p)
		e.scan(h, components, sample, s)
		out = append(out, e.out...)
	}
	return append(out, 0xff, 0xd9)
}

func newEncoder(h *Header, p preset) *encoder {
	e := &encoder{maxval: p.maxval, t1: p.t1, t2: p.t2, t3: p.t3, reset: p.reset}
	orDefault(&e.maxval, 1<<h.Bits-1)
	t1, t2, t3 := thresholds(e.maxval)
	orDefault(&e.t1, t1)
	orDefault(&e.t2, t2)
	orDefault(&e.t3, t3)
	orDefault(&e.reset, 64)
	e.rang = e.maxval + 1
	for 1<<e.qbpp < e.rang {
		e.qbpp++
	}
	bpp := max(2, e.qbpp)
	e.limit = 2 * (bpp + max(8, bpp))
	e.start()
	return e
}

// start is A.2.1.
func (e *encoder) start() {
	for i := range e.A {
		e.A[i], e.B[i], e.C[i], e.N[i] = max(2, (e.rang+32)/64), 0, 0, 1
	}
	e.Nn, e.runIndex = [2]int{}, [4]int{}
	e.free = 8
}

func (e *encoder) bit(b int) {
	e.free--
	e.acc |= b << e.free
	if e.free > 0 {
		return
	}
	e.out = append(e.out, byte(e.acc))
	e.free = 8
	if e.acc == 0xff {
		e.free = 7
	}
	e.acc = 0
}

func (e *encoder) bits(v, n int) {
	for n--; n >= 0; n-- {
		e.bit(v >> n & 1)
	}
}

// flush fills the last byte with zeroes. Behind a last byte 0xff there is one more.
func (e *encoder) flush() {
	for e.free != 8 {
		e.bit(0)
	}
}

func (e *encoder) scan(h *Header, components []int, sample func(x, y, c int) int, s settings) {
	for y := range h.Height {
		first := s.restartLines
		if first == 0 {
			first = h.Height
		}
		if y > 0 && y%first == 0 {
			e.flush()
			e.out = append(e.out, 0xff, 0xd0+byte((y/first-1)%8))
			e.start()
		}
		first = y / first * first
		// at has the values that A.2.1 sets outside of the image.
		var at func(x, y, c int) int
		at = func(x, yy, c int) int {
			switch {
			case yy < first:
				return 0
			case x < 0:
				return at(0, yy-1, c)
			case x >= h.Width:
				return at(h.Width-1, yy, c)
			}
			return sample(x, yy, c)
		}
		if s.interleave == Samples && len(components) > 1 {
			e.line(h.Width, y, components, at, 0)
			continue
		}
		for i, c := range components {
			e.line(h.Width, y, []int{c}, at, i)
		}
	}
	e.flush()
}

// line codes a line of one component, or of all where samples are interleaved.
func (e *encoder) line(width, y int, components []int, at func(x, y, c int) int, index int) {
	for x := 0; x < width; x++ {
		run := true
		for _, c := range components {
			rc, rb, rd := at(x-1, y-1, c), at(x, y-1, c), at(x+1, y-1, c)
			run = run && at(x-1, y, c) == rb && rb == rc && rc == rd
		}
		if !run {
			for _, c := range components {
				e.regular(at(x-1, y, c), at(x, y-1, c), at(x-1, y-1, c), at(x+1, y-1, c), at(x, y, c))
			}
			continue
		}
		count := 0
		for x < width && func() bool {
			for _, c := range components {
				if at(x, y, c) != at(x-count-1, y, c) {
					return false
				}
			}
			return true
		}() {
			count++
			x++
		}
		for count >= 1<<runLengths[e.runIndex[index]] {
			e.bit(1)
			count -= 1 << runLengths[e.runIndex[index]]
			e.runIndex[index] = min(31, e.runIndex[index]+1)
		}
		if x == width {
			if count > 0 {
				e.bit(1)
			}
			continue
		}
		e.bit(0)
		e.bits(count, int(runLengths[e.runIndex[index]]))
		for _, c := range components {
			e.interruption(at(x-1, y, c), at(x, y-1, c), at(x, y, c), len(components) > 1, int(runLengths[e.runIndex[index]]))
		}
		e.runIndex[index] = max(0, e.runIndex[index]-1)
	}
}

func (e *encoder) region(d int) int {
	switch {
	case d <= -e.t3:
		return -4
	case d <= -e.t2:
		return -3
	case d <= -e.t1:
		return -2
	case d < 0:
		return -1
	case d == 0:
		return 0
	case d < e.t1:
		return 1
	case d < e.t2:
		return 2
	case d < e.t3:
		return 3
	}
	return 4
}

// modulo is A.4.5.
func (e *encoder) modulo(v int) int {
	if v < 0 {
		v += e.rang
	}
	if v >= (e.rang+1)/2 {
		v -= e.rang
	}
	return v
}

func (e *encoder) regular(ra, rb, rc, rd, ix int) {
	q1, q2, q3, sign := e.region(rd-rb), e.region(rb-rc), e.region(rc-ra), 1
	if q1 < 0 || q1 == 0 && q2 < 0 || q1 == 0 && q2 == 0 && q3 < 0 {
		q1, q2, q3, sign = -q1, -q2, -q3, -1
	}
	q := 81*q1 + 9*q2 + q3
	var px int
	switch {
	case rc >= max(ra, rb):
		px = min(ra, rb)
	case rc <= min(ra, rb):
		px = max(ra, rb)
	default:
		px = ra + rb - rc
	}
	px = min(max(px+sign*e.C[q], 0), e.maxval)
	err := e.modulo(sign * (ix - px))
	k := 0
	for e.N[q]<<k < e.A[q] {
		k++
	}
	m := 0
	switch special := k == 0 && 2*e.B[q] <= -e.N[q]; {
	case special && err >= 0:
		m = 2*err + 1
	case special:
		m = -2 * (err + 1)
	case err >= 0:
		m = 2 * err
	default:
		m = -2*err - 1
	}
	e.golomb(m, k, e.limit)
	e.B[q] += err
	e.A[q] += max(err, -err)
	if e.N[q] == e.reset {
		e.A[q] /= 2
		if e.B[q] >= 0 {
			e.B[q] /= 2
		} else {
			e.B[q] = -((1 - e.B[q]) / 2)
		}
		e.N[q] /= 2
	}
	e.N[q]++
	if e.B[q] <= -e.N[q] {
		e.B[q] += e.N[q]
		e.C[q] = max(-128, e.C[q]-1)
		if e.B[q] <= -e.N[q] {
			e.B[q] = -e.N[q] + 1
		}
	} else if e.B[q] > 0 {
		e.B[q] -= e.N[q]
		e.C[q] = min(127, e.C[q]+1)
		if e.B[q] > 0 {
			e.B[q] = 0
		}
	}
}

func (e *encoder) interruption(ra, rb, ix int, samples bool, j int) {
	kind, px, sign := 0, rb, 1
	if ra == rb && !samples {
		kind, px = 1, ra
	} else if ra > rb {
		sign = -1
	}
	err := e.modulo(sign * (ix - px))
	q := 365 + kind
	temp := e.A[q]
	if kind == 1 {
		temp += e.N[q] / 2
	}
	k := 0
	for e.N[q]<<k < temp {
		k++
	}
	m := 0
	if k == 0 && err > 0 && 2*e.Nn[kind] < e.N[q] || err < 0 && 2*e.Nn[kind] >= e.N[q] || err < 0 && k != 0 {
		m = 1
	}
	m = 2*max(err, -err) - kind - m
	e.golomb(m, k, e.limit-j-1)
	if err < 0 {
		e.Nn[kind]++
	}
	e.A[q] += (m + 1 - kind) / 2
	if e.N[q] == e.reset {
		e.A[q] /= 2
		e.N[q] /= 2
		e.Nn[kind] /= 2
	}
	e.N[q]++
}

// golomb is A.5.3.
func (e *encoder) golomb(m, k, limit int) {
	if m>>k < limit-e.qbpp-1 {
		e.bits(0, m>>k)
		e.bit(1)
		e.bits(m, k)
		return
	}
	e.bits(0, limit-e.qbpp-1)
	e.bit(1)
	e.bits(m-1, e.qbpp)
}
