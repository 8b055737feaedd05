package raster

import (
	"encoding/binary"
	"math"
	"testing"
)

// slowSeen is sample i, a colour by as much as its alpha lets see, to the nearest integer.
func slowSeen(m *Image, i int) float64 {
	v := float64(m.Sample(i))
	last := i - i%m.Channels + m.Channels - 1
	if m.Channels%2 == 1 || i == last {
		return v
	}
	return math.Round(v * float64(m.Sample(last)) / (math.Pow(2, float64(m.Bits)) - 1))
}

// slowPSNR is the definition, in floating point.
func slowPSNR(a, b *Image) float64 {
	var mse float64
	for i := range a.Samples() {
		d := slowSeen(a, i) - slowSeen(b, i)
		mse += d * d / float64(a.Samples())
	}
	if mse == 0 {
		return Identical
	}
	peak := math.Pow(2, float64(a.Bits)) - 1
	return 20*math.Log10(peak) - 10*math.Log10(mse)
}

// slowSSIM is equation 13 of Wang et al. with means, variances and covariance in
// two passes over each window.
func slowSSIM(a, b *Image) float64 {
	peak := math.Pow(2, float64(a.Bits)) - 1
	c1, c2 := math.Pow(0.01*peak, 2), math.Pow(0.03*peak, 2)
	colours := a.Channels
	if a.Alpha() {
		colours--
	}
	w, h := min(8, a.Width), min(8, a.Height)
	at := func(m *Image, x, y, z, c int) float64 {
		return slowSeen(m, ((z*m.Height+y)*m.Width+x)*m.Channels+c)
	}
	var sum float64
	n := 0
	for z := range a.Depth {
		for c := range colours {
			for y := 0; y+h <= a.Height; y += 4 {
				for x := 0; x+w <= a.Width; x += 4 {
					var ma, mb, va, vb, cov float64
					each := func(f func(p, q float64)) {
						for j := range h {
							for i := range w {
								f(at(a, x+i, y+j, z, c), at(b, x+i, y+j, z, c))
							}
						}
					}
					k := float64(w * h)
					each(func(p, q float64) { ma += p / k; mb += q / k })
					each(func(p, q float64) {
						va += (p - ma) * (p - ma) / k
						vb += (q - mb) * (q - mb) / k
						cov += (p - ma) * (q - mb) / k
					})
					sum += (2*ma*mb + c1) * (2*cov + c2) / ((ma*ma + mb*mb + c1) * (va + vb + c2))
					n++
				}
			}
		}
	}
	return sum / float64(n)
}

// pairs are images and their distorted forms.
func pairs() [][2]*Image {
	var p [][2]*Image
	for _, s := range [][3]int{{1, 1, 1}, {7, 7, 1}, {8, 8, 1}, {9, 7, 2}, {33, 21, 1}, {64, 5, 3}} {
		for _, f := range []struct {
			channels, bits int
			signed         bool
		}{{1, 8, false}, {3, 8, false}, {4, 8, false}, {2, 16, false}, {1, 12, true}, {1, 8, true}, {3, 1, false}} {
			a := filled(s[0], s[1], s[2], f.channels, f.bits, f.signed, uint32(s[0]))
			near := filled(s[0], s[1], s[2], f.channels, f.bits, f.signed, uint32(s[0]))
			for i := 0; i < near.Samples(); i += 3 {
				set(near, i, near.Sample(i)^1)
			}
			far := filled(s[0], s[1], s[2], f.channels, f.bits, f.signed, 99)
			p = append(p, [2]*Image{a, a}, [2]*Image{a, near}, [2]*Image{a, far})
		}
	}
	return p
}

// The tolerance covers the order of floating-point sums in the references.
const qualityTolerance = 1e-9

