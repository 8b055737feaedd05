package volume

import (
	"math/bits"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/packet"
)

// size is a number of samples along x, y and z.
type size [axes]int

func (s size) samples() int { return s[axisX] * s[axisY] * s[axisZ] }

// ceilShift is ceil(n / 2^k).
func ceilShift(n, k int) int {
	if k >= bits.UintSize-2 {
		return min(n, 1)
	}
	return (n + 1<<k - 1) >> k
}

// subbands is the number of subbands of a component: one of low-pass samples, seven of each
// level along all axes, and three of each level along x and y alone.
func (c *Coding) subbands() int {
	return 1 + 3*(c.Levels[axisX]-c.Levels[axisZ]) + 7*c.Levels[axisZ]
}

// reduced is the low-pass part of a volume of the size whole after some levels.
func (c *Coding) reduced(whole size, level int) size {
	for i := range whole {
		whole[i] = ceilShift(whole[i], min(level, c.Levels[i]))
	}
	return whole
}

// splits says whether a level, counted from 1, filters along the axis z too.
func (c *Coding) splits(level int) bool { return level <= c.Levels[axisZ] }

// orientation says along which axes a subband is high-pass: bit i for axis i.
type orientation int

// planar is the orientation in x and y alone, which the contexts go by.
func (o orientation) planar() codestream.Orientation { return codestream.Orientation(o & 3) }

// gain is log2 of the gain of the subband: one for each high-pass.
func (o orientation) gain() int { return bits.OnesCount(uint(o)) }

// subband is a subband of a component. The coefficients of all of them lie in one array of
// the volume's size, with the low-pass part of each level in front along each axis.
type subband struct {
	orientation orientation
	origin      size // in the array
	size        size
	blocks      size // code-blocks along the axes; none where the subband is empty
	index       int  // among the subbands, for exponents
}

// resolution are the subbands of a packet.
type resolution []subband

// resolutions are those of a component of the size whole, the lowest first (B.5).
func (c *Coding) resolutions(whole size) []resolution {
	levels := c.Levels[axisX]
	all := make([]resolution, levels+1)
	all[0] = resolution{c.newSubband(0, size{}, c.reduced(whole, levels), 0)}
	index := 1
	for r := 1; r <= levels; r++ {
		level := levels - r + 1
		before, low := c.reduced(whole, level-1), c.reduced(whole, level)
		kinds := orientation(4)
		if c.splits(level) {
			kinds = 8
		}
		for o := orientation(1); o < kinds; o++ {
			var origin, extent size
			for i := range axes {
				switch {
				case o>>i&1 == 1:
					origin[i], extent[i] = low[i], before[i]-low[i]
				default:
					extent[i] = low[i]
				}
			}
			all[r] = append(all[r], c.newSubband(o, origin, extent, index))
			index++
		}
	}
	return all
}

func (c *Coding) newSubband(o orientation, origin, extent size, index int) subband {
	b := subband{orientation: o, origin: origin, size: extent, index: index}
	if extent.samples() > 0 {
		for i := range axes {
			b.blocks[i] = ceilShift(extent[i], c.BlockExp[i])
		}
	}
	return b
}

// block is code-block k of a subband: its place in the array of coefficients and its size.
func (c *Coding) block(b *subband, k int) (origin, extent size) {
	at := size{k % b.blocks[axisX], k / b.blocks[axisX] % b.blocks[axisY], k / b.blocks[axisX] / b.blocks[axisY]}
	for i := range axes {
		first := at[i] << c.BlockExp[i]
		origin[i] = b.origin[i] + first
		extent[i] = min(1<<c.BlockExp[i], b.size[i]-first)
	}
	return origin, extent
}

// bands are the subbands of a resolution as packets need them.
func (h *header) bands(r resolution) []packet.VolumeBand {
	bands := make([]packet.VolumeBand, len(r))
	for i := range r {
		b := &r[i]
		bands[i] = packet.VolumeBand{X: b.blocks[axisX], Y: b.blocks[axisY], Z: b.blocks[axisZ], Planes: h.planes(b)}
	}
	return bands
}

// planes are the magnitude bit-planes of a subband: Mb of equation E-2 of Part 1.
func (h *header) planes(b *subband) int { return max(0, h.guard+h.exponents[b.index]-1) }

// packets calls f for the packets of a codestream in their order (15444-1, B.12). As each
// resolution has one precinct, positions do not matter.
func (h *header) packets(f func(layer, resolution, component int) error) error {
	outer, middle, inner := [2]int{0, h.layers}, [2]int{1, h.Levels[axisX] + 1}, [2]int{2, h.Channels} // which index, and its bound: LRCP
	switch h.order {
	case codestream.RLCP:
		outer, middle = middle, outer
	case codestream.RPCL:
		outer, middle, inner = middle, inner, outer
	case codestream.PCRL, codestream.CPRL:
		outer, inner = inner, outer
	}
	var index [3]int
	for index[outer[0]] = range outer[1] {
		for index[middle[0]] = range middle[1] {
			for index[inner[0]] = range inner[1] {
				if err := f(index[0], index[1], index[2]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
