// Package deflate compresses the rows of indices of a PNG file as a zlib stream (RFC 1950
// and 1951).
//
// # What it does
//
// Of each position the nearest strings of three, four and six bytes that occurred before are
// looked at, and where eight bytes are the same, more of them in a hash chain of bounded
// depth. A position in a run of equal bytes is in the chain of those that have as many of the
// same byte before them, because else the background of drawings would fill one chain. Of a
// chunk of bytes those literals and matches are taken that cost fewest bits together, by what
// symbols cost in the tokens before; only a match of [goodMatch] bytes is taken at once. Blocks
// end where the statistics of symbols change, and each is stored, or coded with the fixed code
// or one of its own, whichever is shortest.
//
// What a photograph has next looks like chance, so that the loops over its bytes and tokens
// have no branch that depends on them.
//
// # Guarantees
//
// The stream depends on the bytes alone: all decisions are made in integers. An Encoder
// holds [Memory] bytes at most beside the stream.
package deflate

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container/png/inflate"
)

// Limits of the format (RFC 1951, 2 and 3.2.5).
const (
	minMatch   = 3
	maxMatch   = 258
	windowSize = 1 << 15
)

const (
	chunkBytes    = 1 << 10 // that are searched and planned at once
	maxTokens     = 1 << 17 // that are held before their blocks are written
	segmentTokens = 1 << 11 // of the shortest block but the last
	maxSegments   = maxTokens / segmentTokens
)

// Memory is the bytes that an Encoder holds at most: its tables, the tokens and segments, and
// the lists in which codes are made.
const Memory = 4<<maxHashBits + 2<<maxShortBits + 2*windowSize + 16*chunkBytes + 4*maxTokens + maxSegments*(4*alphabet+32) + 96<<10

// Encoder holds the tables of a compression, to be used again. It is not for several
// goroutines at a time. The zero value is ready.
type Encoder struct {
	finder
	planner
	tokens    []token
	list      []segment
	estimates []int // costs of the segments that a device has found
	blocks    blockWriter
}

// Append appends data as a zlib stream to dst.
func (e *Encoder) Append(dst, data []byte) []byte {
	w := &e.blocks
	w.reset(append(dst, header...))
	e.begin(data)
	for from, at := 0, -1; at < len(data); from = at {
		at = e.parse(from)
		w.all = e.tokens
		w.segments(e.list, data[from:at], 0, at == len(data))
	}
	e.data, e.scan.data = nil, nil
	return binary.BigEndian.AppendUint32(w.end(), inflate.Adler(data))
}

// header says 32 KiB of window and thorough compression (RFC 1950, 2.2).
const header = "\x78\xda"

// begin makes ready to parse data.
func (e *Encoder) begin(data []byte) {
	e.finder.reset(data)
	e.costs.reset(data)
}

// token is a literal, or a match with its length and its distance, each less its least value.
//
//	bit  24     23..16        15..0
//	     0      the literal   0
//	     1      length - 3    distance - 1
type token = uint32

const matchBit = 1 << 24

// segment is tokens that are in one block: some thousand, and later those of neighbours.
type segment struct {
	tokens int // of them
	bytes  int // that they stand for
	cost   int // of a block of them, see histogram.cost
	histogram
}
