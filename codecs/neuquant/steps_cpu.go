package neuquant

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pool"
)

// cpuSteps runs the steps in Go: goroutines share the problems, and those
// that are free the bins and the colours of one.
type cpuSteps struct{ pool *pool.Pool }

func (d cpuSteps) solve(ctx context.Context, list []problem, o *Options) []solution {
	out := make([]solution, len(list))
	d.pool.Each(len(list), func(i int) {
		p := &list[i]
		s := &out[i]
		if s.err = ctx.Err(); s.err != nil {
			return
		}
		if p.entries == 1 {
			s.entries = []uint32{mean(p)}
			if p.mapped {
				s.index = make([]uint8, p.n())
			}
			return
		}
		s.entries = train(p, o.sample)
		var h *histogram
		if o.refine > 0 || p.mapped && p.opaque && p.n() >= tableFrom {
			h = collect(d.pool, p)
		}
		if s.err = refine(ctx, d.pool, h, s.entries, o.refine); s.err == nil && p.mapped {
			s.index, s.err = mapTo(ctx, d.pool, p, s.entries, h)
		}
	})
	return out
}

// mean is the rounded mean of the colours.
func mean(p *problem) uint32 {
	var b bin
	n := p.n()
	for i := range n {
		for t := range b.sum {
			b.sum[t] += uint64(p.at(i) >> (8 * t) & 255)
		}
	}
	b.w = uint64(n)
	return b.mean()
}

// tableFrom is the number of colours from which a histogram takes less time than it
// saves in mapping.
const tableFrom = 1 << 14
