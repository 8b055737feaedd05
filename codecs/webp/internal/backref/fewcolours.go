package backref

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// fewColours is the search in an image of at most mostColours that differ in green alone, as
// modes and the entropy image do. It counts colours instead of symbols, and leaves it to
// finish to note which pixels of the last parse are in the cache.
type fewColours struct {
	MemoryReferenceSearch
	memory  *fewMemory
	colours []uint32 // by rising green
	byHash  []uint8  // numbers of colours by rising hash
	counted bool     // the counts in memory are those of the parse
	next    bool     // or of the parse that is set next
}

// mostColours is how many bytes two vectors of AVX2 have.
const mostColours = 64

// fewMemory is the memory of a fewColours. Its contents do not matter before or after.
type fewMemory struct {
	number []uint8 // by pixel: that of its colour
	hit    []uint8 // by pixel: see CacheHits

	counts    [16][mostColours]uint32 // how often colours are outside backward references, by the low bits of their hits
	lengths   [24]uint32              // of backward references, by symbol
	distances [40]uint32
}

// noHit is where counts have the pixels that no cache has.
const noHit = 15

// fewMemories are those that nobody uses.
var fewMemories = sync.Pool{New: func() any { return new(fewMemory) }}

// newFewColours returns nil where p has more colours or others.
func newFewColours(p format.Pixels) *fewColours {
	var number [256]uint8
	differ := uint32(0)
	for _, v := range p.ARGB {
		differ |= v ^ p.ARGB[0]
		number[v>>8&255] = 1
	}
	if differ&^0xff00 != 0 {
		return nil
	}
	var colours []uint32
	for green, occurs := range number {
		if occurs > 0 {
			number[green] = uint8(len(colours))
			colours = append(colours, p.ARGB[0]&^0xff00|uint32(green)<<8)
		}
	}
	if len(colours) > mostColours {
		return nil
	}
	f := &fewColours{memory: fewMemories.Get().(*fewMemory), colours: colours, byHash: make([]uint8, len(colours))}
	m := f.memory
	m.number = sized(m.number, len(p.ARGB))
	for i, v := range p.ARGB {
		m.number[i] = number[v>>8&255]
	}
	for k := range colours {
		f.byHash[k] = uint8(k)
	}
	slices.SortFunc(f.byHash, func(a, b uint8) int {
		return cmp.Compare(format.CacheHash(colours[a]), format.CacheHash(colours[b]))
	})
	m.hit = sized(m.hit, len(p.ARGB))
	if !hitsOfColours(m.hit, m.number, colours) {
		copy(m.hit, CacheHits(p.ARGB))
	}
	f.MemoryReferenceSearch = *NewMemoryReferenceSearch(p)
	f.hit = m.hit
	return f
}

// hitTables are by colour: what becomes of the hits that pixels of each colour would have when
// one of this colour has come.
type hitTables struct {
	keep  [mostColours][mostColours]uint8 // bits that stay
	least [mostColours][mostColours]uint8 // and at least this
}

// newHitTables: a cache that tells two colours apart by the first bits of their hashes keeps
// both of them. What has just come is in all caches.
func newHitTables(colours []uint32) *hitTables {
	t := new(hitTables)
	for k, v := range colours {
		for j, w := range colours {
			t.keep[k][j] = 0xff
			same := bits.LeadingZeros32((format.CacheHash(v)^format.CacheHash(w))<<(32-format.MaxCacheBits) | 1<<(31-format.MaxCacheBits))
			if t.least[k][j] = uint8(same + 1); same == format.MaxCacheBits {
				t.least[k][j] = 0xff
			}
		}
		t.keep[k][k], t.least[k][k] = 0, 1
	}
	return t
}

// release gives back the memory, of which the parse has nothing.
func (f *fewColours) release() {
	if cap(f.memory.number) <= mostKept {
		fewMemories.Put(f.memory)
	}
}

func (f *fewColours) SetParse(q *format.Parse) { f.parse, f.counted, f.next = q, f.next, false }

// count counts the parse.
func (f *fewColours) count() {
	if f.counted {
		return
	}
	f.counted = true
	f.memory.clearCounts()
	for i := 0; i < len(f.parse.Length); i++ {
		if l := f.parse.Length[i]; l > 0 && l < format.Cached {
			f.memory.countReference(uint32(l), f.parse.Value[i])
			i += int(l) - 1
			continue
		}
		f.memory.countPixel(i)
	}
}

// begin begins to count a parse that is being made, and is set next. It returns the memory that counts.
func (f *fewColours) begin() *fewMemory {
	f.counted, f.next = false, true
	f.memory.clearCounts()
	return f.memory
}

