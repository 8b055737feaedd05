// Package gpu finds the devices that codecs can run on.
//
// A nil *[Device] is the CPU: every codec takes one and gives the same bytes
// with and without it. This build has no CUDA support, so [Open] knows only the
// CPU; a request that insists on a card ends with [ErrNoDevice].
package gpu

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNoDevice says that no usable device of the requested kind exists. Programs
// end with exit code 7 on it.
var ErrNoDevice = errors.New("no usable device")

// Built reports whether this build can use CUDA at all.
const Built = false

// Device is one card. A nil *Device stands for the CPU.
type Device struct {
	name string
}

// Name is the device's name in records: "cpu" for nil.
func (d *Device) Name() string {
	if d == nil {
		return "cpu"
	}
	return d.name
}

// Open returns the device that spec names: "auto" (a card where there is one,
// else the CPU), "cpu", "cuda" or "cuda:N". It returns an error that wraps
// [ErrNoDevice] when spec insists on a card and there is none.
func Open(spec string) (*Device, error) {
	switch {
	case spec == "" || spec == "auto" || spec == "cpu":
		return nil, nil
	case spec == "cuda":
		return nil, fmt.Errorf("gpu: open %q: %w: this build has no CUDA support", spec, ErrNoDevice)
	case strings.HasPrefix(spec, "cuda:"):
		if n, err := strconv.Atoi(spec[len("cuda:"):]); err == nil && n >= 0 {
			return nil, fmt.Errorf("gpu: open %q: %w: this build has no CUDA support", spec, ErrNoDevice)
		}
	}
	return nil, fmt.Errorf("gpu: device %q: want auto, cpu, cuda or cuda:N", spec)
}
