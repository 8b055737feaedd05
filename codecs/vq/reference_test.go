package vq

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sort"
	"sync"
)

// The slow, obviously right versions that the steps are compared with: Algorithms 1
// and 2 of the paper, and a decoder that follows README.md line by line and shares
// nothing with the package but its constants' values.

// refSearch is Algorithm 1 with the squared distance of eq. 1: for every block the
// first codeword of least distance.
func refSearch(samples []byte, words []byte, k int) []key {
	var keys []key
	for x := 0; x < len(samples); x += k {
		best, nearest := 1<<62, 0
		for f := 0; f < len(words)/k; f++ {
			dist := 0
			for z := 0; z < k; z++ {
				d := int(samples[x+z]) - int(words[f*k+z])
				dist += d * d
			}
			if dist < best {
				best, nearest = dist, f
			}
		}
		keys = append(keys, makeKey(uint32(best), nearest))
	}
	return keys
}

// refSides are the side-match order of the codewords beside the codewords up and
// left, -1 where there is none, and the least mismatch.
func refSides(words [][]byte, p, q, up, left int) (order []int, least int) {
	mismatch := make([]int, len(words))
	for i, w := range words {
		order = append(order, i)
		for j := 0; up >= 0 && j < q; j++ {
			d := int(w[j]) - int(words[up][(p-1)*q+j])
			mismatch[i] += d * d
		}
		for j := 0; left >= 0 && j < p; j++ {
			d := int(w[j*q]) - int(words[left][j*q+q-1])
			mismatch[i] += d * d
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return mismatch[order[a]] < mismatch[order[b]] })
	return order, mismatch[order[0]]
}

// refEstimate is an estimate of README.md.
type refEstimate struct{ z, n int }

func (e *refEstimate) take(v int) {
	rate := 65536 / (e.n + 2)
	if v == 0 {
		e.z += (65536 - e.z) * rate >> 16
	} else {
		e.z -= e.z * rate >> 16
	}
	e.z = min(max(e.z, 32), 65504)
	e.n = min(e.n+1, 60)
}

// refStream is the range decoder with estimates that come into being when they are
// first used, under any name.
type refStream struct {
	in          []byte
	code, width uint64
	estimates   map[[4]int]*refEstimate
	weights     map[[2]int]int
}

func newRefStream(in []byte) *refStream {
	s := &refStream{width: 1<<32 - 1, code: uint64(binary.BigEndian.Uint32(in)), in: in[4:]}
	s.reset()
	return s
}

func (s *refStream) reset() {
	s.estimates, s.weights = map[[4]int]*refEstimate{}, map[[2]int]int{}
}

func (s *refStream) estimate(name [4]int) *refEstimate {
	if s.estimates[name] == nil {
		s.estimates[name] = &refEstimate{z: 32768}
	}
	return s.estimates[name]
}

func (s *refStream) decision(z int) int {
	bound := s.width * uint64(z) >> 16
	v := 0
	if s.code < bound {
		s.width = bound
	} else {
		v = 1
		s.code -= bound
		s.width -= bound
	}
	for s.width < 1<<24 {
		s.width <<= 8
		s.code = s.code<<8 | uint64(s.in[0])
		s.in = s.in[1:]
	}
	return v
}

func (s *refStream) simple(name ...int) int {
	e := s.estimate([4]int{name[0], name[1], name[2], -1})
	v := s.decision(e.z)
	e.take(v)
	return v
}

func refSquash(x int) int {
	t := func(i int) int { return int(math.Round(65536 / (1 + math.Exp(8-float64(i)/4)))) }
	y := x + 2048
	i := y >> 6
	return t(i) + ((t(i+1) - t(i)) * (y & 63) >> 6)
}

var refStretch = sync.OnceValue(func() []int {
	t := make([]int, 4096)
	for v := range t {
		t[v] = 2047
		for x := -2047; x <= 2047; x++ {
			if refSquash(x)>>4 >= v {
				t[v] = x
				break
			}
		}
	}
	return t
})

