package jobs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Settings are what of a job can be changed while it runs. In a [Spec] they are those of
// its submission; in a [Control] those that were changed since, nil meaning as before.
type Settings struct {
	Priority    *int           `json:"priority,omitempty"`     // 0 to 3, higher first
	Hours       *string        `json:"hours,omitempty"`        // see Spec.Hours
	Bandwidth   *string        `json:"bwlimit,omitempty"`      // see ParseBandwidth
	Requests    *float64       `json:"tpslimit,omitempty"`     // requests to storage a second, of all workers; 0: no limit
	MaxObjects  *int64         `json:"max_objects,omitempty"`  // attempted since the start or the last resume; 0: no limit
	MaxBytes    *int64         `json:"max_bytes,omitempty"`    // of the sources of these
	MaxDuration *time.Duration `json:"max_duration,omitempty"` // of work since then
	MaxWorkers  *int           `json:"max_workers,omitempty"`  // at work at once
}

// Over gives s with what is set in t.
func (s Settings) Over(t Settings) Settings {
	return Settings{
		Priority: or(t.Priority, s.Priority), Hours: or(t.Hours, s.Hours), Bandwidth: or(t.Bandwidth, s.Bandwidth), Requests: or(t.Requests, s.Requests),
		MaxObjects: or(t.MaxObjects, s.MaxObjects), MaxBytes: or(t.MaxBytes, s.MaxBytes), MaxDuration: or(t.MaxDuration, s.MaxDuration), MaxWorkers: or(t.MaxWorkers, s.MaxWorkers),
	}
}

func or[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// value is what p points to, the zero value where it is nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Check reports the first setting that is not allowed, with its value.
func (s Settings) Check() error {
	switch {
	case value(s.Priority) < 0 || value(s.Priority) >= Priorities:
		return fmt.Errorf("jobs: priority %d: want 0 to %d", *s.Priority, Priorities-1)
	case value(s.Requests) < 0 || math.IsInf(value(s.Requests), 0) || math.IsNaN(value(s.Requests)):
		return fmt.Errorf("jobs: tpslimit %v: want 0 or more", *s.Requests)
	case value(s.MaxObjects) < 0 || value(s.MaxBytes) < 0 || value(s.MaxDuration) < 0 || value(s.MaxWorkers) < 0:
		return fmt.Errorf("jobs: at most %d objects, %d bytes, %v, %d workers: want nothing below 0",
			value(s.MaxObjects), value(s.MaxBytes), value(s.MaxDuration), value(s.MaxWorkers))
	}
	if _, err := parseHours(value(s.Hours)); err != nil {
		return err
	}
	_, err := ParseBandwidth(value(s.Bandwidth))
	return err
}

// Now is the settings of the job as they are, with what was changed by c.
func (s *Spec) Now(c *Control) Settings {
	return Settings{Priority: &s.Priority, Hours: &s.Hours}.Over(s.Settings).Over(c.Settings)
}

// OpenAt reports whether chunks may start at t, by the hours.
func (s Settings) OpenAt(t time.Time) bool {
	h, err := parseHours(value(s.Hours))
	return err == nil && h.open(t)
}

// Used is what of the budget of a job is used up.
type Used struct {
	Work
	Seconds float64 `json:"s"`
}

// Exceeded says which part of the budget is used up by u; empty where none is.
func (s Settings) Exceeded(u Used) string {
	switch n, b, d := value(s.MaxObjects), value(s.MaxBytes), value(s.MaxDuration); {
	case n > 0 && u.Objects >= n:
		return fmt.Sprintf("its budget of %d objects is used up", n)
	case b > 0 && u.Bytes >= b:
		return fmt.Sprintf("its budget of %d bytes is used up", b)
	case d > 0 && u.Seconds >= d.Seconds():
		return fmt.Sprintf("its budget of %v is used up", d)
	}
	return ""
}

// Fits reports whether more work does not exceed the budget, of which so much is used up or fed.
func (s Settings) Fits(u Used, more Work) bool {
	n, b := value(s.MaxObjects), value(s.MaxBytes)
	return (n == 0 || u.Objects+more.Objects <= n) && (b == 0 || u.Bytes+more.Bytes <= b)
}

// Rates are limits that hold at a moment, of all workers of a job together; 0 is none.
type Rates struct {
	Up       float64 `json:"up,omitempty"`       // bytes a second to the target
	Down     float64 `json:"down,omitempty"`     // and from the source
	Requests float64 `json:"requests,omitempty"` // to both, a second
}

// RatesAt are the limits that hold at t.
func (s Settings) RatesAt(t time.Time) Rates {
	b, _ := ParseBandwidth(value(s.Bandwidth))
	r := b.at(t)
	r.Requests = value(s.Requests)
	return r
}

// Bandwidth is a timetable of limits, in the order of their times in a week.
type Bandwidth []bandwidthFrom

// bandwidthFrom is a limit from a minute of the week on, Sunday being its first day.
type bandwidthFrom struct {
	minute   int
	up, down float64
}

const minutesOfWeek = 7 * 24 * 60

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// ParseBandwidth reads rclone's --bwlimit: "10M" bytes a second, "10M:1M" for writing and reading
// apart, "off", or a timetable "08:00,512K 19:00,off", with days "Mon-08:00,512K". Other than
// in rclone a number needs a unit, B, K, M, G or T: there it would be KiB, here bytes. The empty text is no
// limit.
func ParseBandwidth(text string) (Bandwidth, error) {
	var table Bandwidth
	for _, part := range strings.Fields(text) {
		when, limit, timed := strings.Cut(part, ",")
		if !timed {
			when, limit = "00:00", part
			if len(table) > 0 || len(strings.Fields(text)) > 1 {
				return nil, fmt.Errorf("jobs: bwlimit %q: %q has no time", text, part)
			}
		}
		minutes, err := weekMinutes(when)
		if err != nil {
			return nil, fmt.Errorf("jobs: bwlimit %q: %w", text, err)
		}
		upText, downText, apart := strings.Cut(limit, ":")
		if !apart {
			downText = upText
		}
		up, err1 := byteRate(upText)
		down, err2 := byteRate(downText)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("jobs: bwlimit %q: %q: want bytes a second with a unit, such as 512K, 10M:1M or off", text, limit)
		}
		for _, m := range minutes {
			table = append(table, bandwidthFrom{m, up, down})
		}
	}
	return table, nil
}

