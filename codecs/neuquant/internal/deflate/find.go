package deflate

import (
	"encoding/binary"
	"math/bits"
)

const (
	maxHashBits  = 15 // of the tables of four and of six bytes
	minHashBits  = 9
	maxShortBits = 13 // of the table of three bytes

	// maxShort is the distance up to which a match of three bytes can be worth its bits.
	maxShort = 1 << 13

	wordBytes = 8 // that are compared at once
)

// A key is a match of a position with a string before it: its length from 16 up, and below
// it windowSize less the distance. Of two keys the larger one is the longer match, or of
// equals the nearer.
const oneByte = 1 << 16

// tables is where strings were last. Where none was, position 0 stands, whose bytes are
// compared like any other's, and all that is out of the window is moved to its edge: what
// a table says is a place to compare, and never taken on trust.
type tables struct {
	three [1 << maxShortBits]uint16 // by a hash of three bytes
	four  [1 << maxHashBits]uint16  // of four
	six   [1 << maxHashBits]uint16  // of six: the heads of chains
	next  [windowSize]uint16        // of a position modulo the window, how far before it the next of its chain is
}

// finder finds strings that occurred before.
type finder struct {
	data []byte
	*tables

	shift, shortShift uint64 // of hashes

	scan  scan
	known int // positions before this one are in the tables
	run   int // end of the run of equal bytes that was looked at last

	// Of the positions of a chunk: the key of the longest match that was found, and the larger
	// key of the nearest strings of three and of four bytes, which often costs less.
	longest, nearest [chunkBytes]uint32
}

// reset forgets what was before. Short data get short tables, because clearing them takes
// longer than the search.
func (f *finder) reset(data []byte) {
	f.data, f.run, f.known = data, 0, 0
	n := min(max(bits.Len(uint(len(data))), minHashBits), maxHashBits)
	s := min(n, maxShortBits)
	if f.tables == nil {
		f.tables = new(tables)
	}
	clear(f.three[:1<<s])
	clear(f.four[:1<<n])
	clear(f.six[:1<<n])
	f.next[0] = windowSize
	f.shift, f.shortShift = uint64(64-n), uint64(64-s)
}

// factor is the golden ratio of 2^64, which spreads strings over a table.
const factor = 0x9e3779b97f4a7c15

// hashes are those of the first three, four and six of the eight bytes x at position at. In
// a run of equal bytes the last one is that of how far the run goes, because else the
// background of a drawing would fill one chain.
func (f *finder) hashes(x uint64, at int) (three, four, six uint64) {
	y := x << 16
	if x == bits.RotateLeft64(x, 8) {
		if at >= f.run {
			f.run = at + wordBytes + equal(f.data[at:], f.data[at+wordBytes:])
		}
		y ^= uint64(min(f.run-at, maxMatch)) << 36
	}
	three = x << 40 * factor >> (f.shortShift & 63)
	four = x << 32 * factor >> (f.shift & 63)
	six = y * factor >> (f.shift & 63)
	return three & (1<<maxShortBits - 1), four & (1<<maxHashBits - 1), six & (1<<maxHashBits - 1)
}

// equal is how many bytes a and b, which is not longer, begin with in common.
func equal(a, b []byte) int {
	n := 0
	for ; len(b)-n >= wordBytes; n += wordBytes {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// searched is the end of the positions that have a whole word, which alone are searched.
func (f *finder) searched() int { return len(f.data) - wordBytes + 1 }

// insert makes the positions before end known.
func (f *finder) insert(end int) {
	end = min(end, f.searched())
	for at := f.known; at < end; at++ {
		three, four, six := f.hashes(binary.LittleEndian.Uint64(f.data[at:]), at)
		f.next[at%windowSize] = uint16(back(at, f.six[six], windowSize))
		f.three[three], f.four[four], f.six[six] = uint16(at), uint16(at), uint16(at)
	}
	f.known = max(f.known, end)
}

// back is how far before position at the last one is whose lowest bits these are, and most
// at most. It is not before the data, as the lowest bits of a table are 0 at first.
func back(at int, low uint16, most int) int { return min(int(uint16(at)-1-low)+1, most) }
