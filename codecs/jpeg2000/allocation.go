package jpeg2000

import (
	"math"
	"sort"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// cut is a place where the passes of a block may end, on the convex hull of bytes and
// distortion (J.14.3): no other of as many bytes leaves less distortion.
type cut struct {
	passes int
	slope  uint32 // see slopeOf
}

// slopeOf makes of the distortion that a byte takes off a number of the same order: the
// upper half of the bits of the float.
func slopeOf(distortion float64, bytes int) uint32 {
	if distortion <= 0 {
		return 0
	}
	if bytes == 0 {
		return math.MaxUint32
	}
	return uint32(math.Float64bits(distortion/float64(bytes)) >> 32)
}

// hull returns the cuts of a block whose distortions count weight times. Slopes fall.
func hull(passes []bitplane.Pass, weight float64) []cut {
	type point struct {
		cut
		bytes int
		gain  float64
	}
	list := []point{{}}
	gain := 0.0
	for i, p := range passes {
		gain += p.Distortion
		next := point{cut{passes: i + 1}, p.Length, gain}
		for {
			last := list[len(list)-1]
			next.slope = slopeOf(float64((next.gain-last.gain)*weight), next.bytes-last.bytes)
			if len(list) == 1 || next.slope < last.slope {
				break
			}
			list = list[:len(list)-1]
		}
		if next.slope > 0 {
			list = append(list, next)
		}
	}
	cuts := make([]cut, 0, len(list)-1)
	for _, p := range list[1:] {
		cuts = append(cuts, p.cut)
	}
	return cuts
}

// passesAt is the number of passes that are worth their bytes at a slope.
func (b *codedBlock) passesAt(slope uint32) int {
	i := sort.Search(len(b.cuts), func(i int) bool { return b.cuts[i].slope < slope })
	if i == 0 {
		return 0
	}
	return b.cuts[i-1].passes
}

// allocation divides the passes of an image's blocks among quality layers.
type allocation struct {
	main  *codestream.Main
	tiles []*codedTile
	shape raster.Shape // of the image
}

func (a *allocation) each(f func(b *codedBlock)) {
	for _, t := range a.tiles {
		t.each(func(_ *codestream.Subband, b *codedBlock) { f(b) })
	}
}

// set gives layer l, and those above, all passes down to a slope.
func (a *allocation) set(l int, slope uint32) {
	a.each(func(b *codedBlock) {
		n := b.passesAt(slope)
		for i := l; i < len(b.layers); i++ {
			b.layers[i] = n
			if i > 0 {
				b.layers[i] = max(n, b.layers[i-1])
			}
		}
	})
}

// all gives the last layer all passes.
func (a *allocation) all() {
	a.each(func(b *codedBlock) { b.layers[len(b.layers)-1] = len(b.passes) })
}

// bytes is the length of the blocks in layer l and those below it.
func (a *allocation) bytes(l int) int {
	n := 0
	a.each(func(b *codedBlock) { n += b.length(b.layers[l]) })
	return n
}

// lowest returns the lowest slope for which fits says yes; it says so for all above.
func lowest(fits func(slope uint32) bool) uint32 {
	return uint32(sort.Search(math.MaxUint32, func(s int) bool { return fits(uint32(s)) }))
}

// divide fills the layers. Each holds about half of the bytes of the next. The last holds
// everything, or what the goal of the options allows.
func (a *allocation) divide(o *Options) {
	last := a.main.Params.Layers - 1
	if last == 0 && !o.Lossy() {
		a.whole()
		return
	}
	a.each(func(b *codedBlock) { b.layers = make([]int, last+1) })
	budget := int(o.bpp * float64(a.shape.Pixels()) / 8)
	for less := 0; ; {
		floor := a.floor(o, last, budget-less)
		a.divideAbove(floor, last)
		if o.bpp == 0 || floor == math.MaxUint32 {
			return
		}
		// What layers add to the headers of packets shows only now.
		over := len(appendStream(nil, a.main, a.tiles)) - budget
		if over <= 0 {
			return
		}
		less += over
	}
}

// divideAbove fills the layers with what is worth its bytes at a slope, 0 for everything.
func (a *allocation) divideAbove(floor uint32, last int) {
	total := 0
	if floor == 0 {
		a.all()
	} else {
		a.set(last, floor)
	}
	total = a.bytes(last)
	end := make(map[*codedBlock]int)
	a.each(func(b *codedBlock) { end[b] = b.layers[last] })
	for l := range last {
		budget := total >> (last - l)
		slope := lowest(func(slope uint32) bool {
			a.set(l, max(slope, floor))
			return a.bytes(l) <= budget
		})
		a.set(l, max(slope, floor))
	}
	if last > 0 {
		a.each(func(b *codedBlock) { b.layers[last] = end[b] })
	}
}

// whole puts all passes into the only layer.
func (a *allocation) whole() {
	n := 0
	a.each(func(*codedBlock) { n++ })
	layers := make([]int, n)
	a.each(func(b *codedBlock) {
		b.layers, layers = layers[:1:1], layers[1:]
		b.layers[0] = len(b.passes)
	})
}

// floor is the slope below which no pass is kept, 0 to keep all. budget is the most bytes
// where bpp is the goal.
func (a *allocation) floor(o *Options, last, budget int) uint32 {
	s := a.shape
	switch {
	case o.bpp > 0:
		return lowest(func(slope uint32) bool {
			a.set(0, slope)
			return a.bytes(last) <= budget && len(appendStream(nil, a.main, a.tiles)) <= budget
		})
	case o.psnr > 0:
		allowed := o.allowed(s)
		above := lowest(func(slope uint32) bool {
			a.set(0, slope)
			return a.distortion(last) > allowed
		})
		return max(above, 1) - 1
	case o.quality > 0:
		return slopeOf(o.slope(s.Bits), 1)
	}
	return 0
}

// allowed is the sum of squared errors that the coefficients of an image may have for the
// PSNR of the options.
func (o *Options) allowed(s raster.Shape) float64 {
	const rounding = 1.0 / 12 // what samples lose besides
	peak := float64(int(1)<<s.Bits - 1)
	return float64((float64(peak*peak/decibels(o.psnr)) - rounding) * float64(s.Samples()))
}

// slope is the distortion that a byte has to take off for the quality of the options.
func (o *Options) slope(bits int) float64 { return math.Ldexp(qualityStep(o.quality), 2*bits-16) }

// decibels is the ratio of powers that is db.
func decibels(db float64) float64 {
	ratio := 1.0
	for ; db >= 1; db-- {
		ratio *= 1.2589254117941673 // 10^(1/10)
	}
	return ratio * (1 + float64(db*(0.2302585092994046+float64(db*(0.0265094905331+float64(db*0.0021574577))))))
}

// qualityStep is the distortion that a byte of an image of 8 bits has to take off at a
// quality from 1 to 100: half as much with every 6 more. 75 is near 40 dB.
func qualityStep(quality int) float64 {
	sixth := [6]float64{1, 0.890899, 0.793701, 0.707107, 0.629961, 0.561231} // 2^(-k/6)
	return math.Ldexp(370727*sixth[quality%6], -(quality / 6))
}

// distortion is the sum of squared errors that layer l leaves.
func (a *allocation) distortion(l int) float64 {
	sum := 0.0
	a.each(func(b *codedBlock) {
		left := b.energy
		for _, p := range b.passes[:b.layers[l]] {
			left -= p.Distortion
		}
		sum += float64(left * b.weight)
	})
	return sum
}
