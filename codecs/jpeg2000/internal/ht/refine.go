package ht

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// refinement is the working memory of the refinement passes.
type refinement struct {
	// State of the samples, with a column at each side and a row above and below.
	states [(maxSide + 2) * (maxSamples/maxSide + 2) * 2]sampleState

	sigprop [2*maxSamples/8 + slack]byte // bits without gaps: magnitudes and signs
	magref  [maxSamples/8 + slack]byte
}

// sampleState says what the passes know of a sample.
type sampleState byte

const (
	significant sampleState = 1 << iota // after the cleanup pass
	discovered                          // by SigProp
)

// refine decodes the second segment: SigProp, and MagRef if it is there. plane is the
// last bit-plane of the cleanup pass; theirs is the one below.
func (d *decoder) refine(dst []int32, stride int, b *codestream.Block, plane uint) {
	w, h, data := b.Width, b.Height, b.Segments[1].Data
	pitch := w + 2
	states := d.states[:pitch*(h+2)]
	clear(states)
	for y := range h {
		for x, v := range dst[y*stride:][:w] {
			if v != 0 {
				states[(y+1)*pitch+x+1] = significant
			}
		}
	}
	length := 2*w*h/8 + 1
	unstuff(d.sigprop[:], data, 0, length)
	at := uint(0)
	for y := 0; y < h; y += 4 {
		end := min(y+4, h)
		causal := b.Style&codestream.Causal != 0
		for x := 0; x < w; x += 4 {
			at = d.propagate(dst, stride, states, pitch, x, min(x+4, w), y, end, causal, at, plane-1)
		}
	}
	if b.Segments[1].Passes < 2 {
		return
	}
	writer := bitWriter{out: d.magref[:]}
	unstuffBackward(&writer, data, 0xff, w*h/8+1)
	d.refineMagnitudes(dst, stride, states, pitch, w, h, plane-1)
}

// propagate decodes SigProp in columns x to right-1 of rows y to bottom-1, a quarter of a
// stripe's group of 4x4 or less: first the magnitude bits of all insignificant samples with
// a significant neighbour, then the signs of those that became significant (7.4).
func (d *decoder) propagate(dst []int32, stride int, states []sampleState, pitch, x, right, y, bottom int, causal bool, at, plane uint) uint {
	var found [16]int
	n := 0
	for i := x; i < right; i++ {
		for j := y; j < bottom; j++ {
			s := (j+1)*pitch + i + 1
			if states[s] != 0 {
				continue
			}
			near := states[s-1] | states[s+1] | states[s-pitch-1] | states[s-pitch] | states[s-pitch+1]
			if !causal || j%4 != 3 {
				near |= states[s+pitch-1] | states[s+pitch] | states[s+pitch+1]
			}
			if near == 0 {
				continue
			}
			if d.sigprop[at>>3]>>(at&7)&1 != 0 {
				states[s] = discovered
				found[n] = j*stride + i
				n++
			}
			at++
		}
	}
	for _, i := range found[:n] {
		value := int32(3) << plane
		if d.sigprop[at>>3]>>(at&7)&1 != 0 {
			value = -value
		}
		at++
		dst[i] = value
	}
	return at
}

// refineMagnitudes decodes MagRef: in the order of stripes and columns one more bit of
// every sample that the cleanup pass found significant (7.5).
func (d *decoder) refineMagnitudes(dst []int32, stride int, states []sampleState, pitch, w, h int, plane uint) {
	at := 0
	for y := 0; y < h; y += 4 {
		for x := range w {
			for j := y; j < min(y+4, h); j++ {
				if states[(j+1)*pitch+x+1] != significant {
					continue
				}
				// The middle of the interval moves by half of its new width.
				change := int32(1) << plane
				if (binary.LittleEndian.Uint16(d.magref[at>>3:])>>(at&7)&1 == 0) != (dst[j*stride+x] < 0) {
					change = -change
				}
				dst[j*stride+x] += change
				at++
			}
		}
	}
}
