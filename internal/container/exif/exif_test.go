package exif

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

// block is an EXIF block with a field before the orientation, which has a type.
func block(order binary.AppendByteOrder, orientation, kind uint16) []byte {
	b := []byte("II*\x00")
	if order.String() == "BigEndian" {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint16(order.AppendUint32(b, 8), 2)
	for _, f := range [][3]uint16{{270, 3, 0}, {tagOrientation, kind, orientation}} {
		b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, f[0]), f[1]), 1)
		b = order.AppendUint16(order.AppendUint16(b, f[2]), 0)
	}
	return order.AppendUint32(b, 0)
}

func TestOrientation(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for o := range uint16(10) {
			b := block(order, o, 3)
			want := int(o)
			if o > 8 {
				want = 0
			}
			if got := Orientation(b); got != want {
				t.Errorf("%s: orientation %d, want %d", order, got, want)
			}
			kept := bytes.Clone(b)
			up := Upright(b)
			if !bytes.Equal(b, kept) || len(up) != len(b) {
				t.Errorf("%s, %d: the block was changed", order, o)
			}
			if want > 0 && Orientation(up) != 1 {
				t.Errorf("%s, %d: upright it has orientation %d", order, o, Orientation(up))
			}
		}
	}
	good := block(binary.LittleEndian, 6, 3)
	for name, b := range map[string][]byte{
		"nothing":           nil,
		"a head":            good[:8],
		"half a field":      good[:30],
		"another type":      block(binary.LittleEndian, 6, 4),
		"no such place":     []byte("II*\x00\xff\xff\xff\xff"),
		"the prefix before": append([]byte(Prefix), good...),
	} {
		if o := Orientation(b); o != 0 || !bytes.Equal(Upright(b), b) {
			t.Errorf("%s: orientation %d", name, o)
		}
	}
	// A block that is cut behind the orientation still has it.
	if o := Orientation(good[:34]); o != 6 {
		t.Errorf("orientation %d", o)
	}
	if o := Orientation(Trim(append([]byte(Prefix), good...))); o != 6 {
		t.Errorf("orientation %d", o)
	}
}

func TestAttach(t *testing.T) {
	for o, want := range map[int]float64{1: 100, 3: 100, 6: 200} {
		given := raster.Meta{
			Orientation: o, ICC: []byte("profile"), EXIF: block(binary.BigEndian, uint16(o), 3),
			Density: raster.Density{X: 100, Y: 200, Unit: raster.Metre},
		}
		m := Attach(raster.New(2, 3, 1, 1, 8), given)
		if m.Meta.Density.X != want || m.Width != map[int]int{1: 2, 3: 2, 6: 3}[o] {
			t.Errorf("orientation %d: %s, %v samples along x, want %v", o, m.Shape.String(), m.Meta.Density.X, want)
		}
		if Orientation(m.Meta.EXIF) != 1 || Orientation(given.EXIF) != o {
			t.Errorf("orientation %d: the block of the image says %d, that of the file %d", o, Orientation(m.Meta.EXIF), Orientation(given.EXIF))
		}
		if given.ICC[0] = 'X'; string(m.Meta.ICC) != "profile" {
			t.Error("the image shares the profile of the file")
		}
	}
}

func FuzzOrientation(f *testing.F) {
	f.Add(block(binary.LittleEndian, 6, 3))
	f.Add(block(binary.BigEndian, 9, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, at := find(b)
		if o < 0 || o > 8 || o > 0 && at > len(b)-2 {
			t.Fatalf("orientation %d at %d of %d bytes", o, at, len(b))
		}
		if up := Upright(b); len(up) != len(b) || o > 0 && Orientation(up) != 1 {
			t.Fatal("it does not become upright")
		}
	})
}
