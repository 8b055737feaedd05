package raster

import (
	"fmt"
	"math"
)

// Identical is the PSNR of a picture compared with itself. Infinity has no form
// in JSON, so that records carry this number instead.
const Identical = 999.0

// PSNR is the peak signal-to-noise ratio of b against a in decibels over all
// channels and slices, with the peak of a's bit depth; [Identical] where no
// sample differs. The squared errors are summed in integers.
func PSNR(a, b *Image) (float64, error) {
	if !a.SameShape(b) {
		return 0, fmt.Errorf("raster: psnr of %s against %s", b.Shape(), a.Shape())
	}
	var sum uint64
	if a.Bits <= 8 && !a.Signed {
		pa, pb := a.Pix, b.Pix[:len(a.Pix)]
		for i, v := range pa {
			d := int32(v) - int32(pb[i])
			sum += uint64(d * d)
		}
	} else {
		for i, n := 0, a.Samples(); i < n; i++ {
			d := int64(a.Sample(i) - b.Sample(i))
			sum += uint64(d * d)
		}
	}
	if sum == 0 {
		return Identical, nil
	}
	peak := float64(int(1)<<a.Bits - 1)
	mse := float64(sum) / float64(a.Samples())
	return 10 * math.Log10(float64(peak*peak)/mse), nil
}

// ssimWindow and ssimStride give the windows of SSIM: 8 x 8 samples, every
// fourth row and column. Pictures narrower than a window use one window of the
// picture's own size.
const (
	ssimWindow = 8
	ssimStride = 4
)

// SSIM is the mean structural similarity of b against a (Wang, Bovik, Sheikh and
// Simoncelli, 2004, eq. 13, K1 = 0.01, K2 = 0.03) over uniform windows and all
// channels but alpha. Window sums are integers, and the mean is taken in raster
// order, so the number does not depend on the machine.
func SSIM(a, b *Image) (float64, error) {
	if !a.SameShape(b) {
		return 0, fmt.Errorf("raster: ssim of %s against %s", b.Shape(), a.Shape())
	}
	ch := a.Channels
	if a.Alpha() {
		ch--
	}
	peak := float64(int(1)<<a.Bits - 1)
	c1 := (0.01 * peak) * (0.01 * peak)
	c2 := (0.03 * peak) * (0.03 * peak)
	var total float64
	var windows int
	for z := 0; z < a.Depth; z++ {
		sa, sb := a.Slice(z), b.Slice(z)
		for c := 0; c < ch; c++ {
			t, n := ssimPlane(sa, sb, c, c1, c2)
			total += t
			windows += n
		}
	}
	return total / float64(windows), nil
}

func ssimPlane(a, b *Image, c int, c1, c2 float64) (total float64, windows int) {
	w, h := min(ssimWindow, a.Width), min(ssimWindow, a.Height)
	bytes8 := a.Bits <= 8 && !a.Signed
	for y := 0; y+h <= a.Height; y += ssimStride {
		for x := 0; x+w <= a.Width; x += ssimStride {
			var s1, s2, s11, s22, s12 int64
			for j := y; j < y+h; j++ {
				i := (j*a.Width+x)*a.Channels + c
				for k := 0; k < w; k, i = k+1, i+a.Channels {
					var p, q int64
					if bytes8 {
						p, q = int64(a.Pix[i]), int64(b.Pix[i])
					} else {
						p, q = int64(a.Sample(i)), int64(b.Sample(i))
					}
					s1 += p
					s2 += q
					s11 += p * p
					s22 += q * q
					s12 += p * q
				}
			}
			n := float64(w * h)
			m1, m2 := float64(s1)/n, float64(s2)/n
			v1 := float64(float64(s11)/n) - float64(m1*m1)
			v2 := float64(float64(s22)/n) - float64(m2*m2)
			cov := float64(float64(s12)/n) - float64(m1*m2)
			num := float64(float64(2*m1*m2)+c1) * float64(float64(2*cov)+c2)
			den := float64(float64(m1*m1)+float64(m2*m2)+c1) * float64(v1+v2+c2)
			total += num / den
			windows++
		}
	}
	return total, windows
}
