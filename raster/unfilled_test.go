package raster

import "testing"

// The memory is an image's own, of its shape, and even words are numbers in place.
func TestUnfilled(t *testing.T) {
	for _, bits := range []int{8, 16} {
		for w := 1; w < 300; w++ {
			s := Shape{Width: w, Height: 3, Depth: 1, Channels: 1, Bits: bits}
			a, b := Unfilled(s), Unfilled(s)
			for i := range a.Pix {
				a.Pix[i], b.Pix[i] = 1, 2
			}
			if len(a.Pix) != s.Size() || cap(a.Pix) != s.Size() || a.Pix[s.Size()-1] != 1 || a.Check() != nil {
				t.Fatalf("%s: %d bytes of %d", s, len(a.Pix), cap(a.Pix))
			}
			if bits == 16 {
				if a.Uint16()[w] = 7; littleEndian && a.Pix[2*w] != 7 {
					t.Fatalf("%s: the numbers are a copy", s)
				}
			}
		}
	}
}
