package webp

import "slices"

// parse says of every pixel how it is coded. A nil length means all as literals.
type parse struct {
	cacheBits int      // of the colour cache, 0 to 11; 0: none
	length    []uint16 // 0 literal, 2 to 4095 copy from here on, covered, cached
	value     []uint32 // of a copy its distance code (RFC 9649, 5.2.2), of cached its index
}

const (
	covered = 0xffff // inside a copy
	cached  = 0xfffe // in the colour cache
)

// symbols is how many symbols a group has.
func (p *parse) symbols() int {
	if p.cacheBits > 0 {
		return cacheAt + 1<<p.cacheBits
	}
	return cacheAt
}

// firstFrom is the first pixel from i on that is not inside a copy.
func (p *parse) firstFrom(i int) int {
	for i < len(p.length) && p.length[i] == covered {
		i++
	}
	return i
}

func (p *parse) setReference(i int, length, code uint32) {
	p.length[i], p.value[i] = uint16(length), code
	copy(p.length[i+1:i+int(length)], allCovered)
}

// allCovered are as many as a copy covers at most.
var allCovered = slices.Repeat([]uint16{covered}, maxLength)
