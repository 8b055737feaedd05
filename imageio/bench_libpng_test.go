//go:build unix

package imageio

import (
	"bytes"
	"fmt"
	stdpng "image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/internal/container/png/inflate"
)

// cpuTime is the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// readTimes are processor times of one file, each the least of several rounds.
type readTimes struct{ ours, inflating, standard, libpng, zlib time.Duration }

func (t *readTimes) least(o readTimes) {
	t.ours, t.inflating, t.standard = min(t.ours, o.ours), min(t.inflating, o.inflating), min(t.standard, o.standard)
	t.libpng, t.zlib = min(t.libpng, o.libpng), min(t.zlib, o.zlib)
}

// BenchmarkLibpng prints how long it takes to read each Kodak image on one core, in nanoseconds of processor time a pixel:
// ours in this process and libpng's in another, in turns; what of both is spent in inflating (ours with both checksums),
// and what the standard library takes. The C program is made of testdata/libpng.c, where libpng-dev is installed.
func BenchmarkLibpng(b *testing.B) {
	names, err := filepath.Glob(filepath.Join("..", "..", "shared", "data", "kodak", "*.png"))
	if err != nil || len(names) == 0 {
		b.Skipf("SKIPPED: the shared data are not part of the project (%v)", err)
	}
	program := filepath.Join(b.TempDir(), "libpng-read")
	text, peerErr := exec.Command("cc", "-O2", "-o", program, filepath.Join("testdata", "libpng.c"), "-lpng", "-lz").CombinedOutput()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for b.Loop() {
		fmt.Printf("\n%-14s %10s %10s %10s %10s %10s %8s   ns/px\n", "reading", "ours", "inflating", "libpng", "zlib", "image/png", "times")
		if peerErr != nil {
			fmt.Printf("NOT COMPARED with libpng, which needs cc and libpng-dev: %v: %.200s\n", peerErr, text)
		}
		const rounds, each = 5, 8
		var sum [5]float64
		row := func(name string, v [5]float64) {
			fmt.Printf("%-14s %10.2f %10.2f %10.2f %10.2f %10.2f %8.2f\n", name, v[0], v[1], v[2], v[3], v[4], v[2]/v[0])
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			head, err := ReadHeader(data, nil)
			if err != nil {
				b.Fatal(err)
			}
			const long = time.Hour
			best := readTimes{long, long, long, long, long}
			for range rounds {
				best.least(readOnce(b, data, each))
				if peerErr == nil {
					best.least(libpngOnce(b, program, name, each))
				}
			}
			var per [5]float64
			for i, t := range []time.Duration{best.ours, best.inflating, best.libpng, best.zlib, best.standard} {
				if t < long {
					per[i] = float64(t.Nanoseconds()) / float64(head.Width*head.Height)
				}
				sum[i] += per[i] / float64(len(names))
			}
			row(filepath.Base(name), per)
		}
		row("mean", sum)
	}
}

// readOnce reads a file several times, and returns the least times.
func readOnce(b *testing.B, data []byte, times int) readTimes {
	const long = time.Hour
	best := readTimes{long, long, long, long, long}
	var size int64
	if z, err := png.Open(data, 0); err == nil {
		size = int64(z.Height) * (1 + int64(z.Width)*int64(z.Channels()))
	}
	for i := range times {
		t := best
		from := cpuTime(b)
		if _, err := Decode(data, nil); err != nil {
			b.Fatal(err)
		}
		t.ours = cpuTime(b) - from
		from = cpuTime(b)
		if err := inflateSamples(data, size); err != nil {
			b.Fatal(err)
		}
		t.inflating = cpuTime(b) - from
		if i%4 == 0 {
			from = cpuTime(b)
			if _, err := stdpng.Decode(bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
			t.standard = cpuTime(b) - from
		}
		best.least(t)
	}
	return best
}

// inflateSamples inflates the samples of a file and does nothing with them.
func inflateSamples(data []byte, size int64) error {
	var pieces [][]byte
	for c, err := range png.Chunks(data) {
		if err != nil {
			return err
		}
		if c.Kind == "IDAT" && c.Sound() {
			pieces = append(pieces, c.Body())
		}
	}
	z := inflate.New(func() ([]byte, bool) {
		if len(pieces) == 0 {
			return nil, false
		}
		p := pieces[0]
		pieces = pieces[1:]
		return p, true
	}, size, 64<<10)
	for left := size; left > 0; {
		n := min(left, 64<<10)
		if _, err := z.Next(int(n)); err != nil {
			return err
		}
		left -= n
	}
	return z.End()
}

func libpngOnce(b *testing.B, program, name string, times int) readTimes {
	const long = time.Hour
	t := readTimes{long, long, long, long, long}
	out, err := exec.Command(program, fmt.Sprint(times), name).Output()
	if err != nil {
		b.Fatalf("libpng-read %s: %v", name, err)
	}
	var pixels int
	var whole, alone float64
	if _, err := fmt.Fscan(strings.NewReader(string(out)), &pixels, &whole, &alone); err != nil && err != io.EOF {
		b.Fatalf("libpng-read %s says %q: %v", name, out, err)
	}
	t.libpng, t.zlib = time.Duration(whole*1e9), time.Duration(alone*1e9)
	return t
}
