package jpegxl

import (
	"context"
	"errors"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/jpegdata"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/vardct"
)

// small are JPEG files of several kinds that are short enough to be changed bit by bit.
func small(t testing.TB) [][]byte {
	return [][]byte{
		sample, made(t, 1, 1, 50, false, false), made(t, 9, 7, 90, true, true), made(t, 40, 24, 30, false, false),
		treeFile(t, "codecs/jpegxl/testdata/scanless.jpg"), treeFile(t, "imageio/testdata/good/progressive.jpg"), treeFile(t, "imageio/testdata/good/two-scans.jpg"),
	}
}

// Inputs of fuzzing stay small, so that many are tried: bytes of a file, pixels, and bytes
// for the coefficients of a JPEG file.
const (
	fuzzBytes        = 1 << 16
	fuzzPixels       = 1 << 16
	fuzzCoefficients = 1 << 20
)

// FuzzEncode takes any bytes for a JPEG file: from what is made of it some JPEG file comes back, or an error. Efforts
// take turns by the number of bytes.
func FuzzEncode(f *testing.F) {
	for _, source := range small(f) {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		if len(source) > fuzzBytes {
			return
		}
		if _, err := jpegdata.Read(source, fuzzCoefficients); err != nil {
			checkError(t, codec.FromContainer("jpegxl", err))
			return
		}
		opts := &Options{effort: vardct.Effort(len(source) % len(efforts))}
		e := Codec{}.Encode(context.Background(), codec.Run{}, []codec.Item{{Source: codec.Source{Format: "jpeg", Data: source}}}, opts)[0]
		if e.Err != nil {
			checkError(t, e.Err)
			return
		}
		back := (Codec{}).Restore(context.Background(), codec.Run{}, [][]byte{e.Data})[0]
		if back.Err != nil {
			checkError(t, back.Err)
		}
	})
}

// FuzzRestore takes any bytes for a file of ours: boxes, jbrd and codestream.
func FuzzRestore(f *testing.F) {
	for _, source := range small(f) {
		f.Add(encoded(f, source))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > fuzzBytes {
			return
		}
		if h, err := (Codec{}).Header(file); err != nil || h.Width*h.Height > fuzzPixels {
			return
		}
		if e := (Codec{}).Restore(context.Background(), codec.Run{}, [][]byte{file})[0]; e.Err != nil {
			checkError(t, e.Err)
		}
	})
}

func checkError(t *testing.T, err error) {
	var malformed *codec.FormatError
	var unsupported *codec.UnsupportedError
	if !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
		t.Errorf("%T: %v", err, err)
	}
}
