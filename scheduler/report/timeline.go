package report

import (
	"math"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

const (
	mostBins     = 120
	longestChunk = 7 * 24 * time.Hour // a chunk that says that it took longer is taken for one of this length
)

// timeline is the work that was done in each stretch of time. Its bins are as wide as
// they must be for at most mostBins of them: 1 s, 2 s, 4 s and so on.
type timeline struct {
	shift uint  // a bin is 2^shift seconds wide
	first int64 // number of the first bin, counted from 1970
	bins  []work
}

// width is that of a bin in seconds.
func (t *timeline) width() int64 { return 1 << t.shift }

// work is what was done in a bin.
type work struct{ objects, bytes float64 }

// Chunk takes the header of a chunk's records, for the rate over time.
func (p *Page) Chunk(h *jobs.Shard) {
	if h.At.IsZero() || math.IsNaN(h.Seconds) {
		return
	}
	length := time.Duration(min(max(h.Seconds, 0), longestChunk.Seconds()) * float64(time.Second))
	p.timeline.add(h.At.Add(-length), h.At, work{float64(h.Counts.Objects - h.Counts.Skipped), float64(h.Counts.BytesAttempted)})
}

// add spreads work evenly over a time.
func (t *timeline) add(from, to time.Time, w work) {
	t.include(from.Unix(), to.Unix())
	length := to.Sub(from).Seconds()
	for i := from.Unix() >> t.shift; i <= to.Unix()>>t.shift; i++ {
		share := 1.0
		if length > 0 {
			begin, end := time.Unix(i<<t.shift, 0), time.Unix((i+1)<<t.shift, 0)
			if begin.Before(from) {
				begin = from
			}
			if end.After(to) {
				end = to
			}
			share = end.Sub(begin).Seconds() / length
		}
		b := &t.bins[i-t.first]
		b.objects += share * w.objects
		b.bytes += share * w.bytes
	}
}

// include makes bins from one second to another, both counted from 1970.
func (t *timeline) include(from, to int64) {
	if len(t.bins) == 0 {
		t.first = from
	}
	for {
		first := min(t.first, from>>t.shift)
		end := max(t.first+int64(len(t.bins)), to>>t.shift+1)
		if end-first <= mostBins {
			bins := make([]work, end-first)
			copy(bins[t.first-first:], t.bins)
			t.first, t.bins = first, bins
			return
		}
		t.widen()
	}
}

// widen makes bins twice as wide.
func (t *timeline) widen() {
	first := t.first >> 1
	bins := make([]work, 0, len(t.bins)/2+1)
	for i, w := range t.bins {
		at := int((t.first+int64(i))>>1 - first)
		if at == len(bins) {
			bins = append(bins, work{})
		}
		bins[at].objects += w.objects
		bins[at].bytes += w.bytes
	}
	t.shift, t.first, t.bins = t.shift+1, first, bins
}
