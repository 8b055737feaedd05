package scheduler

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/pelmill/pelmill/jobs"
)

// mostRanged is the largest manifest whose key ranges are held in memory.
const mostRanged = partEntries / 2

// keyRanges are the keys whose earlier records the plan of a small manifest needs: for each of its objects those keys
// that begin with its stem. Only they are of the object itself or can share a name with it. nil stands for all keys.
type keyRanges struct {
	prefixes []string // in order; none begins with another
}

// rangesOf gives the ranges of a manifest, nil where it is too large for them.
func rangesOf(ctx context.Context, all entries, objects int64, extensions jobs.Extensions) (*keyRanges, error) {
	if objects > mostRanged {
		return nil, nil
	}
	var stems []string
	err := all(ctx, func(e jobs.Entry) error {
		stems = append(stems, extensions.Stem(e.Key))
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(stems)
	r := &keyRanges{}
	for _, stem := range stems {
		if n := len(r.prefixes); n == 0 || !strings.HasPrefix(stem, r.prefixes[n-1]) {
			r.prefixes = append(r.prefixes, stem)
		}
	}
	return r, nil
}

// has reports whether a key is in a range.
func (r *keyRanges) has(key string) bool {
	if r == nil {
		return true
	}
	// Of the prefixes up to the key only the last can be its own: what lies between a prefix and a key that begins
	// with it begins with the prefix too.
	i := sort.Search(len(r.prefixes), func(i int) bool { return r.prefixes[i] > key })
	return i > 0 && strings.HasPrefix(key, r.prefixes[i-1])
}

// meets reports whether some key k with first <= k <= last can be in a range.
func (r *keyRanges) meets(first, last string) bool {
	if r.has(first) {
		return true
	}
	i := sort.Search(len(r.prefixes), func(i int) bool { return r.prefixes[i] > first })
	return i < len(r.prefixes) && r.prefixes[i] <= last
}
