// Package wavelettree codes planes of samples as the wavelet trees of PCWT (parallel coding of wavelet trees): J. Ao,
// Fast and efficient lossless image compression based on CUDA parallel wavelet tree encoding, Texas Tech University, 2014.
// It is profile 0 of the codec pcwt. Sections named below are those of that text.
//
// # Stages
//
//	stage       what it does                                                     section
//	transform   samples to coefficients, 5/3, rows first, level after level      3.1
//	quantise    MQD of each element from the finest level up                     3.2
//	search      Qmax, the largest MQD of the top level                           3.3
//	element     an MQD relative to its parent's, then its four coefficients      3.4
//	group       the bits of neighbouring elements, one after the other           3.5
//
// An element is 2x2 coefficients of a band. The quantisation level of a coefficient is floor(log2 |c|), and -1 for
// zero. The MQD (maximum quantisation of descendants) of an element is the largest level of its coefficients and of all that
// descend from it: element (x, y) of a band has the children (2x..2x+1, 2y..2y+1) in the same band one level finer, where
// they exist. LL has no children.
//
// # Bytes
//
// Integers are little-endian, bits are filled from the most significant one of a byte on.
//
//	offset       size    what
//	0            1       flags: 1 = ZS, a sign bit for zero coefficients too, as the paper prints it; other bits 0
//	1            1       levels L, 1 to 16
//	2            1       rows of elements of a group, less 1
//	3            1       columns of elements of a group, less 1
//	4            P       Qmax of each plane, -1 to 26
//	4 + P        ...     sections: levels from L down to 1, in a level the planes in their order, of a plane its
//	                     bands: LL at level L only, then HL, LH, HH
//
// A section is the groups of its band, row after row. A group is the number of its bits (u32), and its bits in as many
// bytes as they take. Groups at the right and lower border have the elements that exist.
//
// The elements of a group are coded row after row. Let p be the MQD of the element's parent (x/2, y/2) one level up, at
// level L the plane's Qmax, and q the element's own. First q: p-q zeros and a one, but p+1 zeros alone where q is -1; so p = -1 takes no
// bit. If q is not -1 the coefficients follow: left then right of the upper row, then of the lower. Each is its magnitude in
// q+1 bits and its sign, 1 for positive, 0 for negative; without ZS zero has no sign bit.
//
// # Sizes
//
// A level divides w x h samples, w and h rounded up to even numbers; the last column or row of samples is repeated for
// that. LL goes on to the next level with half of that. A band's width and height are rounded up to even numbers
// once more for its elements; the coefficients that this adds are zero and are coded like others.
package wavelettree

import (
	"fmt"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pool"
)

// Params are the choices of the coder.
type Params struct {
	Levels       int // 1 to MaxLevels
	GroupRows    int // elements, 1 to MaxGroup
	GroupColumns int
	ZeroSigns    bool // the flag ZS
}

const (
	MaxLevels = 16
	MaxGroup  = 256 // elements along a side of a group

	// MaxQmax is more than samples of 17 bits reach, after a colour transform, and leaves the inverse transform below
	// the limit of package wavelet.
	MaxQmax = 26
)

// DefaultParams are those for planes of the given size: five levels where the planes are large enough for them, and groups of
// the paper's height and twice its width, which saves lengths and still leaves as many groups as a device has threads for.
func DefaultParams(width, height int) Params {
	p := Params{Levels: 5, GroupRows: 32, GroupColumns: 64}
	for p.Levels > 1 && 1<<p.Levels > max(width, height) {
		p.Levels--
	}
	return p
}

// Encode codes planes, all of one size and at least one. Samples are centred: their magnitude is below 2^17. It does not change
// the planes.
func Encode(c *pool.Pool, planes []wavelet.Plane[int32], p Params) []byte {
	l := NewLayout(planes[0].Width, planes[0].Height, p)
	trees := make([]*Tree, len(planes))
	c.Each(len(planes), func(i int) {
		t := NewTree(l)
		t.Transform(c, planes[i])
		t.Quantise(c)
		t.Search()
		trees[i] = t
	})
	qmax := make([]int, len(trees))
	for i, t := range trees {
		qmax[i] = int(t.Qmax)
	}
	out := p.AppendHeader(nil, qmax)
	for _, group := range encodeGroups(c, trees, p) {
		out = append(out, group...)
	}
	return out
}

// Info is what the first bytes of coded planes say.
type Info struct {
	Params
	Qmax []int // of each plane

	size int // bytes of the header
}

const fixedHeader = 4

// AppendHeader writes what comes before the sections of planes with the given Qmax.
func (p *Params) AppendHeader(out []byte, qmax []int) []byte {
	flags := byte(0)
	if p.ZeroSigns {
		flags = 1
	}
	out = append(out, flags, byte(p.Levels), byte(p.GroupRows-1), byte(p.GroupColumns-1))
	for _, q := range qmax {
		out = append(out, byte(q))
	}
	return out
}

// Header reads what comes before the sections of a number of planes.
func Header(data []byte, planes int) (Info, error) {
	var info Info
	if len(data) < fixedHeader+planes {
		return info, fmt.Errorf("wavelet trees end inside their header, after %d bytes", len(data))
	}
	info = Info{
		Params: Params{
			ZeroSigns: data[0] == 1,
			Levels:    int(data[1]),
			GroupRows: int(data[2]) + 1, GroupColumns: int(data[3]) + 1,
		},
		Qmax: make([]int, planes),
		size: fixedHeader + planes,
	}
	if data[0] > 1 {
		return info, fmt.Errorf("wavelet trees with unknown flags %#x", data[0])
	}
	if info.Levels < 1 || info.Levels > MaxLevels {
		return info, fmt.Errorf("wavelet trees with %d levels; 1 to %d are allowed", info.Levels, MaxLevels)
	}
	for i := range info.Qmax {
		info.Qmax[i] = int(int8(data[fixedHeader+i]))
		if info.Qmax[i] < -1 || info.Qmax[i] > MaxQmax {
			return info, fmt.Errorf("wavelet trees with a Qmax of %d; -1 to %d are allowed", info.Qmax[i], MaxQmax)
		}
	}
	return info, nil
}

// Memory is the number of bytes that Encode or Decode holds for planes, besides these and the coded bytes.
func Memory(width, height, planes int) int64 {
	// A coefficient of each sample, the samples of every level, the MQD of four, and what borders add.
	samples := int64(width+1<<MaxLevels>>8) * int64(height+1<<MaxLevels>>8)
	return int64(planes) * samples * 10
}
