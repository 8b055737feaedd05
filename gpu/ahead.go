//go:build cuda && cgo

package gpu

import (
	"syscall"
	"unsafe"
)

// ahead is pinned memory for the lanes of a card whose pages are made while the driver makes the card's context. Lanes that begin at the
// same time would else pin what they need block by block, and all of them wait while the driver does that.
type ahead struct {
	d     *Device
	n     int         // bytes; 0: none
	pages chan mapped // gets one
}

// mapped is what mapPages returns.
type mapped struct {
	all []byte
	err error
}

// pinAhead makes the pages of n bytes, if slabs may be as large. Until pin or giveUp whoever wants blocks like those of staging buffers
// waits.
func (d *Device) pinAhead(n int) ahead {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n <= 0 || int64(n) > d.host.slabs.limit-d.host.held {
		return ahead{}
	}
	d.host.grow(n)
	d.host.slabs.coming++
	d.host.slabs.mostShared = mostStaging
	a := ahead{d, n, make(chan mapped, 1)}
	go func() {
		all, err := mapPages(n)
		a.pages <- mapped{all, err}
	}()
	return a
}

// pin pins the memory in the context of c, behind regions: samples that lie there are what a batch needs first. Where it does not come
// to that, lanes pin what they need.
func (a ahead) pin(c *card) {
	if a.n == 0 {
		return
	}
	m := <-a.pages
	a.d.mu.Lock()
	a.d.awaitPinning(func(*pinning) bool { return true })
	a.d.mu.Unlock()
	if m.err != nil || a.d.Err() != nil {
		a.over(m, nil)
		return
	}
	var base unsafe.Pointer
	_ = c.pinning.in(c.Index, "cuMemHostRegister", func() error {
		return a.d.with(c, func() (err error) {
			base, err = a.d.pages.register(a.d, m.all, a.n)
			m.all = nil // it is register's
			return err
		})
	})
	a.over(m, base)
}

// giveUp lets go of the memory.
func (a ahead) giveUp() {
	if a.n > 0 {
		a.over(<-a.pages, nil)
	}
}

// over ends the waiting for the memory: it begins at base, or there is none where that is nil. Pages that nobody has taken go back.
func (a ahead) over(m mapped, base unsafe.Pointer) {
	if m.all != nil {
		_ = syscall.Munmap(m.all)
	}
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if base == nil {
		a.d.host.grow(-a.n)
	} else {
		a.d.host.slabs.add(base, a.n)
	}
	a.d.host.arrived()
}
