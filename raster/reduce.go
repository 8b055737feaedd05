package raster

import "encoding/binary"

// Reduce returns m at 1/2^k of its width and height, rounded up, without attributes.
// A sample is the mean, rounded to the nearest number, of the up to 2^k x 2^k samples of
// its channel and slice that it stands for.
func Reduce(m *Image, k int) *Image {
	s := m.Shape
	side := 1 << k
	s.Width, s.Height = (m.Width+side-1)>>k, (m.Height+side-1)>>k
	out := Make(s)
	sums := make([]int, s.Width*m.Channels)
	for z := range m.Depth {
		for y := range s.Height {
			clear(sums)
			rows := min(side, m.Height-y*side)
			for row := range rows {
				first := (z*m.Height + y*side + row) * m.Width * m.Channels
				for i := range m.Width * m.Channels {
					x, c := i/m.Channels, i%m.Channels
					sums[x>>k*m.Channels+c] += m.Sample(first + i)
				}
			}
			first := (z*s.Height + y) * len(sums)
			for i, sum := range sums {
				n := rows * min(side, m.Width-i/m.Channels*side)
				out.set(first+i, floor(2*sum+n, 2*n))
			}
		}
	}
	return out
}

// Stretch returns m in unsigned samples of 8 bits for people to look at, without
// attributes: m's smallest sample becomes 0 and its greatest 255. Images that are of
// unsigned samples of 8 bits already keep their values.
func Stretch(m *Image) *Image {
	s := m.Shape
	s.Bits, s.Signed = 8, false
	out := Make(s)
	if m.Bits == 8 && !m.Signed {
		copy(out.Pix, m.Pix)
		return out
	}
	low, high := m.Sample(0), m.Sample(0)
	for i := range m.Samples() {
		v := m.Sample(i)
		low, high = min(low, v), max(high, v)
	}
	for i := range out.Pix {
		out.Pix[i] = byte((m.Sample(i) - low) * 255 / max(1, high-low))
	}
	return out
}

// set writes sample i, which fits m's bits.
func (m *Image) set(i, v int) {
	if m.BytesPerSample() == 1 {
		m.Pix[i] = byte(v)
		return
	}
	binary.LittleEndian.PutUint16(m.Pix[2*i:], uint16(v))
}

// floor is a/b rounded down; b is positive.
func floor(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
