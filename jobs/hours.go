package jobs

import (
	"fmt"
	"time"
)

// hours is a daily interval in minutes from midnight; it may pass midnight.
// The zero value is always open.
type hours struct {
	from, to int
	set      bool
}

// parseHours reads "22:00-06:00"; the empty string is always open.
func parseHours(s string) (hours, error) {
	if s == "" {
		return hours{}, nil
	}
	var h1, m1, h2, m2 int
	n, err := fmt.Sscanf(s, "%d:%d-%d:%d", &h1, &m1, &h2, &m2)
	if err != nil || n != 4 || fmt.Sprintf("%02d:%02d-%02d:%02d", h1, m1, h2, m2) != s ||
		h1 < 0 || h1 > 23 || h2 < 0 || h2 > 24 || m1 < 0 || m1 > 59 || m2 < 0 || m2 > 59 {
		return hours{}, fmt.Errorf("jobs: hours %q: want the form 22:00-06:00", s)
	}
	h := hours{from: 60*h1 + m1, to: 60*h2 + m2, set: true}
	if h.from == h.to || h.to > 24*60 {
		return hours{}, fmt.Errorf("jobs: hours %q: want the form 22:00-06:00", s)
	}
	return h, nil
}

// open reports whether t, in its own location, lies in the interval.
func (h hours) open(t time.Time) bool {
	if !h.set {
		return true
	}
	m := 60*t.Hour() + t.Minute()
	if h.from < h.to {
		return m >= h.from && m < h.to
	}
	return m >= h.from || m < h.to
}

// OpenAt reports whether chunks of the job may start at t, by its hours. Those of a
// specification that [Spec.Check] refuses are never open.
func (s *Spec) OpenAt(t time.Time) bool {
	h, err := parseHours(s.Hours)
	return err == nil && h.open(t)
}
