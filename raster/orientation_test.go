package raster

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// Images of all sides around the blocks of the kernels are turned as the definition has it, pixel by pixel, with the
// kernels and without.
func TestOrient(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sides := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 66, 67, 71, 72, 73, 130}
	for _, on := range []bool{false, true} {
		restore := setVector(on)
		defer restore()
		for _, w := range sides {
			for _, h := range sides {
				bits, channels := 8+8*rng.IntN(2), 1+rng.IntN(4)
				m := New(w, h, 1+rng.IntN(2), channels, bits)
				for i := range m.Pix {
					m.Pix[i] = byte(rng.Uint32())
				}
				for o := 2; o <= 8; o++ {
					if got, want := Orient(m, o), orientSlowly(m, o); got.Shape != want.Shape || !bytes.Equal(got.Pix, want.Pix) {
						t.Fatalf("kernels %v: %s with orientation %d differs", on, m.Shape, o)
					}
				}
			}
		}
	}
}

// orientSlowly asks for each upright pixel where it is stored.
func orientSlowly(m *Image, o int) *Image {
	u := *m
	if o > 4 {
		u.Width, u.Height = m.Height, m.Width
	}
	u.Pix = nil
	pixel := m.Channels * m.BytesPerSample()
	for z := range m.Depth {
		for y := range u.Height {
			for x := range u.Width {
				sx, sy := x, y
				switch o {
				case 2:
					sx = m.Width - 1 - x
				case 3:
					sx, sy = m.Width-1-x, m.Height-1-y
				case 4:
					sy = m.Height - 1 - y
				case 5:
					sx, sy = y, x
				case 6:
					sx, sy = y, m.Height-1-x
				case 7:
					sx, sy = m.Width-1-y, m.Height-1-x
				case 8:
					sx, sy = m.Width-1-y, x
				}
				u.Pix = append(u.Pix, m.Pix[((z*m.Height+sy)*m.Width+sx)*pixel:][:pixel]...)
			}
		}
	}
	return &u
}

// Bytes are those of the samples. Sides are no multiples of the kernels' blocks.
func BenchmarkOrient(b *testing.B) {
	for _, bits := range []int{8, 16} {
		for _, channels := range []int{1, 3, 4} {
			m := New(2003, 1501, 1, channels, bits)
			for _, o := range []int{2, 4, 5, 6, 8} {
				b.Run(fmt.Sprintf("%d bits/%d channels/%d", bits, channels, o), func(b *testing.B) {
					b.SetBytes(int64(m.Size()))
					b.ReportAllocs()
					for b.Loop() {
						Orient(m, o)
					}
				})
			}
		}
	}
}
