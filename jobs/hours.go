package jobs

import (
	"fmt"
	"time"
)

// Hours is a daily interval in minutes from midnight; it may pass midnight.
// The zero value is always open.
type Hours struct {
	From, To int
	set      bool
}

// ParseHours reads "22:00-06:00"; the empty string is always open.
func ParseHours(s string) (Hours, error) {
	if s == "" {
		return Hours{}, nil
	}
	var h1, m1, h2, m2 int
	n, err := fmt.Sscanf(s, "%d:%d-%d:%d", &h1, &m1, &h2, &m2)
	if err != nil || n != 4 || fmt.Sprintf("%02d:%02d-%02d:%02d", h1, m1, h2, m2) != s ||
		h1 < 0 || h1 > 23 || h2 < 0 || h2 > 24 || m1 < 0 || m1 > 59 || m2 < 0 || m2 > 59 {
		return Hours{}, fmt.Errorf("jobs: hours %q: want the form 22:00-06:00", s)
	}
	h := Hours{From: 60*h1 + m1, To: 60*h2 + m2, set: true}
	if h.From == h.To || h.To > 24*60 {
		return Hours{}, fmt.Errorf("jobs: hours %q: want the form 22:00-06:00", s)
	}
	return h, nil
}

// Open reports whether t, in its own location, lies in the interval.
func (h Hours) Open(t time.Time) bool {
	if !h.set {
		return true
	}
	m := 60*t.Hour() + t.Minute()
	if h.From < h.To {
		return m >= h.From && m < h.To
	}
	return m >= h.From || m < h.To
}
