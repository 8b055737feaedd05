package pcwt

import (
	"image"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
)

// What a coefficient or a sample depends on reaches so far, in samples of its plane.
const (
	inverseReach = 8 // of the inverse wavelets: samples nearer to the edge of a window are wrong, unless it is the image's
	lowReach     = 3 // of the model in LL
	fieldReach   = 1 // of the model in bands of a coarser level and of earlier planes
)

// windows are the parts of the levels of the planes of a slice that a view takes: whole tiles, in positions of the
// level's LL. The finest level is the first of a plane.
type windows [][]image.Rectangle

// windows finds what rectangle r of the planes at 1/2^reduce takes of the slices of a class. Planes come from the last to the
// first and levels from the finest on, because tiles depend on coarser levels and on earlier planes.
func (h *header) windows(class, reduce int, r image.Rectangle) windows {
	channels := h.shape.Channels
	out := make(windows, channels)
	samples := make([]image.Rectangle, channels) // those of the plane that the level above gives
	for i := range out {
		out[i] = make([]image.Rectangle, h.levels)
		samples[i] = r
	}
	for level := reduce + 1; level <= h.levels; level++ {
		w, l := reduced(h.shape.Width, level), reduced(h.shape.Height, level)
		earlier := make([]image.Rectangle, channels)
		for i := channels - 1; i >= 0; i-- {
			need := halved(samples[i].Inset(-inverseReach)).Union(earlier[i])
			if level > reduce+1 {
				need = need.Union(halved(out[i][level-2]).Inset(-fieldReach))
			}
			window := aligned(need, h.side()).Intersect(image.Rect(0, 0, w, l))
			out[i][level-1] = window
			samples[i] = window.Inset(-lowReach)
			for k := range h.planes[class*channels+i].earlier {
				earlier[i-1-k] = earlier[i-1-k].Union(window.Inset(-fieldReach))
			}
		}
	}
	return out
}

// halved is the least rectangle of pairs that holds r.
func halved(r image.Rectangle) image.Rectangle {
	return image.Rect(r.Min.X>>1, r.Min.Y>>1, (r.Max.X+1)>>1, (r.Max.Y+1)>>1)
}

// aligned is the least rectangle of whole tiles that holds r.
func aligned(r image.Rectangle, side int) image.Rectangle {
	down, up := func(v int) int { return v &^ (side - 1) }, func(v int) int { return (v + side - 1) &^ (side - 1) }
	return image.Rect(down(r.Min.X), down(r.Min.Y), up(r.Max.X), up(r.Max.Y))
}

// doubled is the part of a plane of w x h samples that a window of its first level gives.
func doubled(window image.Rectangle, w, h int) image.Rectangle {
	return image.Rectangle{Min: window.Min.Mul(2), Max: window.Max.Mul(2)}.Intersect(image.Rect(0, 0, w, h))
}

// partOf is a rectangle of a plane of which from is here.
func partOf(p wavelet.Plane[int32], from, r image.Rectangle) wavelet.Plane[int32] {
	return p.Crop(r.Min.X-from.Min.X, r.Min.Y-from.Min.Y, r.Dx(), r.Dy())
}

// samples is how many samples are at work for the windows of a plane's levels.
func (w windows) samples() (n int64) {
	for _, levels := range w {
		for _, r := range levels {
			n += 4 * int64(r.Dx()) * int64(r.Dy())
		}
	}
	return n
}
