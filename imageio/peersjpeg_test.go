package imageio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

// The tests of this file hold our JPEG decoder against djpeg of libjpeg-turbo:
// all samples are equal.

// djpeg runs djpeg with its default settings. It returns the image and the
// exit status: 1 for a refusal, 2 for a warning.
func djpeg(t *testing.T, data []byte) (*raster.Image, int) {
	t.Helper()
	need(t, "djpeg")
	cmd := exec.Command("djpeg", "-pnm")
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	status := cmd.ProcessState.ExitCode()
	if status == 1 {
		return nil, status
	}
	m, err := Decode(out, nil)
	if err != nil {
		t.Fatalf("djpeg's picture: %v", err)
	}
	return m, status
}

// sameAsDjpeg fails unless we read what djpeg reads.
func sameAsDjpeg(t *testing.T, data []byte) {
	t.Helper()
	want, status := djpeg(t, data)
	if status == 1 {
		t.Fatal("djpeg refuses it")
	}
	agree(t, data, nil)
	head, err := ReadHeader(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got *raster.Image
	if n := allocated(func() { got, err = Decode(data, nil) }); n > head.DecodedBytes {
		t.Errorf("%d bytes were taken, the header says %d", n, head.DecodedBytes)
	}
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
}

// encoded runs a command line on an image and returns what it writes.
func encoded(t *testing.T, m *raster.Image, line string) []byte {
	t.Helper()
	data, err := Encode(m, "pnm")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(line, " | ") {
		words := strings.Fields(part)
		need(t, words[0])
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stdin = bytes.NewReader(data)
		var errors strings.Builder
		cmd.Stderr = &errors
		if data, err = cmd.Output(); err != nil {
			t.Fatalf("%s: %v\n%s", part, err, &errors)
		}
	}
	return data
}

var samplings = []string{
	"1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "4x2", "2x4", "3x1", "1x3", "3x2", "2x3",
	"2x2,2x1,1x1", "2x2,1x2,2x1", "1x1,2x2,2x2", "1x1,2x1,1x2", "4x1,2x1,1x1", "2x1,2x1,2x1", "1x2,1x1,1x2", "1x4,1x2,1x1",
}

// Every way of subsampling, coding and dividing into scans that cjpeg knows.
func TestPeersJPEG(t *testing.T) {
	photo, grey := scene(77, 51, 3, landscape), scene(77, 51, 1, plasma)
	var lines []string
	for _, s := range samplings {
		for _, mode := range []string{"-baseline", "-progressive", "-arithmetic -restart 1", "-restart 3B"} {
			lines = append(lines, "cjpeg -quality 85 -sample "+s+" "+mode)
		}
	}
	for _, q := range []string{"1", "3", "10", "25", "50", "75", "90", "97", "100"} {
		lines = append(lines, "cjpeg -sample 2x2 -quality "+q, "cjpeg -sample 1x1 -progressive -quality "+q)
	}
	lines = append(lines,
		"cjpeg -rgb -sample 1x1", "cjpeg -rgb -sample 2x1,1x1,1x2", "cjpeg -rgb -progressive -sample 1x1",
		"cjpeg -quality 80,20 -optimize", "cjpeg -quality 90,80 -qslots 0,1", "cjpeg -dct fast", "cjpeg -dct float -smooth 20",
		"cjpeg -arithmetic -progressive -restart 2", "cjpeg -progressive -restart 1B -sample 2x1", "cjpeg -arithmetic -restart 1B",
		"cjpeg | jpegtran -progressive", "cjpeg -progressive | jpegtran", "cjpeg -sample 2x2 | jpegtran -rotate 90 -trim",
		"cjpeg -sample 2x1 | jpegtran -transpose -arithmetic", "cjpeg | jpegtran -grayscale",
		"convert - -quality 92 jpg:-", "convert - -quality 30 -sampling-factor 4:2:0 -interlace JPEG jpg:-",
		"convert - -sampling-factor 4:1:1 jpg:-", "convert - -sampling-factor 4:4:0 jpg:-", "convert - -colorspace Gray jpg:-",
		"convert - -colorspace CMYK -sampling-factor 1x1 jpg:-", "convert - -colorspace CMYK -sampling-factor 2x2 -interlace JPEG jpg:-",
		"convert - -set colorspace RGB -sampling-factor 1x1 jpg:-",
	)
	for _, line := range lines {
		t.Run(line, func(t *testing.T) { sameAsDjpeg(t, encoded(t, photo, line)) })
	}
	for _, line := range []string{"cjpeg", "cjpeg -sample 2x2", "cjpeg -sample 1x2 -progressive", "cjpeg -sample 4x3 -arithmetic", "cjpeg -quality 4 -restart 1"} {
		t.Run("grey "+line, func(t *testing.T) { sameAsDjpeg(t, encoded(t, grey, line)) })
	}
}

// Sizes around those of blocks and MCUs, with each upsampling.
func TestPeersJPEGSizes(t *testing.T) {
	sides := []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 25, 31, 32, 33, 40}
	modes := []string{"-baseline", "-progressive", "-restart 1B", "-arithmetic"}
	n := 0
	for _, s := range []string{"1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "4x2", "3x1", "1x1,2x2,2x1"} {
		for i, w := range sides {
			h := sides[(7*i+n)%len(sides)]
			line := fmt.Sprintf("cjpeg -quality 88 -sample %s %s", s, modes[n%len(modes)])
			n++
			t.Run(fmt.Sprintf("%dx%d %s", w, h, line), func(t *testing.T) {
				sameAsDjpeg(t, encoded(t, pattern(w, h, 1, 3, 8), line))
			})
		}
	}
}

