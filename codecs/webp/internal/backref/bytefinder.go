package backref

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// byteFinder finds what Finder.At finds in an image whose pixels differ in one channel alone,
// as modes and the entropy image do: eight pixels are compared at once. The positions of a hash
// chain lie one after the other, so that none has to be read to find the next.
type byteFinder struct {
	*Finder
	pixel []uint8 // that channel, or numbers of colours, and behind it bytes that mean nothing
	bytes []uint8 // memory for it
	chain []int32 // the positions of all chains, each from the first one on
	at    []int32 // by position: where it lies in chain
	depth []uint8 // by position: how many positions before it in chain are tried
	key   []int32 // by position: the number of its chain
	size  []int32 // by chain: how many positions it has, and then where it begins
}

// wordPixels are compared at once.
const wordPixels = 8

// byteFinders are those that nobody uses.
var byteFinders = sync.Pool{New: func() any { return new(byteFinder) }}

// newByteFinder returns nil where pixels differ in several channels. few has the colours of the
// image, where it is not nil.
func newByteFinder(f *Finder, few *fewColours) *byteFinder {
	argb := f.p.ARGB
	shift := 0
	if few == nil {
		differ := uint32(0)
		for _, v := range argb {
			differ |= v ^ argb[0]
		}
		if shift = bits.TrailingZeros32(differ) &^ 7 & 31; differ>>shift > 255 {
			return nil
		}
	}
	if f.same == nil || f.Prev == nil || f.Matcher.depth > 255 {
		return nil
	}
	b := byteFinders.Get().(*byteFinder)
	n := len(argb)
	b.Finder = f
	if few != nil {
		b.pixel = few.memory.number
	} else {
		b.bytes = sized(b.bytes, n+wordPixels)
		b.pixel = b.bytes
		for i, v := range argb {
			b.pixel[i] = uint8(v >> shift)
		}
	}
	b.chain, b.at, b.depth, b.key, b.size = sized(b.chain, n), sized(b.at, n), sized(b.depth, n), sized(b.key, n), b.size[:0]
	for i, before := range f.Prev {
		if before < 0 {
			b.key[i], b.at[i], b.depth[i] = int32(len(b.size)), 0, 0
			b.size = append(b.size, 1)
			continue
		}
		k := b.key[before]
		rank := b.size[k]
		b.size[k]++
		b.key[i], b.at[i], b.depth[i] = k, rank, uint8(min(int(rank), f.Matcher.depth))
	}
	first := int32(0)
	for k, n := range b.size {
		b.size[k] = first
		first += n
	}
	for i, k := range b.key {
		at := b.at[i] + b.size[k]
		b.at[i] = at
		b.chain[at] = int32(i)
	}
	return b
}

// release gives back the memory.
func (b *byteFinder) release() {
	b.Finder, b.pixel = nil, nil
	if cap(b.chain) <= mostKept {
		byteFinders.Put(b)
	}
}

// appendAt appends the candidates of position i, as Finder.At returns them, to list.
func (b *byteFinder) appendAt(list []Candidate, i int) []Candidate {
	f := b.Finder
	most := min(format.MaxLength, f.end-i)
	if most < 2 {
		return list
	}
	best := 1
	if f.same[i]&f.same[i+1] != 0 {
		own := f.out
		f.out = list
		best = f.allNear(i, most)
		list, f.out = f.out, own
		if best >= f.stop || best == most {
			return list
		}
	}
	at := b.at[i]
	before := b.chain[at-int32(b.depth[i]) : at]
	if len(before) == 0 {
		return list
	}
	// A far one has three pixels or more. Which is longer cannot be foreseen, so each is written and few are kept.
	list = slices.Grow(list, len(before))
	out := list[:cap(list)]
	n := len(list) + b.far(out[len(list):], before, i, most, max(best, 2))
	for k, c := range out[len(list):n] {
		out[len(list)+k] = newCandidate(c.length(), f.Codes.Code(int(c>>12)))
	}
	return out[:n]
}

// farGo writes the far candidates of position i that are longer than longest and than those before them to out, which has room
// for all, with distances instead of distance codes. It returns how many these are.
func (b *byteFinder) farGo(out []Candidate, before []int32, i, most, longest int) int {
	here := binary.LittleEndian.Uint64(b.pixel[i:])
	n, top := uint(0), uint64(longest)
	for k := len(before) - 1; k >= 0; k-- {
		j := int(before[k])
		length := uint64(bits.TrailingZeros64(here^binary.LittleEndian.Uint64(b.pixel[j:]))) / 8
		if length == wordPixels {
			length += uint64(b.agreeing(i, j, most))
		}
		length = min(length, uint64(most))
		out[n] = Candidate(uint64(i-j)<<12 | length)
		_, more := bits.Sub64(top, length, 0)
		n += uint(more)
		top += (length - top) & -more
		if top >= uint64(b.stop) {
			break
		}
	}
	return int(n)
}

// agreeing is how many pixels behind a word agree from i and from j on, if it is not the end.
func (b *byteFinder) agreeing(i, j, most int) (n int) {
	for wordPixels+n < most {
		at := wordPixels + n
		x := binary.LittleEndian.Uint64(b.pixel[i+at:]) ^ binary.LittleEndian.Uint64(b.pixel[j+at:])
		if x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += wordPixels
	}
	return n
}
