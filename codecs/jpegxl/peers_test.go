package jpegxl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
)

// The tests of this file hold us against libjxl's programs, from Debian's package
// libjxl-tools, on files of every kind that libjpeg-turbo's programs make.

// need skips loudly, or fails in CI, where a program is missing.
func need(t testing.TB, program, pack string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	why := program + " is not installed; Debian: apt-get install " + pack
	if os.Getenv("PELMILL_TEST") == "require" {
		t.Fatal(why)
	}
	t.Skip("NOT TESTED: " + why)
}

// run returns the standard output of a program that gets input.
func run(t testing.TB, input []byte, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	var out, diagnostics bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &diagnostics
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, diagnostics.Bytes())
	}
	return out.Bytes()
}

// kinds are JPEG files of all kinds.
func kinds(t testing.TB) map[string][]byte {
	need(t, "jpegtran", "libjpeg-turbo-progs")
	need(t, "djpeg", "libjpeg-turbo-progs")
	need(t, "cjpeg", "libjpeg-turbo-progs")
	photo := treeFile(t, "testdata/images/landscape.jpg")
	scans := filepath.Join(t.TempDir(), "scans")
	script := "0: 0-0, 0, 2; 1 2: 0-0, 0, 1; 0: 1-5, 0, 2; 2: 1-63, 0, 1; 1: 1-63, 0, 1; 0: 6-63, 0, 2; 0: 1-63, 2, 1; 0: 0-0, 2, 1; 1 2: 0-0, 1, 0; 0: 0-0, 1, 0; 2: 1-63, 1, 0; 1: 1-63, 1, 0; 0: 1-63, 1, 0;"
	if err := os.WriteFile(scans, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	bands, approximations := filepath.Join(t.TempDir(), "bands"), filepath.Join(t.TempDir(), "approximations")
	if err := errors.Join(os.WriteFile(bands, []byte(threeEach()), 0o600), os.WriteFile(approximations, []byte(tenBits()), 0o600)); err != nil {
		t.Fatal(err)
	}
	tran := func(args ...string) []byte {
		return run(t, photo, "jpegtran", append([]string{"-copy", "all"}, args...)...)
	}
	pixels := run(t, photo, "djpeg", "-pnm")
	small := run(t, photo, "djpeg", "-pnm", "-scale", "1/8")
	encode := func(pnm []byte, args ...string) []byte { return run(t, pnm, "cjpeg", args...) }
	files := map[string][]byte{
		"photo":              photo,
		"optimised":          tran("-optimize"),
		"progressive":        tran("-progressive"),
		"scans":              tran("-scans", scans),
		"narrow bands":       encode(halfNoise(), "-quality", "95", "-scans", bands),
		"ten bits":           encode(small, "-quality", "95", "-scans", approximations),
		"fill bytes":         filled(),
		"many segments":      slices.Concat(sample[:2], bytes.Repeat([]byte("\xff\xe5\x00\x06abcd\xff\xfe\x00\x03x"), 1000), sample[2:]),
		"one row":            made(t, 65500, 1, 60, false, true),
		"one column":         made(t, 1, 65500, 60, false, true),
		"restarts":           tran("-restart", "1"),
		"restarts in scans":  tran("-progressive", "-restart", "7b"),
		"grey":               tran("-grayscale"),
		"grey progressive":   tran("-grayscale", "-progressive"),
		"rgb":                encode(pixels, "-rgb", "-quality", "90"),
		"small 4:4:4":        encode(small, "-sample", "1x1", "-quality", "95"),
		"small 4:4:0":        encode(small, "-sample", "1x2"),
		"small 4:2:2":        encode(small, "-sample", "2x1", "-quality", "100"),
		"small 4:2:2, 4:4:0": encode(small, "-sample", "2x2,2x1,1x2"),
		"small 4:2:0":        encode(small, "-sample", "2x2", "-quality", "5"),
		"16-bit steps":       encode(small, "-quality", "1"),
		"tail":               append(bytes.Clone(tran("-optimize")), "what follows the end \xff\xd8"...),
		"standard library":   sample,
		"height told twice":  toldTwice(),
		"stray bytes":        slices.Concat(sample[:2], []byte("stray \xff\x00"), sample[2:]),
	}
	if testing.Short() {
		for _, name := range []string{"optimised", "progressive", "restarts", "rgb", "grey", "tail"} {
			delete(files, name)
		}
	}
	return files
}

// threeEach is a script of scans that have three AC coefficients each.
func threeEach() string {
	script := "0: 0-0, 0, 0;\n"
	for k := 1; k < 64; k += 3 {
		script += fmt.Sprintf("0: %d-%d, 0, 0;\n", k, k+2)
	}
	return script
}

// tenBits is a script of scans whose first ones leave ten bits of each coefficient out.
func tenBits() string {
	script := "0 1 2: 0-0, 0, 10; 0: 1-63, 0, 10; 1: 1-63, 0, 10; 2: 1-63, 0, 10;\n"
	for low := 9; low >= 0; low-- {
		script += fmt.Sprintf("0 1 2: 0-0, %[1]d, %[2]d; 0: 1-63, %[1]d, %[2]d; 1: 1-63, %[1]d, %[2]d; 2: 1-63, %[1]d, %[2]d;\n", low+1, low)
	}
	return script
}

// filled is a file with fill bytes before two markers.
func filled() []byte {
	end := len(sample) - 2
	table := bytes.Index(sample, []byte("\xff\xdb"))
	return slices.Concat(sample[:table], []byte("\xff\xff\xff"), sample[table:end], []byte("\xff"), sample[end:])
}

// halfNoise is a grey picture of noise beside an even area.
func halfNoise() []byte {
	const side = 512
	pixels := bytes.Repeat([]byte{128}, side*side)
	seed := uint32(1)
	for i := range pixels {
		if i%side < side/2 {
			seed = seed*1664525 + 1013904223
			pixels[i] = byte(seed >> 24)
		}
	}
	return append(fmt.Appendf(nil, "P5 %d %d 255\n", side, side), pixels...)
}

// toldTwice is a file with a segment DNL behind its scan, though its SOF has the height.
func toldTwice() []byte {
	end := len(sample) - 2
	height := sample[bytes.Index(sample, []byte("\xff\xc0"))+5:][:2]
	return slices.Concat(sample[:end], []byte("\xff\xdc\x00\x04"), height, sample[end:])
}

// beyond are files that cjxl refuses and the format holds, by means of bytes between segments.
func beyond(t testing.TB) map[string][]byte {
	photo := sample
	at := bytes.Index(photo, []byte("\xff\xdb"))
	table := append([]byte("\xff\xdb\x00\x43\x00"), bytes.Repeat([]byte{7}, 64)...)
	again := slices.Concat(photo[:at], table, photo[at:])
	long := slices.Concat(photo, bytes.Repeat([]byte("a film \xff\xd9 behind the picture "), 160<<10))
	scanless := treeFile(t, "codecs/jpegxl/testdata/scanless.jpg")
	if testing.Short() {
		return map[string][]byte{"a table defined twice": again, "no scan": scanless}
	}
	return map[string][]byte{
		"no scan":                     scanless,
		"a table defined twice":       again,
		"5 MB behind the end":         long,
		"standard library, grey":      made(t, 90, 70, 80, true, true),
		"standard library, grey, 1x1": made(t, 1, 1, 80, true, true),
	}
}

// TestBeyond has djxl restore what cjxl refuses.
func TestBeyond(t *testing.T) {
	need(t, "djxl", "libjxl-tools")
	dir := t.TempDir()
	for name, source := range beyond(t) {
		djxlRestores(t, dir, name, source, encoded(t, source))
	}
}

// TestPaddedRestarts: intervals between restart markers that end with zeros are refused, as
// djxl does not take so many padding bits.
func TestPaddedRestarts(t *testing.T) {
	need(t, "jpegtran", "libjpeg-turbo-progs")
	source := run(t, treeFile(t, "testdata/images/landscape.jpg"), "jpegtran", "-restart", "1")
	refused := 0
	for i := 2; i < len(source); i++ {
		if source[i-1] != 0xff || source[i]&0xf8 != 0xd0 || source[i-2] == 0 {
			continue
		}
		changed := bytes.Clone(source)
		changed[i-2] &^= 1 // which pads, unless the interval ends with a byte
		e := Codec{}.Encode(context.Background(), codec.Run{}, []codec.Item{{Source: codec.Source{Format: "jpeg", Data: changed}}}, nil)[0]
		if e.Err != nil && strings.Contains(e.Err.Error(), "padding bits, some of them 0") {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no file is refused")
	}
}

// djxlRestores has djxl give the source of a file of ours.
func djxlRestores(t *testing.T, dir, name string, source, file []byte) {
	t.Helper()
	ours, back := filepath.Join(dir, "ours.jxl"), filepath.Join(dir, "back.jpg")
	if err := os.WriteFile(ours, file, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "djxl", ours, back)
	if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, source) {
		t.Errorf("%s: djxl gives other bytes (%v)", name, err)
	}
}

// TestViewers holds the pictures that djxl shows of our files against those that djpeg shows
// of the JPEG files. Both have upsampling and rounding of their own, hence the tolerances:
// of a sample, and of the mean of all.
func TestViewers(t *testing.T) {
	need(t, "djxl", "libjxl-tools")
	const most, mean = 24, 1.0
	dir := t.TempDir()
	sources := kinds(t)
	for _, name := range []string{"photo", "rgb", "grey progressive", "small 4:4:4", "small 4:2:2"} {
		source, ok := sources[name]
		if !ok {
			continue
		}
		ours, shown := filepath.Join(dir, "ours.jxl"), filepath.Join(dir, "shown.ppm")
		if name == "grey progressive" {
			shown = filepath.Join(dir, "shown.pgm")
		}
		if err := os.WriteFile(ours, encoded(t, source), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, nil, "djxl", ours, shown, "--bits_per_sample=8")
		got, err := os.ReadFile(shown)
		if err != nil {
			t.Fatal(err)
		}
		want := run(t, source, "djpeg", "-pnm")
		if len(got) != len(want) {
			t.Errorf("%s: djxl shows a picture of %d bytes, djpeg one of %d", name, len(got), len(want))
			continue
		}
		largest, sum := 0, 0
		for i := range got {
			d := max(int(got[i])-int(want[i]), int(want[i])-int(got[i]))
			largest, sum = max(largest, d), sum+d
		}
		if largest > most || float64(sum) > mean*float64(len(got)) {
			t.Errorf("%s: samples differ by %d, %.2f in the mean", name, largest, float64(sum)/float64(len(got)))
		}
	}
}

// TestPeers holds our files against djxl, which must restore the JPEG files from them, and
// cjxl's files against us.
func TestPeers(t *testing.T) {
	need(t, "djxl", "libjxl-tools")
	need(t, "cjxl", "libjxl-tools")
	dir := t.TempDir()
	for name, source := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			file := encoded(t, source)
			djxlRestores(t, dir, name, source, file)
			in, theirs := filepath.Join(dir, "in.jpg"), filepath.Join(dir, "theirs.jxl")
			if err := os.WriteFile(in, source, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, effort := range []string{"1", "3", "7", "9"} {
				run(t, nil, "cjxl", in, theirs, "-e", effort, "--num_threads=0")
				data, err := os.ReadFile(theirs)
				if err != nil {
					t.Fatal(err)
				}
				got := Codec{}.Restore(context.Background(), codec.Run{}, [][]byte{data})[0]
				if got.Err != nil || !bytes.Equal(got.Data, source) {
					t.Errorf("other bytes come back from the file of cjxl -e %s (%v)", effort, got.Err)
				}
				if effort == "7" && len(file) > len(data)+len(data)/10+100 {
					t.Errorf("%d bytes, cjxl -e 7 takes %d", len(file), len(data))
				}
			}
		})
	}
}

// encoded is the file of a source.
func encoded(t testing.TB, source []byte) []byte {
	t.Helper()
	e := Codec{}.Encode(context.Background(), codec.Run{}, []codec.Item{{Source: codec.Source{Format: "jpeg", Data: source}}}, nil)[0]
	if e.Err != nil {
		t.Fatal(e.Err)
	}
	return e.Data
}
