package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
)

// archivedJPEGs is how many files BenchmarkJPEGArchive has at SCALE=1.
const archivedJPEGs = 10_000

// BenchmarkJPEGArchive compresses JPEG files of 2 Mpx with codec jpegxl. SCALE is the share
// of 10,000 files, by default 0.02. It prints what the stages take: "encode%" and the like
// are shares of the time of all objects. Where encode and verify are nearly all of it, the
// cores are the limit; where fetch or store are, the storage is. It says so, with the share
// of their time that cores had work ("busy%"). "outside-s" is what the command takes before
// and after its job ran, and "MiB" what was resident at most.
func BenchmarkJPEGArchive(b *testing.B) {
	scale := 0.02
	if text := os.Getenv("SCALE"); text != "" {
		var err error
		if scale, err = strconv.ParseFloat(text, 64); err != nil || scale <= 0 {
			b.Fatalf("SCALE=%s: want a number above 0", text)
		}
	}
	n := max(20, int(scale*archivedJPEGs))
	dir := b.TempDir()
	size := writeJPEGs(b, dir, n)
	var seconds, wall float64
	var counts jobs.Counts
	stages := map[string]float64{}
	for b.Loop() {
		target := b.TempDir()
		p := &program{stdout: io.Discard, stderr: io.Discard, env: func(string) (string, bool) { return "", false }}
		start := time.Now()
		if code := p.run(b.Context(), []string{"compress", dir, target, "--codec", "jpegxl", "-q"}); code != 0 {
			b.Fatalf("exit code %d", code)
		}
		wall += time.Since(start).Seconds()
		reports, _ := filepath.Glob(filepath.Join(target, filepath.FromSlash(jobs.JobsDir), "*", "report.json"))
		if len(reports) != 1 {
			b.Fatalf("%d reports", len(reports))
		}
		data, err := os.ReadFile(reports[0])
		if err != nil {
			b.Fatal(err)
		}
		var r jobs.Report
		if err := json.Unmarshal(data, &r); err != nil {
			b.Fatal(err)
		}
		if r.Counts.Compressed != int64(n) {
			b.Fatalf("%d of %d compressed", r.Counts.Compressed, n)
		}
		seconds += r.Seconds
		counts.Plus(r.Counts)
		for stage, s := range r.Stages {
			stages[stage] += s
		}
	}
	all := 0.0
	for _, s := range stages {
		all += s
	}
	for stage, s := range stages {
		b.ReportMetric(100*s/all, stage+"%")
	}
	busy := (stages["encode"] + stages["verify"] + stages["read"]) / seconds / float64(runtime.GOMAXPROCS(0))
	b.ReportMetric(100*busy, "busy%")
	limit := "the cores"
	if busy < 0.8 {
		limit = "reading or storing"
	}
	b.Logf("%d files of %.2f MB, %d cores: the limit is %s; a file takes %.0f ms to encode, %.0f ms to prove, %.1f ms to read and %.1f ms to store",
		n, float64(size)/1e6/float64(n), runtime.GOMAXPROCS(0), limit, 1e3*stages["encode"]/float64(b.N*n), 1e3*stages["verify"]/float64(b.N*n),
		1e3*stages["fetch"]/float64(b.N*n), 1e3*stages["store"]/float64(b.N*n))
	b.ReportMetric(float64(b.N*n)/seconds, "objects/s")
	b.ReportMetric((wall-seconds)/float64(b.N), "outside-s")
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(usage.Maxrss)/1024, "MiB")
	b.ReportMetric(float64(b.N*size)/1e6/seconds, "MB/s")
	b.ReportMetric(100*(1-float64(counts.BytesOut)/float64(counts.BytesIn)), "saving%")
}

// distinctJPEGs is how many pictures writeJPEGs makes: further files are these with another
// comment.
const distinctJPEGs = 200

// writeJPEGs writes n photographs of 1920 x 1080 samples, put together from parts of the
// Kodak pictures, or made where there are none, and returns their bytes.
func writeJPEGs(b *testing.B, dir string, n int) (size int) {
	b.Helper()
	names, _ := filepath.Glob("../../../shared/data/kodak/*.png")
	if len(names) == 0 {
		b.Log("NO KODAK PICTURES in ../shared/data/kodak: the files are made instead")
	}
	var parts []image.Image
	for i := range max(len(names), 6) {
		data := faults.Image(uint64(i), "", 768, 512).Data
		if len(names) > 0 {
			var err error
			if data, err = os.ReadFile(names[i%len(names)]); err != nil {
				b.Fatal(err)
			}
		}
		m, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		parts = append(parts, m)
	}
	const width, height = 1920, 1080
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	rng := rand.New(rand.NewPCG(19, 1))
	var made [][]byte
	for i := range n {
		if i >= distinctJPEGs {
			comment := fmt.Sprintf("\xff\xfe\x00\x0a%08d", i)
			file := slices.Concat(made[i%distinctJPEGs][:2], []byte(comment), made[i%distinctJPEGs][2:])
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d.jpg", i)), file, 0o666); err != nil {
				b.Fatal(err)
			}
			size += len(file)
			continue
		}
		for y := -rng.IntN(400); y < height; {
			high := 0
			for x := -rng.IntN(400); x < width; {
				p := parts[rng.IntN(len(parts))]
				r := p.Bounds()
				draw.Draw(m, image.Rect(x, y, x+r.Dx(), y+r.Dy()), p, r.Min, draw.Src)
				x, high = x+r.Dx(), max(high, r.Dy())
			}
			y += high
		}
		var out bytes.Buffer
		if err := jpeg.Encode(&out, m, &jpeg.Options{Quality: 75 + i%20}); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d.jpg", i)), out.Bytes(), 0o666); err != nil {
			b.Fatal(err)
		}
		made = append(made, out.Bytes())
		size += out.Len()
	}
	return size
}
