package ht

import (
	"errors"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// This file is a second decoder, bit by bit as T.814 describes it (clauses 7.1 to 7.5),
// which shares nothing with the first but the rows of the code tables.

// refStream is a list of bits with those that come behind its end.
type refStream struct {
	bits []byte
	past byte
}

func (r *refStream) next() uint32 {
	b := r.past
	if len(r.bits) > 0 {
		b, r.bits = r.bits[0], r.bits[1:]
	}
	return uint32(b)
}

// number reads count bits, the first lowest.
func (r *refStream) number(count uint32) (v uint64) {
	for i := range count {
		v |= uint64(r.next()) << i
	}
	return v
}

// refForward are the bits of a MagSgn or SigProp stream: 7.1.2 and 7.1.5.
func refForward(data []byte, past byte) *refStream {
	s := &refStream{past: past}
	last := byte(0)
	for _, b := range data {
		n := 8
		if last == 0xff {
			n = 7
		}
		for i := range n {
			s.bits = append(s.bits, b>>i&1)
		}
		last = b
	}
	return s
}

// refMEL are the bits of a MEL stream, the highest first: 7.1.3.
func refMEL(data []byte) *refStream {
	s := &refStream{past: 1}
	last := byte(0)
	for _, b := range data {
		n := 8
		if last == 0xff {
			n = 7
		}
		for i := range n {
			s.bits = append(s.bits, b>>(n-1-i)&1)
		}
		last = b
	}
	return s
}

// refBackward are the bits of a VLC or MagRef stream, whose first byte is the last of
// data: 7.1.4 and 7.1.6. Of that byte the lowest skip bits do not count.
func refBackward(data []byte, last byte, skip int) *refStream {
	s := new(refStream)
	for k := len(data) - 1; k >= 0; k-- {
		b, n := data[k], 8
		if last > 0x8f && b&0x7f == 0x7f {
			n = 7
		}
		for i := skip; i < n; i++ {
			s.bits = append(s.bits, b>>i&1)
		}
		last, skip = b, 0
	}
	return s
}

// refEvents decodes the events of MEL: 7.3.3.
type refEvents struct {
	*refStream
	k, run int
	one    bool
}

func (m *refEvents) next() bool {
	exponents := []int{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5}
	if m.run == 0 && !m.one {
		e := exponents[m.k]
		if m.refStream.next() == 1 {
			m.run = 1 << e
			m.k = min(12, m.k+1)
		} else {
			for range e {
				m.run = 2*m.run + int(m.refStream.next())
			}
			m.one = true
			m.k = max(0, m.k-1)
		}
	}
	if m.run > 0 {
		m.run--
		return false
	}
	m.one = false
	return true
}

// refBlock is a code-block with a border of zeros.
type refBlock struct {
	w, h  int
	m     map[[2]int]uint64 // magnitudes
	minus map[[2]int]bool
}

// sample is the position of sample n of quad (qx, qy).
func sample(qx, qy, n int) [2]int { return [2]int{2*qx + n>>1, 2*qy + n&1} }

func (b *refBlock) exponent(p [2]int) int {
	if b.m[p] == 0 {
		return 0
	}
	return bits.Len64(2*b.m[p] - 1)
}

func (b *refBlock) significant(ps ...[2]int) int {
	for _, p := range ps {
		if b.m[p] != 0 {
			return 1
		}
	}
	return 0
}

// refCleanup decodes a cleanup segment to magnitudes in units of its bit-plane.
func refCleanup(segment []byte, w, h, limit int) (*refBlock, error) {
	n := len(segment)
	if n < 2 {
		return nil, errors.New("too short")
	}
	suffix := 16*int(segment[n-1]) + int(segment[n-2]&15)
	if suffix < 2 || suffix > n || suffix > 4079 {
		return nil, errors.New("suffix")
	}
	d := append([]byte(nil), segment...)
	d[n-1] = 0xff
	d[n-2] |= 15
	magsgn := refForward(d[:n-suffix], 1)
	mel := &refEvents{refStream: refMEL(d[n-suffix:])}
	vlc := refBackward(d[n-suffix:n-1], 0xff, 4)
	b := &refBlock{w, h, map[[2]int]uint64{}, map[[2]int]bool{}}
	columns, rows := (w+1)/2, (h+1)/2
	for qy := range rows {
		// All codewords of a row come before its magnitudes here, so that contexts see
		// the pattern of the left quad in rho.
		words := make([]cxtVLCRow, columns)
		u := make([]int, columns)
		left := func(qx, n int) int {
			if qx == 0 {
				return 0
			}
			return int(words[qx-1].rho >> n & 1)
		}
		for first := 0; first < columns; first += 2 {
			pair := min(2, columns-first)
			for qx := first; qx < first+pair; qx++ {
				c := 0
				if qy == 0 {
					c = left(qx, 0) | left(qx, 1) | left(qx, 2)<<1 | left(qx, 3)<<2
				} else {
					x, y := 2*qx, 2*qy-1
					c = b.significant([2]int{x - 1, y}, [2]int{x, y}) | (left(qx, 2)|left(qx, 3))<<1 |
						b.significant([2]int{x + 1, y}, [2]int{x + 2, y})<<2
				}
				if c != 0 || mel.next() {
					words[qx] = refCodeword(vlc, min(qy, 1), c)
				}
			}
			add := 0
			both := pair == 2 && words[first].offset+words[first+1].offset == 2
			single := false
			if both && qy == 0 {
				if mel.next() {
					add = 2
				} else {
					single = true
				}
			}
			var suffix [2]int
			for i := range pair {
				if words[first+i].offset == 0 {
					continue
				}
				if single && i == 1 && u[first] > 2 {
					u[first+1] = int(vlc.next()) + 1
					continue
				}
				switch {
				case vlc.next() == 1:
					u[first+i] = 1
				case vlc.next() == 1:
					u[first+i] = 2
				case vlc.next() == 1:
					u[first+i], suffix[i] = 3, 1
				default:
					u[first+i], suffix[i] = 5, 5
				}
			}
			var extended [2]bool
			for i := range pair {
				s := int(vlc.number(uint32(suffix[i])))
				u[first+i] += s
				extended[i] = s >= 28
			}
			for i := range pair {
				if extended[i] {
					u[first+i] += 4 * int(vlc.number(4))
				}
				if words[first+i].offset != 0 {
					u[first+i] += add
				}
			}
		}
		for qx := range columns {
			kappa := 1
			if qy > 0 && bits.OnesCount8(words[qx].rho) > 1 {
				for x := 2*qx - 1; x <= 2*qx+2; x++ {
					kappa = max(kappa, b.exponent([2]int{x, 2*qy - 1})-1)
				}
			}
			u[qx] += kappa
			if u[qx] > limit {
				return nil, errors.New("magnitude")
			}
		}
		for qx, word := range words {
			for i := range 4 {
				if word.rho>>i&1 == 0 {
					continue
				}
				m := uint32(u[qx]) - uint32(word.ek>>i&1)
				v := magsgn.number(m) | uint64(word.e1>>i&1)<<m
				p := sample(qx, qy, i)
				b.m[p], b.minus[p] = v>>1+1, v&1 == 1
			}
		}
	}
	return b, nil
}

func refCodeword(vlc *refStream, table, context int) cxtVLCRow {
	code := uint8(0)
	for length := uint8(1); ; length++ {
		code |= uint8(vlc.next()) << (length - 1)
		for _, r := range cxtVLC[table] {
			if int(r.context) == context && r.length == length && r.codeword == code {
				return r
			}
		}
	}
}

// refDecode decodes a code-block as package codestream asks for.
func refDecode(b *codestream.Block) ([]int64, error) {
	out := make([]int64, b.Width*b.Height)
	if len(b.Segments) == 0 {
		return out, nil
	}
	p := b.Planes - 1 - b.ZeroPlanes
	block, err := refCleanup(b.Segments[0].Data, b.Width, b.Height, min(b.ZeroPlanes+2, 31-p))
	if err != nil {
		return nil, err
	}
	planes := map[[2]int]int{} // the last bit-plane decoded
	for at := range block.m {
		block.m[at] <<= p
		planes[at] = p
	}
	if len(b.Segments) > 1 {
		cleanup := map[[2]int]bool{}
		for at := range block.m {
			cleanup[at] = true
		}
		data := b.Segments[1].Data
		block.refSigProp(refForward(data, 0), p-1, b.Style&codestream.Causal != 0, planes)
		if b.Segments[1].Passes > 1 {
			magref := refBackward(data, 0xff, 0)
			block.scan(func(at [2]int) {
				if cleanup[at] {
					block.m[at] |= uint64(magref.next()) << (p - 1)
					planes[at] = p - 1
				}
			})
		}
	}
	block.scan(func(at [2]int) {
		if block.m[at] == 0 {
			return
		}
		v := int64(2*block.m[at] + 1<<planes[at])
		if block.minus[at] {
			v = -v
		}
		out[at[1]*b.Width+at[0]] = v
	})
	return out, nil
}

// scan visits all samples: stripes of four rows, in them column by column.
func (b *refBlock) scan(visit func([2]int)) {
	for top := 0; top < b.h; top += 4 {
		for x := range b.w {
			for y := top; y < min(top+4, b.h); y++ {
				visit([2]int{x, y})
			}
		}
	}
}

func (b *refBlock) refSigProp(in *refStream, plane int, causal bool, planes map[[2]int]int) {
	var group [][2]int
	b.scan(func(at [2]int) {
		group = append(group, at)
		last := at[1] == min(at[1]/4*4+4, b.h)-1
		if !last || at[0]%4 != 3 && at[0] != b.w-1 {
			return
		}
		var found [][2]int
		for _, p := range group {
			var near [][2]int
			for dy := -1; dy <= 1; dy++ {
				for dx := -1; dx <= 1; dx++ {
					if causal && dy == 1 && p[1]%4 == 3 {
						continue
					}
					near = append(near, [2]int{p[0] + dx, p[1] + dy})
				}
			}
			if b.m[p] == 0 && b.inside(near) && in.next() == 1 {
				b.m[p], planes[p] = 1<<plane, plane
				found = append(found, p)
			}
		}
		for _, p := range found {
			b.minus[p] = in.next() == 1
		}
		group = group[:0]
	})
}

// inside says whether one of the samples is significant and of the code-block.
func (b *refBlock) inside(ps [][2]int) bool {
	for _, p := range ps {
		if p[0] < b.w && p[1] < b.h && b.m[p] != 0 {
			return true
		}
	}
	return false
}
