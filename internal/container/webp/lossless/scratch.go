package lossless

import (
	"slices"
	"sync"

	"github.com/pelmill/pelmill/raster"
)

// scratch is what decoding needs besides its result. It is used again: new memory would have to be cleared, and is in no
// cache. A nil scratch takes new memory.
type scratch struct {
	tables   []uint32
	literals []literalTable
	bytes    []byte
	taken    int // of bytes, and what was wanted beyond them
}

// mostKept is how many bytes of a kind are kept at most: no budget knows of them.
const mostKept = 1 << 20

// scratches are those that nobody uses.
var scratches = sync.Pool{New: func() any { return new(scratch) }}

// release makes the memory free for another decoder: nothing refers to it any more. The tables of d are part of it.
func (m *scratch) release(d *decoder) {
	if d.tables != nil {
		m.tables = d.tables[:0]
	}
	if 4*cap(m.tables) > mostKept {
		m.tables = nil
	}
	if tableBytes*cap(m.literals) > mostKept {
		m.literals = nil
	}
	switch {
	case m.taken > mostKept || len(m.bytes) > mostKept:
		m.bytes = nil
	case m.taken > len(m.bytes):
		m.bytes = make([]byte, m.taken)
	}
	m.taken = 0
}

// pixels is memory for so many pixels, with any contents.
func (m *scratch) pixels(width, height int) []byte {
	n := 4 * width * height
	if m != nil {
		from := m.taken
		if m.taken += n; m.taken <= len(m.bytes) {
			return m.bytes[from:m.taken:m.taken]
		}
	}
	return raster.Unfilled(raster.Shape{Width: width, Height: height, Depth: 1, Channels: 4, Bits: 8}).Pix
}

// literalTables is memory for so many tables, with any contents. Those of an image are not used any more when another one's
// are wanted.
func (m *scratch) literalTables(n int) []literalTable {
	if m == nil {
		return make([]literalTable, n)
	}
	m.literals = slices.Grow(m.literals[:0], n)[:n]
	return m.literals
}
