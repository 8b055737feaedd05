// Package gputest helps test code that runs on cards: it finds the card, or the fake
// driver, and keeps compiled kernels true to their sources.
//
// A test without a card never looks like one that passed on a card: [Device] skips
// loudly, and fails where PELMILL_GPU=require is set. Where PELMILL_SANITIZE is set,
// compute-sanitizer watches, and devices give it the memory as it needs it.
package gputest

import (
	"os"
	"testing"

	"github.com/pelmill/pelmill/gpu"
)

// Device opens the machine's cards for a test, with options or nil, and closes them at
// its end. Without a card the test is skipped or, with PELMILL_GPU=require, fails.
func Device(t testing.TB, o *gpu.Options) *gpu.Device {
	t.Helper()
	d, err := gpu.OpenWith("cuda", watched(o))
	if err != nil {
		if os.Getenv("PELMILL_GPU") == "require" {
			t.Fatalf("a card is required: %v", err)
		}
		t.Skipf("NOT TESTED ON A CARD: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close the device: %v", err)
		}
	})
	return d
}

// watched are the options o, which may be nil, with what compute-sanitizer needs.
func watched(o *gpu.Options) *gpu.Options {
	if os.Getenv("PELMILL_SANITIZE") == "" {
		return o
	}
	w := gpu.Options{}
	if o != nil {
		w = *o
	}
	w.Apart = true
	return &w
}
