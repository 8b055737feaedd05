package imageio

import (
	"bytes"
	"image/png"
	"testing"
)

// Bytes are those of the decoded samples. "png standard" is the standard library's decoder.
func BenchmarkDecode(b *testing.B) {
	m := scene(768, 512, 3, landscape)
	grey := scene(768, 512, 1, plasma)
	enc := func(format string) []byte {
		data, err := Encode(m, format)
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	files := []struct {
		name string
		data []byte
	}{{"png", enc("png")}, {"pnm", enc("pnm")}, {"tiff", enc("tiff")}, {"jpeg", asJPEG(b, m, 90)}, {"jpeg grey", asJPEG(b, grey, 90)}}
	for _, f := range files {
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(int64(m.Size()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(f.data, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("png standard", func(b *testing.B) {
		b.SetBytes(int64(m.Size()))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := png.Decode(bytes.NewReader(files[0].data)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("png header", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ReadHeader(files[0].data, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	m := scene(768, 512, 3, landscape)
	for _, format := range []string{"png", "pnm", "tiff"} {
		b.Run(format, func(b *testing.B) {
			b.SetBytes(int64(m.Size()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(m, format); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
