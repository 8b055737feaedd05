package deflate

import (
	"encoding/binary"
	"math/bits"
)

const (
	maxHashBits  = 15 // of heads of chains
	minHashBits  = 9
	maxShortBits = 13 // of strings of three bytes

	// maxShort is the distance up to which a match of three bytes can be worth its bits.
	maxShort = 1 << 13
)

// finder finds strings that occurred before. A position is held as one more than it is, so
// that 0 means none.
type finder struct {
	data []byte

	head              []uint32           // of a hash of four bytes, the last position
	short             []uint32           // of a hash of three bytes
	next              [windowSize]uint16 // of a position modulo the window, how far before it the next of its chain is; 0: none
	shift, shortShift uint32

	run int // end of the run of equal bytes that was looked at last
}

// reset forgets what was before. Short data get short tables, because clearing them takes
// longer than the search.
func (f *finder) reset(data []byte) {
	f.data, f.run = data, 0
	n := min(max(bits.Len(uint(len(data))), minHashBits), maxHashBits)
	s := min(n, maxShortBits)
	if f.head == nil {
		f.head, f.short = make([]uint32, 1<<maxHashBits), make([]uint32, 1<<maxShortBits)
	}
	clear(f.head[:1<<n])
	clear(f.short[:1<<s])
	f.shift, f.shortShift = uint32(32-n), uint32(32-s)
}

// hash is that of the four bytes v at position at, or of the length of the run that begins
// there.
func (f *finder) hash(v uint32, at int) uint32 {
	if v == bits.RotateLeft32(v, 8) {
		if at >= f.run {
			f.run = at + 4 + equal(f.data[at:], f.data[at+4:])
		}
		v = v<<16 ^ uint32(min(f.run-at, maxMatch)) + 0x5bd1
	}
	return v * 0x9e3779b1 >> f.shift
}

func shortHash(v, shift uint32) uint32 { return v << 8 * 0x9e3779b1 >> shift }

// equal is how many bytes a and b, which is not longer, begin with in common.
func equal(a, b []byte) int {
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// insert makes the positions from at to end-1 known.
func (f *finder) insert(at, end int) {
	end = min(end, len(f.data)-3)
	for ; at < end; at++ {
		v := binary.LittleEndian.Uint32(f.data[at:])
		f.short[shortHash(v, f.shortShift)] = uint32(at + 1)
		f.link(f.hash(v, at), at)
	}
}

// link puts a position at the head of its chain and returns the one that was there before,
// plus one.
func (f *finder) link(h uint32, at int) int {
	before := int(f.head[h])
	f.head[h] = uint32(at + 1)
	back := at + 1 - before
	if before == 0 || back > windowSize {
		back, before = 0, 0
	}
	f.next[at%windowSize] = uint16(back)
	return before
}

// find makes the position known and returns the longest match there that is longer than
// best, of equals the nearest, or no length. It looks at depth strings at most; one that
// has many bytes in common counts as several, so that the time for a position is bounded.
func (f *finder) find(at, best, depth int) (length, distance int) {
	data := f.data
	if at+4 > len(data) {
		return 0, 0
	}
	here := data[at:]
	if len(here) > maxMatch {
		here = here[:maxMatch]
	}
	v := binary.LittleEndian.Uint32(here)
	s := shortHash(v, f.shortShift)
	near := int(f.short[s])
	f.short[s] = uint32(at + 1)
	p := f.link(f.hash(v, at), at) - 1
	if best >= len(here) {
		return 0, 0
	}
	if best < minMatch {
		best = minMatch - 1
		if back := at + 1 - near; near > 0 && back <= maxShort && (v^binary.LittleEndian.Uint32(data[near-1:]))<<8 == 0 {
			best, length, distance = minMatch, minMatch, back
		}
	}
	// In a run the byte before is a match as far as the run goes, and its chain has no other
	// position of the same run.
	if f.run > at && at > 0 && data[at-1] == data[at] && v == bits.RotateLeft32(v, 8) {
		if n := min(f.run-at, len(here)); n > best {
			if best, length, distance = n, n, 1; n == len(here) {
				return length, distance
			}
		}
	}
	best = max(best, minMatch)
	if best >= len(here) {
		return length, distance
	}
	tail := binary.LittleEndian.Uint32(here[best-3:])
	for p >= 0 && depth > 0 {
		depth--
		if binary.LittleEndian.Uint32(data[p+best-3:]) == tail && binary.LittleEndian.Uint32(data[p:]) == v {
			n := 4 + equal(data[p+4:], here[4:])
			depth -= n >> 4
			if n > best {
				best, length, distance = n, n, at-p
				if n == len(here) {
					break
				}
				tail = binary.LittleEndian.Uint32(here[best-3:])
			}
		}
		back := int(f.next[p%windowSize])
		if back == 0 {
			break
		}
		if p -= back; at-p > windowSize {
			break
		}
	}
	return length, distance
}