func (m *fewMemory) clearCounts() {
	clear(m.counts[:])
	clear(m.lengths[:])
	clear(m.distances[:])
}

// countPixel counts pixel i, outside backward references.
func (m *fewMemory) countPixel(i int) { m.counts[m.hit[i]&15][m.number[i]%mostColours]++ }

func (m *fewMemory) countReference(length, code uint32) {
	m.lengths[prefixSymbol(length)%uint8(len(m.lengths))]++
	m.distances[prefixSymbol(code)%uint8(len(m.distances))]++
}

// ChooseCache is CacheCounts.Best of the parse.
func (f *fewColours) ChooseCache() int {
	f.count()
	m := f.memory
	var cached [mostColours]uint32
	literals := m.counts[noHit]
	for b := 1; b <= format.MaxCacheBits; b++ {
		for k := range f.colours {
			cached[k] += m.counts[b][k]
		}
	}
	best, choice := uint64(1<<63), 0
	for b := format.MaxCacheBits; b >= 0; b-- {
		c := entropy.NewSizeEstimate(0)
		for k, v := range f.colours {
			if n := literals[k]; n > 0 {
				c.Add(int(v>>8&255), n)
			}
		}
		for s, n := range m.lengths {
			if n > 0 {
				c.Add(256+s, n)
			}
		}
		const entries = 256 + len(m.lengths)
		for at := 0; at < len(f.byHash) && b > 0; {
			// The colours that share an entry follow one another.
			entry, n := f.entry(f.byHash[at], b), uint32(0)
			for ; at < len(f.byHash) && f.entry(f.byHash[at], b) == entry; at++ {
				n += cached[f.byHash[at]]
			}
			if n > 0 {
				c.Add(entries+int(entry), n)
			}
		}
		// Alpha, red and blue cost the same in all of them.
		if size := c.Size(); size < best {
			best, choice = size, b
		}
		for k := range f.colours {
			literals[k] += m.counts[b][k]
			cached[k] -= m.counts[b][k]
		}
	}
	return choice
}

// entry is where a cache of bits has colour k.
func (f *fewColours) entry(k uint8, bits int) uint32 {
	return format.CacheHash(f.colours[k]) >> (format.MaxCacheBits - bits)
}

func (f *fewColours) SetCache(bits int) { f.parse.CacheBits = bits }

func (f *fewColours) Histograms(g format.EntropyImage) [][]uint32 {
	if g.Bits > 0 {
		f.finish()
		return f.MemoryReferenceSearch.Histograms(g)
	}
	f.count()
	m := f.memory
	h := make([]uint32, f.parse.Symbols())
	for k, v := range f.colours {
		literals := m.counts[noHit][k]
		for b := 1; b <= format.MaxCacheBits; b++ {
			if n := m.counts[b][k]; b > f.parse.CacheBits {
				literals += n
			} else if n > 0 {
				h[format.CacheAt+f.entry(uint8(k), f.parse.CacheBits)] += n
			}
		}
		h[format.AlphaAt+v>>24] += literals
		h[format.RedAt+v>>16&255] += literals
		h[format.BlueAt+v&255] += literals
		h[format.GreenAt+v>>8&255] += literals
	}
	copy(h[format.LengthAt:], m.lengths[:])
	copy(h[format.DistanceAt:], m.distances[:])
	return [][]uint32{h}
}

// finish gives the pixels of the parse that are in its cache their places there.
func (f *fewColours) finish() { setCache(f.parse, f.P, f.hit, f.parse.CacheBits) }

// symbolCosts is listed.symbolCosts.
func (f *fewColours) symbolCosts(out []uint32, cacheBits int, t []uint16) {
	m := f.memory
	var costs [2][mostColours]uint32 // of literals, and in the cache
	for k, v := range f.colours {
		costs[0][k] = uint32(t[format.AlphaAt+v>>24]) + uint32(t[format.RedAt+v>>16&255]) + uint32(t[format.BlueAt+v&255]) + uint32(t[format.GreenAt+v>>8&255])
		if cacheBits > 0 {
			costs[1][k] = uint32(t[format.CacheAt+f.entry(uint8(k), cacheBits)])
		}
	}
	hit, number := m.hit[:len(out)], m.number[:len(out)]
	for i := range out {
		// Whether a pixel is in the cache cannot be foreseen.
		k := number[i] % mostColours
		c, d := costs[0][k], costs[1][k]
		if int(hit[i]) <= cacheBits {
			c = d
		}
		out[i] = c
	}
}
