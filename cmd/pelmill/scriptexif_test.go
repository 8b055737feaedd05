package main

import (
	"encoding/binary"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pelmill/pelmill/internal/container/png"
)

// exif FROM TO copies a PNG file and gives it an EXIF block (EXIF 2.3, 4.5): of the first directory
// the make and the model, of the second the exposure, the sensitivity and the time.
func exif(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: exif FROM TO")
	}
	const ascii, short, long, rational = 2, 3, 4, 5
	le := binary.LittleEndian
	field := func(to []byte, tag, kind uint16, count, value uint32) []byte {
		return le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(to, tag), kind), count), value)
	}
	const second, texts = 8 + 2 + 3*12 + 4, 8 + 2 + 3*12 + 4 + 2 + 3*12 + 4
	block := append([]byte("II*\x00"), 8, 0, 0, 0)
	block = le.AppendUint16(block, 3)
	block = field(block, 271, ascii, 6, texts)
	block = field(block, 272, ascii, 8, texts+6)
	block = field(block, 34665, long, 1, second)
	block = le.AppendUint32(block, 0)
	block = le.AppendUint16(block, 3)
	block = field(block, 33434, rational, 1, texts+6+8)
	block = field(block, 34855, short, 1, 400)
	block = field(block, 36867, ascii, 20, texts+6+8+8)
	block = le.AppendUint32(block, 0)
	block = append(block, "Maker\x00Model 7\x00"...)
	block = le.AppendUint32(le.AppendUint32(block, 1), 250)
	block = append(block, "2024:05:06 07:08:09\x00"...)
	data := []byte(ts.ReadFile(args[0]))
	const head = 33 // signature and IHDR
	out := png.Append(data[:head:head], "eXIf", block)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), append(out, data[head:]...), 0o644))
}
