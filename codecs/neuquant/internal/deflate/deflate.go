// Package deflate compresses the rows of indices of a PNG file as a zlib stream (RFC 1950
// and 1951).
//
// # What it does
//
// Strings that occurred before are looked for in hash chains of bounded depth. A position
// in a run of equal bytes is in the chain of those that have as many of the same byte
// before them, because else the background of drawings would fill one chain. A match is
// taken where it costs fewer bits than its bytes as literals, by what symbols cost in
// the tokens before, and where the next position has none that is better. Blocks end
// where the statistics of symbols change, and each is stored, or coded with the fixed
// code or one of its own, whichever is shortest.
//
// # Guarantees
//
// The stream depends on the bytes alone: all decisions are made in integers. An Encoder
// holds [Memory] bytes at most beside the stream.
package deflate

import (
	"encoding/binary"
	"hash/adler32"
)

// Limits of the format (RFC 1951, 2 and 3.2.5).
const (
	minMatch   = 3
	maxMatch   = 258
	windowSize = 1 << 15
)

const (
	maxTokens     = 1 << 17 // that are held before their blocks are written
	segmentTokens = 1 << 11 // of the shortest block but the last
	maxSegments   = maxTokens / segmentTokens
)

// Memory is the bytes that an Encoder holds at most: its tables, the tokens and segments, and
// the lists in which codes are made.
const Memory = 4<<maxHashBits + 4<<maxShortBits + 2*windowSize + 4*maxTokens + maxSegments*(4*alphabet+32) + 96<<10

// Encoder holds the tables of a compression, to be used again. It is not for several
// goroutines at a time. The zero value is ready.
type Encoder struct {
	finder
	costs  costs
	tokens []token
	list   []segment
	blocks blockWriter
}

// Append appends data as a zlib stream to dst.
func (e *Encoder) Append(dst, data []byte) []byte {
	// 32 KiB of window, and the mark of thorough compression (RFC 1950, 2.2).
	dst = append(dst, 0x78, 0xda)
	w := &e.blocks
	w.reset(dst)
	e.finder.reset(data)
	e.costs.reset(data)
	for from, at := 0, -1; at < len(data); from = at {
		at = e.parse(from)
		e.write(from, at == len(data))
	}
	e.data = nil
	return binary.BigEndian.AppendUint32(w.end(), adler32.Checksum(data))
}

// token is a literal, or matchBit, the length and the distance, each less its least value.
//
//	bit  31     23..16        15..0
//	     match  length - 3    distance - 1, or the literal
type token uint32

const matchBit = 1 << 31

func match(length, distance int) token {
	return matchBit | token(length-minMatch)<<16 | token(distance-1)
}

// segment is tokens that are in one block: some thousand, and later those of neighbours.
type segment struct {
	tokens int // of them
	bytes  int // that they stand for
	cost   int // of a block of them, see histogram.cost
	histogram
}
