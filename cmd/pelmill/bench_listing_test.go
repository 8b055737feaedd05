package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

// listedInstances is how many instances BenchmarkIntakeListing has at SCALE=1.
const listedInstances = 1_000_000

// BenchmarkIntakeListing lets an intake find DICOM instances of 8 x 8 pixels by listing a folder and compress them, all in
// one process. SCALE is the share of 1,000,000 instances, by default 0.01. It prints instances a second, and the memory
// that was resident at most in each tenth.
func BenchmarkIntakeListing(b *testing.B) {
	scale := 0.01
	if text := os.Getenv("SCALE"); text != "" {
		var err error
		if scale, err = strconv.ParseFloat(text, 64); err != nil || scale <= 0 {
			b.Fatalf("SCALE=%s: want a number above 0", text)
		}
	}
	n := max(100, int(scale*listedInstances))
	program, err := faults.Build(b.TempDir(), "cmd/pelmill")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		listIntake(b, program, n)
	}
}

func listIntake(b *testing.B, program string, n int) {
	dir := b.TempDir()
	for i := range n {
		folder := filepath.Join(dir, "spool", fmt.Sprintf("%04d", i/1000))
		if i%1000 == 0 {
			if err := os.MkdirAll(folder, 0o777); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%06d.dcm", i)), faults.NewInstance(8, i, 8, 8, marked).Data, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	address := fmt.Sprintf("127.0.0.1:%d", services.FreePort(b))
	cmd := exec.Command(program, "intake", filepath.Join(dir, "spool"), filepath.Join(dir, "archive"), "--codec", "jpeg2000", "--larger", "copy", "--every", "1h",
		"--metrics-listen", address)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(syscall.SIGTERM)
	var most [10]int64 // resident MiB by tenth
	for done := 0; done < n; time.Sleep(200 * time.Millisecond) {
		done = endedObjects(address)
		tenth := min(9, 10*done/n)
		most[tenth] = max(most[tenth], resident(cmd.Process.Pid)>>20)
		if time.Since(began) > 3*time.Hour {
			b.Fatalf("%d of %d instances have ended", done, n)
		}
	}
	rate := float64(n) / time.Since(began).Seconds()
	fmt.Printf("\n%d instances by listing in %.0f s, %.0f instances/s; resident in each tenth %d MiB\n", n, time.Since(began).Seconds(), rate, most)
	b.ReportMetric(rate, "instances/s")
	b.ReportMetric(float64(slices.Max(most[:])), "MiB")
}

// endedObjects is how many objects of an intake have an outcome, by its metrics.
func endedObjects(address string) (n int) {
	res, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "pelmill_intake_objects_total{"); ok {
			_, value, _ := strings.Cut(text, "} ")
			v, _ := strconv.ParseFloat(value, 64)
			n += int(v)
		}
	}
	return n
}

// resident is the memory of a process; 0 where the system does not tell.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	if fields := strings.Fields(string(text)); len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		return pages * int64(os.Getpagesize())
	}
	return 0
}
