package wavelettree

import (
	"encoding/binary"
	"strings"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
)

// A coder written from the text of the paper, with a list for every matrix and a character for every bit.

type matrix [][]int

func newMatrix(rows, columns int) matrix {
	m := make(matrix, rows)
	for y := range m {
		m[y] = make([]int, columns)
	}
	return m
}

func (m matrix) rows() int { return len(m) }

func (m matrix) columns() int {
	if len(m) == 0 {
		return 0
	}
	return len(m[0])
}

// at is zero outside.
func (m matrix) at(y, x int) int {
	if y < 0 || y >= m.rows() || x < 0 || x >= m.columns() {
		return 0
	}
	return m[y][x]
}

func (m matrix) transposed() matrix {
	t := newMatrix(m.columns(), m.rows())
	for y := range m {
		for x := range m[y] {
			t[x][y] = m[y][x]
		}
	}
	return t
}

// evenRows repeats the last row where their number is odd.
func (m matrix) evenRows() matrix {
	if m.rows()%2 == 1 {
		m = append(m[:len(m):len(m)], m[len(m)-1])
	}
	return m
}

func floor(a, b int) int {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

// split is equations 3-1 and 3-2 for rows of even length, low-pass components first.
func (m matrix) split() matrix {
	out := newMatrix(m.rows(), m.columns())
	for y, d := range m {
		n := len(d) / 2
		h := make([]int, n)
		for i := range h {
			right := d[2*i]
			if i < n-1 {
				right = d[2*i+2]
			}
			h[i] = d[2*i+1] - floor(d[2*i]+right, 2)
		}
		for i := range n {
			out[y][i] = d[2*i] + floor(h[max(0, i-1)]+h[i]+2, 4)
			out[y][n+i] = h[i]
		}
	}
	return out
}

func (m matrix) part(y, x, rows, columns int) matrix {
	out := newMatrix(rows, columns)
	for i := range out {
		for j := range out[i] {
			out[i][j] = m.at(y+i, x+j)
		}
	}
	return out
}

// quantisationLevel is floor(log2 |c|).
func quantisationLevel(c int) int {
	level := -1
	for c != 0 {
		c /= 2
		level++
	}
	return level
}

// referenceBand is a band with its MQDs.
type referenceBand struct {
	coefficients matrix
	mqd          matrix
}

func newReferenceBand(coefficients matrix, child *referenceBand) *referenceBand {
	b := &referenceBand{coefficients, newMatrix((coefficients.rows()+1)/2, (coefficients.columns()+1)/2)}
	for y := range b.mqd {
		for x := range b.mqd[y] {
			b.mqd[y][x] = -1
			for i := range 4 {
				v, u := 2*y+i/2, 2*x+i%2
				b.mqd[y][x] = max(b.mqd[y][x], quantisationLevel(coefficients.at(v, u)))
				if child != nil && v < child.mqd.rows() && u < child.mqd.columns() {
					b.mqd[y][x] = max(b.mqd[y][x], child.mqd[v][u])
				}
			}
		}
	}
	return b
}

// referenceElement is 3.4.2.
func referenceElement(parent, mqd int, four [4]int, zeroSigns bool) string {
	var bits strings.Builder
	write := func(is bool) {
		if is {
			bits.WriteByte('1')
		} else {
			bits.WriteByte('0')
		}
	}
	for k := parent; k >= 0; k-- {
		write(k == mqd)
		if k == mqd {
			break
		}
	}
	if mqd < 0 {
		return bits.String()
	}
	for _, c := range four {
		for k := mqd; k >= 0; k-- {
			write(max(c, -c)>>k&1 == 1)
		}
		if c != 0 || zeroSigns {
			write(c > 0)
		}
	}
	return bits.String()
}

// referenceGroup is the length and the bytes of a group.
func referenceGroup(bits string) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(bits)))
	for len(bits)%8 != 0 {
		bits += "0"
	}
	for ; bits != ""; bits = bits[8:] {
		v := 0
		for _, c := range bits[:8] {
			v = 2*v + int(c-'0')
		}
		out = append(out, byte(v))
	}
	return out
}

func (b *referenceBand) code(parent func(y, x int) int, p Params) []byte {
	var out []byte
	for y := 0; y < b.mqd.rows(); y += p.GroupRows {
		for x := 0; x < b.mqd.columns(); x += p.GroupColumns {
			bits := ""
			for v := y; v < min(y+p.GroupRows, b.mqd.rows()); v++ {
				for u := x; u < min(x+p.GroupColumns, b.mqd.columns()); u++ {
					c := b.coefficients
					four := [4]int{c.at(2*v, 2*u), c.at(2*v, 2*u+1), c.at(2*v+1, 2*u), c.at(2*v+1, 2*u+1)}
					bits += referenceElement(parent(v, u), b.mqd[v][u], four, p.ZeroSigns)
				}
			}
			out = append(out, referenceGroup(bits)...)
		}
	}
	return out
}

// referenceEncode is Encode.
func referenceEncode(planes []wavelet.Plane[int32], p Params) []byte {
	flags := byte(0)
	if p.ZeroSigns {
		flags = 1
	}
	out := []byte{flags, byte(p.Levels), byte(p.GroupRows - 1), byte(p.GroupColumns - 1)}
	sections := make([][]byte, p.Levels+1)
	for _, plane := range planes {
		m := newMatrix(plane.Height, plane.Width)
		for y := range m {
			for x, v := range plane.Row(y) {
				m[y][x] = int(v)
			}
		}
		var bands [MaxLevels + 1][3]*referenceBand
		for level := 1; level <= p.Levels; level++ {
			m = m.evenRows().transposed().evenRows().transposed()
			m = m.split().transposed().split().transposed()
			h, w := m.rows()/2, m.columns()/2
			for i, at := range [3][2]int{{0, w}, {h, 0}, {h, w}} {
				bands[level][i] = newReferenceBand(m.part(at[0], at[1], h, w), bands[level-1][i])
			}
			m = m.part(0, 0, h, w)
		}
		low, qmax := newReferenceBand(m, nil), -1
		for _, b := range append([]*referenceBand{low}, bands[p.Levels][:]...) {
			for _, row := range b.mqd {
				for _, q := range row {
					qmax = max(qmax, q)
				}
			}
		}
		out = append(out, byte(qmax))
		top := func(int, int) int { return qmax }
		sections[p.Levels] = append(sections[p.Levels], low.code(top, p)...)
		for level := p.Levels; level >= 1; level-- {
			for i, b := range bands[level] {
				parent := top
				if level < p.Levels {
					parent = func(y, x int) int { return bands[level+1][i].mqd[y/2][x/2] }
				}
				sections[level] = append(sections[level], b.code(parent, p)...)
			}
		}
	}
	for level := p.Levels; level >= 1; level-- {
		out = append(out, sections[level]...)
	}
	return out
}
