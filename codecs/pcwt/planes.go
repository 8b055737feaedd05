package pcwt

import (
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// rangeOf is the range of samples.
func rangeOf(s raster.Shape) (lo, hi int32) {
	if s.Signed {
		return -1 << (s.Bits - 1), 1<<(s.Bits-1) - 1
	}
	return 0, 1<<s.Bits - 1
}

// middle is what is subtracted from indices.
func middle(lo, hi int32, near int) int32 { return ((hi-lo)/int32(2*near+1) + 1) / 2 }

// loadPlanes are the planes of slice z: README.md, "Samples to planes", 1 and 2.
func loadPlanes(c *pool.Pool, m *raster.Image, z, near int, rct bool) []wavelet.Plane[int32] {
	planes := make([]wavelet.Plane[int32], m.Channels)
	for i := range planes {
		planes[i] = wavelet.NewPlane[int32](m.Width, m.Height)
	}
	loadInto(c, planes, m, z, near, rct)
	return planes
}

// loadInto fills the planes of slice z. Those of 16 bits take samples of up to 8.
func loadInto[T int16 | int32](c *pool.Pool, planes []wavelet.Plane[T], m *raster.Image, z, near int, rct bool) {
	slice := m.Slice(z)
	lo, hi := rangeOf(m.Shape)
	shift := lo + middle(lo, hi, near)
	c.Spans(m.Width*m.Height, spanPixels, func(from, to int) {
		for i := range planes {
			out := planes[i].Samples[from:to]
			if near == 0 && m.Channels == 1 && m.BytesPerSample() == 1 && !m.Signed {
				loadBytes(out, slice.Pix[from:to], shift)
				continue
			}
			loadSamples(out, slice, from*m.Channels+i, m.Channels)
			if near == 0 {
				for k := range out {
					out[k] -= T(shift)
				}
				continue
			}
			for k, v := range out {
				out[k] = T((int32(v)-lo+int32(near))/int32(2*near+1) - (shift - lo))
			}
		}
		if rct {
			r, g, b := planes[0].Samples[from:to], planes[1].Samples[from:to], planes[2].Samples[from:to]
			g, b = g[:len(r)], b[:len(r)]
			for k := range r {
				y := (r[k] + 2*g[k] + b[k]) >> 2
				r[k], g[k], b[k] = y, b[k]-g[k], r[k]-g[k]
			}
		}
	})
}

// loadBytes subtracts shift from samples of a channel.
func loadBytes[T int16 | int32](out []T, pix []byte, shift int32) {
	n := 0
	if narrow, ok := any(out).([]int16); ok {
		n = widen(narrow, pix, shift)
	}
	out, pix = out[n:], pix[n:]
	for k, v := range pix {
		out[k] = T(v) - T(shift)
	}
}

// spanPixels is how many pixels a goroutine takes at a time.
const spanPixels = 1 << 16

// loadSamples reads every step-th sample of m from sample at on.
func loadSamples[T int16 | int32](out []T, m *raster.Image, at, step int) {
	if m.BytesPerSample() == 1 {
		pix := m.Pix[at:]
		if m.Signed {
			for k := range out {
				out[k] = T(int8(pix[k*step]))
			}
			return
		}
		for k := range out {
			out[k] = T(pix[k*step])
		}
		return
	}
	pix := m.Uint16()[at:]
	for k := range out {
		out[k] = T(pix[k*step])
		if m.Signed {
			out[k] = T(int16(pix[k*step]))
		}
	}
}

// storePlanes is the inverse of loadPlanes for slice z of m. It changes planes. It reports whether all indices were
// in their range, to which it limits them.
func storePlanes[T int16 | int32](c *pool.Pool, m *raster.Image, z, near int, rct bool, planes []wavelet.Plane[T]) bool {
	slice := m.Slice(z)
	lo, hi := rangeOf(m.Shape)
	mid := middle(lo, hi, near)
	most := (hi - lo + int32(near)) / int32(2*near+1)
	var outside atomic.Bool
	var wide []uint16
	if m.BytesPerSample() == 2 {
		wide = slice.Uint16()
	}
	c.Spans(m.Width*m.Height, spanPixels, func(from, to int) {
		if rct {
			y, u, v := planes[0].Samples[from:to], planes[1].Samples[from:to], planes[2].Samples[from:to]
			u, v = u[:len(y)], v[:len(y)]
			for k := range y {
				g := y[k] - (u[k]+v[k])>>2
				y[k], u[k], v[k] = v[k]+g, g, u[k]+g
			}
		}
		for i := range planes {
			in := planes[i].Samples[from:to]
			at := from*m.Channels + i
			if near == 0 && m.Bits == 8 && !m.Signed {
				if storeBytes(slice.Pix[at:], m.Channels, in, mid) {
					continue
				}
				outside.Store(true)
			}
			for k, v := range in {
				x := int32(v) + mid
				if uint32(x) > uint32(most) {
					x = min(max(x, 0), most)
					outside.Store(true)
				}
				v := min(lo+x*int32(2*near+1), hi)
				if wide != nil {
					wide[at+k*m.Channels] = uint16(v)
				} else {
					slice.Pix[at+k*m.Channels] = byte(v)
				}
			}
		}
	})
	return !outside.Load()
}

// storeBytes stores samples in every step-th byte, as long as all are bytes.
func storeBytes[T int16 | int32](out []byte, step int, in []T, mid int32) bool {
	all := int32(0)
	if step == 1 {
		out = out[:len(in)]
		if some, ok := any(in).([]int16); ok {
			n, bytes := narrow(out, some, mid)
			if !bytes {
				return false
			}
			out, in = out[n:], in[n:]
		}
		for k, v := range in {
			x := int32(v) + mid
			out[k] = byte(x)
			all |= x
		}
		return uint32(all) < 256
	}
	for k, v := range in {
		x := int32(v) + mid
		out[k*step] = byte(x)
		all |= x
	}
	return uint32(all) < 256
}

// liftSlices transforms planes along the slices and returns them as they are stored: README.md,
// "Samples to planes", 3. inverse undoes it.
func liftSlices(c *pool.Pool, slices []wavelet.Plane[int32], levels int) []wavelet.Plane[int32] {
	if levels == 0 {
		return slices
	}
	n := len(slices)
	at := func(i int) []int32 { return slices[mirrored(i, n)].Samples }
	c.Each(n/2, func(i int) {
		before, after := at(2*i), at(2*i+2)
		for k, v := range slices[2*i+1].Samples {
			slices[2*i+1].Samples[k] = v - (before[k]+after[k])>>1
		}
	})
	c.Each((n+1)/2, func(i int) {
		before, after := at(2*i-1), at(2*i+1)
		for k, v := range slices[2*i].Samples {
			slices[2*i].Samples[k] = v + (before[k]+after[k]+2)>>2
		}
	})
	low, high := split(slices)
	return append(liftSlices(c, low, levels-1), high...)
}

// joinSlices is the inverse of liftSlices.
func joinSlices(c *pool.Pool, stored []wavelet.Plane[int32], levels int) []wavelet.Plane[int32] {
	if levels == 0 {
		return stored
	}
	n := len(stored)
	low := joinSlices(c, stored[:(n+1)/2], levels-1)
	slices := make([]wavelet.Plane[int32], n)
	for i := range slices {
		if i%2 == 0 {
			slices[i] = low[i/2]
		} else {
			slices[i] = stored[(n+1)/2+i/2]
		}
	}
	at := func(i int) []int32 { return slices[mirrored(i, n)].Samples }
	c.Each((n+1)/2, func(i int) {
		before, after := at(2*i-1), at(2*i+1)
		for k, v := range slices[2*i].Samples {
			slices[2*i].Samples[k] = v - (before[k]+after[k]+2)>>2
		}
	})
	c.Each(n/2, func(i int) {
		before, after := at(2*i), at(2*i+2)
		for k, v := range slices[2*i+1].Samples {
			slices[2*i+1].Samples[k] = v + (before[k]+after[k])>>1
		}
	})
	return slices
}

func split(slices []wavelet.Plane[int32]) (low, high []wavelet.Plane[int32]) {
	for i, p := range slices {
		if i%2 == 0 {
			low = append(low, p)
		} else {
			high = append(high, p)
		}
	}
	return low, high
}

// mirrored is the slice of n, at least 2, that stands for slice i at most one outside.
func mirrored(i, n int) int {
	switch {
	case i < 0:
		return -i
	case i >= n:
		return 2*(n-1) - i
	}
	return i
}
