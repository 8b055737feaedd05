package deflate

import (
	"encoding/binary"
	"slices"

	"github.com/pelmill/pelmill/internal/container/png/inflate"
)

// What a device needs to parse as an [Encoder] does.
const (
	ChunkBytes    = chunkBytes
	MaxTokens     = maxTokens
	SegmentTokens = segmentTokens
	MaxSegments   = maxSegments

	MinHashBits  = minHashBits
	MaxHashBits  = maxHashBits
	MaxShortBits = maxShortBits
	MaxShort     = maxShort

	Depth       = depth
	DepthBehind = depthBehind
	GoodMatch   = goodMatch

	Symbols   = symbols
	Distances = distances
)

// Parsed is data as tokens, which are what [Encoder.Append] would make of them: a token is
// a literal from bit 16 up, or has bit 24 set, from bit 16 up its length less 3, and below
// its distance less 1.
type Parsed struct {
	Tokens   []uint32
	Segments []Segment
}

// Segment is tokens that follow each other, with how often each symbol occurs.
type Segment struct {
	Tokens    uint32 // of them
	Bytes     uint32 // that they stand for
	Ends      uint32 // 1: the segments since the last such one are joined and written
	Unused    uint32
	Symbols   [Symbols]uint32 // how often each occurs, without the end of the block
	Distances [Distances]uint32
}

// SegmentsOf is the most segments that n bytes make.
func SegmentsOf(n int) int { return n/segmentTokens + n/(maxTokens-chunkBytes) + 2 }

// Block is tokens that are written into a stream from a bit of it on, counted from the lowest of its first byte, and their
// codes: the bits from 8 up, and how many.
type Block struct {
	Bit       uint32
	First     uint32      // token
	Tokens    uint32      // of them
	Bits      uint32      // that they take
	Firsts    [512]uint32 // of literals, and of lengths with their extra bits
	Distances [32]uint32  // of the symbols of distances
}

// Laid is a stream without its tokens, and what belongs there.
type Laid struct {
	Stream []byte
	Blocks []Block
}

// Parse finds the tokens of data.
func (e *Encoder) Parse(data []byte) *Parsed {
	p := new(Parsed)
	e.begin(data)
	for at := 0; at < len(data); {
		at = e.parse(at)
		for i := range e.list {
			s := &e.list[i]
			p.Segments = append(p.Segments, Segment{Tokens: uint32(s.tokens), Bytes: uint32(s.bytes), Symbols: s.symbols, Distances: s.distances})
		}
		p.Segments[len(p.Segments)-1].Ends = 1
		p.Tokens = append(p.Tokens, e.tokens...)
	}
	e.data, e.scan.data = nil, nil
	return p
}

// AppendParsed is [Encoder.Append] for data that are parsed: those of which p was made by
// Parse, or by a device. It reports false, and the stream is void, where p cannot be that
// of any such data.
func (e *Encoder) AppendParsed(dst, data []byte, p *Parsed) ([]byte, bool) {
	if tokensOf(p.Segments) != len(p.Tokens) {
		return dst, false
	}
	return e.appendSegments(dst, data, p.Segments, p.Tokens, nil)
}

// Lay makes the zlib stream of data that a device has parsed, but for the tokens, whose
// places are 0 in it, and says what belongs there. It reports false where the segments cannot
// be those of data. Both are made in l, whose memory is used again.
func (e *Encoder) Lay(l *Laid, data []byte, segments []Segment) bool {
	l.Stream, l.Blocks = l.Stream[:0], l.Blocks[:0]
	stream, ok := e.appendSegments(l.Stream, data, segments, nil, &l.Blocks)
	l.Stream = stream
	return ok
}

func tokensOf(list []Segment) (n int) {
	for i := range list {
		n += int(list[i].Tokens)
	}
	return n
}

// appendSegments writes tokens, or leaves room for them and says where.
func (e *Encoder) appendSegments(dst, data []byte, segments []Segment, tokens []token, later *[]Block) ([]byte, bool) {
	bytes, bits := 0, 0
	e.estimates = e.estimates[:0]
	for i := range segments {
		s := &segments[i]
		if sum(s.Symbols[:]) != s.Tokens || s.Tokens > maxTokens || s.Tokens > s.Bytes {
			return dst, false
		}
		bytes += int(s.Bytes)
		h := histogram{s.Symbols, s.Distances}
		e.estimates = append(e.estimates, h.cost())
		bits += e.estimates[i]/256 + h.extra()
	}
	if n := len(segments); n == 0 || segments[n-1].Ends != 1 || bytes != len(data) || len(data) > maxLaid && later != nil {
		return dst, false
	}
	w := &e.blocks
	// Room for all of it: joined, segments take less than one by one, and where codes take more than the bytes these are stored.
	w.reset(append(slices.Grow(dst, min(bits/8, len(data))+len(data)/64+blockRoom), header...))
	w.all, w.later = tokens, later
	defer func() { w.all, w.later = nil, nil }()
	list, first, next, at, from := e.list[:0], 0, 0, 0, 0 // first token and byte of the list
	if cap(list) == 0 {
		list = make([]segment, 0, maxSegments)
	}
	for i := range segments {
		s := &segments[i]
		if len(list) == maxSegments {
			return dst, false
		}
		list = append(list, segment{tokens: int(s.Tokens), bytes: int(s.Bytes), histogram: histogram{s.Symbols, s.Distances}})
		last := &list[len(list)-1]
		last.cost = e.estimates[i]
		next, at = next+int(s.Tokens), at+int(s.Bytes)
		if s.Ends == 0 {
			continue
		}
		w.segments(list, data[from:at], first, at == len(data))
		list, first, from = list[:0], next, at
	}
	e.list = list
	return binary.BigEndian.AppendUint32(w.end(), inflate.Adler(data)), true
}

// maxLaid bytes at most are laid, so that a bit of their stream has a number of 32 bits also where counts are wrong: a token has
// 48 bits at most, and a byte no more than one token.
const maxLaid = 1 << 26

// leave leaves room for size bits of tokens, n from number first on.
func (w *blockWriter) leave(first, n, size int) {
	b := Block{Bit: uint32(8*len(w.out) + int(w.n)), First: uint32(first), Tokens: uint32(n), Bits: uint32(size), Firsts: w.firsts, Distances: w.distanceCodes}
	*w.later = append(*w.later, b)
	all := int(w.n) + size
	if all >= 8 {
		w.out = append(w.out, byte(w.bits))
		w.bits = 0
		n := len(w.out)
		w.grow(all/8 - 1)
		w.out = w.out[:n+all/8-1]
		clear(w.out[n:])
	}
	w.n = uint(all % 8)
}
