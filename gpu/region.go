//go:build cuda && cgo

package gpu

import (
	"cmp"
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
// [Lane.Pinned] holds for it, which waits for that. Lanes that are made meanwhile would wait in the driver, and what the first batches
// need with them. Regions are pinned in the order of the calls. They stay pinned until the device is closed or discarded, which must not
// begin before Pin returns. The error is that of [Device.Opened] or the driver's, which may pin only what it has made: then the region is
// memory like any other.
func (d *Device) Pin(ctx context.Context, r *Region) error {
	p := &pinning{region: r}
	d.mu.Lock()
	d.pinnings = append(d.pinnings, p)
	d.mu.Unlock()
	err := d.usable(ctx, d.Ready, "memory for")
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && !p.begun {
		d.ends(p, err)
	}
	for !p.ended && d.pins {
		d.pinned.Wait()
	}
	if !p.ended {
		d.pins = true
		err := d.unlocked(func() error {
			return d.within("cuMemHostRegister", func() error { return d.with(d.first, d.pinAll) })
		})
		d.pins = false
		d.ends(p, cmp.Or(err, d.Err())) // where it began in a call that was given up, nobody else ends it
	}
	return p.err
}

// pinning is a call of [Device.Pin]. The device's mu guards what changes.
type pinning struct {
	region       *Region
	begun, ended bool
	err          error // of the end
}

// at says whether an address lies in the region.
func (p *pinning) at(address uintptr) bool {
	b := p.region.Bytes
	return address-uintptr(unsafe.Pointer(unsafe.SliceData(b))) < uintptr(len(b))
}

// pinAll pins all regions that wait for it, on one thread: on busy cores those who wait would take longer to follow each other. A context
// must be current.
func (d *Device) pinAll() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		i := slices.IndexFunc(d.pinnings, func(p *pinning) bool { return !p.begun })
		if i < 0 {
			return nil
		}
		p := d.pinnings[i]
		p.begun = true
		b := p.region.Bytes
		block := unsafe.Pointer(unsafe.SliceData(b))
		err := d.unlocked(func() error {
			if err := d.Err(); err != nil {
				return err
			}
			return d.judge(-1, "cuMemHostRegister", "", hostRegister(block, len(b)))
		})
		if err == nil {
			i, _ := d.hostAt(uintptr(block))
			d.hosts = slices.Insert(d.hosts, i, &Host{Bytes: b, dev: d, block: block, size: len(b), region: true})
		}
		d.ends(p, err)
	}
}

// ends says what a call of Pin came to, unless that is known. The caller holds d.mu.
func (d *Device) ends(p *pinning, err error) {
	if !p.ended {
		p.ended, p.err = true, err
		d.pinnings = slices.DeleteFunc(d.pinnings, func(other *pinning) bool { return other == p })
	}
	d.pinned.Broadcast()
}

// awaitPinning waits until those calls of Pin have ended, of the ones that there are now, that f is true for. The caller holds d.mu.
func (d *Device) awaitPinning(f func(*pinning) bool) {
	for _, p := range slices.Clone(d.pinnings) {
		for f(p) && !p.ended {
			d.pinned.Wait()
		}
	}
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