// scripts are for cjpeg -scans. Those that leave bits open have libjpeg smooth
// blocks.
var scripts = map[string]string{
	"a scan for each component": "0;\n1;\n2;\n",
	"chroma first":              "1 2;\n0;\n",
	"two and one":               "0 1;\n2;\n",
	"spectral selection":        "0 1 2: 0-0, 0, 0;\n0: 1-9, 0, 0;\n0: 10-63, 0, 0;\n1: 1-63, 0, 0;\n2: 1-63, 0, 0;\n",
	"many bits":                 "0: 0-0, 0, 3;\n1: 0-0, 0, 2;\n2: 0-0, 0, 1;\n0: 0-0, 3, 2;\n0: 0-0, 2, 1;\n1: 0-0, 2, 1;\n0 1 2: 0-0, 1, 0;\n0: 1-63, 0, 3;\n0: 1-63, 3, 2;\n0: 1-63, 2, 1;\n0: 1-63, 1, 0;\n1: 1-63, 0, 0;\n2: 1-63, 0, 1;\n2: 1-63, 1, 0;\n",
	"only DC":                   "0 1 2: 0-0, 0, 0;\n",
	"only upper bits of DC":     "0 1 2: 0-0, 0, 1;\n",
	"bits of AC open":           "0 1 2: 0-0, 0, 0;\n0: 1-63, 0, 2;\n1: 1-63, 0, 1;\n2: 1-63, 0, 1;\n",
	"some AC of luma":           "0 1 2: 0-0, 0, 0;\n0: 1-3, 0, 0;\n",
	"five AC":                   "0 1 2: 0-0, 0, 0;\n0: 1-5, 0, 2;\n1: 6-63, 0, 0;\n",
}

func TestPeersJPEGScans(t *testing.T) {
	dir := t.TempDir()
	for name, script := range scripts {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		for i, size := range []struct{ w, h int }{{77, 51}, {8, 8}, {16, 9}, {17, 40}, {40, 17}, {48, 33}, {33, 65}} {
			sampling := []string{"1x1", "2x2", "2x1", "1x2", "2x2", "1x4", "4x1"}[i]
			for _, coding := range []string{"", " -arithmetic"} {
				line := fmt.Sprintf("cjpeg -quality 60 -sample %s%s -scans %s", sampling, coding, path)
				t.Run(fmt.Sprintf("%s %dx%d %s%s", name, size.w, size.h, sampling, coding), func(t *testing.T) {
					sameAsDjpeg(t, encoded(t, scene(size.w, size.h, 3, landscape), line))
				})
			}
		}
	}
}

