package scheduler

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/pelmill/pelmill/jobs"
)

// filter is a checked [jobs.Filter].
type filter struct {
	include, exclude []string // doublestar patterns for whole keys
	min, max         int64
}

func newFilter(f jobs.Filter) (*filter, error) {
	out := &filter{min: f.MinSize, max: f.MaxSize}
	var err error
	if out.include, err = patterns(f.Include); err != nil {
		return nil, fmt.Errorf("scheduler: include %w", err)
	}
	if out.exclude, err = patterns(f.Exclude); err != nil {
		return nil, fmt.Errorf("scheduler: exclude %w", err)
	}
	return out, nil
}

// Matcher checks a filter and returns a function that reports whether it lets
// an object pass. A size below zero is not known and passes.
func Matcher(f jobs.Filter) (func(key string, size int64) bool, error) {
	checked, err := newFilter(f)
	if err != nil {
		return nil, err
	}
	return checked.keep, nil
}

// patterns turns rclone's patterns into ones that match whole keys.
func patterns(in []string) ([]string, error) {
	var out []string
	for _, p := range in {
		q, anchored := strings.CutPrefix(p, "/")
		if strings.HasSuffix(q, "/") {
			q += "**"
		}
		if !anchored && !strings.HasPrefix(q, "**/") {
			q = "**/" + q
		}
		if p == "" || !doublestar.ValidatePattern(q) {
			return nil, fmt.Errorf("pattern %q: %w", p, doublestar.ErrBadPattern)
		}
		out = append(out, q)
	}
	return out, nil
}

// keep reports whether an object passes. A size that is not known passes.
func (f *filter) keep(key string, size int64) bool {
	if size >= 0 && (size < f.min || f.max > 0 && size > f.max) {
		return false
	}
	if len(f.include) > 0 && !matches(f.include, key) {
		return false
	}
	return !matches(f.exclude, key)
}

func matches(patterns []string, key string) bool {
	for _, p := range patterns {
		if doublestar.MatchUnvalidated(p, key) {
			return true
		}
	}
	return false
}
