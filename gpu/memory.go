//go:build cuda && cgo

package gpu

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unsafe"
)

// Buffer is device memory of a lane. Its contents are whatever the last user left.
type Buffer struct {
	Ptr  Ptr // address, a multiple of 256
	Size int // bytes that were asked for

	lane  *Lane
	block int // bytes that it takes
}

// Device returns n bytes of device memory. The error wraps [ErrOutOfMemory] where they
// do not fit. They go back to the lane at the end of the batch or with [Buffer.Free].
func (l *Lane) Device(n int) (*Buffer, error) {
	p, block, err := l.memory.take(n)
	if err != nil {
		return nil, err
	}
	b := &Buffer{Ptr: p, Size: n, lane: l, block: block}
	l.buffers = append(l.buffers, b)
	return b, nil
}

// Free lets the lane use the memory again at once, within the batch too: what still
// runs on it must be in the stream, or ordered by events before the stream, in which
// the memory is used next.
func (b *Buffer) Free() {
	if i := slices.Index(b.lane.buffers, b); i >= 0 {
		b.lane.buffers = slices.Delete(b.lane.buffers, i, i+1)
		b.free()
	}
}

func (b *Buffer) free() { b.lane.memory.give(b.Ptr, b.block) }

// part checks that n bytes from off lie in the buffer and returns their address.
func (b *Buffer) part(off, n int) (Ptr, error) {
	if off < 0 || n < 0 || off > b.Size || n > b.Size-off {
		return 0, fmt.Errorf("gpu: %d bytes at %d do not lie in a buffer of %d", n, off, b.Size)
	}
	return b.Ptr + Ptr(off), nil
}

// Host is pinned host memory: copies from and to it run beside everything else
// and at the full speed of the link. Its contents are whatever the last user left.
type Host struct {
	Bytes []byte // valid until Free or, for one of a lane, until the end of the batch

	dev    *Device
	lane   *Lane // nil: it lasts until Free
	region bool  // it is a [Region], and belongs to nobody who could free it
	block  unsafe.Pointer
	size   int
}

// Host returns n bytes of pinned memory that last until Free, so that images
// can be read into it before a batch begins. The error wraps [ErrOutOfMemory] where
// they do not fit.
func (d *Device) Host(n int) (*Host, error) {
	if err := d.usable(context.Background(), d.Ready, "pinned memory of"); err != nil {
		return nil, err
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	got := make(chan *Host, 1)
	err := d.within("cuMemHostAlloc", func() error {
		return d.with(d.first, func() error {
			h, err := d.takeHost(n)
			got <- h
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	h := <-got
	d.mu.Lock()
	defer d.mu.Unlock()
	i, _ := d.hostAt(uintptr(h.block))
	d.hosts = slices.Insert(d.hosts, i, h)
	return h, nil
}

// Pinned says whether b lies in memory that [Device.Host] has returned or [Device.Pin] has pinned, or pins now, for which it waits: the
// card copies from and to it by itself.
func (l *Lane) Pinned(b []byte) bool {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	l.dev.mu.Lock()
	defer l.dev.mu.Unlock()
	l.dev.awaitPinning(func(p *pinning) bool { return p.at(first) })
	i, begins := l.dev.hostAt(first)
	if !begins {
		i--
	}
	if i < 0 || i == len(l.dev.hosts) {
		return false
	}
	h := l.dev.hosts[i]
	return first+uintptr(len(b)) <= uintptr(h.block)+uintptr(h.size)
}

// pins says whether b lies in pinned memory of the lane or of [Device.Host].
func (l *Lane) pins(b []byte) bool {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for _, h := range l.hosts {
		if at := uintptr(h.block); first >= at && first+uintptr(len(b)) <= at+uintptr(h.size) {
			return true
		}
	}
	return l.Pinned(b)
}

// hostAt is the first of the hosts that does not begin before an address, and whether it begins
// there. The caller holds d.mu.
func (d *Device) hostAt(address uintptr) (i int, begins bool) {
	return slices.BinarySearchFunc(d.hosts, address, func(h *Host, at uintptr) int { return cmp.Compare(uintptr(h.block), at) })
}

func (d *Device) takeHost(n int) (*Host, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, size, err := d.host.take(n)
	if err != nil {
		return nil, err
	}
	return &Host{Bytes: unsafe.Slice((*byte)(p), n), dev: d, block: p, size: size}, nil
}

// Host returns n bytes of pinned memory that last until the end of the batch or
// Free.
func (l *Lane) Host(n int) (h *Host, err error) {
	err = l.do("cuMemHostAlloc", "", func() error {
		h, err = l.dev.takeHost(n)
		return err
	})
	if err != nil {
		return nil, err
	}
	h.lane = l
	l.hosts = append(l.hosts, h)
	return h, nil
}

// Free gives the memory back. No copy from or to it may be under way. A second call
// does nothing.
func (h *Host) Free() {
	if h.Bytes == nil {
		return
	}
	h.Bytes = nil
	if l := h.lane; l != nil {
		if i := slices.Index(l.hosts, h); i >= 0 {
			l.hosts = slices.Delete(l.hosts, i, i+1)
		}
	}
	h.dev.mu.Lock()
	defer h.dev.mu.Unlock()
	if i, ok := h.dev.hostAt(uintptr(h.block)); ok && h.dev.hosts[i] == h {
		h.dev.hosts = slices.Delete(h.dev.hosts, i, i+1)
	}
	h.dev.host.give(h.block, h.size)
}
