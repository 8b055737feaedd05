//go:build cuda && cgo

package gpu

import "unsafe"

// ahead is pinned memory for the lanes of a card whose pages are made while the driver makes the card's context. Lanes that begin at the
// same time would else pin what they need block by block, and all of them wait while the driver does that.
type ahead struct {
	d *Device
	n int // bytes; 0: none
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
	d.pages.begin(n)
	return ahead{d, n}
}

// pin pins the memory in the context of c. Where it does not come to that, lanes pin what they need.
func (a ahead) pin(c *card) {
	if a.n == 0 {
		return
	}
	var base unsafe.Pointer
	err := c.pinning.in(c.Index, "cuMemHostRegister", func() error {
		return a.d.with(c, func() (err error) { base, err = a.d.pages.register(a.d, a.n); return err })
	})
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if err != nil {
		a.d.host.grow(-a.n)
	} else {
		a.d.host.slabs.add(base, a.n)
	}
	a.d.host.arrived()
}

// giveUp lets go of the memory.
func (a ahead) giveUp() {
	if a.n == 0 {
		return
	}
	a.d.pages.drop(a.n)
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	a.d.host.grow(-a.n)
	a.d.host.arrived()
}
