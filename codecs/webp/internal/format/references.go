package format

import "slices"

// Parse says of every pixel how it is coded. A nil length means all as literals.
type Parse struct {
	CacheBits int      // of the colour cache, 0 to 11; 0: none
	Length    []uint16 // 0 literal, 2 to 4095 copy from here on, covered, cached
	Value     []uint32 // of a copy its distance code (RFC 9649, 5.2.2), of cached its index
}

const (
	Covered = 0xffff // inside a copy
	Cached  = 0xfffe // in the colour cache
)

// Symbols is how many symbols a group has.
func (p *Parse) Symbols() int {
	if p.CacheBits > 0 {
		return CacheAt + 1<<p.CacheBits
	}
	return CacheAt
}

// FirstFrom is the first pixel from i on that is not inside a copy.
func (p *Parse) FirstFrom(i int) int {
	for i < len(p.Length) && p.Length[i] == Covered {
		i++
	}
	return i
}

func (p *Parse) SetReference(i int, length, code uint32) {
	p.Length[i], p.Value[i] = uint16(length), code
	copy(p.Length[i+1:i+int(length)], allCovered)
}

// allCovered are as many as a copy covers at most.
var allCovered = slices.Repeat([]uint16{Covered}, MaxLength)
