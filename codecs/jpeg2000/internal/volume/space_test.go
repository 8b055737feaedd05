package volume

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// Where a volume lies in space comes back; without, a file is what it is without the
// comment.
func TestSpace(t *testing.T) {
	geometry := bytes.Repeat([]byte{7, 0, 255}, 27)[:raster.NIfTIGeometry]
	plain, _, err := Encode(t.Context(), pool.New(), made(shape(20, 10, 4, 1, 8, false)), Fast)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []space{{}, {spacing: [3]float64{0.5, 0.25, 3}}, {geometry: geometry}, {[3]float64{1, 2, math.MaxFloat64}, geometry}} {
		m := made(shape(20, 10, 4, 1, 8, false))
		s.attach(&m.Meta)
		file, _, err := Encode(t.Context(), pool.New(), m, Fast)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(t.Context(), pool.New(), file, 0)
		if err != nil || back.Meta.Hash() != m.Meta.Hash() || back.Hash() != m.Hash() {
			t.Errorf("%+v: %v, %+v", s, err, back.Meta)
		}
		if (len(file) == len(plain)) != (m.Meta.Hash() == "") {
			t.Errorf("%+v: %d bytes, %d without", s, len(file), len(plain))
		}
	}
}

// Comments of others say nothing, whatever they hold.
func TestOtherComments(t *testing.T) {
	whole := append([]byte("\x00\x00"+spaceMark), make([]byte, 24)...)
	for _, c := range [][]byte{nil, {0}, []byte("\x00\x01made by"), whole[:len(whole)-1], append(slices.Clone(whole), 1), append(slices.Clone(whole[:len(whole)-24]), bytes.Repeat([]byte{0xff}, 24)...)} {
		s := space{spacing: [3]float64{1, 1, 1}}
		if s.read(c); s.spacing != [3]float64{1, 1, 1} {
			t.Errorf("%q is read as %+v", c, s)
		}
	}
}