// mixed decodes a decision in four contexts.
func (s *refStream) mixed(contexts [4]int, place int) int {
	var e [4]*refEstimate
	var odds [4]int
	x := 0
	for c, ctx := range contexts {
		e[c] = s.estimate([4]int{c, ctx, place, 0})
		odds[c] = refStretch()[e[c].z>>4]
		if _, ok := s.weights[[2]int{place, c}]; !ok {
			s.weights[[2]int{place, c}] = 16384
		}
		x += s.weights[[2]int{place, c}] * odds[c]
	}
	z := min(max(refSquash(min(max(x>>16, -2047), 2047)), 32), 65504)
	v := s.decision(z)
	m := 65536 - z
	if v == 1 {
		m = -z
	}
	for c := range contexts {
		s.weights[[2]int{place, c}] += odds[c] * m >> 15
		e[c].take(v)
	}
	return v
}

// number decodes a number of the codebook section with one of the sets of estimates.
func (s *refStream) number(set int) int {
	l := 0
	for l < 16 && s.simple(set, 100, l) == 1 {
		l++
	}
	if l == 0 {
		return 0
	}
	v := 1
	for bit := l - 2; bit >= 0; bit-- {
		v = 2*v + s.simple(set, l, bit)
	}
	return v
}

func refBook(s *refStream, p, q, n int) [][]byte {
	s.reset()
	var words [][]byte
	total := 0
	for range n {
		total += s.number(100)
		w := make([]byte, p*q)
		left, size := total, 0
		for j := range p*q - 1 {
			rest := left / (p*q - j)
			local := rest
			switch r, c := j/q, j%q; {
			case r == 0 && c > 0:
				local = int(w[j-1])
			case c == 0 && r > 0:
				local = int(w[j-q])
			case j > 0:
				a, b, x := int(w[j-1]), int(w[j-q]), int(w[j-q-1])
				local = min(max(a+b-x, min(a, b)), max(a, b))
			}
			guess := min((local+rest+1)>>1, 255)
			f := s.number(min(bits.Len(uint(size/(j+1))), 7))
			d := f / 2
			if f%2 == 1 {
				d = -(f + 1) / 2
			}
			w[j] = byte(guess + d)
			size += max(d, -d)
			left -= int(w[j])
		}
		w[p*q-1] = byte(left)
		words = append(words, w)
	}
	return words
}

