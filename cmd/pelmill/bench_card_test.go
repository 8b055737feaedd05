package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// cardImages is how many images BenchmarkCardCompress compresses, of 768 x 512 RGB.
const cardImages = 480

// BenchmarkCardCompress is the whole command on uncompressed images on the local disk:
// on all cores, and on the machine's cards with the results decoded there. Both targets
// must hold the same bytes. It prints both rates and what the stages of the objects took,
// added up over objects that are at work side by side; waiting between stages is in none.
// In a profile the label "device" tells the two runs apart.
func BenchmarkCardCompress(b *testing.B) {
	dev := gputest.Device(b, nil)
	dir := b.TempDir()
	pixels := writeImages(b, dir)
	for b.Loop() {
		cpu := runCompress(b, dir, "--device", "cpu")
		card := runCompress(b, dir, "--device", "cuda", "--verify", "device")
		sameResults(b, cpu.target, card.target)
		fmt.Printf("\npelmill compress, vq, %d PNM pictures of 768 x 512 RGB on local disk, %d cores, %s\n", cardImages, runtime.GOMAXPROCS(0), dev.Name())
		for _, r := range []*compressRun{cpu, card} {
			r.print(pixels)
		}
		ratio := cpu.took.Seconds() / card.took.Seconds()
		fmt.Printf("the card's run is %.2f times as fast as that of the CPU\n", ratio)
		b.ReportMetric(cardImages/cpu.took.Seconds(), "cpu-objects/s")
		b.ReportMetric(cardImages/card.took.Seconds(), "card-objects/s")
		b.ReportMetric(ratio, "x-cpu")
	}
}

// writeImages makes the sources and returns the bytes of their samples: the Kodak
// images, each time moved a row further down, or made ones where those are missing.
func writeImages(b *testing.B, dir string) (pixels int) {
	b.Helper()
	kodak, _ := filepath.Glob("../../../shared/data/kodak/*.png")
	if len(kodak) == 0 {
		b.Log("NO KODAK PICTURES in ../shared/data/kodak: the pictures are made instead")
	}
	var known []*raster.Image
	for i := range 24 {
		m := faults.Image(uint64(i), "", 768, 512).Image
		if len(kodak) > 0 {
			data, err := os.ReadFile(kodak[i%len(kodak)])
			if err != nil {
				b.Fatal(err)
			}
			if m, err = imageio.Decode(data, nil); err != nil {
				b.Fatal(err)
			}
		}
		known = append(known, m)
	}
	for i := range cardImages {
		m := *known[i%len(known)]
		down := i / len(known) * m.Width * m.Channels
		m.Pix = append(bytes.Clone(m.Pix[down:]), m.Pix[:down]...)
		data, err := imageio.Encode(&m, "pnm")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.ppm", i)), data, 0o666)
		}
		if err != nil {
			b.Fatal(err)
		}
		pixels += len(m.Pix)
	}
	return pixels
}

// compressRun is what one run of the command came to.
type compressRun struct {
	target string
	took   time.Duration // from the call to its return
	report jobs.Report
	device string // what the worker said of its device, if anything
}

func runCompress(b *testing.B, dir string, flags ...string) *compressRun {
	b.Helper()
	r := &compressRun{target: b.TempDir()}
	var said bytes.Buffer
	p := &program{stdout: io.Discard, stderr: &said, env: func(string) (string, bool) { return "", false }}
	code := 0
	pprof.Do(b.Context(), pprof.Labels("device", flags[1]), func(ctx context.Context) {
		start := time.Now()
		code = p.run(ctx, append([]string{"compress", dir, r.target, "--codec", "vq", "-v"}, flags...))
		r.took = time.Since(start)
	})
	if code != 0 {
		b.Fatalf("%v: exit code %d\n%s", flags, code, said.Bytes())
	}
	for line := range strings.Lines(said.String()) {
		if _, after, ok := strings.Cut(line, `msg="worker ends" `); ok {
			r.device = strings.TrimSpace(after)
		}
	}
	reports, err := filepath.Glob(filepath.Join(r.target, jobs.Root, "jobs", "*", "report.json"))
	if err != nil || len(reports) != 1 {
		b.Fatalf("reports %v, %v", reports, err)
	}
	data, err := os.ReadFile(reports[0])
	if err == nil {
		err = json.Unmarshal(data, &r.report)
	}
	if err != nil || r.report.Counts.Compressed != cardImages {
		b.Fatalf("%v: %+v, %v", flags, r.report.Counts, err)
	}
	return r
}

func (r *compressRun) print(pixels int) {
	s := r.took.Seconds()
	fmt.Printf("%s: %.2f s for the command, %.2f s of it the job: %.1f objects/s, %.1f MB/s of pixels\n",
		strings.Join(r.report.Devices, ", "), s, r.report.Seconds, cardImages/s, float64(pixels)/s/1e6)
	sum := 0.0
	for _, v := range r.report.Stages {
		sum += v
	}
	for _, stage := range []string{"fetch", "read", "encode", "verify", "store"} {
		v := r.report.Stages[stage]
		fmt.Printf("  %-6s %8.2f s %5.1f %%\n", stage, v, 100*v/sum)
	}
	if r.device != "" {
		fmt.Printf("  %s\n", r.device)
	}
}

// sameResults compares the results in two targets, byte for byte.
func sameResults(b *testing.B, want, got string) {
	b.Helper()
	own := filepath.Clean(jobs.Root)
	n := 0
	err := filepath.WalkDir(want, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == own:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		n++
		name, err := filepath.Rel(want, path)
		if err != nil {
			return err
		}
		one, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		two, err := os.ReadFile(filepath.Join(got, name))
		if err == nil && !bytes.Equal(one, two) {
			err = fmt.Errorf("%s has other bytes", name)
		}
		return err
	})
	if err != nil || n != cardImages {
		b.Fatalf("%d results compared: %v", n, err)
	}
}
