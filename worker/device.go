package worker

import (
	"errors"
	"fmt"

	"github.com/pelmill/pelmill/gpu"
)

// openDevice opens what spec names with [gpu.Open] or [gpu.Start]. Where auto finds no
// card the device is nil, and why says so.
func openDevice(spec string, open func(string) (*gpu.Device, error)) (d *gpu.Device, why, err error) {
	if !isAuto(spec) {
		d, err = open(spec)
		return d, nil, err
	}
	d, err = open("cuda")
	if errors.Is(err, gpu.ErrNoDevice) {
		return nil, err, nil
	}
	return d, nil, err
}

func isAuto(spec string) bool { return spec == "" || spec == "auto" }

// Device is what this worker runs codecs on; nil is the CPU.
func (w *Worker) Device() *gpu.Device { return w.device }

// Close waits until the device is open and frees what it holds. Run has returned.
func (w *Worker) Close() error {
	w.lender.close()
	w.sources.close()
	if err := w.device.Close(); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	w.sources.free()
	return nil
}

// discardDevice gives the device back for a process that ends soon, when no object needs it any more. It stays where it may not be
// open yet, where a codec that no object was for is being tested on it, and where calls go on that were given up.
func (w *Worker) discardDevice() {
	if !w.open.Load() || w.testing.Load() > 0 || w.laneGuards.stuck.Load() > 0 {
		return
	}
	w.lender.close()
	w.sources.close()
	if err := w.device.Discard(); err != nil {
		w.log.Debug("the device could not be given back", "error", err)
	}
}

// WhyCPU is why the device "auto" became the CPU; nil where it did not.
func (w *Worker) WhyCPU() error { return w.why }

// sayShortMemory says, once for each, that batches do not fit into the memory of
// the device and that images do not.
func (p *pipeline) sayShortMemory(job string) {
	s := p.stats()
	if s.Halved > 0 {
		p.halved.Do(func() {
			p.log.Warn("memory on the device is short: batches are halved until they fit", "job", job, "device", p.device.Name())
		})
	}
	if s.Left > 0 {
		p.left.Do(func() {
			p.log.Warn("memory on the device is short: pictures that do not fit alone are done on the CPU", "job", job, "device", p.device.Name())
		})
	}
}

// deviceWork describes for the log what the device has done.
func (w *Worker) deviceWork() []any {
	if w.device == nil {
		return nil
	}
	s := w.stats()
	formed, images := w.formed.Load(), w.batched.Load()
	return []any{"device", w.device.Name(), "sources", w.reading.read(), "digests", w.summing.count(), "compared", w.comparing.count(), "pictures", images, "pictures_a_batch", float64(images) / float64(max(1, formed)),
		"busy_seconds", s.Busy.Seconds(), "waited_seconds", s.Waited.Seconds(), "lane_seconds", s.LaneTime.Seconds(), "lane_batches", s.Batches}
}
