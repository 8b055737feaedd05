//go:build unix

package imageio

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// jpegSettings are the settings of cjpeg that BenchmarkLibjpeg encodes the Kodak images with.
var jpegSettings = []string{
	"-quality 75 -sample 2x2", "-quality 90 -sample 2x2", "-quality 75 -sample 2x1", "-quality 90 -sample 1x1", "-quality 98 -sample 1x1",
	"-quality 75 -sample 1x1 -grayscale", "-quality 85 -sample 2x2 -restart 1",
	"-quality 75 -sample 2x2 -progressive", "-quality 90 -sample 2x2 -progressive", "-quality 90 -sample 1x1 -progressive", "-quality 98 -sample 1x1 -progressive",
}

// BenchmarkLibjpeg prints how long it takes to read JPEG files on one core, in nanoseconds of processor time a pixel: ours
// in this process and libjpeg-turbo's in another, in turns. The files are those of the shared data, and Kodak images that
// cjpeg encodes. The C program is made of testdata/libjpeg.c, where libjpeg-dev is installed.
func BenchmarkLibjpeg(b *testing.B) {
	shared := filepath.Join("..", "..", "shared", "data")
	singles, _ := filepath.Glob(filepath.Join(shared, "jpeg", "*.jpg"))
	kodak, _ := filepath.Glob(filepath.Join(shared, "kodak", "*.png"))
	if len(singles) == 0 || len(kodak) == 0 {
		b.Skip("SKIPPED: the shared data are not part of the project")
	}
	dir := b.TempDir()
	program := filepath.Join(dir, "libjpeg-read")
	text, peerErr := exec.Command("cc", "-O2", "-o", program, filepath.Join("testdata", "libjpeg.c"), "-ljpeg").CombinedOutput()
	type group struct {
		name  string
		files []string
	}
	var groups []group
	for i, settings := range jpegSettings {
		g := group{name: strings.NewReplacer("-quality ", "q", "-sample ", "", "-", "").Replace(settings)}
		for _, name := range kodak[:min(4, len(kodak))] {
			file := filepath.Join(dir, fmt.Sprintf("%d-%s.jpg", i, filepath.Base(name)))
			line := fmt.Sprintf("pngtopnm %s | cjpeg %s -outfile %s", name, settings, file)
			if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
				b.Skipf("SKIPPED: %s: %v: %.200s", line, err, out)
			}
			g.files = append(g.files, file)
		}
		groups = append(groups, g)
	}
	for _, name := range singles {
		groups = append(groups, group{filepath.Base(name), []string{name}})
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for b.Loop() {
		fmt.Printf("\n%-32s %10s %14s %8s   ns/px\n", "reading", "ours", "libjpeg-turbo", "times")
		if peerErr != nil {
			fmt.Printf("NOT COMPARED with libjpeg-turbo, which needs cc and libjpeg-dev: %v: %.200s\n", peerErr, text)
		}
		for _, g := range groups {
			var ours, theirs float64
			for _, name := range g.files {
				o, l := jpegTimes(b, program, name, peerErr == nil)
				ours, theirs = ours+o/float64(len(g.files)), theirs+l/float64(len(g.files))
			}
			fmt.Printf("%-32s %10.2f %14.2f %8.2f\n", g.name, ours, theirs, ours/theirs)
		}
	}
}

// jpegTimes returns the least times of several rounds for a file, in nanoseconds a pixel.
func jpegTimes(b *testing.B, program, name string, peer bool) (ours, theirs float64) {
	data, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	head, err := ReadHeader(data, nil)
	if err != nil {
		b.Fatal(err)
	}
	pixels := float64(head.Width * head.Height)
	// Large files are read less often: their times vary less.
	rounds := max(2, min(12, int(2e7/pixels)))
	least, peerLeast := time.Hour, 1e9
	for range 3 {
		for range rounds {
			from := cpuTime(b)
			if _, err := Decode(data, nil); err != nil {
				b.Fatal(err)
			}
			least = min(least, cpuTime(b)-from)
		}
		if !peer {
			continue
		}
		out, err := exec.Command(program, fmt.Sprint(rounds), name).Output()
		if err != nil {
			b.Fatalf("libjpeg-read %s: %v", name, err)
		}
		var n int
		var seconds float64
		if _, err := fmt.Sscan(string(out), &n, &seconds); err != nil {
			b.Fatalf("libjpeg-read %s says %q: %v", name, out, err)
		}
		peerLeast = min(peerLeast, seconds)
	}
	return float64(least.Nanoseconds()) / pixels, peerLeast * 1e9 / pixels
}
