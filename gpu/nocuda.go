//go:build !cuda || !cgo

package gpu

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Built reports whether this build can use CUDA at all.
const Built = false

var errNotBuilt = fmt.Errorf("this build has no CUDA support: %w", ErrNoDevice)

// Device is one card or several. A nil *Device stands for the CPU.
type Device struct {
	name  string
	calls atomic.Int64
}

// Name is the device's name in records: "cpu" for nil.
func (d *Device) Name() string {
	if d == nil {
		return "cpu"
	}
	return d.name
}

// List returns the cards of this machine, or why there is none: then the error wraps
// [ErrNoDevice].
func List() ([]Info, error) { return nil, fmt.Errorf("gpu: %w", errNotBuilt) }

// Open returns the device that spec names: "auto" (all cards where there are any, else
// the CPU), "cpu", "cuda" (all cards) or "cuda:N" (one card). It returns an error that
// wraps [ErrNoDevice] when spec insists on a card and there is none.
func Open(spec string) (*Device, error) { return OpenWith(spec, nil) }

// OpenWith is [Open] with options; nil means defaults.
func OpenWith(spec string, _ *Options) (*Device, error) {
	if spec == "cpu" {
		return nil, nil
	}
	_, insists, err := parse(spec)
	if err == nil && insists {
		err = fmt.Errorf("gpu: open %q: %w", spec, errNotBuilt)
	}
	return nil, err
}

// Start is [Open] for callers who have something else to do meanwhile: builds without CUDA open nothing.
func Start(spec string) (*Device, error) { return OpenWith(spec, nil) }

// StartWith is [Start] with options; nil means defaults.
func StartWith(spec string, o *Options) (*Device, error) { return OpenWith(spec, o) }

// Opened is nil in builds without CUDA.
func (d *Device) Opened(context.Context) error { return nil }

// Ready is nil in builds without CUDA.
func (d *Device) Ready(context.Context) error { return nil }

// Cards describes the cards of the device; nil for the CPU.
func (d *Device) Cards() []Info { return nil }

// Stats is zero in builds without CUDA.
func (d *Device) Stats() Stats { return Stats{} }

// Err is nil in builds without CUDA.
func (d *Device) Err() error { return nil }

// Close does nothing in builds without CUDA.
func (d *Device) Close() error { return nil }

// Discard does nothing in builds without CUDA.
func (d *Device) Discard() error { return nil }

// SelfTest fails in builds without CUDA.
func (d *Device) SelfTest(context.Context) error {
	return fmt.Errorf("gpu: self-test: %w", errNotBuilt)
}

// Do fails in builds without CUDA.
func (d *Device) Do(context.Context, func(*Lane) error) error {
	return fmt.Errorf("gpu: a batch: %w", errNotBuilt)
}

// Split leaves all items to the CPU in builds without CUDA.
func (d *Device) Split(ctx context.Context, n int, f func(l *Lane, from, to int) error) (left []int, err error) {
	return d.split(ctx, n, false, f)
}

func (d *Device) split(_ context.Context, n int, _ bool, _ func(l *Lane, from, to int) error) (left []int, err error) {
	for i := range n {
		left = append(left, i)
	}
	return left, nil
}

// Host fails in builds without CUDA.
func (d *Device) Host(int) (*Host, error) {
	return nil, fmt.Errorf("gpu: pinned memory: %w", errNotBuilt)
}

// Region is host memory for a device to pin; there is none in builds without CUDA.
type Region struct {
	Bytes []byte
}

// NewRegion fails in builds without CUDA.
func NewRegion(int) (*Region, error) { return nil, fmt.Errorf("gpu: a region: %w", errNotBuilt) }

// Part is the n bytes of the region from at on.
func (r *Region) Part(at, n int) *Region { return &Region{Bytes: r.Bytes[at:][:n:n]} }

// Make does nothing in builds without CUDA.
func (r *Region) Make() {}

// Pin fails in builds without CUDA.
func (d *Device) Pin(context.Context, *Region) error {
	return fmt.Errorf("gpu: pin a region: %w", errNotBuilt)
}

// Free does nothing in builds without CUDA.
func (r *Region) Free() error { return nil }

// Links fails in builds without CUDA.
func (d *Device) Links(context.Context) ([]Link, error) {
	return nil, fmt.Errorf("gpu: measure links: %w", errNotBuilt)
}
