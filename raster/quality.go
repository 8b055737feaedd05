package raster

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Identical is the PSNR of an image compared with itself. Infinity has no form
// in JSON, so that records carry this number instead.
const Identical = 999.0

// PSNR is the peak signal-to-noise ratio of b against a in decibels over all
// channels and slices, with the peak of a's bit depth; [Identical] where nothing
// differs. The squared errors are summed in integers. Colours of images with
// alpha are multiplied by it first, because nobody sees what is under transparent
// pixels.
func PSNR(a, b *Image) (float64, error) {
	if !a.Same(b.Shape) {
		return 0, fmt.Errorf("raster: psnr of %s against %s", b.Shape, a.Shape)
	}
	a, b = asSeen(a), asSeen(b)
	return ratio(a.Shape, squaredErrors(a, b)), nil
}

// squaredErrors is the sum of squared differences of all samples.
func squaredErrors(a, b *Image) (sum uint64) {
	if a.Bits <= 8 && !a.Signed {
		return squares(a.Pix, b.Pix[:len(a.Pix)])
	}
	for i, n := 0, a.Samples(); i < n; i++ {
		d := int64(a.Sample(i) - b.Sample(i))
		sum += uint64(d * d)
	}
	return sum
}

// ratio is the PSNR of two images of a shape whose squared differences come to sum.
func ratio(a Shape, sum uint64) float64 {
	if sum == 0 {
		return Identical
	}
	peak := float64(int(1)<<a.Bits - 1)
	mse := float64(sum) / float64(a.Samples())
	return 10 * math.Log10(float64(peak*peak)/mse)
}

// squaresGo is the sum of squared differences.
func squaresGo(a, b []byte) (sum uint64) {
	b = b[:len(a)]
	for i, v := range a {
		d := int32(v) - int32(b[i])
		sum += uint64(d * d)
	}
	return sum
}

// asSeen is m with its colours multiplied by alpha and rounded; m itself where it has
// no alpha, or signed samples, whose alpha has no meaning, or where it is opaque.
func asSeen(m *Image) *Image {
	if !m.Alpha() || m.Signed || opaque(m) {
		return m
	}
	out := *m
	out.Pix = make([]byte, len(m.Pix))
	n, peak := m.Channels, uint32(1)<<m.Bits-1
	if m.Bits <= 8 {
		for i := 0; i < len(m.Pix); i += n {
			from, to := m.Pix[i:i+n], out.Pix[i:i+n]
			alpha := uint32(from[n-1])
			to[n-1] = from[n-1]
			if peak == 255 {
				for c, v := range from[:n-1] {
					to[c] = byte((uint32(v)*alpha + 127) / 255)
				}
				continue
			}
			for c, v := range from[:n-1] {
				to[c] = byte((uint32(v)*alpha + peak/2) / peak)
			}
		}
		return &out
	}
	le := binary.LittleEndian
	for i := 0; i < len(m.Pix); i += 2 * n {
		from, to := m.Pix[i:i+2*n], out.Pix[i:i+2*n]
		alpha := uint64(le.Uint16(from[2*n-2:]))
		for c := 0; c < 2*n-2; c += 2 {
			le.PutUint16(to[c:], uint16((uint64(le.Uint16(from[c:]))*alpha+uint64(peak/2))/uint64(peak)))
		}
		copy(to[2*n-2:], from[2*n-2:])
	}
	return &out
}

// opaque reports whether no pixel of an image with alpha of 8 bits lets anything through.
func opaque(m *Image) bool {
	if m.Bits != 8 {
		return false
	}
	for i := m.Channels - 1; i < len(m.Pix); i += m.Channels {
		if m.Pix[i] != 255 {
			return false
		}
	}
	return true
}

// Window and WindowStride give the windows of SSIM: 8 x 8 samples, every
// fourth row and column. Images narrower than a window use one window of the
// image's own size.
const (
	Window       = 8
	WindowStride = 4
)

// QualityOf is what [Quality] gives for images of a shape whose sides are no less than [Window], from their sums as somebody else has
// made them: the squared differences of all samples, and for each slice and, within it, each channel but alpha the sum of the index
// over all windows in raster order.
func QualityOf(s Shape, squares uint64, totals []float64) (psnr, ssim float64) {
	var total float64
	for _, t := range totals {
		total += t
	}
	windows := len(totals) * (s.Width/WindowStride - 1) * (s.Height/WindowStride - 1)
	return ratio(s, squares), total / float64(windows)
}

