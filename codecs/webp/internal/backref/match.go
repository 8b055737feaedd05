package backref

import (
	"math"
	"math/bits"
	"sync"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// The candidates of a position are backward references that may begin there. They depend on
// the pixels and on the depth of the search alone, not on how the pixels before are coded:
//
//   - near ones, at the distances of the lowest distance codes, two pixels or longer;
//   - far ones, three pixels or longer, at the latest earlier positions with the same key,
//     which form a hash chain.
//
// The key of a position is a hash of its pixel, of the length of the run of equal pixels
// that begins there, and of the pixel behind the run; where the next pixel differs, of three
// pixels. So the positions of a long run have different keys, and the chain of each leads to
// runs of the same length, which what follows a run can continue. A candidate ends at the
// latest where the band of its position ends. No candidate is kept for which another one is
// both as long and has a lower distance code.

const (
	KeyBits = 16               // log2 of the entries of the table of latest positions
	maxRun  = format.MaxLength // pixels up to which runs are counted
)

// Matcher has what the search for candidates needs of one image. It does not change after
// NewMatcher where there are several bands, which share it.
type Matcher struct {
	p         format.Pixels
	Codes     format.DistanceCodes
	Near      []int    // distances in pixels that are always tried, by rising distance code
	nearCodes []uint32 // their distance codes
	run       []uint16 // how many pixels after a position equal it, at most maxRun; nil: not known yet
	Prev      []int32  // the latest earlier position of the same key, or -1
	same      []uint32 // bit k: the pixel equals that at distance Near[k] before it; nil: not known
	depth     int      // how many of them are tried
}

// NewMatcher prepares the search of p at the distances of codes up to near and at depth
// earlier positions of the same key.
func NewMatcher(p format.Pixels, near, depth int) *Matcher {
	m := &Matcher{p: p, Codes: format.NewDistanceCodes(p.W), depth: depth}
	for code := 1; code <= near; code++ {
		if d := format.NearDistance(code, p.W); m.Codes.Code(d) == uint32(code) {
			m.Near = append(m.Near, d)
			m.nearCodes = append(m.nearCodes, uint32(code))
		}
	}
	if len(m.Near) <= 32 && len(p.ARGB) <= samePixels {
		m.same = sameAsNear(p.ARGB, m.Near)
	}
	if m.same == nil || depth > 0 {
		m.run = runs16(p.ARGB)
	}
	if depth > 0 {
		m.link()
	}
	return m
}

// samePixels bounds the images of which a matcher knows which pixels equal near ones: the
// small ones that describe another image. Of others it would be 4 bytes a pixel.
const samePixels = 1 << 18

// sameAsNear says of each pixel which of the pixels at near distances before it equal it.
func sameAsNear(argb []uint32, near []int) []uint32 {
	const part = 1 << 12 // pixels whose bits stay in the nearest cache
	out := make([]uint32, len(argb))
	for lo := 0; lo < len(argb); lo += part {
		hi := min(lo+part, len(argb))
		for k, d := range near {
			if d < hi {
				equalBefore(out[:hi], argb[:hi], max(lo, d), d, 1<<k)
			}
		}
	}
	return out
}

// equalBeforeGo sets bit in bits of each pixel from the given one on that equals the pixel
// at distance before it, of which there is one.
func equalBeforeGo(bits, argb []uint32, from, distance int, bit uint32) {
	for i := from; i < len(argb); i++ {
		if argb[i] == argb[i-distance] {
			bits[i] |= bit
		}
	}
}

// runs16 says of each pixel how many after it equal it, at most maxRun.
func runs16(argb []uint32) []uint16 {
	out := make([]uint16, len(argb))
	n := uint32(0)
	for i := len(argb) - 2; i >= 0; i-- {
		_, differs := bits.Sub32(0, argb[i]^argb[i+1], 0)
		n = min(n+1, maxRun) & (differs - 1)
		out[i] = uint16(n)
	}
	return out
}

// latestPositions has the latest position of each key. What it has of one image stands below
// base in the next one, so that it need not be cleared.
type latestPositions struct {
	at   [1 << KeyBits]int32
	base int32 // of the present image, whose position i is base + i
	end  int32 // base of the next one
}

// latest are tables that nobody uses: making one takes longer than to link a small image.
var latest = sync.Pool{New: func() any { return &latestPositions{end: 1} }}

// begin takes the table for an image of n pixels.
func (l *latestPositions) begin(n int) {
	if int64(l.end)+int64(n) > math.MaxInt32 {
		*l = latestPositions{end: 1}
	}
	l.base, l.end = l.end, l.end+int32(n)
}

// swap returns the latest position of key k, or -1, and makes it i.
func (l *latestPositions) swap(k uint32, i int) int32 {
	before := max(l.at[k]-l.base, -1)
	l.at[k] = l.base + int32(i)
	return before
}

// link fills prev.
func (m *Matcher) link() {
	argb := m.p.ARGB
	n := len(argb)
	m.Prev = make([]int32, n)
	last := latest.Get().(*latestPositions)
	defer latest.Put(last)
	last.begin(n)
	for i := 0; i < n; {
		r := int(m.run[i])
		if i+r+1 >= n || i+2 >= n || r == maxRun {
			m.Prev[i] = -1
			i++
			continue
		}
		if r == 0 {
			k := argb[i]*0x9e3779b1 ^ argb[i+1]*0x85ebca6b ^ argb[i+2]*0xc2b2ae35
			k = (k ^ k>>15) * 0x2c1b3c6d >> (32 - KeyBits)
			m.Prev[i] = last.swap(k, i)
			i++
			continue
		}
		ends := argb[i]*0x9e3779b1 ^ argb[i+r+1]*0xc2b2ae35
		for prev := m.Prev[i : i+r]; r > 0; r-- {
			k := ends ^ uint32(r)*0x27d4eb2f
			k = (k ^ k>>15) * 0x2c1b3c6d >> (32 - KeyBits)
			prev[len(prev)-r] = last.swap(k, i)
			i++
		}
	}
}

// Candidate is a backward reference: its distance code - 1 << 12 | its length in pixels.
// Parses read many of them, so it is one word.
type Candidate uint32

func newCandidate(length, code uint32) Candidate { return Candidate((code-1)<<12 | length) }

func (c Candidate) length() uint32 { return uint32(c) & format.MaxLength }
func (c Candidate) code() uint32   { return uint32(c)>>12 + 1 }

// Finder reads candidates of the positions of one band. What it remembers saves time
// and does not show in the result.
type Finder struct {
	*Matcher
	end  int // of the band
	stop int // a candidate of this length ends the search
	near []struct{ from, to int }
	seen struct{ distance, from, to int }
	out  []Candidate
}

func NewFinder(m *Matcher, end, stop int) *Finder {
	return &Finder{Matcher: m, end: end, stop: stop, near: make([]struct{ from, to int }, len(m.Near))}
}

// agreeing is the number of pixels, at most most, that are the same from i and from j on.
func agreeing(argb []uint32, i, j, most int) int {
	a, b := argb[i:i+most:i+most], argb[j:j+most:j+most]
	k := 0
	for ; k+4 <= len(a) && k+4 <= len(b); k += 4 {
		if a[k]^b[k]|(a[k+1]^b[k+1])|(a[k+2]^b[k+2])|(a[k+3]^b[k+3]) != 0 {
			break
		}
	}
	for k < len(a) && k < len(b) && a[k] == b[k] {
		k++
	}
	return k
}

// tryNear looks at the candidate of position i at distance Near[k], where two pixels agree
// and at most most may. It returns its length or, where that is not more, best.
func (f *Finder) tryNear(i, k, best, most int) int {
	d := f.Matcher.Near[k]
	length := 0
	if d == 1 {
		if f.run == nil {
			f.run = runs16(f.p.ARGB) // the image has one band, as it is small
		}
		length = min(int(f.run[i-1]), most)
	} else {
		to := f.near[k].to
		if to <= i || f.near[k].from > i {
			to = i
		}
		length = to - i
		if length < most {
			length += agreeing(f.p.ARGB, i+length, i+length-d, most-length)
		}
		length = min(length, most)
		f.near[k].from, f.near[k].to = i, i+length
	}
	// Distance codes rise along the list, so a candidate must be longer than the last.
	if length <= best {
		return best
	}
	f.out = append(f.out, newCandidate(uint32(length), f.nearCodes[k]))
	return length
}

// allNear looks at all candidates of position i at near distances, of which same knows which
// pixels agree. It returns the length of the longest, or 1.
func (f *Finder) allNear(i, most int) int {
	same := f.same[i : i+most]
	set := same[0] & same[1]
	best := 1
	// set has the distances at which the first n pixels agree. The lowest of them is the next
	// candidate, with as many pixels as it stays in the set.
	for n := 2; set != 0; n++ {
		if n == togetherPixels && n < most {
			for ; set != 0 && best < f.stop && best < most; set &= set - 1 {
				best = f.tryNear(i, bits.TrailingZeros32(set), best, most)
			}
			break
		}
		longer := uint32(0)
		if n < most {
			longer = set & same[n]
		}
		if lowest := set & -set; longer&lowest == 0 {
			f.out = append(f.out, newCandidate(uint32(n), f.nearCodes[bits.TrailingZeros32(lowest)]))
			if best = n; best >= f.stop || best == most {
				break
			}
		}
		set = longer
	}
	return best
}

// togetherPixels is up to which length near candidates are found all at once. Longer ones are
// remembered from position to position.
const togetherPixels = 24

// At returns the candidates of position i by rising length. They are valid until the
// next call.
func (f *Finder) At(i int) []Candidate {
	argb := f.p.ARGB
	f.out = f.out[:0]
	most := min(format.MaxLength, f.end-i)
	if most < 2 {
		return nil
	}
	v0, v1 := argb[i], argb[i+1]
	best := 1
	if f.same != nil {
		best = f.allNear(i, most)
	} else {
		for k, d := range f.Matcher.Near {
			if d > i || argb[i-d] != v0 || argb[i-d+1] != v1 {
				continue
			}
			if best = f.tryNear(i, k, best, most); best >= f.stop || best == most {
				break
			}
		}
	}
	if f.Prev == nil || best >= f.stop || best == most {
		return f.out
	}
	j := int(f.Prev[i])
	lowest := max(0, i-format.MaxDistance)
	for n := f.depth; n > 0 && j >= lowest; n-- {
		// The pixel that would make it longer first.
		if argb[j+best] == argb[i+best] && argb[j] == v0 {
			length := 0
			d := i - j
			if d == f.seen.distance && f.seen.from <= i && i < f.seen.to {
				length = min(f.seen.to-i, most)
				if length < most {
					length += agreeing(argb, i+length, j+length, most-length)
				}
			} else {
				length = agreeing(argb, i, j, most)
			}
			if length > best && length > 2 {
				f.out = append(f.out, newCandidate(uint32(length), f.Codes.Code(d)))
				best = length
				f.seen.distance, f.seen.from, f.seen.to = d, i, i+length
				if best >= f.stop || best == most {
					break
				}
			}
		}
		j = int(f.Prev[j])
	}
	return f.out
}
