package codectest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// testImage is a test image with a name.
type testImage struct {
	*raster.Image
	what   string
	smooth bool // a lossy codec must come near it
}

func (p testImage) String() string { return p.what + " " + p.Shape.String() }

// sizes are around the block sizes of all codecs, and the smallest.
var sizes = [][2]int{{1, 1}, {1, 9}, {9, 1}, {2, 2}, {3, 5}, {7, 8}, {15, 17}, {16, 16}, {17, 15}, {33, 31}, {65, 64}}

// shortSizes are those that -short keeps, for the race detector, under which a codec takes ten times as long.
var shortSizes = [][2]int{{1, 1}, {1, 9}, {7, 8}, {17, 15}, {33, 31}}

// images are what a codec takes: all channel counts, the least, the greatest and
// 8 bits, slices or frames and signed samples where it has them, in all sizes and kinds.
func images(info codec.Info) []testImage {
	a := info.Accepts
	depths := []int{1}
	if a.Slices || a.Frames {
		depths = append(depths, 3)
	}
	bits := []int{a.MinBits, a.MaxBits}
	if a.MinBits <= 8 && a.MaxBits >= 8 {
		bits = append(bits, 8)
	}
	slices.Sort(bits)
	bits = slices.Compact(bits)
	kinds := []string{"gradient", "flat", "noise", "text"}
	sizes, side := sizes, 40
	if testing.Short() {
		sizes, side = shortSizes, 24
	}
	var list []testImage
	for _, ch := range a.Channels {
		for _, b := range bits {
			for _, d := range depths {
				for i, size := range sizes {
					kind := kinds[i%len(kinds)]
					if size[0] >= 33 {
						kind = "gradient"
					}
					m := raster.New(size[0], size[1], d, ch, b)
					m.Signed = a.Signed && i%2 == 1
					m.Frames = d > 1 && !a.Slices
					fill(m, kind)
					list = append(list, testImage{m, kind, kind == "gradient" || kind == "flat"})
				}
			}
		}
		for _, kind := range []string{"noise", "text"} {
			m := raster.New(side, side, 1, ch, a.MaxBits)
			fill(m, kind)
			list = append(list, testImage{m, kind, false})
		}
	}
	return list
}

// refused are images that a codec does not take, one for each reason.
func refused(info codec.Info) []*raster.Image {
	a := info.Accepts
	ch := a.Channels[0]
	var list []*raster.Image
	if a.MinBits > 1 {
		list = append(list, raster.New(4, 4, 1, ch, a.MinBits-1))
	}
	if a.MaxBits < 16 {
		list = append(list, raster.New(4, 4, 1, ch, a.MaxBits+1), raster.New(4, 4, 1, ch, 16))
	}
	if !a.Signed {
		m := raster.New(4, 4, 1, ch, a.MaxBits)
		m.Signed = true
		list = append(list, m)
	}
	if !a.Slices {
		list = append(list, raster.New(4, 4, 2, ch, a.MaxBits))
	}
	if a.MaxSide > 0 && a.MaxSide < 1<<17 {
		list = append(list, raster.New(a.MaxSide+1, 1, 1, ch, a.MaxBits))
	}
	for c := 1; c <= 4; c++ {
		if !slices.Contains(a.Channels, c) {
			list = append(list, raster.New(4, 4, 1, c, a.MaxBits))
		}
	}
	return list
}

// fill writes samples of a kind over the whole range of m.
func fill(m *raster.Image, kind string) {
	r := rand.New(rand.NewPCG(uint64(m.Width), uint64(m.Samples())))
	top := 1<<m.Bits - 1
	i := 0
	for z := range m.Depth {
		for y := range m.Height {
			for x := range m.Width {
				for c := range m.Channels {
					var v int
					switch kind {
					case "flat":
						v = top / 3
					case "gradient":
						v = (x*(c+1)*2 + y*3 + z*5) * top / (2*m.Channels*m.Width + 3*m.Height + 5*m.Depth)
					case "noise":
						v = r.IntN(top + 1)
					case "text":
						v = top * ((x/2*7 + y/3*5 + x*y) >> 1 & 1)
					default:
						panic(fmt.Sprintf("codectest: kind %q", kind))
					}
					if m.Signed {
						v -= (top + 1) / 2
					}
					if m.Bits <= 8 {
						m.Pix[i] = byte(v)
					} else {
						m.Pix[2*i], m.Pix[2*i+1] = byte(v), byte(v>>8)
					}
					i++
				}
			}
		}
	}
}