// Coefficients beyond all that an encoder makes of samples: sums overflow 16
// bits as they do in libjpeg-turbo's vector instructions.
func TestPeersJPEGOverflows(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		skip(t, "the vector instructions of another machine overflow in another way")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, line := range []string{"cjpeg -quality 98 -sample 1x1", "cjpeg -quality 98 -sample 2x2 -progressive", "cjpeg -quality 30 -arithmetic"} {
		data := encoded(t, scene(64, 48, 3, plasma), line)
		for range 20 {
			bad := bytes.Clone(data)
			at := 0
			for at < len(bad) {
				n := bytes.Index(bad[at:], []byte{0xff, 0xdb, 0, 67})
				if n < 0 {
					break
				}
				at += n + 5
				for k := range 64 {
					if rng.IntN(4) == 0 {
						bad[at+k] = byte(rng.IntN(256))
					}
				}
			}
			sameAsDjpeg(t, bad)
		}
	}
}

// Orientation is applied behind the decoder.
func TestPeersJPEGOrientation(t *testing.T) {
	dir := t.TempDir()
	for o := uint16(1); o <= 8; o++ {
		data := withEXIF(encoded(t, scene(77, 51, 3, plasma), "cjpeg -quality 95 -sample 1x1"), exifBlock(binary.BigEndian, o))
		if err := os.WriteFile(filepath.Join(dir, "in.jpg"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		shell(t, dir, "convert in.jpg -auto-orient -depth 8 ppm:want")
		same(t, decodeFile(t, filepath.Join(dir, "in.jpg")), decodeFile(t, filepath.Join(dir, "want")))
	}
}

// Damaged files: what djpeg reads without a warning is read, what it refuses is
// refused, and where it warns, the file is refused or gives djpeg's samples.
func TestPeersJPEGMutants(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		skip(t, "the vector instructions of another machine overflow in another way")
	}
	m := scene(40, 30, 3, plasma)
	var files [][]byte
	for _, line := range []string{
		"cjpeg -quality 90 -sample 2x2", "cjpeg -quality 90 -sample 2x1 -restart 1", "cjpeg -quality 90 -progressive -restart 2",
		"cjpeg -quality 90 -arithmetic -restart 1", "cjpeg -quality 90 -arithmetic -progressive -sample 1x2", "cjpeg -rgb -optimize",
	} {
		files = append(files, encoded(t, m, line))
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 400 {
		data := bytes.Clone(files[n%len(files)])
		for range 1 + rng.IntN(3) {
			at, v := 2+rng.IntN(len(data)-2), byte(rng.IntN(256))
			switch rng.IntN(4) {
			case 0:
				data[at] ^= 1 << (v & 7)
			case 1:
				data[at] = v
			case 2:
				data = slices.Delete(data, at, at+1)
			case 3:
				data = slices.Insert(data, at, v)
			}
		}
		got, err := Decode(data, &Limits{Samples: 1 << 22})
		if overLimitError(err) {
			continue
		}
		want, status := djpeg(t, data)
		switch {
		case (err == nil) != (status == 0) && status != 2:
			t.Errorf("mutant %d: djpeg ends with %d, we say: %v", n, status, err)
		case err == nil:
			same(t, got, want)
		}
	}
}

// The files that lie in the tree.
func TestPeersJPEGFiles(t *testing.T) {
	for _, pattern := range []string{"testdata/good/*.jpg", "../testdata/images/*.jpg"} {
		names, err := filepath.Glob(pattern)
		if err != nil || names == nil {
			t.Fatalf("%s: %d files, error %v", pattern, len(names), err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(filepath.Base(name), func(t *testing.T) { sameAsDjpeg(t, data) })
		}
	}
}

// without returns a file less all segments with a marker.
func without(data []byte, marker byte) []byte {
	out := bytes.Clone(data[:2])
	for i := 2; ; {
		n := 2 + int(binary.BigEndian.Uint16(data[i+2:]))
		if data[i+1] != marker {
			out = append(out, data[i:i+n]...)
		}
		if i += n; data[i-n+1] == 0xda {
			return append(out, data[i:]...)
		}
	}
}

// before puts bytes before the first segment with a marker.
func before(data []byte, marker byte, s string) []byte {
	at := bytes.Index(data, []byte{0xff, marker})
	return append(append(bytes.Clone(data[:at]), s...), data[at:]...)
}

// Files that are out of the ordinary and read as djpeg reads them. Where djpeg
// warns, no sample is in doubt.
func TestPeersJPEGOddFiles(t *testing.T) {
	m := scene(77, 51, 3, landscape)
	plain := encoded(t, m, "cjpeg -quality 85 -sample 2x1")
	progressive := encoded(t, m, "cjpeg -quality 85 -progressive")
	cmyk := encoded(t, m, "convert - -colorspace CMYK jpg:-")
	bare := without(plain, 0xe0)
	ids := func(a, b, c byte) []byte {
		data := bytes.Clone(bare)
		sof := bytes.Index(data, []byte{0xff, 0xc0})
		sos := bytes.Index(data, []byte{0xff, 0xda})
		for i, id := range []byte{a, b, c} {
			data[sof+10+3*i], data[sos+5+2*i] = id, id
		}
		return data
	}
	adobe := func(transform byte) string {
		return "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00" + string(transform)
	}
	edit := func(data []byte, marker byte, at int, v byte) []byte {
		data = bytes.Clone(data)
		data[bytes.Index(data, []byte{0xff, marker})+at] = v
		return data
	}
	sos := bytes.Index(plain, []byte{0xff, 0xda})
	for _, c := range []struct {
		name   string
		data   []byte
		status int // of djpeg
	}{
		{"no Huffman tables", without(plain, 0xc4), 0},
		{"fill bytes", before(before(plain, 0xdb, "\xff\xff\xff"), 0xd9, "\xff\xff"), 0},
		{"stray bytes behind SOI", before(plain, 0xe0, "stray"), 2},
		{"stray bytes between segments", before(plain, 0xc0, "stray"), 2},
		{"stray bytes behind the scan", before(plain, 0xd9, strings.Repeat("\x00", 20)), 2},
		{"stray bytes before a restart marker", before(encoded(t, m, "cjpeg -restart 1"), 0xd1, "\x12\x34"), 2},
		{"data behind the end", append(bytes.Clone(plain), "\xff\xd8\xff\xe1 another file \xff\xda"...), 0},
		{"a DNL segment", before(plain, 0xda, "\xff\xdc\x00\x04\x00\x33"), 0},
		{"restart markers between segments", before(plain, 0xc0, "\xff\xd3\xff\x01"), 0},
		{"spectral parameters of zero", edit(plain, 0xda, 12, 0), 2},
		{"JFIF of version 2", edit(plain, 0xe0, 9, 2), 2},
		{"no JFIF segment", bare, 0},
		{"ids R, G, B", ids('R', 'G', 'B'), 0},
		{"other ids", ids(7, 8, 200), 0},
		{"one id for all", ids(1, 1, 1), 0},
		{"Adobe, RGB", before(bare, 0xdb, adobe(0)), 0},
		{"Adobe, YCbCr", before(bare, 0xdb, adobe(1)), 0},
		{"Adobe, a colour space of its own", before(bare, 0xdb, adobe(9)), 2},
		{"Adobe, RGB, and JFIF", before(plain, 0xdb, adobe(0)), 0},
		{"CMYK without Adobe's segment", without(cmyk, 0xee), 0},
		{"YCCK", before(without(cmyk, 0xee), 0xdb, adobe(2)), 0},
		{"four components, a colour space of their own", before(without(cmyk, 0xee), 0xdb, adobe(7)), 2},
		{"a table for quantization that changes behind its first scan", before(progressive, 0xda, string(plain[bytes.Index(plain, []byte{0xff, 0xdb}):sos])[:69]), 0},
		{"AC before DC", dropScan(progressive, 0), 2},
		{"a scan left out", dropScan(progressive, 2), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, status := djpeg(t, c.data); status != c.status {
				t.Errorf("djpeg ends with %d, want %d", status, c.status)
			}
			sameAsDjpeg(t, c.data)
		})
	}
}

// dropScan takes scan n out of a file, with the tables before it.
func dropScan(data []byte, n int) []byte {
	from := 0
	for range n {
		from += bytes.Index(data[from:], []byte{0xff, 0xda}) + 2
	}
	if n > 0 {
		from += bytes.Index(data[from:], []byte{0xff, 0xc4})
	} else {
		from = bytes.Index(data, []byte{0xff, 0xda})
	}
	to := from
	if n > 0 {
		to += bytes.Index(data[from:], []byte{0xff, 0xda}) + 2
	} else {
		to += 2
	}
	to += bytes.Index(data[to:], []byte{0xff, 0xc4})
	return append(bytes.Clone(data[:from]), data[to:]...)
}

// Files that are not read, although some of them are shown by some viewer:
// djpeg refuses each, or warns that it makes up samples.
func TestPeersJPEGRefused(t *testing.T) {
	m := scene(77, 51, 3, landscape)
	plain := encoded(t, m, "cjpeg -quality 85 -restart 1")
	progressive := encoded(t, m, "cjpeg -quality 85 -progressive")
	edit := func(data []byte, marker byte, at int, v byte) []byte {
		data = bytes.Clone(data)
		data[bytes.Index(data, []byte{0xff, marker})+at] = v
		return data
	}
	sos := bytes.Index(plain, []byte{0xff, 0xda})
	for _, c := range []struct {
		name, want string
		data       []byte
		status     int // of djpeg
	}{
		{"cut in its scan", "ends in the middle", plain[:len(plain)-100], 2},
		{"cut in its header", "ends in the middle", plain[:100], 1},
		{"no EOI", "ends in the middle", plain[:len(plain)-2], 2},
		{"no scan", "no scan", append(bytes.Clone(plain[:sos]), 0xff, 0xd9), 1},
		{"restart markers out of order", "out of order", edit(plain, 0xd1, 1, 0xd5), 2},
		{"data missing before a restart marker", "fewer data", cutBefore(plain, 0xd1, 9), 2},
		{"no quantization table", "quantization table", without(plain, 0xdb), 1},
		{"no Huffman table of a progressive file", "Huffman table", without(progressive, 0xc4), 1},
		{"two frames", "two frames", before(plain, 0xda, string(plain[bytes.Index(plain, []byte{0xff, 0xc0}):][:19])), 1},
		{"two scans of all components", "only scan", append(bytes.Clone(plain[:len(plain)-2]), plain[sos:]...), 1},
		{"12 bits", "12 bits", edit(plain, 0xc0, 4, 12), 1},
		{"a height that comes later", "height", edit(edit(plain, 0xc0, 5, 0), 0xc0, 6, 0), 1},
		{"no width", "no width", edit(edit(plain, 0xc0, 7, 0), 0xc0, 8, 0), 1},
		{"a fractional ratio", "3 x 2 pixels", edit(edit(plain, 0xc0, 11, 0x32), 0xc0, 14, 0x21), 1},
		{"a sampling factor of five", "sampling factor", edit(plain, 0xc0, 11, 0x51), 1},
		{"an MCU of eleven blocks", "11 blocks", edit(plain, 0xc0, 11, 0x33), 1},
		{"a lossless frame", "lossless", edit(plain, 0xc0, 1, 0xc3), 1},
		{"a hierarchical frame", "hierarchical", edit(plain, 0xc0, 1, 0xc5), 1},
		{"an unknown segment", "reserved marker", before(plain, 0xda, "\xff\x02\x00\x02"), 1},
		{"a second SOI", "second SOI", before(plain, 0xda, "\xff\xd8"), 1},
		{"a component that the frame has not", "component", edit(plain, 0xda, 5, 77), 1},
		{"bits that do not follow", "not allowed", edit(progressive, 0xda, 13, 0x20), 1},
		{"codes that do not fit", "codes of a Huffman table", edit(edit(plain, 0xc4, 5, 2), 0xc4, 7, 3), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, status := djpeg(t, c.data); status != c.status {
				t.Errorf("djpeg ends with %d, want %d", status, c.status)
			}
			_, err := Decode(c.data, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// cutBefore takes n bytes away before a marker.
func cutBefore(data []byte, marker byte, n int) []byte {
	at := bytes.Index(data, []byte{0xff, marker})
	return append(bytes.Clone(data[:at-n]), data[at:]...)
}
