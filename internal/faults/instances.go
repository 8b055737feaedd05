package faults

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Instance is a DICOM instance of tests: an MR image of 12 bits in explicit VR little endian.
type Instance struct {
	UID, Series, Study string
	Data               []byte // the file
	Dataset            int    // offset of its data set
}

// Patient is what is written into instances about the patient; all of it may be nowhere else.
type Patient struct{ Name, ID, Accession string }

// MRImageStorage is the SOP Class of instances.
const MRImageStorage = "1.2.840.10008.5.1.4.1.1.4"

// NewInstance makes instance n of a series of 8, of w x h pixels.
func NewInstance(seed uint64, n, w, h int, of Patient) Instance {
	study := fmt.Sprintf("1.2.826.0.1.3680043.10.999.%d", seed)
	series := fmt.Sprintf("%s.%d", study, n/8)
	in := Instance{UID: fmt.Sprintf("%s.%d", series, n), Series: series, Study: study}
	e := &elements{}
	e.text(0x00020002, "UI", MRImageStorage)
	e.text(0x00020003, "UI", in.UID)
	e.text(0x00020010, "UI", "1.2.840.10008.1.2.1")
	e.text(0x00020012, "UI", "1.2.826.0.1.3680043.10.999")
	meta := e.b
	e.b = append(make([]byte, 128, 512+2*w*h), "DICM"...)
	e.add(0x00020000, "UL", binary.LittleEndian.AppendUint32(nil, uint32(len(meta)+14)))
	e.add(0x00020001, "OB", []byte{0, 1})
	e.b = append(e.b, meta...)
	in.Dataset = len(e.b)
	e.text(0x00080008, "CS", "ORIGINAL\\PRIMARY\\OTHER")
	e.text(0x00080016, "UI", MRImageStorage)
	e.text(0x00080018, "UI", in.UID)
	e.text(0x00080050, "SH", of.Accession)
	e.text(0x00080060, "CS", "MR")
	e.text(0x00100010, "PN", of.Name)
	e.text(0x00100020, "LO", of.ID)
	e.text(0x0020000D, "UI", study)
	e.text(0x0020000E, "UI", series)
	e.text(0x00200013, "IS", fmt.Sprint(n))
	e.short(0x00280002, 1)
	e.text(0x00280004, "CS", "MONOCHROME2")
	e.short(0x00280010, uint16(h))
	e.short(0x00280011, uint16(w))
	e.short(0x00280100, 16)
	e.short(0x00280101, 12)
	e.short(0x00280102, 11)
	e.short(0x00280103, 0)
	pixels := make([]byte, 0, 2*w*h)
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	for y := range h {
		for x := range w {
			pixels = binary.LittleEndian.AppendUint16(pixels, uint16(7*x+5*y+int(r.Uint32()%16))&0xFFF)
		}
	}
	e.add(0x7FE00010, "OW", pixels)
	in.Data = e.b
	return in
}

// elements writes elements in explicit VR little endian.
type elements struct{ b []byte }

func (e *elements) add(tag uint32, vr string, value []byte) {
	e.b = binary.LittleEndian.AppendUint16(e.b, uint16(tag>>16))
	e.b = binary.LittleEndian.AppendUint16(e.b, uint16(tag))
	e.b = append(e.b, vr...)
	if vr == "OB" || vr == "OW" {
		e.b = append(e.b, 0, 0)
		e.b = binary.LittleEndian.AppendUint32(e.b, uint32(len(value)))
	} else {
		e.b = binary.LittleEndian.AppendUint16(e.b, uint16(len(value)))
	}
	e.b = append(e.b, value...)
}

func (e *elements) text(tag uint32, vr, value string) {
	if len(value)%2 == 1 {
		pad := " "
		if vr == "UI" {
			pad = "\x00"
		}
		value += pad
	}
	e.add(tag, vr, []byte(value))
}

func (e *elements) short(tag uint32, v uint16) {
	e.add(tag, "US", binary.LittleEndian.AppendUint16(nil, v))
}