// refDecode decodes a file that is not damaged, with the codebook file where the
// codebook is shared. It gives the samples.
func refDecode(file, asset []byte) []byte {
	le := binary.LittleEndian
	flags := file[9]
	p, q := int(file[10]), int(file[11])
	w, h, slices := int(le.Uint32(file[12:])), int(le.Uint32(file[16:])), int(le.Uint32(file[20:]))
	n := []int{int(le.Uint16(file[24:])), int(le.Uint16(file[26:]))}
	rest := file[48+le.Uint32(file[28:]):]
	section := rest[:le.Uint32(file[32:])]
	index := rest[len(section)+4 : len(rest)-4]
	if flags&8 != 0 {
		section = asset[24 : len(asset)-4]
	}
	stream := newRefStream(section)
	books := [][][]byte{refBook(stream, p, q, n[0]), nil}
	if n[1] > 0 {
		books[1] = refBook(stream, p, q, n[1])
	}

	widths, heights := []int{w}, []int{h}
	channels := 1
	if flags&1 != 0 {
		channels = 3
		cw, ch := w, h
		if flags&2 != 0 {
			cw, ch = (w+1)>>1, (h+1)>>1
		}
		widths, heights = append(widths, cw, cw), append(heights, ch, ch)
	}

	// The tables, by slice and plane.
	var tables [][]int
	if flags&4 != 0 {
		for range slices {
			for i := range channels {
				count := (heights[i] + p - 1) / p * ((widths[i] + q - 1) / q)
				width := bits.Len(uint(n[min(i, 1)] - 1))
				table := make([]int, count)
				for b := range count * width {
					table[b/width] = table[b/width]<<1 | int(index[b/8]>>(7-b%8)&1)
				}
				tables = append(tables, table)
				index = index[(count*width+7)/8:]
			}
		}
	} else {
		total := 0
		for i := range channels {
			rows, cols := (heights[i]+p-1)/p, (widths[i]+q-1)/q
			step := max(1, 65536/cols)
			total += (rows + step - 1) / step * slices
		}
		lengths, body := index, index[4*total:]
		for range slices {
			for i := range channels {
				rows, cols := (heights[i]+p-1)/p, (widths[i]+q-1)/q
				step := max(1, 65536/cols)
				var table []int
				for r := 0; r < rows; r += step {
					size := le.Uint32(lengths)
					table = append(table, refSegment(body[:size], books[min(i, 1)], p, q, min(step, rows-r), cols)...)
					lengths, body = lengths[4:], body[size:]
				}
				tables = append(tables, table)
			}
		}
	}

	// Algorithm 2, and the way back from Y, Co, Cg.
	sample := func(z, i, y, x int) int {
		if i > 0 && flags&2 != 0 {
			y, x = y/2, x/2
		}
		cols := (widths[i] + q - 1) / q
		word := books[min(i, 1)][tables[z*channels+i][y/p*cols+x/q]]
		return int(word[y%p*q+x%q])
	}
	var out []byte
	for z := range slices {
		for y := range h {
			for x := range w {
				if channels == 1 {
					out = append(out, byte(sample(z, 0, y, x)))
					continue
				}
				co, cg := 2*sample(z, 1, y, x)-256, 2*sample(z, 2, y, x)-256
				t := sample(z, 0, y, x) - cg>>1
				g, b := cg+t, t-co>>1
				for _, v := range []int{b + co, g, b} {
					out = append(out, byte(min(max(v, 0), 255)))
				}
			}
		}
	}
	return out
}

// refSegment decodes one segment's stream.
func refSegment(in []byte, words [][]byte, p, q, rows, cols int) []int {
	s := newRefStream(in)
	n := len(words)
	table, lengths := make([]int, rows*cols), make([]int, rows*cols)
	span := func(i int) int {
		if i < 0 {
			return 0
		}
		lo, hi := words[i][0], words[i][0]
		for _, v := range words[i] {
			lo, hi = min(lo, v), max(hi, v)
		}
		return int(hi - lo)
	}
	at := func(list []int, r, c, none int) int {
		if r < 0 || c < 0 || c >= cols {
			return none
		}
		return list[r*cols+c]
	}
	for r := range rows {
		for c := range cols {
			up, left := at(table, r-1, c, -1), at(table, r, c-1, -1)
			order, least := refSides(words, p, q, up, left)
			a := bits.Len(uint(span(up) + span(left)))
			m := bits.Len(uint(least))
			around := min((2*at(lengths, r, c-1, 2)+2*at(lengths, r-1, c, 2)+at(lengths, r-1, c-1, 2)+at(lengths, r-1, c+1, 2)+2)/4, 12)
			most := bits.Len(uint(n - 1))
			contexts := [4]int{a*100 + m, m*100 + around, a*100 + around, order[0] >> max(0, most-8)}
			l := 0
			for l < most && s.mixed(contexts, l) == 1 {
				l++
			}
			node := min(l, 1)
			for bit := l - 2; bit >= 0; bit-- {
				if node < 4 {
					node = 2*node + s.mixed(contexts, 12+3*l+node-1)
				} else {
					node = 2*node + s.simple(100, l, bit)
				}
			}
			table[r*cols+c], lengths[r*cols+c] = order[node], l
		}
	}
	return table
}
