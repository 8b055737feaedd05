package scheduler

import "github.com/pelmill/pelmill/jobs"

// Matcher checks a filter and returns a function that reports whether it lets
// an object pass. A size below zero is not known and passes.
func Matcher(f jobs.Filter) (func(key string, size int64) bool, error) {
	checked, err := newFilter(f)
	if err != nil {
		return nil, err
	}
	return checked.keep, nil
}
