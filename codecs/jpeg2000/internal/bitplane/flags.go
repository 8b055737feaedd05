package bitplane

import (
	"math/bits"
	"slices"
	"unsafe"
)

// flags are what the assembly of the decoder knows of 64 samples, in the order of the scan: sample r of column c of 16 is
// bit 4c+r. From them it finds the samples of a pass, 64 at a time, so that no branch depends on how many of a column
// there are, which could not be predicted. The words of the columns have the contexts, and what is significant too.
type flags struct {
	significant uint64
	visited     uint64 // coded by the significance propagation of this bit-plane
	refined     uint64 // in a bit-plane above or in this one
	_           uint64
}

const flagsBytes = int(unsafe.Sizeof(flags{}))

// flagsWidth is the number of flags of a stripe. There is one more on either side, with nothing in it, and so above the first
// stripe and below the last.
func (d *decoder) flagsWidth() int { return (d.columns - 2 + 15) / 16 }

// flagsRow is the index of the first flags of stripe s.
func (d *decoder) flagsRow(s int) int { return (s+1)*(d.flagsWidth()+2) + 1 }

// lastRows are the samples that the last stripe has, of 16 columns.
func (d *decoder) lastRows() uint64 {
	return 0xF >> (4 - (bits.Len64(d.last)+2)/3) * 0x1111111111111111
}

// toFlags takes from the words what the flags have, unless it is there.
func (d *decoder) toFlags() {
	if d.inFlags {
		return
	}
	d.inFlags = true
	if len(d.flags) == 0 { // of a block that begins, with nothing in its words
		n := (d.flagsWidth() + 2) * (d.stripes + 2)
		d.flags = slices.Grow(d.flags, n)[:n]
		clear(d.flags)
		return
	}
	for s := range d.stripes {
		row := d.flags[d.flagsRow(s):]
		clear(row[:d.flagsWidth()])
		for x, f := range d.stripe(s) {
			to, at := &row[x/16], 4*(x%16)
			to.significant |= fours(f>>own) << at
			to.visited |= fours(f>>visited) << at
			to.refined |= fours(f>>refined) << at
		}
	}
}

// toWords is the inverse of toFlags: it puts into the words what passes without arithmetic coding take from there.
func (d *decoder) toWords() {
	if !d.inFlags {
		return
	}
	d.inFlags = false
	for s := range d.stripes {
		row := d.flags[d.flagsRow(s):]
		words := d.stripe(s)
		for x := range words {
			from, at := &row[x/16], 4*(x%16)
			words[x] = words[x]&^(perSample<<visited|perSample<<refined) |
				threes(from.visited>>at)<<visited | threes(from.refined>>at)<<refined
		}
	}
}

// fours makes bits 0, 3, 6 and 9 of f bits 0 to 3.
func fours(f uint64) uint64 { return f&1 | f>>2&2 | f>>4&4 | f>>6&8 }

// threes is the inverse of fours.
func threes(f uint64) uint64 { return f&1 | f&2<<2 | f&4<<4 | f&8<<6 }