// weekMinutes reads "08:00", which is every day, or "Mon-08:00".
func weekMinutes(text string) ([]int, error) {
	day, clock, found := strings.Cut(text, "-")
	if !found {
		clock = day
	}
	t, err := time.Parse("15:04", clock)
	if err != nil {
		return nil, fmt.Errorf("%q: want a time such as 08:00 or Mon-08:00", text)
	}
	var out []int
	for i, name := range weekdays {
		if !found || strings.EqualFold(day, name) {
			out = append(out, (i*24+t.Hour())*60+t.Minute())
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q: want a day such as Mon", text)
	}
	return out, nil
}

// byteRate reads "512K", "1.5M" or "off".
func byteRate(text string) (float64, error) {
	if strings.EqualFold(text, "off") {
		return 0, nil
	}
	if text == "" {
		return 0, strconv.ErrSyntax
	}
	unit := strings.IndexByte("BKMGT", text[len(text)-1]&^0x20)
	if unit < 0 {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(text[:len(text)-1], 64)
	if err != nil || !(v > 0) || v > 1e15 {
		return 0, strconv.ErrSyntax
	}
	return v * float64(int64(1)<<(10*unit)), nil
}

// at is the limit that holds at t: the last one that began, also in the week before.
func (b Bandwidth) at(t time.Time) (r Rates) {
	now, best := (int(t.Weekday())*24+t.Hour())*60+t.Minute(), minutesOfWeek
	for _, f := range b {
		if ago := (now - f.minute + minutesOfWeek) % minutesOfWeek; ago < best {
			best, r = ago, Rates{Up: f.up, Down: f.down}
		}
	}
	return r
}
