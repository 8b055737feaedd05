package mq_test

// The flow charts of Annex C, box by box. The tables are those of the package, whose
// values TestStates checks.

// refTable is Table C.2: Qe, NMPS, NLPS, SWITCH.
var refTable = [47][4]int{
	{0x5601, 1, 1, 1}, {0x3401, 2, 6, 0}, {0x1801, 3, 9, 0}, {0x0AC1, 4, 12, 0}, {0x0521, 5, 29, 0}, {0x0221, 38, 33, 0},
	{0x5601, 7, 6, 1}, {0x5401, 8, 14, 0}, {0x4801, 9, 14, 0}, {0x3801, 10, 14, 0}, {0x3001, 11, 17, 0}, {0x2401, 12, 18, 0},
	{0x1C01, 13, 20, 0}, {0x1601, 29, 21, 0}, {0x5601, 15, 14, 1}, {0x5401, 16, 14, 0}, {0x5101, 17, 15, 0}, {0x4801, 18, 16, 0},
	{0x3801, 19, 17, 0}, {0x3401, 20, 18, 0}, {0x3001, 21, 19, 0}, {0x2801, 22, 19, 0}, {0x2401, 23, 20, 0}, {0x2201, 24, 21, 0},
	{0x1C01, 25, 22, 0}, {0x1801, 26, 23, 0}, {0x1601, 27, 24, 0}, {0x1401, 28, 25, 0}, {0x1201, 29, 26, 0}, {0x1101, 30, 27, 0},
	{0x0AC1, 31, 28, 0}, {0x09C1, 32, 29, 0}, {0x08A1, 33, 30, 0}, {0x0521, 34, 31, 0}, {0x0441, 35, 32, 0}, {0x02A1, 36, 33, 0},
	{0x0221, 37, 34, 0}, {0x0141, 38, 35, 0}, {0x0111, 39, 36, 0}, {0x0085, 40, 37, 0}, {0x0049, 41, 38, 0}, {0x0025, 42, 39, 0},
	{0x0015, 43, 40, 0}, {0x0009, 44, 41, 0}, {0x0005, 45, 42, 0}, {0x0001, 45, 43, 0}, {0x5601, 46, 46, 0},
}

// refContexts are I(CX) and MPS(CX).
type refContexts [19]struct{ i, mps int }

func newRefContexts() (c refContexts) {
	c[0].i, c[17].i, c[18].i = 4, 3, 46
	return c
}

// refDecoder is Figures C.14 to C.20.
type refDecoder struct {
	a, c uint32
	ct   int
	data []byte
	bp   int
	cx   refContexts
}

func newRefDecoder(data []byte) *refDecoder {
	d := &refDecoder{data: data, cx: newRefContexts()}
	d.init(data)
	return d
}

func (d *refDecoder) init(data []byte) {
	d.data, d.bp = data, 0
	d.c = uint32(d.byte(0)) << 16
	d.bytein()
	d.c <<= 7
	d.ct -= 7
	d.a = 0x8000
}

func (d *refDecoder) byte(i int) byte {
	if i < len(d.data) {
		return d.data[i]
	}
	return 0xFF
}

func (d *refDecoder) bytein() {
	if d.byte(d.bp) == 0xFF {
		if d.byte(d.bp+1) > 0x8F {
			d.c += 0xFF00
			d.ct = 8
			return
		}
		d.bp++
		d.c += uint32(d.byte(d.bp)) << 9
		d.ct = 7
		return
	}
	d.bp++
	d.c += uint32(d.byte(d.bp)) << 8
	d.ct = 8
}

func (d *refDecoder) decode(cx int) int {
	s := &d.cx[cx]
	r := refTable[s.i]
	qe := uint32(r[0])
	var bit int
	d.a -= qe
	if d.c>>16 < qe {
		if d.a < qe {
			bit, s.i = s.mps, r[1]
		} else {
			bit = 1 - s.mps
			if r[3] == 1 {
				s.mps = 1 - s.mps
			}
			s.i = r[2]
		}
		d.a = qe
	} else {
		d.c -= qe << 16
		if d.a&0x8000 != 0 {
			return s.mps
		}
		if d.a < qe {
			bit = 1 - s.mps
			if r[3] == 1 {
				s.mps = 1 - s.mps
			}
			s.i = r[2]
		} else {
			bit, s.i = s.mps, r[1]
		}
	}
	for {
		if d.ct == 0 {
			d.bytein()
		}
		d.a <<= 1
		d.c <<= 1
		d.ct--
		if d.a&0x8000 != 0 {
			return bit
		}
	}
}

// refEncoder is Figures C.3 to C.11.
type refEncoder struct {
	a, c uint32
	ct   int
	out  []byte // out[0] stands before the stream
	cx   refContexts
}

func newRefEncoder() *refEncoder {
	return &refEncoder{a: 0x8000, ct: 12, out: []byte{0}, cx: newRefContexts()}
}

func (e *refEncoder) encode(cx, bit int) {
	s := &e.cx[cx]
	r := refTable[s.i]
	qe := uint32(r[0])
	e.a -= qe
	if bit == s.mps {
		if e.a&0x8000 != 0 {
			e.c += qe
			return
		}
		if e.a < qe {
			e.a = qe
		} else {
			e.c += qe
		}
		s.i = r[1]
	} else {
		if e.a < qe {
			e.c += qe
		} else {
			e.a = qe
		}
		if r[3] == 1 {
			s.mps = 1 - s.mps
		}
		s.i = r[2]
	}
	for {
		e.a <<= 1
		e.c <<= 1
		if e.ct--; e.ct == 0 {
			e.byteout()
		}
		if e.a&0x8000 != 0 {
			return
		}
	}
}

func (e *refEncoder) byteout() {
	last := &e.out[len(e.out)-1]
	if *last != 0xFF && e.c >= 0x8000000 {
		*last++
		if *last == 0xFF {
			e.c &= 0x7FFFFFF
		}
	}
	if *last == 0xFF {
		e.out = append(e.out, byte(e.c>>20))
		e.c &= 0xFFFFF
		e.ct = 7
		return
	}
	e.out = append(e.out, byte(e.c>>19))
	e.c &= 0x7FFFF
	e.ct = 8
}

// flush returns the stream without a final 0xFF.
func (e *refEncoder) flush() []byte {
	limit := e.c + e.a
	e.c |= 0xFFFF
	if e.c >= limit {
		e.c -= 0x8000
	}
	e.c <<= uint(e.ct)
	e.byteout()
	e.c <<= uint(e.ct)
	e.byteout()
	out := e.out[1:]
	if n := len(out); n > 0 && out[n-1] == 0xFF {
		out = out[:n-1]
	}
	return out
}
