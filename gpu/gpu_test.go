package gpu_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

func TestDeviceSpecifications(t *testing.T) {
	if d, err := gpu.Open("cpu"); d != nil || err != nil || d.Name() != "cpu" || d.Cards() != nil || d.Close() != nil || d.Err() != nil {
		t.Errorf("cpu: %v, %v", d, err)
	}
	for _, spec := range []string{"gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:99999", "CPU", "cuda 0"} {
		if _, err := gpu.Open(spec); err == nil || errors.Is(err, gpu.ErrNoDevice) {
			t.Errorf("%q: %v", spec, err)
		}
	}
	if _, err := gpu.Open("cuda:65535"); !errors.Is(err, gpu.ErrNoDevice) {
		t.Errorf("a card that no machine has: %v", err)
	}
	if !gpu.Built {
		if d, err := gpu.Open("auto"); d != nil || err != nil {
			t.Errorf("auto without CUDA: %v, %v", d, err)
		}
	}
}

func TestErrorsSayWhatHappenedAndWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err           error
		text          string
		fatal, memory bool
	}{
		{&gpu.Error{Card: 1, Call: "cuMemAlloc", Code: 2, Name: "CUDA_ERROR_OUT_OF_MEMORY"},
			"gpu: card 1: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)", false, true},
		{&gpu.Error{Card: 0, Call: "cuStreamSynchronize", Kernel: "vq_search, vq_ranks", Code: 700, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"},
			"gpu: card 0: cuStreamSynchronize (vq_search, vq_ranks): CUDA_ERROR_ILLEGAL_ADDRESS (700)", true, false},
		{&gpu.Error{Card: -1, Call: "cuMemHostAlloc", Code: 1, Name: "CUDA_ERROR_INVALID_VALUE"},
			"gpu: cuMemHostAlloc: CUDA_ERROR_INVALID_VALUE (1)", false, false},
		{&gpu.HangError{Card: 0, Call: "cuStreamSynchronize", Kernel: "vq_search", After: time.Minute},
			"gpu: card 0: cuStreamSynchronize (vq_search): did not return within 1m0s", true, false},
	} {
		wrapped := fmt.Errorf("vq: %w", c.err)
		if c.err.Error() != c.text || errors.Is(wrapped, gpu.ErrFatal) != c.fatal || errors.Is(wrapped, gpu.ErrOutOfMemory) != c.memory {
			t.Errorf("%v: fatal %v, memory %v", c.err, errors.Is(wrapped, gpu.ErrFatal), errors.Is(wrapped, gpu.ErrOutOfMemory))
		}
	}
	// The codes of NVIDIA's header, one by one: a missing one poisons results.
	for _, code := range []int{700, 702, 714, 715, 716, 717, 718, 719, 721, 810, 46, 101, 214, 220, 999} {
		if !errors.Is(&gpu.Error{Code: code}, gpu.ErrFatal) {
			t.Errorf("code %d is not fatal", code)
		}
	}
}

func TestTheHelpersOfKernelsWorkOnACard(t *testing.T) {
	d := gputest.Device(t, nil)
	if err := d.SelfTest(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Cards() {
		t.Log(c.String())
	}
	links, err := d.Links(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		t.Logf("card %d: %.1f GB/s up, %.1f GB/s down", l.Card.Index, l.Up/1e9, l.Down/1e9)
	}
}
