package main

import "testing"

// TestNoKernels: of the codecs that keep source files the user is told that a card is of no
// use; a choice by kind has codecs with kernels too.
func TestNoKernels(t *testing.T) {
	for name, want := range map[string]string{"jpegxl": "on the CPU: jpegxl has no kernels", "webp": "", "auto": ""} {
		if got := noKernels(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
