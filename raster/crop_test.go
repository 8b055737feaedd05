package raster

import (
	"bytes"
	"image"
	"testing"
)

// A crop holds the samples of its region, of every slice and channel, and nothing of its
// source's memory.
func TestCrop(t *testing.T) {
	for _, bits := range []int{8, 12} {
		m := New(5, 4, 2, 3, bits)
		for i := range m.Samples() {
			m.set(i, i)
		}
		m.Meta.ICC = []byte("profile")
		r := image.Rect(1, 2, 4, 4)
		got := Crop(m, r)
		if got.Width != 3 || got.Height != 2 || got.Depth != 2 || !bytes.Equal(got.Meta.ICC, m.Meta.ICC) {
			t.Fatalf("%d bits: %s", bits, got.Shape)
		}
		i := 0
		for z := range 2 {
			for y := 2; y < 4; y++ {
				for x := 1; x < 4; x++ {
					for c := range 3 {
						if want := m.Sample(((z*4+y)*5+x)*3 + c); got.Sample(i) != want {
							t.Errorf("%d bits: sample %d is %d, want %d", bits, i, got.Sample(i), want)
						}
						i++
					}
				}
			}
		}
	}
}

func TestReduce(t *testing.T) {
	m := New(3, 3, 1, 1, 8)
	copy(m.Pix, []byte{
		0, 1, 9,
		2, 3, 10,
		250, 255, 255,
	})
	got := Reduce(m, 1)
	if want := []byte{2, 10, 253, 255}; got.Width != 2 || got.Height != 2 || !bytes.Equal(got.Pix, want) {
		t.Errorf("%s: %d, want %d", got.Shape, got.Pix, want)
	}
	signed := New(2, 1, 1, 1, 12)
	signed.Signed = true
	signed.set(0, -2000)
	signed.set(1, -1)
	if got := Reduce(signed, 3); got.Samples() != 1 || got.Sample(0) != -1000 {
		t.Errorf("%s: %d, want -1000", got.Shape, got.Sample(0))
	}
	if got := Reduce(m, 0); !bytes.Equal(got.Pix, m.Pix) {
		t.Errorf("not reduced: %d", got.Pix)
	}
}

func TestStretch(t *testing.T) {
	m := New(3, 1, 1, 1, 12)
	m.Signed = true
	for i, v := range []int{-100, 0, 100} {
		m.set(i, v)
	}
	if got := Stretch(m); got.Bits != 8 || got.Signed || !bytes.Equal(got.Pix, []byte{0, 127, 255}) {
		t.Errorf("%s: %d", got.Shape, got.Pix)
	}
	flat := New(2, 2, 1, 1, 16)
	if got := Stretch(flat); !bytes.Equal(got.Pix, make([]byte, 4)) {
		t.Errorf("flat: %d", got.Pix)
	}
	ready := New(2, 1, 1, 1, 8)
	copy(ready.Pix, []byte{7, 9})
	if got := Stretch(ready); !bytes.Equal(got.Pix, ready.Pix) {
		t.Errorf("8 bits: %d", got.Pix)
	}
}
