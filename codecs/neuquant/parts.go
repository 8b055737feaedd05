package neuquant

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/pelmill/pelmill/raster"
)

// paletteScope is what shares a palette, an image or frames, in parts that have entries of
// their own: the opaque pixels and the partly transparent ones.
type paletteScope struct {
	all     problem  // the pixels; premultiplied, unless exact
	exact   []uint32 // the palette, rising, where it has room for all colours as they are
	changed bool     // there were partly transparent pixels, and the file has none
	clear   bool     // the last entry is that of fully transparent pixels
	parts   []part   // of the opaque ones first; none where exact
	counted *counted // the colours of all, where they are few enough and entries are refined
}

// part is the pixels of a part and its entries where they need no search.
type part struct {
	problem
	exact []uint32 // all colours, where they are no more than the entries
}

// kind is that of the pixels of a part.
func (p *part) kind() int {
	if p.opaque {
		return opaquePart
	}
	return otherPart
}

// newPaletteScope reads the pixels of m, and divides them and the colours of a palette into
// parts. Samples of opaque colour images stay where they are.
func newPaletteScope(m *raster.Image, o *Options) *paletteScope {
	d := &paletteScope{}
	if m.Channels == 3 {
		d.all.samples = m.Pix
	} else {
		d.all.values = load(m)
	}
	if o.gif && m.Alpha() {
		d.harden()
	}
	if set, ok := d.all.distinct(o.colours); ok {
		d.exact = set
		return d
	}
	d.divide(o.colours)
	most := mostCounted
	if len(d.parts) > 1 {
		most = mostCountedParts
	}
	if o.refine > 0 && len(d.problems()) > 0 {
		d.counted = count(&d.all, most)
	}
	return d
}

// load reads the pixels of m.
func load(m *raster.Image) []uint32 {
	v := make([]uint32, len(m.Pix)/m.Channels)
	for i := range v {
		s := m.Pix[i*m.Channels:][:m.Channels]
		switch len(s) {
		case 1:
			v[i] = uint32(s[0])*0x010101 | opaqueAlpha
		case 2:
			v[i] = uint32(s[0])*0x010101 | uint32(s[1])<<24
		case 3:
			v[i] = uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | opaqueAlpha
		case 4:
			v[i] = binary.LittleEndian.Uint32(s)
		}
	}
	return v
}

// harden leaves no pixel partly transparent, for GIF: half and more is opaque.
func (d *paletteScope) harden() {
	for i, v := range d.all.values {
		h := v | opaqueAlpha
		if v>>24 < 128 {
			h = 0
		}
		d.all.values[i] = h
		d.changed = d.changed || h != v
	}
}

// divide makes the parts, for a palette of so many colours.
func (d *paletteScope) divide(colours int) {
	all := d.all
	if all.values == nil {
		all.entries, all.opaque = colours, true
		d.parts = []part{{problem: all}}
		return
	}
	count := [3]int{} // of transparent, opaque and other pixels
	for i, v := range all.values {
		all.values[i] = premultiply(v)
		count[class(v)]++
	}
	n := colours
	d.clear = count[0] > 0
	if d.clear {
		n--
	}
	if n == 1 && count[opaquePart] > 0 && count[otherPart] > 0 {
		// Two entries for three kinds: the transparent pixels go with the partly transparent.
		d.clear, n = false, 2
		count[otherPart] += count[0]
	}
	if count[otherPart] == 0 && !d.clear {
		all.entries, all.opaque = n, true
		d.parts = []part{{problem: all}}
		return
	}
	of := [3][]uint32{opaquePart: make([]uint32, 0, count[opaquePart]), otherPart: make([]uint32, 0, count[otherPart])}
	for _, v := range all.values {
		if k := d.class(v); k != 0 {
			of[k] = append(of[k], v)
		}
	}
	for k, values := range of {
		if len(values) > 0 {
			d.parts = append(d.parts, part{problem: problem{values: values, opaque: k == opaquePart}})
		}
	}
	d.share(n)
}

// The kinds of pixels; 0 is that of the fully transparent.
const (
	opaquePart = 1
	otherPart  = 2
)

func class(v uint32) int {
	switch v >> 24 {
	case 0:
		return 0
	case 255:
		return opaquePart
	}
	return otherPart
}

// class is that of a pixel among the parts there are.
func (d *paletteScope) class(v uint32) int {
	if k := class(v); k != 0 || d.clear {
		return k
	}
	return otherPart
}

// share divides n entries between the parts, by their needs. A part with no more colours
// than entries leaves the rest to the other one.
func (d *paletteScope) share(n int) {
	switch len(d.parts) {
	case 0:
		return
	case 1:
		d.parts[0].take(n, n)
		return
	}
	o, t := &d.parts[0], &d.parts[1]
	do, need := o.needs()
	dt, other := t.needs()
	all := need + other
	kt := int(min(max((2*uint64(n)*other+all)/(2*all), 1), uint64(n-1)))
	if dt <= kt {
		kt = dt
	} else if do <= n-kt {
		kt = n - do
	}
	o.take(n-kt, do)
	t.take(kt, dt)
}

