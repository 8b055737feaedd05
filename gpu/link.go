//go:build cuda && cgo

package gpu

import (
	"context"
	"time"
)

// What a link is measured with: large enough that the start of a copy does not count.
const (
	linkBytes  = 64 << 20
	linkCopies = 8
)

// Links measures the speed of the link of each card, in both directions, while the
// device is otherwise idle. The best of some copies counts.
func (d *Device) Links(ctx context.Context) ([]Link, error) {
	if err := d.usable(ctx, d.Opened, "measure links of"); err != nil {
		return nil, err
	}
	var links []Link
	err := d.onEach(ctx, func(l *Lane) error {
		link, err := l.measure()
		links = append(links, link)
		return err
	})
	return links, err
}

func (l *Lane) measure() (Link, error) {
	link := Link{Card: l.card.Info}
	host, err := l.Host(linkBytes)
	if err != nil {
		return link, err
	}
	memory, err := l.Device(linkBytes)
	if err != nil {
		return link, err
	}
	s := l.Stream(0)
	rate := func(copy func() error) (float64, error) {
		var best time.Duration
		for range linkCopies {
			took, err := s.Time(copy)
			if err != nil {
				return 0, err
			}
			if best == 0 || took < best {
				best = took
			}
		}
		return linkBytes / max(best, time.Nanosecond).Seconds(), nil
	}
	if link.Up, err = rate(func() error { return s.Upload(memory, 0, host.Bytes) }); err != nil {
		return link, err
	}
	link.Down, err = rate(func() error { return s.Download(host.Bytes, memory, 0) })
	return link, err
}
