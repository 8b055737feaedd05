package main

import (
	"bytes"
	"encoding/binary"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// writeDICOM writes a DICOM file in Explicit VR Little Endian: "dicom FILE KIND", where the kind is mr (60 x 40 samples of 12
// bits in 16), padding (bits above these are used), lossy (JPEG Baseline), missing (no pixel data), cut (in the pixel data) or tiff
// (mr with a preamble that makes it a TIFF file). The patient's name is MARKED^PATIENT.
func writeDICOM(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: dicom FILE KIND")
	}
	const width, height = 60, 40
	var pix, b []byte
	for i := range width * height {
		pix = binary.LittleEndian.AppendUint16(pix, uint16(i%width*20+i/width*10))
	}
	syntax := "1.2.840.10008.1.2.1\x00"
	switch args[1] {
	case "padding":
		pix[1] |= 0x80
	case "lossy":
		syntax = "1.2.840.10008.1.2.4.50"
	}
	add := func(tag uint32, vr string, value []byte) {
		b = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, uint16(tag>>16)), uint16(tag))
		if b = append(b, vr...); vr == "OW" {
			b = binary.LittleEndian.AppendUint32(append(b, 0, 0), uint32(len(value)))
		} else {
			b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
		}
		b = append(b, value...)
	}
	b = append(make([]byte, 128), "DICM"...)
	add(0x00020010, "UI", []byte(syntax))
	add(0x00100010, "PN", []byte("MARKED^PATIENT"))
	for _, e := range []struct {
		tag   uint32
		value uint16
	}{{0x00280002, 1}, {0x00280004, 0}, {0x00280010, height}, {0x00280011, width}, {0x00280100, 16}, {0x00280101, 12}, {0x00280102, 11}, {0x00280103, 0}} {
		if e.tag == 0x00280004 {
			add(e.tag, "CS", []byte("MONOCHROME2 "))
			continue
		}
		add(e.tag, "US", binary.LittleEndian.AppendUint16(nil, e.value))
	}
	if args[1] != "missing" {
		add(0x7fe00010, "OW", pix)
	}
	switch args[1] {
	case "cut":
		b = b[:len(b)-100]
	case "tiff":
		copy(b, "II*\x00\x08\x00\x00\x00")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o666))
}

// dataset fails unless two DICOM files that differ in their file meta information only have the same bytes behind it.
func dataset(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: dataset FILE FILE")
	}
	a, b := []byte(ts.ReadFile(args[0])), []byte(ts.ReadFile(args[1]))
	first := []byte{0x10, 0x00, 0x10, 0x00, 'P', 'N'}
	i, j := bytes.Index(a, first), bytes.Index(b, first)
	if i < 0 || j < 0 || !bytes.Equal(a[i:], b[j:]) {
		ts.Fatalf("%s and %s have different data sets", args[0], args[1])
	}
}