func TestQuality(t *testing.T) {
	for _, p := range pairs() {
		a, b := p[0], p[1]
		psnr, err := PSNR(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if want := slowPSNR(a, b); math.Abs(psnr-want) > qualityTolerance*math.Abs(want)+qualityTolerance {
			t.Errorf("%s: PSNR %v, want %v", a.Shape, psnr, want)
		}
		both, ssim, err := Quality(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if both != psnr {
			t.Errorf("%s: PSNR %v beside SSIM, %v without", a.Shape, both, psnr)
		}
		// Sums of squares of 16-bit samples cancel where the reference
		// subtracts the mean first.
		if want := slowSSIM(a, b); math.Abs(ssim-want) > 1e-6 {
			t.Errorf("%s: SSIM %v, want %v", a.Shape, ssim, want)
		}
		if a == b && (psnr != Identical || ssim != 1) {
			t.Errorf("%s with itself: PSNR %v, SSIM %v", a.Shape, psnr, ssim)
		}
	}
}

func TestQualityOfOtherShapes(t *testing.T) {
	a := New(4, 4, 1, 1, 8)
	for _, b := range []*Image{New(5, 4, 1, 1, 8), New(4, 4, 2, 1, 8), New(4, 4, 1, 3, 8), New(4, 4, 1, 1, 9)} {
		if _, err := PSNR(a, b); err == nil {
			t.Errorf("PSNR of %s against %s", b.Shape, a.Shape)
		}
		if _, _, err := Quality(a, b); err == nil {
			t.Errorf("PSNR and SSIM of %s against %s", b.Shape, a.Shape)
		}
	}
}

// Published anchors: one level of difference everywhere is 48.13 dB at 8 bits.
func TestPSNRAnchor(t *testing.T) {
	a, b := New(16, 16, 1, 1, 8), New(16, 16, 1, 1, 8)
	for i := range b.Pix {
		b.Pix[i] = 1
	}
	if v, _ := PSNR(a, b); math.Abs(v-48.1308) > 1e-4 {
		t.Errorf("%.4f dB, want 48.1308", v)
	}
}

// The kernels give the very numbers of their twins, for all widths and heights around their steps.
func TestQualityKernels(t *testing.T) {
	for channels := 1; channels <= 4; channels++ {
		for w := 8; w < 90; w++ {
			h := 8 + (w*7+channels)%13
			a, b := filled(w, h, 1+w%2, channels, 8, false, uint32(w)), filled(w, h, 1+w%2, channels, 8, false, uint32(w+channels))
			for i := range a.Pix {
				switch w % 4 {
				case 0: // the largest sums
					a.Pix[i], b.Pix[i] = a.Pix[i]|0xf0, b.Pix[i]|0xf8
				case 1:
					b.Pix[i] = a.Pix[i] ^ b.Pix[i]&3
				}
			}
			values := func() [3]float64 {
				both, s, err := Quality(a, b)
				if err != nil {
					t.Fatal(err)
				}
				p, err := PSNR(a, b)
				if err != nil {
					t.Fatal(err)
				}
				return [3]float64{s, p, both}
			}
			restore := setVector(false)
			want := values()
			restore()
			for _, wide := range []bool{false, true} {
				restore, has := setVector512(wide)
				if wide && !has {
					restore()
					if w == 8 && channels == 1 {
						t.Log("SKIPPED: this machine has no AVX-512 with VBMI and VNNI")
					}
					continue
				}
				got := values()
				if got != want {
					t.Errorf("%s, AVX-512 %t: SSIM and PSNR %v, want %v", a.Shape, wide, got, want)
				}
				if got[1] != got[2] {
					t.Errorf("%s, AVX-512 %t: PSNR %v beside SSIM, %v without", a.Shape, wide, got[2], got[1])
				}
				restore()
			}
		}
	}
	white, black := make([]byte, 3<<20), make([]byte, 3<<20)
	for i := range white {
		white[i] = 255
	}
	if got := squares(white, black); got != 3<<20*255*255 {
		t.Errorf("the sum of 3 Mi squares is %d", got)
	}
}

func BenchmarkQuality(b *testing.B) {
	x, y := filled(768, 512, 1, 3, 8, false, 1), filled(768, 512, 1, 3, 8, false, 2)
	both := func(a, b *Image) (float64, error) {
		_, ssim, err := Quality(a, b)
		return ssim, err
	}
	for name, f := range map[string]func(a, b *Image) (float64, error){"psnr": PSNR, "psnr and ssim": both} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(x.Size()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f(x, y); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What nobody sees does not count: colours under transparent pixels, and the part of a
// difference that alpha hides.
func TestQualityIsOfWhatIsSeen(t *testing.T) {
	pair := func(bits int, alpha, before, after uint16) (a, b *Image) {
		a, b = New(16, 16, 1, 2, bits), New(16, 16, 1, 2, bits)
		put := func(m *Image, i int, v uint16) {
			if bits <= 8 {
				m.Pix[i] = byte(v)
			} else {
				binary.LittleEndian.PutUint16(m.Pix[2*i:], v)
			}
		}
		for i := 0; i < a.Samples(); i += 2 {
			put(a, i, before)
			put(b, i, after)
			put(a, i+1, alpha)
			put(b, i+1, alpha)
		}
		return a, b
	}
	for _, c := range []struct {
		name                 string
		bits                 int
		alpha, before, after uint16
		mse                  float64 // over colours and alpha
	}{
		{"transparent", 8, 0, 200, 10, 0},
		{"transparent, 16 bits", 16, 0, 60000, 10, 0},
		{"half transparent", 8, 51, 200, 100, 20 * 20 / 2.},
		{"opaque", 8, 255, 200, 100, 100 * 100 / 2.},
		{"opaque, 12 bits", 12, 4095, 2000, 1000, 1000 * 1000 / 2.},
	} {
		a, b := pair(c.bits, c.alpha, c.before, c.after)
		got, err := PSNR(a, b)
		if err != nil {
			t.Fatal(err)
		}
		want := Identical
		if c.mse > 0 {
			peak := float64(int(1)<<c.bits - 1)
			want = 10 * math.Log10(peak*peak/c.mse)
		}
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %.4f dB, want %.4f", c.name, got, want)
		}
		if p, s, err := Quality(a, b); err != nil || p != got || (s == 1) != (c.mse == 0) {
			t.Errorf("%s: %.4f dB and SSIM %f, %v", c.name, p, s, err)
		}
		if p, _ := PSNR(b, a); p != got {
			t.Errorf("%s: %.4f dB the other way, %.4f this way", c.name, p, got)
		}
	}
}

// The sums of an image's slices and channels give what Quality does.
func TestQualityOfSums(t *testing.T) {
	a, b := New(20, 13, 3, 3, 8), New(20, 13, 3, 3, 8)
	for i := range a.Pix {
		a.Pix[i], b.Pix[i] = byte(i*i/7), byte(i*i/7+i%5)
	}
	var squares uint64
	var totals []float64
	for z := range a.Depth {
		sa, sb := a.Slice(z), b.Slice(z)
		squares += squaredErrors(sa, sb)
		for c := range a.Channels {
			t, _ := ssimPlane(sa, sb, c, (0.01*255)*(0.01*255), (0.03*255)*(0.03*255))
			totals = append(totals, t)
		}
	}
	wantPSNR, wantSSIM, err := Quality(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if psnr, ssim := QualityOf(a.Shape, squares, totals); psnr != wantPSNR || ssim != wantSSIM {
		t.Errorf("%v dB, %v; want %v dB, %v", psnr, ssim, wantPSNR, wantSSIM)
	}
	if psnr, _ := QualityOf(a.Shape, 0, totals); psnr != Identical {
		t.Errorf("nothing differs: %v dB", psnr)
	}
}
