package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// cwebpCores is how many cores both programs of BenchmarkCompressCwebp have.
const cwebpCores = 2

// BenchmarkCompressCwebp is the whole command with webp and full verification on two cores, against cwebp -z 6, which
// verifies nothing, with as many processes at once: over 96 files of PNG at SCALE=1, the best of three runs in turn. "ratio"
// is how many times as fast the command is, of which 1.7 is required; "cpu-ratio" is that of the processor seconds.
func BenchmarkCompressCwebp(b *testing.B) {
	if _, err := exec.LookPath("cwebp"); err != nil {
		b.Skip("SKIPPED: cwebp is not installed")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cwebpCores))
	n := max(cwebpCores, int(96*benchScale(b, 1)))
	dir := b.TempDir()
	mpx := writeImages(b, dir, "png", kodakImages(b), n)
	files, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil {
		b.Fatal(err)
	}
	var ours *compressRun
	theirs, theirCPU := time.Hour, time.Duration(0)
	for b.Loop() {
		for range 3 {
			out := b.TempDir()
			cmd := exec.CommandContext(b.Context(), "xargs", "-P", fmt.Sprint(cwebpCores), "-I{}", "cwebp", "-quiet", "-z", "6", dir+"/{}", "-o", out+"/{}.webp")
			var names strings.Builder
			for _, f := range files {
				names.WriteString(filepath.Base(f) + "\n")
			}
			cmd.Stdin = strings.NewReader(names.String())
			start := time.Now()
			text, err := cmd.CombinedOutput()
			took := time.Since(start)
			if err != nil {
				b.Fatalf("cwebp: %v\n%s", err, text)
			}
			if took < theirs {
				theirs, theirCPU = took, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
			}
			r := runCompress(b, dir, n, "webp", "cpu", "full", "--encoders", fmt.Sprint(cwebpCores))
			if ours == nil || r.took < ours.took {
				ours = r
			}
		}
	}
	fmt.Println()
	printHeads()
	ours.print("webp", "PNG, 2 cores, full", mpx)
	fmt.Printf("%-9s %-28s %8.2f %8.1f %8.1f\n", "cwebp -z 6", "PNG, 2 processes, none", theirs.Seconds(), theirCPU.Seconds(), mpx/theirs.Seconds())
	b.ReportMetric(theirs.Seconds()/ours.took.Seconds(), "ratio")
	b.ReportMetric(theirCPU.Seconds()/ours.cpu.Seconds(), "cpu-ratio")
}
