package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// largeImages writes images of 4.3 million pixels: graphics as PNG, and
// slopes with grain as JPEG.
func largeImages(t *testing.T, dir string, n int) {
	t.Helper()
	const width, height = 2400, 1800
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		m := image.NewNRGBA(image.Rect(0, 0, width, height))
		grain := uint32(i + 1)
		for y := range height {
			row := m.Pix[y*m.Stride:][:4*width]
			for x := range width {
				p := row[4*x : 4*x+4]
				p[3] = 255
				if i%2 == 0 {
					v := byte((x/37 + y/23) * 32)
					p[0], p[1], p[2] = v, v/2+byte(i), 255-v
					continue
				}
				grain = grain*1664525 + 1013904223
				v := byte(x/10+y/16) + byte(grain>>29)
				p[0], p[1], p[2] = v, 255-v, byte(y/8)
			}
		}
		var out bytes.Buffer
		name, err := "graphic.png", error(nil)
		if i%2 == 0 {
			err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, m)
		} else {
			name, err = "grain.jpg", jpeg.Encode(&out, m, nil)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strconv.Itoa(i)+name), out.Bytes(), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// within runs the program with --memory and fails the test if its resident memory
// was ever more than a fifth above that.
func within(t *testing.T, megabytes int, want int, args ...string) string {
	t.Helper()
	return withinOn(t, 16, megabytes, want, args...)
}

// withinOn is within with so many processors, which a test chooses, as what a process holds grows with them.
func withinOn(t *testing.T, processors, megabytes int, want int, args ...string) string {
	t.Helper()
	args = append(args, "--memory", fmt.Sprintf("%dM", megabytes), "--json")
	cmd := exec.Command(program(t, "cmd/pelmill"), args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", processors))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var most int64
	var watch sync.WaitGroup
	watch.Go(func() { most = watchMemory(cmd.Process.Pid, done) })
	cmd.Wait()
	close(done)
	watch.Wait()
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, want, &stdout, &stderr)
	}
	if most == 0 {
		t.Errorf("%s ended before its memory was looked at", args[0])
	}
	t.Logf("%s of %d MB: %d MB, %.1f s", args[0], megabytes, most, time.Since(start).Seconds())
	if most > int64(megabytes)*6/5 {
		t.Errorf("%s took %d MB", strings.Join(args, " "), most)
	}
	return stdout.String()
}

// watchMemory gives the most resident memory of a process in megabytes, as its last answer before done has it. The system
// keeps the peak itself; ru_maxrss would not do, because it counts what the parent held when it started the process.
func watchMemory(pid int, done <-chan struct{}) (most int64) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		most = max(most, peakMemory(pid))
		select {
		case <-done:
			return most
		case <-tick.C:
		}
	}
}

// peakMemory is 0 for a process that has ended.
func peakMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line) // "VmHWM:     1234 kB"
		if len(f) < 2 || f[0] != "VmHWM:" {
			continue
		}
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			return n >> 10
		}
	}
	return 0
}

// TestMemory has each verb work on more than fits into its --memory at once.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	dir := t.TempDir()
	source, target := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	largeImages(t, source, 3)
	codec := func(name string, options ...string) []string {
		args := []string{"--codec", name, "--device", "cpu", "--encoders", "4"}
		for _, o := range options {
			args = append(args, "-o", o)
		}
		return args
	}
	compress := func(to string, with []string) []string { return append([]string{"compress", source, to}, with...) }
	vq := append(codec("vq", "n=16", "passes=2"), "--min-psnr", "0") // the images are noise

	within(t, 128, 0, append(compress(target, vq), "--dry-run", "--sample", "3")...)
	within(t, 128, 0, compress(target, vq)...)
	withinOn(t, 2, 192, 0, compress(target+"-neuquant", codec("neuquant", "sample=30", "refine=0"))...)
	within(t, 384, 0, compress(target+"-webp", codec("webp", "effort=1"))...)
	within(t, 128, 0, "verify", target, "--encoders", "4")
	// A small file of a large image, many times.
	small, err := os.ReadFile(filepath.Join(target, "0graphic.vq"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		if err := os.WriteFile(filepath.Join(target, fmt.Sprintf("copy%d.vq", i)), small, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	within(t, 128, 0, "decompress", target, filepath.Join(dir, "back"), "--device", "cpu", "--encoders", "8", "--include", "copy*")
	within(t, 128, 0, "train", source, filepath.Join(dir, "book"), "--codec", "vq", "-o", "n=16", "-o", "passes=2")

	// What can never fit is refused with what it needs.
	out := within(t, 128, 3, compress(target+"-9", codec("webp", "effort=9"))...)
	refused := 0
	for line := range strings.Lines(out) {
		var o struct{ Type, Outcome, Class, Error string }
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		if o.Type != "object" {
			continue
		}
		refused++
		if o.Outcome != "rejected" || o.Class != "limit" || !strings.Contains(o.Error, "M of memory and --memory is 128M") && !strings.Contains(o.Error, "G of memory and --memory is 128M") {
			t.Errorf("%+v, want it rejected with the memory that it needs", o)
		}
	}
	if refused == 0 {
		t.Errorf("no picture was refused: %s", out)
	}
}
