//go:build cuda && cgo

package gpu

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"unsafe"
)

// Region is host memory that can be used at once and that a device pins later: what is read into it while a driver opens its cards need
// not be copied once more before it goes there.
type Region struct {
	Bytes []byte // zero at first; valid until Free

	all []byte // the mapping; nil: it is a part
}

// NewRegion reserves n bytes, which take memory as they are used, or as parts are made.
func NewRegion(n int) (*Region, error) {
	if n <= 0 {
		return nil, fmt.Errorf("gpu: a region of %d bytes", n)
	}
	all, err := reservePages(n)
	if err != nil {
		return nil, fmt.Errorf("gpu: map %d bytes: %w", n, err)
	}
	return &Region{Bytes: pinnedPart(all, n), all: all}, nil
}

// Part is the n bytes of the region from at on, both multiples of 2 MiB. It goes with the region.
func (r *Region) Part(at, n int) *Region { return &Region{Bytes: r.Bytes[at:][:n:n]} }

// Make makes the pages of a region that nobody uses yet, on several cores. Where they are made one by one as they are used, by calls of the
// system that write into them, the driver waits for each when it makes a context.
func (r *Region) Make() { touch(r.Bytes) }

// Pin pins the region for all cards as soon as one of them has its lanes, while the device may still be opened: from then on
// [Lane.Pinned] holds for it. Lanes that are made meanwhile would wait in the driver, and what the first batches need with them. The
// region stays pinned until the device is closed or discarded, which must not begin before Pin returns. The error is that of
// [Device.Opened] or the driver's, which may pin only what it has made: then the region is memory like any other.
func (d *Device) Pin(ctx context.Context, r *Region) error {
	select {
	case <-d.lanes:
	case <-d.opened:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-d.opened:
		if err := d.usable(ctx, "memory for"); err != nil {
			return err
		}
	default:
	}
	if err := d.Err(); err != nil {
		return err
	}
	p := unsafe.Pointer(unsafe.SliceData(r.Bytes))
	err := d.within("cuMemHostRegister", func() error {
		return d.with(d.first, func() error {
			return d.judge(-1, "cuMemHostRegister", "", hostRegister(p, len(r.Bytes)))
		})
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i, _ := d.hostAt(uintptr(p))
	d.hosts = slices.Insert(d.hosts, i, &Host{Bytes: r.Bytes, dev: d, block: p, size: len(r.Bytes), region: true})
	return nil
}

// unpinRegions ends what Pin began. A context must be current; the caller holds d.mu.
func (d *Device) unpinRegions() (errs []error) {
	d.hosts = slices.DeleteFunc(d.hosts, func(h *Host) bool {
		if h.region {
			errs = append(errs, d.judge(-1, "cuMemHostUnregister", "", hostUnregister(h.block)))
		}
		return h.region
	})
	return errs
}

// Free gives the memory back, with all parts. Nobody uses its bytes, and devices that have pinned any of it are closed or discarded.
func (r *Region) Free() error {
	if r.all == nil {
		return nil
	}
	all := r.all
	r.all, r.Bytes = nil, nil
	if err := syscall.Munmap(all); err != nil {
		return fmt.Errorf("gpu: unmap %d bytes: %w", len(all), err)
	}
	return nil
}
