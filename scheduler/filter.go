package scheduler

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// filter is a checked [jobs.Filter].
type filter struct {
	include, exclude []string // doublestar patterns for whole keys
	lower            bool     // the patterns are of keys in lower case
	defaults         []string // patterns of keys in lower case that are excluded too
	min, max         int64    // bytes
	oldest, newest   time.Time
	depth            int // 0: any
}

// newFilter checks f; ages are seen from now.
func newFilter(f jobs.Filter, now time.Time) (*filter, error) {
	out := &filter{min: f.MinSize, max: f.MaxSize, depth: f.MaxDepth, lower: f.IgnoreCase}
	var err error
	if out.include, err = patterns(f.Include, f.IgnoreCase); err != nil {
		return nil, fmt.Errorf("scheduler: include %w", err)
	}
	if out.exclude, err = patterns(f.Exclude, f.IgnoreCase); err != nil {
		return nil, fmt.Errorf("scheduler: exclude %w", err)
	}
	if f.DefaultExcludes {
		if out.defaults, err = patterns(jobs.DefaultExcludes(), true); err != nil {
			return nil, fmt.Errorf("scheduler: exclude %w", err)
		}
	}
	if out.oldest, out.newest, err = f.Ages(now); err != nil {
		return nil, fmt.Errorf("scheduler: %w", err)
	}
	return out, nil
}

// Matcher checks a filter and returns a function that reports whether it lets an object
// pass, whose size is below zero and whose time is zero where they are not known.
func Matcher(f jobs.Filter) (func(o storage.Object) bool, error) {
	checked, err := newFilter(f, time.Now())
	if err != nil {
		return nil, err
	}
	return func(o storage.Object) bool { return checked.keep(o.Key, o.Size, o.ModTime) }, nil
}

// extensionPattern is a pattern for an extension, or for one of several in braces.
var extensionPattern = regexp.MustCompile(`\*\.([\pL\pN.]+|\{[\pL\pN.,]+\})$`)

// patterns turns rclone's patterns into ones that match whole keys, in lower case where
// case does not matter.
func patterns(in []string, lower bool) ([]string, error) {
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
		if lower {
			q = strings.ToLower(q)
		} else if at := extensionPattern.FindStringIndex(q); at != nil {
			q = q[:at[0]] + anyCase(q[at[0]:])
		}
		out = append(out, q)
	}
	return out, nil
}

// anyCase makes a class of each letter of a pattern that has no classes.
func anyCase(pattern string) string {
	var b strings.Builder
	for _, r := range pattern {
		if l, u := unicode.ToLower(r), unicode.ToUpper(r); l != u {
			fmt.Fprintf(&b, "[%c%c]", l, u)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// keep reports whether an object passes. A size below zero and a zero time are not known
// and pass.
func (f *filter) keep(key string, size int64, written time.Time) bool {
	if size >= 0 && (size < f.min || f.max > 0 && size > f.max) {
		return false
	}
	if !written.IsZero() && (written.Before(f.oldest) || !f.newest.IsZero() && written.After(f.newest)) {
		return false
	}
	if f.depth > 0 && strings.Count(key, "/") >= f.depth {
		return false
	}
	lower := key
	if f.lower || len(f.defaults) > 0 {
		lower = strings.ToLower(key)
	}
	if matches(f.defaults, lower) {
		return false
	}
	if f.lower {
		key = lower
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
