package bitstream

import (
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// Histograms counts the symbols of each group.
func (s *Stream) Histograms(c *pool.Pool) [][]uint32 {
	if s.Packer != nil {
		return s.Packer.Counts()
	}
	n, size := max(s.Entropy.Groups, s.Entropy.Used()), s.Parse.Symbols()
	parts := make([][]uint32, min(c.Size(), s.bands(c, nil)))
	free := make(chan int, len(parts)) // parts that nobody counts in
	for i := range parts {
		free <- i
	}
	s.bands(c, func(_, from, end int) {
		p := <-free
		if parts[p] == nil {
			parts[p] = make([]uint32, n*size)
		}
		s.count(from, end, parts[p])
		free <- p
	})
	for _, part := range parts[1:] {
		for i, v := range part {
			parts[0][i] += v
		}
	}
	out := make([][]uint32, n)
	for k := range out {
		out[k] = parts[0][k*size:][:size]
	}
	return out
}

// count adds the symbols of rows to hist, which has those of each group in turn.
func (s *Stream) count(from, end int, hist []uint32) {
	size := s.Parse.Symbols()
	next := s.Parse.FirstFrom(from * s.Pixels.W)
	if s.Parse.Length == nil && s.Entropy.Bits == 0 {
		countLiterals(s.Pixels.ARGB[from*s.Pixels.W:end*s.Pixels.W], (*[format.CacheAt]uint32)(hist))
		return
	}
	if s.Entropy.Bits == 0 && onlyGreen(s.Pixels.ARGB[from*s.Pixels.W:end*s.Pixels.W]) {
		s.countGreens(next, end*s.Pixels.W, hist)
		return
	}
	s.groupSpans(from, end, func(lo, hi, k int) {
		h := hist[k*size:][:size]
		if s.Parse.Length == nil {
			countLiterals(s.Pixels.ARGB[lo:hi], (*[format.CacheAt]uint32)(h))
			return
		}
		for ; next < hi; next++ {
			switch l := s.Parse.Length[next]; l {
			case 0:
				v := s.Pixels.ARGB[next]
				h[format.AlphaAt+v>>24]++
				h[format.RedAt+v>>16&255]++
				h[format.BlueAt+v&255]++
				h[format.GreenAt+v>>8&255]++
			case format.Cached:
				h[format.CacheAt+s.Parse.Value[next]]++
			default:
				countReference(h, uint32(l), s.Parse.Value[next])
				next += int(l) - 1
			}
		}
	})
}

func countReference(h []uint32, length, code uint32) {
	c, _, _ := format.Prefix(length)
	h[format.LengthAt+c]++
	c, _, _ = format.Prefix(code)
	h[format.DistanceAt+c]++
}

// countGreens adds the symbols of pixels, which differ in green alone, to the only histogram.
func (s *Stream) countGreens(from, end int, h []uint32) {
	if from >= end {
		return
	}
	literals, v := uint32(0), s.Pixels.ARGB[from]
	for next := from; next < end; next++ {
		switch l := s.Parse.Length[next]; l {
		case 0:
			literals++
			h[format.GreenAt+s.Pixels.ARGB[next]>>8&255]++
		case format.Cached:
			h[format.CacheAt+s.Parse.Value[next]]++
		default:
			countReference(h, uint32(l), s.Parse.Value[next])
			next += int(l) - 1
		}
	}
	h[format.AlphaAt+v>>24] += literals
	h[format.RedAt+v>>16&255] += literals
	h[format.BlueAt+v&255] += literals
}

// countLiterals adds the symbols of pixels to h. Many images that describe another one differ in green alone.
func countLiterals(argb []uint32, h *[format.CacheAt]uint32) {
	if !onlyGreen(argb) {
		for _, v := range argb {
			h[format.AlphaAt+v>>24]++
			h[format.RedAt+v>>16&255]++
			h[format.BlueAt+v&255]++
			h[format.GreenAt+v>>8&255]++
		}
		return
	}
	if len(argb) == 0 {
		return
	}
	n, v := uint32(len(argb)), argb[0]
	h[format.AlphaAt+v>>24] += n
	h[format.RedAt+v>>16&255] += n
	h[format.BlueAt+v&255] += n
	// Neighbours count in different places: a count that was just written has to be waited for.
	var green [4][256]uint32
	for ; len(argb) >= len(green); argb = argb[len(green):] {
		green[0][argb[0]>>8&255]++
		green[1][argb[1]>>8&255]++
		green[2][argb[2]>>8&255]++
		green[3][argb[3]>>8&255]++
	}
	for _, v := range argb {
		green[0][v>>8&255]++
	}
	for i := range green[0] {
		h[format.GreenAt+i] += green[0][i] + green[1][i] + green[2][i] + green[3][i]
	}
}

// onlyGreen reports whether pixels differ in green alone.
func onlyGreen(argb []uint32) bool {
	if len(argb) == 0 {
		return true
	}
	differ, first := uint32(0), argb[0]
	for ; len(argb) >= 4; argb = argb[4:] {
		differ |= (argb[0] ^ first) | (argb[1] ^ first) | (argb[2] ^ first) | (argb[3] ^ first)
	}
	for _, v := range argb {
		differ |= v ^ first
	}
	return differ&^0xff00 == 0
}
