package lossless

import "github.com/pelmill/pelmill/raster"

// Stream is a bitstream that was read up to its pixels: what is left is long and simple, the prefix codes of the
// pixels and the inverse transforms, and may be done by a device. All slices are read only.
type Stream struct {
	Width, Height int
	CodedWidth    int    // of the image that is coded, less than Width where pixels of a palette share one
	Data          []byte // the bitstream
	FirstBit      int    // of Data, from the lowest of the first byte on, where the pixels begin
	CacheBits     int    // of the colour cache; 0: there is none
	Tables        []uint32
	Groups        []Group
	Numbers       []byte      // of the group of each tile, in raster order and 4 bytes each: the high byte first; nil: there is one group
	TileBits      int         // log2 of the side of these tiles
	Transforms    []Transform // in the order of the bitstream, which is the reverse of that in which they are undone

	transforms []transform
	all        []group
	decoder    decoder
	alloc      func(n int) []byte // gives memory for the pixels; nil: they get new memory
}

// Group is the five prefix codes of RFC 9649, 3.7.1: for each where its first table begins in [Stream.Tables], and which
// of the next bits it is looked up with. See package code for what tables hold.
type Group struct {
	Green, GreenMask       uint32
	Red, RedMask           uint32
	Blue, BlueMask         uint32
	Alpha, AlphaMask       uint32
	Distance, DistanceMask uint32
}

// Kinds of transforms (RFC 9649, 3.5).
const (
	Predictor      = predictor
	CrossColour    = crossColour
	SubtractGreen  = subtractGreen
	ColourIndexing = colourIndexing
)

// Transform is a transform as the bitstream describes it.
type Transform struct {
	Kind  int
	Width int    // of the image that it was applied to
	Bits  int    // log2 of the side of a tile; of ColourIndexing, of how many pixels share one
	Pix   []byte // bytes R, G, B, A of the tiles, or 256 colours
}

// Lookups of an entry of [Stream.Tables]: the length of its code in the lowest LengthBits, and the symbol from SymbolAt
// on; or, with Longer set, in the lowest 4 bits how many bits behind the first FirstBits the second table is looked up
// with, and from SymbolAt on where that begins. A code of one symbol has one entry of length 0.
const (
	LengthBits = 5
	Longer     = longer
	SymbolAt   = 8
	FirstBits  = first
)

// Symbols of the code for green (RFC 9649, 3.7.2.1): literals below Literals, lengths below Literals + Lengths, and
// then places of the colour cache.
const (
	Literals = literals
	Lengths  = lengths
)

// Near is how many of the distance codes stand for neighbours (RFC 9649, 3.6.2.2).
const Near = len(near)

// NearDistance is how many pixels back one of these codes reaches, from 1 on, in rows of so many pixels.
func NearDistance(code, width int) int { return distance(code, width) }

// Open reads a bitstream up to its pixels. What holds for [Decode] holds for it.
func Open(bitstream []byte) (*Stream, bool) {
	s, ok := open(bitstream, nil)
	if !ok {
		return nil, false
	}
	return s, true
}

// open is Open with memory that the stream uses until it is released.
func open(bitstream []byte, m *scratch) (*Stream, bool) {
	s := &Stream{Data: bitstream, decoder: decoder{data: bitstream, scratch: m}}
	d := &s.decoder
	head := d.take(8)
	s.Width, s.Height = int(d.take(14))+1, int(d.take(14))+1
	d.take(1) // says whether alpha is used, which the pixels say too
	if head != signature || d.take(3) != 0 || d.exhausted() {
		return s, false
	}
	d.most = (s.Width*s.Height + tablesOverhead) / 4
	if m != nil && m.tables != nil {
		d.tables = m.tables
	} else {
		d.tables = make([]uint32, 0, min(s.Width*s.Height/16, tablesOverhead/4))
	}
	var seen [4]bool
	s.CodedWidth = s.Width
	for d.take(1) == 1 {
		t, ok := d.transform(s.CodedWidth, s.Height)
		if !ok || seen[t.kind] {
			return s, false
		}
		seen[t.kind] = true
		s.transforms = append(s.transforms, t)
		if t.kind == colourIndexing {
			s.CodedWidth = tiles(s.CodedWidth, t.bits)
		}
	}
	cache, ok := d.cacheBits()
	if !ok {
		return s, false
	}
	all, numbers, size, ok := d.groups(s.CodedWidth, s.Height, true, cache)
	if !ok || d.exhausted() {
		return s, false
	}
	s.all, s.Numbers, s.TileBits, s.CacheBits = all, numbers, int(size), int(cache)
	return s, true
}

// Describe fills what only a device needs: Tables, Groups, Transforms and FirstBit.
func (s *Stream) Describe() {
	d := &s.decoder
	s.Tables, s.FirstBit = d.tables, 8*d.pos-int(d.count)
	s.Groups = make([]Group, len(s.all))
	for i := range s.all {
		g := &s.all[i]
		s.Groups[i] = Group{g.green.at, g.green.mask, g.red.at, g.red.mask, g.blue.at, g.blue.mask, g.alpha.at, g.alpha.mask, g.distance.at, g.distance.mask}
	}
	s.Transforms = make([]Transform, len(s.transforms))
	for i := range s.transforms {
		t := &s.transforms[i]
		s.Transforms[i] = Transform{Kind: t.kind, Width: t.width, Bits: int(t.bits), Pix: t.pix}
	}
}

// Decode decodes the pixels: bytes R, G, B, A. It is to be called once.
func (s *Stream) Decode() ([]byte, bool) {
	d := &s.decoder
	d.scratch = nil // the pixels are the caller's
	pix, ok := d.pixels(s.memory(s.CodedWidth, 4), s.CodedWidth, s.Height, s.all, s.Numbers, uint(s.TileBits), uint(s.CacheBits))
	if !ok {
		return nil, false
	}
	d.tables = nil
	return invert(pix, s.transforms, s.Height), true
}

// memory is memory of any content for the pixels of rows of such a width, of so many bytes each.
func (s *Stream) memory(width, bytes int) []byte {
	if s.alloc != nil {
		return s.alloc(bytes * width * s.Height)
	}
	return raster.Unfilled(raster.Shape{Width: width, Height: s.Height, Depth: 1, Channels: bytes, Bits: 8}).Pix
}
