package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/storage"
)

const limit = 5 * time.Minute

// long lets a job do twenty objects a second, so that it has not ended when a signal comes, however busy the machine is.
var long = []string{"--tpslimit", "60"}

// folders makes a source of n images and an empty target.
func folders(t *testing.T, n int) (source, target string, b *storage.Bucket, images []faults.Source) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("this system has no signals")
	}
	source, target = filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "dst")
	buckets := storage.NewBuckets()
	t.Cleanup(func() { buckets.Close() })
	from, err := buckets.Open(context.Background(), source)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = buckets.Open(context.Background(), target); err != nil {
		t.Fatal(err)
	}
	images = faults.Images(1, n, 128)
	for _, p := range images {
		if _, err := storage.Put(context.Background(), from, p.Key, p.Data, nil); err != nil {
			t.Fatal(err)
		}
	}
	return source, target, b, images
}

// pelmill is the path of the program, which is this test under another name.
func pelmill(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("pelmill")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// summaryOf is the last line of a run with --json.
func summaryOf(t *testing.T, stdout string) summaryEvent {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var s summaryEvent
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil || s.Type != "summary" {
		t.Fatalf("last line %q: %v", lines[len(lines)-1], err)
	}
	return s
}

// An interrupted compress ends with 130 and leaves nothing half-written, and the
// same command continues the same job.
func TestInterruptedCompressIsContinued(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			source, target, b, images := folders(t, 300)
			vq, err := codecs.Find("vq")
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"compress", source, target, "--codec", "vq", "-o", "n=16", "--chunk-objects", "20", "--json"}
			p := faults.Start(t, "compress", nil, pelmill(t), append(args, long...)...)
			faults.Until(t, limit, "results", func() bool { return !p.Running() || faults.Whole(t, b, vq) > 10 })
			p.Signal(signal)
			if got := p.Wait(t, limit); got != exitInterrupted {
				t.Fatalf("exit code %d, want %d", got, exitInterrupted)
			}
			if !strings.Contains(p.Stderr(), "the same command continues") {
				t.Errorf("stderr does not say how to go on: %s", p.Stderr())
			}
			n := faults.Whole(t, b, vq)
			if n <= 10 || n == len(images) {
				t.Errorf("%d results after the interrupt, want some", n)
			}
			s := summaryOf(t, faults.Run(t, exitOK, nil, pelmill(t), append(args, "--tpslimit", "0")...))
			if !strings.Contains(p.Stderr(), s.Job) {
				t.Errorf("job %s went on, not the one that was interrupted: %s", s.Job, p.Stderr())
			}
			faults.Check(t, b, vq, images, s.Job)
			s = summaryOf(t, faults.Run(t, exitOK, nil, pelmill(t), args...))
			if s.Skipped != int64(len(images)) {
				t.Errorf("%d objects skipped afterwards, want %d", s.Skipped, len(images))
			}
		})
	}
}

// The second interrupt does not wait for anything.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	source, target, b, _ := folders(t, 300)
	p := faults.Start(t, "compress", nil, pelmill(t), append(long, "compress", source, target, "--codec", "vq")...)
	vq, err := codecs.Find("vq")
	if err != nil {
		t.Fatal(err)
	}
	faults.Until(t, limit, "results", func() bool { return !p.Running() || faults.Whole(t, b, vq) > 0 })
	p.Signal(syscall.SIGINT)
	p.Signal(syscall.SIGTERM) // another one, because two of a kind that come at once are one
	if got := p.Wait(t, limit); got != exitInterrupted {
		t.Errorf("exit code %d, want %d", got, exitInterrupted)
	}
}

// SIGTERM is how supervisors end servers, so it is no error.
func TestServersEndWellOnSIGTERM(t *testing.T) {
	t.Parallel()
	redis := services.Redis(t).URL()
	for _, verb := range []string{"scheduler", "worker"} {
		t.Run(verb, func(t *testing.T) {
			p := faults.Start(t, verb, nil, pelmill(t), verb, "--redis", redis)
			faults.Until(t, limit, "start", func() bool { return strings.Contains(p.Stderr(), "level=INFO") })
			p.Signal(syscall.SIGTERM)
			if got := p.Wait(t, limit); got != exitOK {
				t.Errorf("exit code %d, want 0", got)
			}
		})
	}
}

// Interrupting what only watches a job leaves the job alone.
func TestInterruptedWatchLeavesTheJob(t *testing.T) {
	t.Parallel()
	redis := services.Redis(t).URL()
	source, target, _, _ := folders(t, 3)
	faults.Run(t, exitOK, nil, pelmill(t), "submit", source, target, "--codec", "vq", "--redis", redis, "--yes")
	p := faults.Start(t, "watch", nil, pelmill(t), "watch", target, "--redis", redis, "--stats", "50ms")
	faults.Until(t, limit, "a progress line", func() bool { return strings.Contains(p.Stderr(), "no scheduler is running") })
	p.Signal(syscall.SIGINT)
	if got := p.Wait(t, limit); got != exitInterrupted || !strings.Contains(p.Stderr(), "goes on (pelmill watch ") {
		t.Errorf("exit code %d, want %d", got, exitInterrupted)
	}
	if text := faults.Run(t, exitOK, nil, pelmill(t), "status", target, "--redis", redis, "--json"); !strings.Contains(text, `"state":"new"`) {
		t.Errorf("status %s", text)
	}
}

// A process that ends at once after its signal has said that the signal came: 1,000 times.
func TestWhatASignalBeginsIsSaid(t *testing.T) {
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		said := false
		stop := whenEnded(ctx, func() { said = true })
		cancel()
		stop()
		if !said {
			t.Fatal("nothing was said")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	whenEnded(ctx, func() { t.Error("said without a signal") })()
	cancel()
}
