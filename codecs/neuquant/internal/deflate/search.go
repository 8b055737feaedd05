package deflate

import (
	"encoding/binary"
	"math/bits"
)

const (
	depth       = 100 // of the search for a match that begins at a position
	depthBehind = 4   // and for one that is longer than what goes on from the position before

	goodMatch = 64 // bytes; it is taken, and inside it no other is looked for
)

// search finds the keys of the positions from first on, of a chunk at most, up to one that a
// good match begins at. It returns where that is, and the key of the match, or the end of
// the chunk and 0.
func (f *finder) search(first int) (end int, good uint32) {
	f.insert(first)
	end = min(first+chunkBytes, len(f.data))
	s := &f.scan
	*s = scan{
		data: &f.data[0], tables: f.tables, longest: &f.longest[0], nearest: &f.nearest[0],
		first: first, at: first, end: max(first, min(end, f.searched())), shift: f.shift, shortShift: f.shortShift,
	}
	if first == 0 && s.end > 0 {
		f.insert(1)
		f.longest[0], f.nearest[0] = 0, 0
		s.at = 1
	}
	for s.at < s.end {
		if f.words(); s.at == s.end {
			break
		}
		if good = f.beyond(); good != 0 {
			f.known = s.at + 1
			return s.at, good
		}
	}
	f.known = max(f.known, s.end)
	for i := s.at - first; i < end-first; i++ {
		f.longest[i], f.nearest[i] = s.before, 0
		s.before = lessOne(s.before)
	}
	return end, 0
}

// scan is a search at work. Its layout is that of the kernel in search_amd64.s.
type scan struct {
	data             *byte
	tables           *tables
	longest, nearest *uint32 // of the first position
	first, at, end   int     // the next position, and where the search ends
	shift            uint64
	shortShift       uint64

	before  uint32 // key of what goes on from the position before
	longer  uint32 // 0, or the key of a match of a word or more at the next position, which is in the tables then
	nearer  uint32 // the larger key of strings of three and of four bytes there
	chained uint32 // the key of the head of its chain
}

// wordsGo finds the keys of positions up to one in a run of equal bytes, or of which a
// word or more is in common with another.
func (f *finder) wordsGo() {
	s := &f.scan
	for s.longer = 0; s.at < s.end; s.at++ {
		x := binary.LittleEndian.Uint64(f.data[s.at:])
		if x == bits.RotateLeft64(x, 8) {
			return
		}
		if f.look(x); s.longer != 0 {
			return
		}
	}
}

// look makes the next position known and finds its keys by its word x. It leaves longer as
// it is, and the longest match open, where that is a word or more.
func (f *finder) look(x uint64) {
	s := &f.scan
	h3, h4, h6 := f.hashes(x, s.at)
	three, four, six := f.key(x, f.three[h3], maxShort), f.key(x, f.four[h4], windowSize), f.key(x, f.six[h6], windowSize)
	f.three[h3], f.four[h4], f.six[h6] = uint16(s.at), uint16(s.at), uint16(s.at)
	f.next[s.at%windowSize] = uint16(windowSize - six%oneByte)
	near := max(three, four)
	longest := max(near, six)
	if longest >= wordBytes*oneByte && longest%oneByte != s.before%oneByte {
		s.longer, s.nearer, s.chained = max(longest, s.before), near, six
		return
	}
	longest = max(longest, s.before)
	i := s.at - s.first
	f.longest[i], f.nearest[i] = longest, near
	s.before = lessOne(longest)
}

// key is that of the string at position before, or as far back as most, with the word x of
// the next position.
func (f *finder) key(x uint64, low uint16, most int) uint32 {
	at := f.scan.at
	distance := back(at, low, most)
	n := uint32(bits.TrailingZeros64(x^binary.LittleEndian.Uint64(f.data[at-distance:]))) / 8
	return n*oneByte + uint32(windowSize-distance)
}

// lessOne is the key of a match a byte later.
func lessOne(key uint32) uint32 { return max(key, oneByte) - oneByte }

// beyond finds the keys of the next position where words does not, or returns that of a
// good match there.
func (f *finder) beyond() (good uint32) {
	s := &f.scan
	if s.longer == 0 {
		f.look(binary.LittleEndian.Uint64(f.data[s.at:]))
		if s.longer == 0 {
			s.at++
			return 0
		}
	}
	d := depth
	if s.longer == s.before {
		d = depthBehind
	}
	key := f.long(s.at, s.longer, s.chained, d)
	if key >= goodMatch*oneByte {
		return key
	}
	i := s.at - s.first
	f.longest[i], f.nearest[i] = key, s.nearer
	s.before, s.longer = lessOne(key), 0
	s.at++
	return 0
}

// long is the key of the longest match at a position, of which the given one goes on for a
// word or more, of equals the nearest. It looks at so many strings of the chain at most; one
// that has many bytes in common counts as several, so that the time for a position is bounded.
func (f *finder) long(at int, key, chained uint32, depth int) uint32 {
	data := f.data
	here := data[at:min(at+maxMatch, len(data))]
	best, distance := int(key/oneByte), windowSize-int(key%oneByte)
	best += equal(data[at-distance+best:], here[best:])
	p := at - windowSize + int(chained%oneByte)
	for best < len(here) && depth > 0 {
		depth--
		if binary.LittleEndian.Uint64(data[p+best-wordBytes+1:]) == binary.LittleEndian.Uint64(here[best-wordBytes+1:]) {
			n := equal(data[p:], here)
			depth -= n >> 4
			if n > best {
				best, distance = n, at-p
			}
		}
		back := int(f.next[p%windowSize])
		if p -= back; back == windowSize || p < 0 || at-p > windowSize {
			break
		}
	}
	return uint32(best)*oneByte + uint32(windowSize-distance)
}
