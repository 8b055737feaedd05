package imageio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a library does with a file.
const (
	shows   = "shows it"
	warns   = "warns"
	refuses = "refuses it"
)

// What we do with it.
const (
	rejects     = "rejected"
	unsupports  = "unsupported"
	readsPartly = "read with a note"
)

// exception is a file with which we do not what a library does that warns of
// nothing, or that we refuse together with it.
type exception struct {
	kind, name string
	data       []byte
	library    string // libpng, libtiff, giflib, libwebp or netpbm, as the format has it
	ours       string
	why        string
}

// exceptions is the list of all that are known. Whatever is not in it and that the
// library shows without a warning is read, with the same samples.
func exceptions(t *testing.T) []exception {
	small := pattern(4, 3, 1, 3, 8)
	encoded := func(format string) []byte {
		data, err := Encode(small, format)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	png := encoded("png")
	rgb := variantPage(3, tiffRGB)
	set := func(tag, v int) []byte { return rgb.with(map[int][]int{tag: {v}}).bytes() }
	deflated := rgb.strips(variantH, tiffDeflate, zlibbed)
	badSum := *deflated
	badSum.blocks = [][]byte{bytes.Clone(deflated.blocks[0])}
	badSum.blocks[0][len(badSum.blocks[0])-1] ^= 1
	plain := rgb.bytes()
	dir := binary.LittleEndian.Uint32(plain[4:])
	link := int(dir) + 2 + 12*int(binary.LittleEndian.Uint16(plain[dir:]))
	circle := bytes.Clone(plain)
	copy(circle[link:], circle[4:8])
	inline := variantPage(1, tiffBlackIsZero).bytes() // its fields need no room behind the directory
	whole := gifPart{w: 3, h: 2, indices: []byte{0, 1, 2, 3, 0, 1}}
	gif := gifFile(3, 2, gifColours, whole)
	vp8l := []byte("\x2f\x00\x00\x00\x00\x00")
	bmp := goodFiles(t)["palette.bmp"]
	rle := []byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x3e\x00\x00\x00\x28\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x01\x00\x08\x00\x01\x00\x00\x00")
	rle = append(rle, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0, 2, 1, 0, 0, 0, 1)
	rle[2] = byte(len(rle))
	textWith := func(crc byte) []byte {
		c := chunkOf("tEXt", []byte("Title\x00x"))
		c[len(c)-1] ^= crc
		return pngWith(t, small, c, nil)
	}
	return []exception{
		{"png", "a wrong checksum beside the samples", textWith(1), warns, rejects, "the file is damaged, and what the chunk said is lost"},
		{"png", "a chunk that the picture needs and nobody knows", pngWith(t, small, chunkOf("NEED", nil), nil), refuses, unsupports, "its author says that it cannot be read without"},
		{"png", "no IEND", png[:len(png)-12], refuses, rejects, "the file is cut short"},
		{"png", "transparency behind the samples", pngWith(t, small, nil, chunkOf("tRNS", make([]byte, 6))), warns, rejects, "the specification has no meaning for it"},
		{"png", "an animation", pngWith(t, small, chunkOf("acTL", []byte{0, 0, 0, 2, 0, 0, 0, 0}), nil), shows, readsPartly, "libpng, too, sees the one picture"},

		{"tiff", "no room for the next page's place", inline[:len(inline)-4], shows, rejects, "the file is cut, and pages may be missing"},
		{"tiff", "pages in a circle", circle, warns, rejects, "nothing tells which page was to follow"},
		{"tiff", "no rows in a strip", set(tagRowsPerStrip, 0), refuses, rejects, "the field is not valid"},
		{"tiff", "no colour space of three samples", rgb.with(map[int][]int{tagPhotometric: nil}).bytes(), warns, rejects, "libtiff shows the first sample as grey"},
		{"tiff", "a wrong checksum of Deflate", badSum.bytes(), warns, rejects, "the samples are not those that were written"},
		{"tiff", "tiles of 4 x 4", rgb.tiled(4, 4, 3).bytes(), warns, rejects, "they cost more than they hold; sides are multiples of 16"},
		{"tiff", "an extra sample", variantPage(4, tiffRGB).with(map[int][]int{tagExtraSamples: {0}}).bytes(), shows, readsPartly, "a picture has room for colours and alpha only"},
		{"tiff", "samples of 32 bits", variantPage(4, tiffBlackIsZero).with(map[int][]int{tagSamples: {1}, tagBits: {32}}).bytes(), refuses, unsupports, "a picture has up to 16 bits"},
		{"tiff", "YCbCr", set(tagPhotometric, 6), shows, unsupports, "not read yet"},
		{"tiff", "CIE L*a*b*", set(tagPhotometric, 8), shows, unsupports, "needs a choice of white and of rendering"},
		{"tiff", "fax of group 3 in two dimensions", variantPage(1, tiffWhiteIsZero).with(map[int][]int{tagBits: {1}, tagCompression: {tiffG3}, tagT4Options: {1}}).bytes(), warns, unsupports, "not read yet"},
		{"tiff", "BigTIFF", []byte("II+\x00\x08\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00"), refuses, rejects, "the file is cut before its first page"},

		{"gif", "no trailer", gif[:len(gif)-1], refuses, rejects, "the file is cut, and frames may be missing"},
		{"gif", "a frame that ends early", gifFile(3, 2, gifColours, gifPart{w: 3, h: 2, data: codes(3, 4, 0, 1, 5)}), refuses, rejects, "samples are missing"},
		{"gif", "a frame without samples", gifFile(3, 2, gifColours, gifPart{w: 0, h: 2, indices: []byte{0}}), refuses, rejects, "its size is not valid"},
		{"gif", "a frame without colours", gifFile(3, 2, nil, whole), shows, unsupports, "every viewer chooses other ones"},
		{"gif", "a block of no kind", append(bytes.Clone(gif[:len(gif)-1]), 0x77, 0x3b), refuses, rejects, "the file is damaged"},

		{"bmp", "RLE", rle, shows, unsupports, "not read"},
		{"bmp", "a header of OS/2", append([]byte("BM\x1e\x00\x00\x00\x00\x00\x00\x00\x1a\x00\x00\x00\x0c\x00\x00\x00\x01\x00\x01\x00\x01\x00\x18\x00"), 1, 2, 3, 0), shows, unsupports, "not read"},
		{"bmp", "half of the rows", bmp[:len(bmp)-20], refuses, rejects, "the file is cut short"},

		{"webp", "an animation without frames", webpFile("VP8X", []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "ANIM", make([]byte, 6)), refuses, rejects, "it shows nothing"},
		{"webp", "a canvas of another size", webpFile("VP8X", []byte{0, 0, 0, 0, 9, 0, 0, 9, 0, 0}, "VP8L", vp8l), refuses, rejects, "the specification has no meaning for it"},

		{"pnm", "bytes behind the picture", []byte("P5 1 1 255\nxtail"), shows, rejects, "they may be samples of a wrong header"},
		{"pnm", "CMYK", []byte("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE CMYK\nENDHDR\nabcd"), refuses, unsupports, "the fourth sample is no alpha"},
		{"pnm", "a thumbnail of xv", []byte("P7 332\n#END_OF_COMMENTS\n1 1 255\nx"), refuses, unsupports, "another format with the first bytes of PAM"},
		{"pnm", "a sample above maxval", []byte("P2 1 1 100 101 "), refuses, rejects, "the header is wrong or the sample"},
	}
}

// library runs the program that asks the format's library.
func library(t *testing.T, dir, kind, in string) string {
	t.Helper()
	line := map[string]string{
		"png":  "pngtopam %s",
		"tiff": "rm -f shown.tif; tiff2rgba -c none %s shown.tif && cat shown.tif",
		"gif":  "gifbuild -d %s",
		"bmp":  "bmptopnm -quiet %s",
		"webp": "dwebp -quiet %s -pam -o -",
		"pnm":  "pamtopng %s",
	}[kind]
	need(t, strings.Fields(strings.TrimPrefix(line, "rm -f shown.tif; "))[0])
	cmd := exec.Command("sh", "-c", fmt.Sprintf(line, in))
	cmd.Dir = dir
	var warnings bytes.Buffer
	cmd.Stderr = &warnings
	out, err := cmd.Output()
	const empty = 8 // bytes of a TIFF file without a page, which tiff2rgba leaves with status 0
	t.Logf("%s: %v, %d bytes, %s", line, err, len(out), strings.TrimSpace(warnings.String()))
	switch {
	case err != nil || len(out) <= empty:
		return refuses
	case warnings.Len() > 0:
		return warns
	}
	return shows
}

// Every exception is one, on both sides.
func TestExceptions(t *testing.T) {
	dir := t.TempDir()
	for _, e := range exceptions(t) {
		t.Run(e.kind+", "+e.name, func(t *testing.T) {
			path := filepath.Join(dir, "in")
			if err := os.WriteFile(path, e.data, 0o644); err != nil {
				t.Fatal(err)
			}
			if got := library(t, dir, e.kind, "in"); got != e.library {
				t.Errorf("the library %s, want that it %s", got, e.library)
			}
			h, err := ReadHeader(e.data, nil)
			if err == nil {
				_, err = Decode(e.data, nil)
			}
			var r *RejectedError
			var u *UnsupportedError
			got := "read"
			switch {
			case errors.As(err, &r):
				got = rejects
			case errors.As(err, &u):
				got = unsupports
			case h.Note != "":
				got = readsPartly
			}
			if got != e.ours {
				t.Errorf("it is %s (%v), want %s, as %s", got, err, e.ours, e.why)
			}
		})
	}
}
