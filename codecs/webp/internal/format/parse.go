package format

import "slices"

// Parse says how each pixel is coded: as a literal, as part of a backward reference, or
// by its index in the colour cache (RFC 9649, 3.6.2). Where Length is nil, all pixels are
// literals.
type Parse struct {
	CacheBits int // log2 of the entries of the colour cache, 1 to 11; 0: there is none

	// Length is by pixel: 0 for a literal, Covered or Cached, or, where a backward
	// reference begins, how many pixels it has, 2 to MaxLength.
	Length []uint16

	// Value is by pixel: the distance code where a backward reference begins, and the
	// index in the colour cache where Length is Cached.
	Value []uint32
}

// Lengths of pixels where no backward reference begins.
const (
	Covered = 0xffff // the pixel lies inside a backward reference
	Cached  = 0xfffe // the pixel is coded by its index in the colour cache
)

// Symbols is how many symbols a prefix code group has.
func (p *Parse) Symbols() int {
	if p.CacheBits > 0 {
		return CacheAt + 1<<p.CacheBits
	}
	return CacheAt
}

// FirstFrom is the first pixel from i on that does not lie inside a backward reference.
func (p *Parse) FirstFrom(i int) int {
	for i < len(p.Length) && p.Length[i] == Covered {
		i++
	}
	return i
}

// SetReference lets a backward reference of length pixels with a distance code begin at
// pixel i.
func (p *Parse) SetReference(i int, length, code uint32) {
	p.Length[i], p.Value[i] = uint16(length), code
	copy(p.Length[i+1:i+int(length)], allCovered)
}

// allCovered is Covered as often as the longest backward reference needs it.
var allCovered = slices.Repeat([]uint16{Covered}, MaxLength)