// Quality is [PSNR], and the mean structural similarity of b against a (Wang, Bovik, Sheikh and
// Simoncelli, 2004, eq. 13, K1 = 0.01, K2 = 0.03) over uniform windows and all
// channels but alpha, by which colours are multiplied first. Window sums are integers, and the mean is taken in raster
// order, so the numbers do not depend on the machine.
func Quality(a, b *Image) (psnr, ssim float64, err error) {
	if !a.Same(b.Shape) {
		return 0, 0, fmt.Errorf("raster: quality of %s against %s", b.Shape, a.Shape)
	}
	a, b = asSeen(a), asSeen(b)
	ch := a.Channels
	if a.Alpha() {
		ch--
	}
	peak := float64(int(1)<<a.Bits - 1)
	c1 := (0.01 * peak) * (0.01 * peak)
	c2 := (0.03 * peak) * (0.03 * peak)
	var total float64
	var windows int
	var sum uint64
	for z := 0; z < a.Depth; z++ {
		sa, sb := a.Slice(z), b.Slice(z)
		if totals, n, squared, ok := qualityBytes(sa, sb, c1, c2); ok {
			sum += squared
			for _, t := range totals[:ch] {
				total += t
				windows += n
			}
			continue
		}
		sum += squaredErrors(sa, sb)
		for c := 0; c < ch; c++ {
			t, n := ssimPlane(sa, sb, c, c1, c2)
			total += t
			windows += n
		}
	}
	return ratio(a.Shape, sum), total / float64(windows), nil
}

// ssimSums are the integer sums over a part of a window: of the samples of both
// images, their squares and their products.
type ssimSums struct{ s1, s2, s11, s22, s12 int64 }

func (s *ssimSums) add(p, q int64) {
	s.s1 += p
	s.s2 += q
	s.s11 += p * p
	s.s22 += q * q
	s.s12 += p * q
}

// index is equation 13 for a window of n samples.
func (s *ssimSums) index(n int, c1, c2 float64) float64 {
	k := float64(n)
	m1, m2 := float64(s.s1)/k, float64(s.s2)/k
	v1 := float64(float64(s.s11)/k) - float64(m1*m1)
	v2 := float64(float64(s.s22)/k) - float64(m2*m2)
	cov := float64(float64(s.s12)/k) - float64(m1*m2)
	num := float64(float64(2*m1*m2)+c1) * float64(float64(2*cov)+c2)
	den := float64(float64(m1*m1)+float64(m2*m2)+c1) * float64(v1+v2+c2)
	return num / den
}

// ssimPlane sums the index over all windows of a channel. A window is two by two
// cells of WindowStride samples, and each cell is summed once.
func ssimPlane(a, b *Image, c int, c1, c2 float64) (total float64, windows int) {
	if a.Width < Window || a.Height < Window {
		return ssimNarrow(a, b, c, c1, c2)
	}
	across := a.Width / WindowStride
	above, cells := make([]ssimSums, across), make([]ssimSums, across)
	for y := 0; y+WindowStride <= a.Height; y += WindowStride {
		ssimCells(cells, a, b, y, c)
		for i := 0; y > 0 && i+1 < across; i++ {
			var w ssimSums
			for _, s := range [4]*ssimSums{&above[i], &above[i+1], &cells[i], &cells[i+1]} {
				w.s1 += s.s1
				w.s2 += s.s2
				w.s11 += s.s11
				w.s22 += s.s22
				w.s12 += s.s12
			}
			total += w.index(Window*Window, c1, c2)
			windows++
		}
		above, cells = cells, above
	}
	return total, windows
}

// ssimCells sums a row of cells that begins at row y.
func ssimCells(cells []ssimSums, a, b *Image, y, c int) {
	clear(cells)
	bytes8 := a.Bits <= 8 && !a.Signed
	for j := y; j < y+WindowStride; j++ {
		i := j*a.Width*a.Channels + c
		for x := range cells {
			s := &cells[x]
			if !bytes8 {
				for k := 0; k < WindowStride; k, i = k+1, i+a.Channels {
					s.add(int64(a.Sample(i)), int64(b.Sample(i)))
				}
				continue
			}
			// Sums of four products of bytes fit 32 bits.
			var t1, t2, t11, t22, t12 int32
			for k := 0; k < WindowStride; k, i = k+1, i+a.Channels {
				p, q := int32(a.Pix[i]), int32(b.Pix[i])
				t1 += p
				t2 += q
				t11 += p * p
				t22 += q * q
				t12 += p * q
			}
			s.s1 += int64(t1)
			s.s2 += int64(t2)
			s.s11 += int64(t11)
			s.s22 += int64(t22)
			s.s12 += int64(t12)
		}
	}
}

// ssimNarrow takes images with a side of less than a window: windows are as
// long as that side.
func ssimNarrow(a, b *Image, c int, c1, c2 float64) (total float64, windows int) {
	w, h := min(Window, a.Width), min(Window, a.Height)
	for y := 0; y+h <= a.Height; y += WindowStride {
		for x := 0; x+w <= a.Width; x += WindowStride {
			var s ssimSums
			for j := y; j < y+h; j++ {
				i := (j*a.Width+x)*a.Channels + c
				for k := 0; k < w; k, i = k+1, i+a.Channels {
					s.add(int64(a.Sample(i)), int64(b.Sample(i)))
				}
			}
			total += s.index(w*h, c1, c2)
			windows++
		}
	}
	return total, windows
}
