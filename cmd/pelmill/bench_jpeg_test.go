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
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
)

// BenchmarkJPEGArchive compresses JPEG files of 2 Mpx with codec jpegxl, 200 of them or as
// many as JPEGS says, and prints what the stages take: "encode%" and the like are shares of
// the time of all objects. Where encode and verify are nearly all of it, the cores are the
// limit; where fetch or store are, the storage is.
func BenchmarkJPEGArchive(b *testing.B) {
	n := 200
	if s := os.Getenv("JPEGS"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			b.Fatalf("JPEGS=%s: %v", s, err)
		}
	}
	dir := b.TempDir()
	size := writeJPEGs(b, dir, n)
	var seconds float64
	var counts jobs.Counts
	stages := map[string]float64{}
	for b.Loop() {
		target := b.TempDir()
		p := &program{stdout: io.Discard, stderr: io.Discard, env: func(string) (string, bool) { return "", false }}
		if code := p.run(b.Context(), []string{"compress", dir, target, "--codec", "jpegxl", "-q"}); code != 0 {
			b.Fatalf("exit code %d", code)
		}
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
	b.ReportMetric(float64(b.N*n)/seconds, "objects/s")
	b.ReportMetric(float64(b.N*size)/1e6/seconds, "MB/s")
	b.ReportMetric(100*(1-float64(counts.BytesOut)/float64(counts.BytesIn)), "saving%")
}

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
	for i := range n {
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
		size += out.Len()
	}
	return size
}
