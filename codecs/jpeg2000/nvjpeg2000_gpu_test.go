package jpeg2000

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// nvJPEG2000 is a library of NVIDIA's that encodes and decodes JPEG 2000 on cards. The tests
// and benchmarks of this file run a program, nvj2k_bench, that encodes and decodes a picture
// with it and prints rates and whether pixels are the same; it is built apart from this
// project, and found in PATH or by PELMILL_NVJPEG2000.

// nvJPEG2000Program finds the program.
func nvJPEG2000Program() (string, error) {
	name := os.Getenv("PELMILL_NVJPEG2000")
	if name == "" {
		name = "nvj2k_bench"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", errors.New("nvj2k_bench is neither in PATH nor what PELMILL_NVJPEG2000 names")
	}
	return filepath.Abs(path)
}

// runNVJPEG2000 runs it with a picture.
func runNVJPEG2000(tb testing.TB, program string, m *raster.Image, args ...string) (string, error) {
	picture := filepath.Join(tb.TempDir(), "picture.ppm")
	if err := os.WriteFile(picture, pnm(m), 0o644); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(tb.Context(), program, append(args, picture)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, out)
	}
	return string(out), err
}

// pnm is an unsigned image of one or three channels in the format of netpbm.
func pnm(m *raster.Image) []byte {
	kind := 5
	if m.Channels == 3 {
		kind = 6
	}
	out := fmt.Appendf(nil, "P%d\n%d %d\n%d\n", kind, m.Width, m.Height, 1<<m.Bits-1)
	if m.BytesPerSample() == 1 {
		return append(out, m.Pix...)
	}
	for i := range m.Samples() {
		v := m.Sample(i)
		out = append(out, byte(v>>8), byte(v))
	}
	return out
}

var nvJPEG2000Rate = regexp.MustCompile(`(enc|dec)-host .* ([0-9.]+) Mpixel/s`)

// nvJPEG2000 is the rates, in Gpx/s, of as many encodings and decodings of a picture, from
// and to pinned memory.
func (r *cardRow) nvJPEG2000(b *testing.B, mode string, m *raster.Image) (encode, decode float64, err error) {
	program, err := nvJPEG2000Program()
	if err != nil {
		return 0, 0, err
	}
	mode = map[string]string{"mode=ht": "ht", "mode=part1": "j2k"}[mode]
	out, err := runNVJPEG2000(b, program, m, "-m", mode, "-n", strconv.Itoa(min(r.n, 96)), "-t", "8", "-s", "2", "-b", "64", "-x", "2")
	if err != nil {
		return 0, 0, err
	}
	rates := map[string]float64{}
	for _, line := range nvJPEG2000Rate.FindAllStringSubmatch(out, -1) {
		v, _ := strconv.ParseFloat(line[2], 64)
		rates[line[1]] = max(rates[line[1]], v/1e3)
	}
	return rates["enc"], rates["dec"], nil
}

// nvJPEG2000 finds in our files the samples that they were made of.
func TestNVJPEG2000ReadsOurFiles(t *testing.T) {
	gputest.Device(t, nil)
	program, err := nvJPEG2000Program()
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	for _, s := range []raster.Shape{shape(300, 211, 3, 8, false), shape(131, 97, 1, 8, false), shape(190, 270, 1, 16, false)} {
		m := pattern(s)
		for _, pairs := range []string{"mode=part1", "mode=part1 effort=best", "mode=part1 tile=128x128 progression=RPCL", "mode=ht", "mode=ht block=32x32 levels=3"} {
			file := encoded(t, m, append(strings.Fields(pairs), "container=j2c")...)
			name := filepath.Join(t.TempDir(), "picture.j2c")
			if err := os.WriteFile(name, file, 0o644); err != nil {
				t.Fatal(err)
			}
			mode := "j2k"
			if strings.Contains(pairs, "mode=ht") {
				mode = "ht"
			}
			out, err := runNVJPEG2000(t, program, m, "-m", mode, "-n", "2", "-t", "1", "-s", "1", "-x", "1", "-decode", name)
			if err != nil || !strings.Contains(out, "pixels identical") {
				t.Errorf("%s with %s: %v\n%s", s, pairs, err, out)
			}
		}
	}
}
