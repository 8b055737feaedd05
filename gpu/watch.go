//go:build cuda && cgo

package gpu

import (
	"sync/atomic"
	"time"
)

// begun is the start of the clock for place.since.
var begun = time.Now()

// place is where a goroutine is in the driver, for another one that watches.
type place struct {
	card  atomic.Int64
	call  atomic.Pointer[string] // the driver's function
	since atomic.Int64           // when it went in, in nanoseconds of the clock's start; 0: in none
}

// in makes a call of the driver.
func (p *place) in(card int, call string, f func() error) error {
	p.card.Store(int64(card))
	p.call.Store(&call)
	p.since.Store(max(1, int64(time.Since(begun))))
	defer p.since.Store(0)
	return f()
}

// hangs tells of a call that has taken longer than limit.
func (p *place) hangs(now time.Time, limit time.Duration) *HangError {
	since := p.since.Load()
	if since == 0 || now.Sub(begun)-time.Duration(since) <= limit {
		return nil
	}
	return &HangError{Card: int(p.card.Load()), Call: *p.call.Load(), After: limit}
}

// watch returns when end is closed, when a call of the driver that hangs tells of
// went on for too long, or when the card was lost and end is not closed soon after.
func (d *Device) watch(end <-chan struct{}, hangs func(now time.Time) error) {
	tick := time.NewTicker(max(d.opts.Hang/8, time.Millisecond))
	defer tick.Stop()
	var lost time.Time
	for {
		select {
		case <-end:
			return
		case now := <-tick.C:
			if err := hangs(now); err != nil {
				d.poison(err)
				return
			}
			if d.failure.Load() != nil {
				if lost.IsZero() {
					lost = now
				}
				if now.Sub(lost) > d.opts.Hang {
					return
				}
			}
		}
	}
}

// lanesHang tells of a call in one of the lanes.
func (d *Device) lanesHang(now time.Time) error {
	for _, c := range d.found {
		if !c.ready.Load() {
			continue
		}
		for _, p := range []*place{&c.preparing, &c.pinning} {
			if err := p.hangs(now, d.opts.Hang); err != nil {
				return err
			}
		}
		for _, l := range c.lanes {
			if err := l.hangs(now, d.opts.Hang); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask makes a call of the driver before the device is open: by whatever goroutine, one
// at a time for each place. It refuses where a call was given up.
func (d *Device) ask(at *place, card int, call string, f func() error) error {
	if err := d.Err(); err != nil {
		return err
	}
	err := at.in(card, call, f)
	if lost := d.Err(); lost != nil {
		return lost
	}
	return driverError(card, call, "", err)
}

// asking runs f, which asks the driver in some places, and gives it up where a call hangs.
func (d *Device) asking(in []*place, f func() error) error {
	var err error
	end := make(chan struct{})
	go func() {
		defer close(end)
		err = f()
	}()
	d.watch(end, func(now time.Time) error {
		for _, p := range in {
			if e := p.hangs(now, d.opts.Hang); e != nil {
				return e
			}
		}
		return nil
	})
	select {
	case <-end:
		return err
	default:
		return d.Err()
	}
}
