package deflate

import (
	"encoding/binary"
	"hash/adler32"
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
	tokens, bytes := 0, 0
	for i := range p.Segments {
		s := &p.Segments[i]
		if sum(s.Symbols[:]) != s.Tokens || s.Tokens > maxTokens || s.Tokens > s.Bytes {
			return dst, false
		}
		tokens, bytes = tokens+int(s.Tokens), bytes+int(s.Bytes)
	}
	if n := len(p.Segments); n == 0 || p.Segments[n-1].Ends != 1 || tokens != len(p.Tokens) || bytes != len(data) {
		return dst, false
	}
	w := &e.blocks
	w.reset(append(dst, header...))
	list, first, at, from := e.list[:0], 0, 0, 0 // first token and byte of the list
	if cap(list) == 0 {
		list = make([]segment, 0, maxSegments)
	}
	tokens = 0
	for i := range p.Segments {
		s := &p.Segments[i]
		if len(list) == maxSegments {
			return dst, false
		}
		list = append(list, segment{tokens: int(s.Tokens), bytes: int(s.Bytes), histogram: histogram{s.Symbols, s.Distances}})
		last := &list[len(list)-1]
		last.cost = last.histogram.cost()
		tokens, at = tokens+int(s.Tokens), at+int(s.Bytes)
		if s.Ends == 0 {
			continue
		}
		w.segments(list, data[from:at], p.Tokens[first:tokens], at == len(data))
		list, first, from = list[:0], tokens, at
	}
	e.list = list
	return binary.BigEndian.AppendUint32(w.end(), adler32.Checksum(data)), true
}
