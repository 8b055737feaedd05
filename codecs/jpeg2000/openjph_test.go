package jpeg2000

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// The tests of this file hold us against OpenJPH, which the package imagecodecs of PyPI
// brings; "make services" installs it into .tools.

// openJPHScript does jobs from standard input, one a line: it decodes a file, or encodes
// samples without loss, and tells the time that this took.
const openJPHScript = `
import imagecodecs, json, numpy, sys, time
for line in sys.stdin:
    job = json.loads(line)
    best = 1e9
    if job["Decode"]:
        data = open(job["In"], "rb").read()
        for _ in range(job["Times"]):
            start = time.process_time()
            out = imagecodecs.htj2k_decode(data)
            best = min(best, time.process_time() - start)
        out.astype(out.dtype.newbyteorder("<")).tofile(job["Out"])
    else:
        image = numpy.fromfile(job["In"], dtype=job["Type"]).reshape(job["Shape"])
        for _ in range(job["Times"]):
            start = time.process_time()
            out = imagecodecs.htj2k_encode(image)
            best = min(best, time.process_time() - start)
        open(job["Out"], "wb").write(out)
    print(json.dumps({"Seconds": best}), flush=True)
`

// openJPHJob is a job for openJPHScript.
type openJPHJob struct {
	Decode  bool
	In, Out string // files
	Times   int    // the least time of so many counts
	Type    string // of samples, in numpy's words
	Shape   []int
}

// openJPH does jobs and returns the seconds of CPU time that each took. Where OpenJPH is
// missing the test is skipped, or fails in CI.
func openJPH(t testing.TB, jobs []openJPHJob) []float64 {
	t.Helper()
	out := python(t, openJPHScript, jobs)
	seconds := make([]float64, len(jobs))
	for i, decoder := 0, json.NewDecoder(bytes.NewReader(out)); i < len(jobs); i++ {
		var answer struct{ Seconds float64 }
		if err := decoder.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		seconds[i] = answer.Seconds
	}
	return seconds
}

// tools is the folder that "make services" fills.
const tools = "../../.tools"

// python runs a script, with packages of tools, on jobs, one a line, and returns what it says.
func python[T any](t testing.TB, script string, jobs []T) []byte {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(tools, "imagecodecs", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		missing(t, "imagecodecs is not installed; run make services")
	}
	var in, errs bytes.Buffer
	for _, job := range jobs {
		if err := json.NewEncoder(&in).Encode(job); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-c", script)
	cmd.Stdin, cmd.Stderr = &in, &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	return out
}

// encodeJob lets OpenJPH encode m.
func encodeJob(t testing.TB, dir string, i int, m *raster.Image, times int) openJPHJob {
	t.Helper()
	in := filepath.Join(dir, fmt.Sprintf("%d.samples", i))
	if err := os.WriteFile(in, m.Pix, 0o666); err != nil {
		t.Fatal(err)
	}
	shape := []int{m.Height, m.Width}
	if m.Channels > 1 {
		shape = append(shape, m.Channels)
	}
	kind := map[bool]string{false: "u1", true: "<u2"}[m.Bits > 8]
	return openJPHJob{In: in, Out: filepath.Join(dir, fmt.Sprintf("%d.j2c", i)), Times: times, Type: kind, Shape: shape}
}

// peerImages are images that OpenJPH takes too.
func peerImages() []*raster.Image {
	var list []*raster.Image
	for _, s := range []raster.Shape{
		{Width: 1, Height: 1, Depth: 1, Channels: 1, Bits: 8},
		{Width: 200, Height: 133, Depth: 1, Channels: 3, Bits: 8},
		{Width: 131, Height: 97, Depth: 1, Channels: 1, Bits: 16},
		{Width: 70, Height: 300, Depth: 1, Channels: 3, Bits: 16},
		{Width: 65, Height: 129, Depth: 1, Channels: 1, Bits: 8},
	} {
		list = append(list, pattern(s))
	}
	return list
}

// OpenJPH decodes our HT files to the samples that we encoded.
func TestOpenJPHReadsOurFiles(t *testing.T) {
	dir := t.TempDir()
	images := peerImages()
	var jobs []openJPHJob
	for i, m := range images {
		for _, options := range [][]string{{"container=j2c"}, {"container=jph", "levels=2", "block=32x32"}, {"container=j2c", "progression=RPCL", "precincts=128x128", "tlm=true", "plt=true"}} {
			name := filepath.Join(dir, fmt.Sprintf("%d-%d", i, len(jobs)))
			if err := os.WriteFile(name, encoded(t, m, append(options, "mode=ht")...), 0o666); err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, openJPHJob{Decode: true, In: name, Out: name + ".samples", Times: 1})
		}
	}
	openJPH(t, jobs)
	for i, job := range jobs {
		m := images[i*len(images)/len(jobs)]
		got, err := os.ReadFile(job.Out)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, m.Pix) {
			t.Errorf("%s, file %d: other samples", m.Shape, i)
		}
	}
}

