package jpegxl

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
)

// TestRefused: what the format cannot hold is unsupported, with its reason.
func TestRefused(t *testing.T) {
	frame := bytes.Index(sample, []byte("\xff\xc0"))
	patched := func(at int, b ...byte) []byte {
		return slices.Concat(sample[:at], b, sample[at+len(b):])
	}
	scan := bytes.Index(sample, []byte("\xff\xda"))
	body := sample[frame : frame+2+17]
	four := slices.Concat([]byte{0xff, 0xc0, 0, 20}, body[4:9], []byte{4}, body[10:], []byte{4, 0x11, 0})
	for want, source := range map[string][]byte{
		"its coding is arithmetic":    patched(frame+1, 0xc9),
		"it is coded without loss":    patched(frame+1, 0xc3),
		"its frames are hierarchical": patched(frame+1, 0xc5),
		"its samples have 12 bits":    patched(frame+4, 12),
		"it has 4 components, as CMYK and YCCK have: the format holds 1 or 3": slices.Concat(sample[:frame], four, sample[frame+19:]),
		"a component has sampling factors of 4 x 1: the format holds 1 and 2": patched(frame+11, 0x41), // 4:1:1
		"a component has sampling factors of 4 x 2: the format holds 1 and 2": patched(frame+11, 0x42), // 4:1:0
		"its height is told behind the first scan (DNL)":                      patched(frame+5, 0, 0),
		"5000000 bytes follow its end, and the format holds 4260096":          slices.Concat(sample, make([]byte, 5_000_000)),
		"it has more than 16384 segments":                                     slices.Concat(sample[:2], bytes.Repeat([]byte("\xff\xe5\x00\x02"), 17_000), sample[2:]),
		"its restart interval is defined twice":                               slices.Concat(sample[:scan], []byte("\xff\xdd\x00\x04\x00\x05\xff\xdd\x00\x04\x00\x06"), sample[scan:]),
	} {
		e := Codec{}.Encode(context.Background(), codec.Run{}, []codec.Item{{Source: codec.Source{Format: "jpeg", Data: source}}}, nil)[0]
		var unsupported *codec.UnsupportedError
		if !errors.As(e.Err, &unsupported) || !strings.HasSuffix(e.Err.Error(), want) {
			t.Errorf("%v, want %q", e.Err, want)
		}
	}
}

// TestOddPaddings: the bits that pad the scan come back whatever they are.
func TestOddPaddings(t *testing.T) {
	end := len(sample) - 3 // the last byte of the scan
	for bit := range 3 {
		source := bytes.Clone(sample)
		source[end] &^= 1 << bit
		file := Codec{}.Encode(context.Background(), codec.Run{}, []codec.Item{{Source: codec.Source{Format: "jpeg", Data: source}}}, nil)[0]
		if file.Err != nil {
			t.Fatal(file.Err)
		}
		if back := (Codec{}).Restore(context.Background(), codec.Run{}, [][]byte{file.Data})[0]; !bytes.Equal(back.Data, source) {
			t.Errorf("bit %d: other bytes come back (%v)", bit, back.Err)
		}
	}
}
