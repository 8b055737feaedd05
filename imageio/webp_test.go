package imageio

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/internal/container/webp"
)

// webpFile is a container of chunks, given as pairs of kind and body.
func webpFile(chunks ...any) []byte {
	b := []byte("RIFF\x00\x00\x00\x00WEBP")
	for i := 0; i < len(chunks); i += 2 {
		body := chunks[i+1].([]byte)
		b = append(b, chunks[i].(string)...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
		b = append(append(b, body...), make([]byte, len(body)&1)...)
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
	return b
}

// Containers that libwebp takes are read as dwebp shows them.
func TestPeersWebPContainers(t *testing.T) {
	dir := t.TempDir()
	need(t, "cwebp")
	m := scene(21, 13, 4, func(x, y, c int) int {
		if c == 3 {
			return 255 - x*9
		}
		return landscape(x, y+60, c)
	})
	data, err := Encode(m, "pnm")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "in"), data)
	shell(t, dir, "cwebp -quiet -q 60 in -o lossy.webp && cwebp -quiet -lossless in -o lossless.webp")
	parts := map[string][]byte{}
	for _, name := range []string{"lossy.webp", "lossless.webp"} {
		file, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for c, err := range webp.Chunks(file) {
			if err != nil {
				t.Fatal(err)
			}
			parts[c.Kind] = bytes.Clone(c.Body)
		}
	}
	extended := func(flags byte) []byte { return []byte{flags, 0, 0, 0, 20, 0, 0, 12, 0, 0} }
	const hasAlpha, hasEXIF = 0x10, 0x08
	vp8, vp8l, alph := parts["VP8 "], parts["VP8L"], parts["ALPH"]
	unpadded := webpFile("VP8 ", append(bytes.Clone(vp8), make([]byte, 1-len(vp8)&1)...))
	unpadded = unpadded[:len(unpadded)-1]
	binary.LittleEndian.PutUint32(unpadded[4:], uint32(len(unpadded)-8))
	for name, file := range map[string][]byte{
		"simple":                              webpFile("VP8 ", vp8),
		"simple lossless":                     webpFile("VP8L", vp8l),
		"alpha":                               webpFile("VP8X", extended(hasAlpha), "ALPH", alph, "VP8 ", vp8),
		"alpha that is not announced":         webpFile("VP8X", extended(0), "ALPH", alph, "VP8 ", vp8),
		"alpha that is announced and missing": webpFile("VP8X", extended(hasAlpha), "VP8 ", vp8),
		"lossless with alpha not announced":   webpFile("VP8X", extended(0), "VP8L", vp8l),
		"unknown chunks":                      webpFile("VP8X", extended(hasAlpha), "ABCD", []byte("x"), "ALPH", alph, "EFGH", []byte("yz"), "VP8 ", vp8, "IJKL", []byte("z")),
		"metadata of odd lengths":             webpFile("VP8X", extended(hasEXIF), "VP8L", vp8l, "EXIF", append(exifBlock(binary.BigEndian, 1), 0)),
		"bytes behind the end":                append(webpFile("VP8 ", vp8), "tail"...),
		"no padding at the end":               unpadded,
		"a stray byte within":                 func() []byte { f := append(webpFile("VP8L", vp8l), 0, 0); f[4] += 2; return f }(),
	} {
		t.Run(name, func(t *testing.T) {
			writeFile(t, filepath.Join(dir, "out"), file)
			got := decodeFile(t, filepath.Join(dir, "out"))
			shell(t, dir, "dwebp -quiet out -pam -o want")
			sameColours(t, visible(got), visible(decodeFile(t, filepath.Join(dir, "want"))))
			h, err := ReadHeader(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n := allocated(func() { _, _ = Decode(file, nil) }); n > h.DecodedBytes {
				t.Errorf("%d bytes were taken, the header says %d", n, h.DecodedBytes)
			}
		})
	}
}
