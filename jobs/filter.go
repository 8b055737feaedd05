package jobs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Filter selects objects of the source. Patterns are rclone's: one that starts
// with a slash matches the whole key, another the end of the key from the
// beginning of an element on; one that ends with a slash matches everything
// below such a folder; * stays within an element and ** as an element does not.
// What is excluded stays excluded. The extension of a pattern that ends like "*.png"
// matches in any letter case.
//
// Ages are durations back from the job's submission or times, as [ParseAge] has them.
// Objects whose size or time is not known pass.
type Filter struct {
	Include    []string `json:"include,omitempty"` // empty: everything
	Exclude    []string `json:"exclude,omitempty"`
	IgnoreCase bool     `json:"ignore_case,omitempty"` // in all of the patterns
	MinSize    int64    `json:"min_size,omitempty"`    // bytes
	MaxSize    int64    `json:"max_size,omitempty"`    // bytes; 0: no limit
	MinAge     string   `json:"min_age,omitempty"`     // objects that were written later are left out
	MaxAge     string   `json:"max_age,omitempty"`     // ... earlier
	MaxDepth   int      `json:"max_depth,omitempty"`   // elements of a key, its name included; 0: no limit

	// DefaultExcludes leaves out what [DefaultExcludes] lists.
	DefaultExcludes bool `json:"default_excludes,omitempty"`
}

// DefaultExcludes are patterns, without regard to case, of what systems leave in folders
// of pictures.
func DefaultExcludes() []string { return []string{".DS_Store", "Thumbs.db", "._*", "desktop.ini"} }

// ageUnits are rclone's units of a duration, in the order in which they are tried.
var ageUnits = []struct {
	name string
	unit time.Duration
}{
	{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour},
	{"w", 7 * 24 * time.Hour}, {"M", 30 * 24 * time.Hour}, {"y", 365 * 24 * time.Hour}, {"", time.Second},
}

// ageTimes are the forms of an absolute time, those without a zone in local time.
var ageTimes = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02"}

// ParseAge gives the time that text names, seen from now: a duration back as rclone
// writes it (a number with ms, s, m, h, d, w, M or y, seconds where it has none, or Go's
// 1h30m), or a time such as 2026-11-22 or RFC 3339's. An empty text and "off" are the
// zero time.
func ParseAge(text string, now time.Time) (time.Time, error) {
	if text == "" || text == "off" {
		return time.Time{}, nil
	}
	for _, u := range ageUnits {
		number, ok := strings.CutSuffix(text, u.name)
		v, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil {
			continue
		}
		if d := v * float64(u.unit); v >= 0 && d < 1<<62 {
			return now.Add(-time.Duration(d)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range ageTimes {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("jobs: age %q: want a duration such as 90s, 36h, 7d, 2w, 6M or 1y, or a time such as 2026-11-22", text)
}

// CanonicalAge gives text so that it means the same in every time zone.
func CanonicalAge(text string) (string, error) {
	now := time.Now()
	t, err := ParseAge(text, now)
	if err != nil || t.IsZero() {
		return "", err
	}
	if later, _ := ParseAge(text, now.Add(time.Hour)); later.Equal(t) {
		return t.UTC().Format(time.RFC3339Nano), nil // a time
	}
	return text, nil
}

// Ages gives the times that objects must have been written between, seen from now; a zero
// time is no bound.
func (f *Filter) Ages(now time.Time) (oldest, newest time.Time, err error) {
	if newest, err = ParseAge(f.MinAge, now); err != nil {
		return
	}
	if oldest, err = ParseAge(f.MaxAge, now); err != nil {
		return
	}
	if !newest.IsZero() && !oldest.IsZero() && oldest.After(newest) {
		err = fmt.Errorf("jobs: minimum age %s is above the maximum %s", f.MinAge, f.MaxAge)
	}
	return
}
