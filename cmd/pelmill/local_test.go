package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

// TestNoKernels: of the codecs that keep source files the user is told that a card is of no
// use; a choice by kind has codecs with kernels too.
func TestNoKernels(t *testing.T) {
	for name, want := range map[string]string{"jpegxl": "on the CPU: jpegxl has no kernels", "webp": "", "auto": ""} {
		if got := noKernels(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The source is listed and the job planned while the device is still being opened.
func TestTheDeviceIsOpenedWhileTheJobIsPlanned(t *testing.T) {
	source, target, to, images := folders(t, 3)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var stderr bytes.Buffer
	p := &program{stdout: &bytes.Buffer{}, stderr: &stderr, env: os.LookupEnv}
	p.newWorker = func(conn *queue.Conn, buckets *storage.Buckets, opts *worker.Options) (*worker.Worker, error) {
		faults.Until(t, limit, "a plan before the device is open", func() bool {
			plans, err := filepath.Glob(filepath.Join(target, ".pelmill/jobs/*/plan.json"))
			return err == nil && len(plans) == 1
		})
		return worker.New(conn, buckets, opts)
	}
	if code := p.run(t.Context(), []string{"compress", source, target, "--codec", "webp", "--device", "auto", "-q"}); code != 0 {
		t.Fatalf("exit code %d\n%s", code, &stderr)
	}
	if n := resultsIn(t, to); n != len(images) {
		t.Errorf("%d results of %d images", n, len(images))
	}
}

// resultsIn counts the results in a target.
func resultsIn(t *testing.T, target *storage.Bucket) (n int) {
	t.Helper()
	err := storage.Walk(t.Context(), target, nil, func(page storage.Page) error {
		for _, o := range page.Objects {
			if strings.HasSuffix(o.Key, ".webp") {
				n++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A card that the command line insists on is there before anything is written. Where only the choice of a device fails,
// the job is left to be continued; an interrupt does not wait for a driver that hangs.
func TestADeviceThatDoesNotOpen(t *testing.T) {
	hung := make(chan struct{})
	defer close(hung)
	for _, test := range []struct {
		device string
		open   error // nil: it hangs, and an interrupt comes
		code   int
		text   string
		leaves bool // a job
	}{
		{"cuda:0", gpu.ErrNoDevice, exitNoDevice, gpu.ErrNoDevice.Error(), false},
		{"auto", errors.New("the driver hangs"), exitError, "the driver hangs", true},
		{"auto", nil, exitInterrupted, "interrupted", true},
	} {
		source, target, _, _ := folders(t, 1)
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		var stderr bytes.Buffer
		ctx, cancel := context.WithCancelCause(t.Context())
		p := &program{stdout: &bytes.Buffer{}, stderr: &stderr, env: os.LookupEnv}
		p.newWorker = func(*queue.Conn, *storage.Buckets, *worker.Options) (*worker.Worker, error) {
			if test.open == nil {
				faults.Until(t, limit, "a plan", func() bool {
					plans, err := filepath.Glob(filepath.Join(target, ".pelmill/jobs/*/plan.json"))
					return err == nil && len(plans) == 1
				})
				cancel(&interrupted{signal: os.Interrupt})
				<-hung
			}
			return nil, test.open
		}
		code := p.run(ctx, []string{"compress", source, target, "--codec", "webp", "--device", test.device, "-q"})
		if code != test.code || !strings.Contains(stderr.String(), test.text) {
			t.Errorf("%s, %v: exit code %d, want %d, with %q in\n%s", test.device, test.open, code, test.code, test.text, &stderr)
		}
		left, err := filepath.Glob(filepath.Join(target, ".pelmill/jobs/*/spec.json"))
		if err != nil || (len(left) == 1) != test.leaves {
			t.Errorf("%s, %v: left %v, %v", test.device, test.open, left, err)
		}
		cancel(nil)
	}
}

// A card that is there and does not open is no usable device where one is insisted on; else the CPU does the job, and one
// line says why.
func TestACardThatDoesNotOpenAfterAll(t *testing.T) {
	for _, test := range []struct {
		device string
		code   int
		runs   []string // devices of the workers
	}{
		{"cuda", exitNoDevice, []string{"cuda"}},
		{"auto", exitOK, []string{"auto", "cpu"}},
	} {
		source, target, to, images := folders(t, 2)
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		var stderr bytes.Buffer
		var runs []string
		p := &program{stdout: &bytes.Buffer{}, stderr: &stderr, env: os.LookupEnv}
		p.newWorker = func(conn *queue.Conn, buckets *storage.Buckets, opts *worker.Options) (*worker.Worker, error) {
			runs = append(runs, opts.Device)
			own := *opts
			own.Device = "cpu"
			return worker.New(conn, buckets, &own)
		}
		p.runWorker = func(w *worker.Worker, ctx context.Context) error {
			if len(runs) == 1 {
				return fmt.Errorf("worker: the card is taken: %w", gpu.ErrNoDevice)
			}
			return w.Run(ctx)
		}
		code := p.run(t.Context(), []string{"compress", source, target, "--codec", "webp", "--device", test.device})
		said := strings.Count(stderr.String(), "on the CPU: worker: the card is taken")
		if code != test.code || !slices.Equal(runs, test.runs) || said != len(runs)-1 {
			t.Errorf("%s: exit code %d, want %d, workers %v, said %d times:\n%s", test.device, code, test.code, runs, said, &stderr)
		}
		if n := resultsIn(t, to); test.code == exitOK && n != len(images) {
			t.Errorf("%s: %d results of %d images", test.device, n, len(images))
		}
	}
}

// A process that goes on with another job waits for its device, also where the job has ended first, and for none when it
// is to end.
func TestCloseWaitsForTheDevice(t *testing.T) {
	open := make(chan struct{})
	p := &program{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, env: os.LookupEnv, quiet: true}
	p.newWorker = func(conn *queue.Conn, buckets *storage.Buckets, opts *worker.Options) (*worker.Worker, error) {
		<-open
		return worker.New(conn, buckets, opts)
	}
	c := &cluster{p: p}
	if err := c.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.close()
	l, err := p.startLocal(t.Context(), c, &workerFlags{}, "auto", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.close(ended); err != nil {
		t.Error(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- l.close(t.Context()) }()
	select {
	case err := <-closed:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(open)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
