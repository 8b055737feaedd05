// Package seriestest makes DICOM files of series for tests.
package seriestest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Made describes a DICOM file of native slices.
type Made struct {
	Number, Frames        int
	Position, Orientation string
	Series, Kind          string
	Acquisition           string
	Spacing, Slope        string
	Width, Height         int
	Bits, Allocated       int
	Channels              int
	Planar, Signed        bool
	Big, Implicit         bool // the transfer syntax; Explicit VR Little Endian without them
	Odd                   bool // an element lies behind the pixels, of another length in each file
	Noise                 uint64
	Pixels                []byte // 8 bits each, instead of a texture
}

// Slices makes n files of a CT series; change may change each before it is written.
func Slices(n int, change func(i int, m *Made)) (all [][]byte) {
	for i := range n {
		m := Made{Number: i + 1, Position: fmt.Sprintf("-120.5\\-99.25\\%d.5", 3*i), Orientation: `1\0\0\0\1\0`, Series: "1.2.3", Spacing: `0.5\0.5`,
			Width: 20, Height: 16, Bits: 12, Allocated: 16, Channels: 1, Frames: 1}
		if change != nil {
			change(i, &m)
		}
		all = append(all, m.File())
	}
	return all
}

// File is the file.
func (m Made) File() []byte {
	var order binary.ByteOrder = binary.LittleEndian
	syntax := "1.2.840.10008.1.2.1"
	switch {
	case m.Big:
		order, syntax = binary.BigEndian, "1.2.840.10008.1.2.2"
	case m.Implicit:
		syntax = "1.2.840.10008.1.2"
	}
	b := append(make([]byte, 128), "DICM"...)
	element := func(order binary.ByteOrder, implicit bool, tag uint32, vr string, value []byte) {
		if len(value)%2 != 0 {
			value = append(value, map[bool]byte{true: 0, false: ' '}[vr == "UI" || vr == "OB"])
		}
		var h [12]byte
		order.PutUint16(h[:], uint16(tag>>16))
		order.PutUint16(h[2:], uint16(tag))
		switch {
		case implicit:
			order.PutUint32(h[4:], uint32(len(value)))
			b = append(b, h[:8]...)
		case vr == "OW" || vr == "OB":
			copy(h[4:], vr)
			order.PutUint32(h[8:], uint32(len(value)))
			b = append(b, h[:]...)
		default:
			copy(h[4:], vr)
			order.PutUint16(h[6:], uint16(len(value)))
			b = append(b, h[:8]...)
		}
		b = append(b, value...)
	}
	text := func(tag uint32, vr, value string) {
		if value != "" {
			element(order, m.Implicit, tag, vr, []byte(value))
		}
	}
	number := func(tag uint32, v int) {
		var w [2]byte
		order.PutUint16(w[:], uint16(v))
		element(order, m.Implicit, tag, "US", w[:])
	}
	element(binary.LittleEndian, false, 0x00020010, "UI", []byte(syntax))
	text(0x00080008, "CS", m.Kind)
	text(0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.2")
	text(0x00080018, "UI", fmt.Sprintf("1.2.3.%d", m.Number))
	text(0x00100010, "PN", "A^Name")
	text(0x0020000e, "UI", m.Series)
	text(0x00200012, "IS", m.Acquisition)
	text(0x00200013, "IS", fmt.Sprint(m.Number))
	text(0x00200032, "DS", m.Position)
	text(0x00200037, "DS", m.Orientation)
	number(0x00280002, m.Channels)
	text(0x00280004, "CS", map[int]string{1: "MONOCHROME2", 3: "RGB"}[m.Channels])
	planar, sign := 0, 0
	if m.Planar {
		planar = 1
	}
	if m.Signed {
		sign = 1
	}
	if m.Channels > 1 {
		number(0x00280006, planar)
	}
	if m.Frames > 1 {
		text(0x00280008, "IS", fmt.Sprint(m.Frames))
	}
	number(0x00280010, m.Height)
	number(0x00280011, m.Width)
	text(0x00280030, "DS", m.Spacing)
	number(0x00280100, m.Allocated)
	number(0x00280101, m.Bits)
	number(0x00280102, m.Bits-1)
	number(0x00280103, sign)
	text(0x00281053, "DS", m.Slope)
	r := rand.New(rand.NewPCG(uint64(m.Number), m.Noise))
	var pix []byte
	for i := range m.Frames * m.Height * m.Width * m.Channels {
		v := i*5%977 + r.IntN(9) + m.Number*3
		if m.Signed {
			v = (v & (1<<(m.Bits-1) - 1)) - 20
		} else {
			v &= 1<<m.Bits - 1
		}
		if m.Allocated == 8 {
			pix = append(pix, byte(v))
		} else {
			pix = append(pix, 0, 0)
			order.PutUint16(pix[len(pix)-2:], uint16(v))
		}
	}
	if m.Pixels != nil {
		pix = m.Pixels
	}
	vr := "OW"
	if m.Allocated == 8 && !m.Big && !m.Implicit {
		vr = "OB"
	}
	element(order, m.Implicit, 0x7fe00010, vr, pix)
	if m.Odd {
		element(order, m.Implicit, 0xfffcfffc, "OB", make([]byte, 10+2*m.Number))
	}
	return b
}
