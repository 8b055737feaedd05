package raster

import "testing"

func TestEightBits(t *testing.T) {
	m := New(16, 16, 1, 1, 16)
	for v := range 256 {
		m.Pix[2*v], m.Pix[2*v+1] = byte(v), byte(v) // 257 v
		if m.Sample(v) != 257*v {
			t.Fatalf("%d is %d", v, m.Sample(v))
		}
	}
	m.Meta.ICC = []byte("profile")
	o := EightBits(m)
	for v := range 256 {
		if o.Bits != 8 || o.Sample(v) != v || o.Check() != nil || string(o.Meta.ICC) != "profile" {
			t.Fatalf("%s: sample %d is %d", o.Shape, v, o.Sample(v))
		}
	}
	for _, at := range []int{0, 511} { // one bit of the first and of the last sample
		m.Pix[at] ^= 1
		if EightBits(m) != m {
			t.Errorf("byte %d has no pair and is left out", at)
		}
		m.Pix[at] ^= 1
	}
	m.Signed = true
	if EightBits(m) != m {
		t.Error("samples with a sign")
	}
	if e := New(3, 3, 1, 3, 8); EightBits(e) != e {
		t.Error("samples of 8 bits")
	}
}