// take gives a part of so many colours its entries.
func (p *part) take(entries, colours int) {
	p.entries = entries
	if colours <= entries {
		p.exact, _ = p.distinct(entries)
	}
}

// distinct returns the distinct colours in rising order, or false if they are more than
// most.
func (p *problem) distinct(most int) ([]uint32, bool) {
	var s colourSet
	last := ^p.at(0)
	for i := range p.n() {
		v := p.at(i)
		if v == last {
			continue
		}
		last = v
		if s.add(v); s.n > most {
			return nil, false
		}
	}
	return s.sorted(), true
}

// needs is the number of distinct colours and the sum of how often each occurs to the
// power of 5/8, in sixteenths: nearly the 3/5 by which entries in three dimensions lie
// denser where there is more, for the least sum of squared errors (Zador, 1982).
func (p *problem) needs() (colours int, need uint64) {
	sorted := slices.Sorted(slices.Values(p.values))
	for i := 0; i < len(sorted); {
		from := i
		for i < len(sorted) && sorted[i] == sorted[from] {
			i++
		}
		colours++
		w := uint64(i - from)
		fourth := root(root(w<<16) << 8) // 2^8 times the fourth root
		need += root(w * fourth)
	}
	return colours, need
}

// root is the square root, rounded down.
func root(v uint64) uint64 {
	if v == 0 {
		return 0
	}
	r := uint64(1) << ((bits.Len64(v) + 1) / 2) // not less than the root
	for {
		next := (r + v/r) / 2
		if next >= r {
			return r
		}
		r = next
	}
}

// colourSet is a set of at most maxEntries+1 colours.
type colourSet struct {
	slots [1024]struct {
		v  uint32
		at uint16 // one more than the number; 0 where empty
	}
	n int
}

func slotOf(v uint32) uint32 { return v * 0x9e3779b1 >> 22 }

func (s *colourSet) add(v uint32) {
	i := slotOf(v)
	for s.slots[i].at != 0 {
		if s.slots[i].v == v {
			return
		}
		i = (i + 1) % uint32(len(s.slots))
	}
	s.n++
	s.slots[i].v, s.slots[i].at = v, uint16(s.n)
}

// find is the number of a colour in the order in which they were added.
func (s *colourSet) find(v uint32) uint8 {
	i := slotOf(v)
	for s.slots[i].v != v || s.slots[i].at == 0 {
		i = (i + 1) % uint32(len(s.slots))
	}
	return uint8(s.slots[i].at - 1)
}

func (s *colourSet) sorted() []uint32 {
	list := make([]uint32, 0, s.n)
	for _, e := range s.slots {
		if e.at != 0 {
			list = append(list, e.v)
		}
	}
	slices.Sort(list)
	return list
}

// places finds colours that are all among entries, which are distinct.
func places(p *problem, entries []uint32) []uint8 {
	var s colourSet
	for _, e := range entries {
		s.add(e)
	}
	out := make([]uint8, p.n())
	last, at := ^p.at(0), uint8(0)
	for i := range out {
		if v := p.at(i); v != last {
			last, at = v, s.find(v)
		}
		out[i] = at
	}
	return out
}

// problems lists what has to be solved for a scope.
func (d *paletteScope) problems() (list []*part) {
	for i := range d.parts {
		if d.parts[i].exact == nil {
			list = append(list, &d.parts[i])
		}
	}
	return list
}

// entries returns the palette in the order opaque, other, transparent, and where each of
// the kinds starts. of are the entries of the parts.
func (d *paletteScope) palette(of [][]uint32) (palette []uint32, first [3]uint8) {
	for i, entries := range of {
		k := d.parts[i].kind()
		first[k] = uint8(len(palette))
		for _, e := range entries {
			if k == otherPart {
				e = unpremultiply(e)
			}
			palette = append(palette, e)
		}
	}
	if d.clear {
		first[0] = uint8(len(palette))
		palette = append(palette, 0)
	}
	return palette, first
}

// join puts the indices of the parts together.
func (d *paletteScope) join(index [][]uint8, first [3]uint8) []uint8 {
	if len(d.parts) == 1 && !d.clear {
		return index[0]
	}
	var from [3][]uint8
	for i, list := range index {
		from[d.parts[i].kind()] = list
	}
	out := make([]uint8, len(d.all.values))
	for i, v := range d.all.values {
		k := d.class(v)
		out[i] = first[k]
		if k != 0 {
			out[i] += from[k][0]
			from[k] = from[k][1:]
		}
	}
	return out
}

// premultiply multiplies the components of a colour by its alpha.
func premultiply(v uint32) uint32 {
	a := v >> 24
	if a == 255 {
		return v
	}
	scale := func(c uint32) uint32 { return (c*a + 127) / 255 }
	return scale(v&255) | scale(v>>8&255)<<8 | scale(v>>16&255)<<16 | a<<24
}

// unpremultiply is the entry of a palette that comes nearest to a premultiplied one that
// is neither opaque nor transparent.
func unpremultiply(v uint32) uint32 {
	a := min(max(v>>24, 1), 254)
	scale := func(c uint32) uint32 { return min(255, (c*255+a/2)/a) }
	return scale(v&255) | scale(v>>8&255)<<8 | scale(v>>16&255)<<16 | a<<24
}
