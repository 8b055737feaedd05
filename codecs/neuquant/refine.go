package neuquant

import (
	"cmp"
	"context"
	"slices"

	"github.com/pelmill/pelmill/codecs/pool"
)

// cluster is what lies nearest to an entry.
type cluster struct {
	bin           // of the colours
	t   [4]uint64 // sums of the bins' means, each for each of its colours
	q   [4]uint64 // sums of their squares

	err  uint64 // squared distance of the bins' means
	loss uint64 // what the squared distance would grow by without the entry
}

func (c *cluster) add(o *cluster) {
	c.w += o.w
	c.err += o.err
	c.loss += o.loss
	for t := range c.sum {
		c.sum[t] += o.sum[t]
		c.t[t] += o.t[t]
		c.q[t] += o.q[t]
	}
}

// refine moves entries to the means of what is nearest to them, as often as passes
// says, and all but the last time moves some that are missed least to where the most is
// wrong: k-means with the replacement of the least useful. h may be nil where passes is 0.
func refine(ctx context.Context, c *pool.Pool, h *histogram, entries []uint32, passes int) error {
	if passes == 0 {
		return nil
	}
	of := make([]uint8, len(h.bins))
	for pass := range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		clusters := assign(c, h, entries, of)
		for k := range entries {
			if clusters[k].w > 0 {
				entries[k] = clusters[k].mean()
			}
		}
		most := len(entries) >> (2 + pass)
		if pass == passes-1 {
			most = 0
		}
		for _, m := range moves(clusters, most) {
			m.split(h, of, &clusters[m.to], entries)
		}
	}
	return nil
}

// binsAtOnce is how many bins a goroutine takes at a time.
const binsAtOnce = 4096

// assign finds the nearest entry of each bin.
func assign(c *pool.Pool, h *histogram, entries []uint32, of []uint8) []cluster {
	f := newFinder(entries)
	n := len(h.bins)
	parts := make([][]cluster, (n+binsAtOnce-1)/binsAtOnce)
	c.Spans(n, binsAtOnce, func(lo, hi int) {
		part := make([]cluster, len(entries))
		parts[lo/binsAtOnce] = part
		var keys, seconds [64]uint32
		for ; lo < hi; lo += len(keys) {
			m := min(len(keys), hi-lo)
			f.two(h.colour[lo:lo+m], keys[:m], seconds[:m])
			for i := range m {
				k := uint8(keys[i])
				of[lo+i] = k
				part[k].take(&h.bins[lo+i], h.colour[lo+i], keys[i]>>indexBits, seconds[i]>>indexBits)
			}
		}
	})
	for _, p := range parts[1:] {
		for k := range p {
			parts[0][k].add(&p[k])
		}
	}
	return parts[0]
}

// take adds a bin with the mean v, whose squared distances to the nearest entry and to
// the next are d1 and d2.
func (c *cluster) take(b *bin, v, d1, d2 uint32) {
	w := b.w
	c.w += w
	c.err += w * uint64(d1)
	c.loss += w * uint64(d2-d1)
	for t := range c.sum {
		m := uint64(v >> (8 * t) & 255)
		c.sum[t] += b.sum[t]
		c.t[t] += w * m
		c.q[t] += w * m * m
	}
}

// move takes entry from to the cluster of entry to.
type move struct{ from, to int }

// moves pairs the entries that are missed least with the clusters of the largest error.
// At most most of them are in use.
func moves(clusters []cluster, most int) (list []move) {
	n := len(clusters)
	lo, hi := make([]int, n), make([]int, n)
	for i := range n {
		lo[i], hi[i] = i, i
	}
	slices.SortFunc(lo, func(a, b int) int {
		ca, cb := &clusters[a], &clusters[b]
		// Those out of use come first.
		return cmp.Or(cmp.Compare(min(ca.w, 1), min(cb.w, 1)), cmp.Compare(ca.loss, cb.loss), cmp.Compare(a, b))
	})
	slices.SortFunc(hi, func(a, b int) int {
		return cmp.Or(cmp.Compare(clusters[b].err, clusters[a].err), cmp.Compare(a, b))
	})
	const left, grown = 1, 2
	var role [maxEntries]uint8
	for i := range n {
		from, to := &clusters[lo[i]], &clusters[hi[i]]
		if to.err == 0 || lo[i] == hi[i] || role[lo[i]] == grown || role[hi[i]] == left {
			break
		}
		if from.w > 0 && (i >= most || 2*from.loss > to.err) {
			break
		}
		role[lo[i]], role[hi[i]] = left, grown
		list = append(list, move{lo[i], hi[i]})
	}
	return list
}

// split parts the cluster of the entry m.to at its mean along the component that
// spreads most, and sets both entries to the means of the parts.
func (m move) split(h *histogram, of []uint8, c *cluster, entries []uint32) {
	axis, spread, at := 0, int64(-1), uint32(0)
	for t := range c.t {
		q := c.t[t] / c.w
		if v := int64(c.q[t] - 2*q*c.t[t] + c.w*q*q); v > spread {
			axis, spread, at = t, v, uint32(q)
		}
	}
	var a, b bin
	for i, k := range of {
		if int(k) != m.to {
			continue
		}
		part := &b
		if h.colour[i]>>(8*axis)&255 <= at {
			part = &a
		}
		part.w += h.bins[i].w
		for t, s := range h.bins[i].sum {
			part.sum[t] += s
		}
	}
	if a.w > 0 && b.w > 0 {
		entries[m.to], entries[m.from] = a.mean(), b.mean()
	}
}