// Of files that have lost something OpenJPH finds what we find, but for the rounding of a
// sample.
func TestOpenJPHReadsOurLossyFiles(t *testing.T) {
	dir := t.TempDir()
	var jobs []openJPHJob
	var want []*raster.Image
	for _, m := range peerImages()[1:3] {
		for _, options := range [][]string{{"psnr=45"}, {"bpp=2", "progression=RPCL"}, {"quality=60"}, {"wavelet=9/7"}} {
			file := encoded(t, m, append(options, "mode=ht", "container=j2c")...)
			back, err := decodeOne(t, file, codec.View{})
			name := filepath.Join(dir, fmt.Sprint(len(jobs)))
			if err = errors.Join(err, os.WriteFile(name, file, 0o666)); err != nil {
				t.Fatal(err)
			}
			jobs, want = append(jobs, openJPHJob{Decode: true, In: name, Out: name + ".samples", Times: 1}), append(want, back)
		}
	}
	openJPH(t, jobs)
	for i, m := range want {
		data, err := os.ReadFile(jobs[i].Out)
		if err != nil || len(data) != len(m.Pix) {
			t.Fatalf("file %d: %d bytes, want %d: %v", i, len(data), len(m.Pix), err)
		}
		theirs, off := &raster.Image{Shape: m.Shape, Pix: data}, 1
		if m.Bits > 8 {
			off = 4 // what float32 has left
		}
		for k := range m.Samples() {
			if v := m.Sample(k); v == 0 || v == 1<<m.Bits-1 {
				continue // imagecodecs has of what lies beyond black and white the low bits
			}
			if d := theirs.Sample(k) - m.Sample(k); d > off || d < -off {
				t.Fatalf("file %d, %s: sample %d is %d, and %d here", i, m.Shape, k, theirs.Sample(k), m.Sample(k))
			}
		}
	}
}

// We decode OpenJPH's files, and ours are not larger.
func TestWeReadOpenJPHsFiles(t *testing.T) {
	dir := t.TempDir()
	images := peerImages()
	var jobs []openJPHJob
	for i, m := range images {
		jobs = append(jobs, encodeJob(t, dir, i, m, 1))
	}
	openJPH(t, jobs)
	for i, m := range images {
		data, err := os.ReadFile(jobs[i].Out)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeOne(t, data, codec.View{})
		if err != nil || !bytes.Equal(back.Pix, m.Pix) {
			t.Errorf("%s: %v, or other samples", m.Shape, err)
		}
		if n := len(encoded(t, m, "mode=ht", "container=j2c", "levels=5")); n > len(data) {
			t.Errorf("%s: %d bytes, OpenJPH %d", m.Shape, n, len(data))
		}
	}
}

// OpenJPEG decodes our HT files too.
func TestOpenJPEGReadsOurHTFiles(t *testing.T) {
	need(t, "opj_decompress")
	for _, m := range peerImages() {
		for _, options := range [][]string{{"mode=ht"}, {"mode=ht", "block=32x128", "tile=64x50", "progression=RLCP"}} {
			file := encoded(t, m, append(options, "container=j2c")...)
			for c, samples := range openJPEG(t, file, ".j2k", m.Channels) {
				for i, v := range samples {
					if want := m.Sample(i*m.Channels + c); int(v) != want {
						t.Fatalf("%s, %q: sample %d of component %d is %d, want %d", m.Shape, options, i, c, v, want)
					}
				}
			}
		}
	}
}
