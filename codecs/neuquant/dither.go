package neuquant

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/pool"
)

// dithering finds the entries of pixels by their places.
type dithering struct {
	*paletteScope
	width, height int // of a frame
	finders       [3]*finder
	first         [3]uint8
	out           []uint8
	one           bool // all pixels are of one kind
}

// dither maps the pixels of a scope, of frames of width x height, to the entries of its
// parts.
func (d *paletteScope) dither(ctx context.Context, c *pool.Pool, o *Options, width, height int, of [][]uint32, first [3]uint8) ([]uint8, error) {
	v := &dithering{paletteScope: d, width: width, height: height, first: first, out: make([]uint8, d.all.n())}
	v.one = len(d.parts) == 1 && !d.clear
	for i, entries := range of {
		v.finders[d.parts[i].kind()] = newFinder(entries)
	}
	if o.dither == ordered {
		v.ordered(ctx, c)
	} else {
		v.diffuse(ctx, c)
	}
	return v.out, ctx.Err()
}

// ordered adds to each pixel what the Bayer matrix says.
func (v *dithering) ordered(ctx context.Context, c *pool.Pool) {
	var offsets [3][64]int32
	for k, f := range v.finders {
		if f == nil {
			continue
		}
		s := spread(len(f.entries))
		for i, m := range bayer {
			offsets[k][i] = (2*m - 63) * s / 128
		}
	}
	rows := len(v.out) / v.width
	c.Spans(rows, 16, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		for ; lo < hi; lo++ {
			row := lo % v.height
			for x := range v.width {
				i := lo*v.width + x
				p := v.all.at(i)
				k := v.class(p)
				v.out[i] = v.first[k]
				if k == 0 {
					continue
				}
				off := offsets[k][row%8*8+x%8]
				most := int32(p >> 24)
				shift := func(c uint32) uint32 { return uint32(min(max(int32(c)+off, 0), most)) }
				q := shift(p&255) | shift(p>>8&255)<<8 | shift(p>>16&255)<<16 | p>>24<<24
				v.out[i] += v.finders[k].nearest(q)
			}
		}
	})
}

// spread is how far apart the offsets of the ordered dither are for a palette of n
// entries: the largest s with s^3 n <= 48^3. Entries that filled the cube of all colours
// evenly would lie 255 where this has 48 apart; training puts them where the colours are.
// Of 8 to 128 this is where means of 4 x 4 pixels of photos come near those of the
// source (within 0.1 dB of the best for 64 entries and more, and of 16 the best).
func spread(n int) int32 {
	s := int32(48)
	for s*s*s > 48*48*48/int32(n) {
		s--
	}
	return s
}

// diffuse spreads the error of each pixel to the next in its row and three in the row
// below (Floyd and Steinberg, 1976). Every row runs from left to right, behind the row
// above, so that rows run beside each other.
//
//   - 7
//     3  5  1      of 16
func (v *dithering) diffuse(ctx context.Context, c *pool.Pool) {
	const block = 64 // pixels after which the row below is told
	rows := len(v.out) / v.width
	done := make([]atomic.Int32, rows)
	// What reaches a row is written by the row above and taken, which leaves zeros, before
	// the row below writes there.
	var sums [2][][4]int32
	for i := range sums {
		sums[i] = make([][4]int32, v.width)
	}
	row := func(y int) {
		defer done[y].Store(int32(v.width)) // whatever happens, nobody waits for ever
		in, below := sums[y%2], sums[(y+1)%2]
		if y%v.height == v.height-1 {
			below = nil
		}
		var right [4]int32
		for x := 0; x < v.width; {
			end := min(x+block, v.width)
			for y > 0 && int(done[y-1].Load()) < min(end+1, v.width) {
				runtime.Gosched()
			}
			if ctx.Err() == nil {
				for ; x < end; x++ {
					v.pixel(y*v.width+x, x, &right, in, below)
				}
			}
			x = end
			done[y].Store(int32(end))
		}
	}
	// More rows at a time than these would only wait. They are begun in order, so that the
	// row that another waits for is always on its way.
	var next atomic.Int64
	c.Each(min(c.Size(), max(1, v.width/(2*block))), func(int) {
		for y := int(next.Add(1)) - 1; y < rows; y = int(next.Add(1)) - 1 {
			row(y)
		}
	})
}

// pixel maps pixel i, at x of its row, with the error sums of its row, and adds its own
// error where it goes to: right is that of the next pixel in the row. below is nil in the
// last row.
func (v *dithering) pixel(i, x int, right *[4]int32, in, below [][4]int32) {
	p := v.all.at(i)
	k := v.class(p)
	sum := in[x]
	in[x] = [4]int32{}
	for t := range sum {
		sum[t] += right[t]
	}
	*right = [4]int32{}
	v.out[i] = v.first[k]
	if k == 0 {
		return
	}
	var q uint32
	for t := range sum {
		s := int32(p>>(8*t)&255) + (sum[t]+8)>>4
		s = min(max(s, 0), 255)
		sum[t] = s
		q |= uint32(s) << (8 * t)
	}
	near := v.finders[k].nearest(q)
	v.out[i] += near
	e := v.finders[k].entries[near]
	for t := range sum {
		sum[t] -= int32(e >> (8 * t) & 255)
	}
	last := x+1 == v.width
	if !last && v.same(i+1, k) {
		give(right, &sum, 7)
	}
	if below == nil {
		return
	}
	if x > 0 && v.same(i+v.width-1, k) {
		give(&below[x-1], &sum, 3)
	}
	if v.same(i+v.width, k) {
		give(&below[x], &sum, 5)
	}
	if !last && v.same(i+v.width+1, k) {
		give(&below[x+1], &sum, 1)
	}
}

// same says whether pixel i is of kind k.
func (v *dithering) same(i, k int) bool { return v.one || v.class(v.all.at(i)) == k }

func give(to, e *[4]int32, weight int32) {
	to[0] += weight * e[0]
	to[1] += weight * e[1]
	to[2] += weight * e[2]
	to[3] += weight * e[3]
}
