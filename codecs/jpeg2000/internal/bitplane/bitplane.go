// Package bitplane codes the code-blocks of JPEG 2000 Part 1 (ISO/IEC 15444-1 Annex D)
// bit-plane by bit-plane, in both directions.
//
// # Column words
//
// A code-block is scanned in stripes of four rows, column by column. The four samples
// of a column share one word that holds all their contexts need: what is known of the
// samples themselves, of those left and right of them, and of the row above and below.
// All fields repeat every three bits, so that the word shifted right by 3k shows sample k
// what the word as it stands shows sample 0.
//
//	bit    0..17           18..35    36+3k    37+3k    38+3k        48+3k
//	field  significance    sign      refined  visited  current bit  own sign
//
// Significance and sign are 3x6 fields, the bit of row r and column c at 3r+c: row 0 is
// that above the stripe, column 1 the word's own. So sample 0 sees its neighbours thus:
//
//	0 1 2
//	3 4 5
//	6 7 8
//
// A sign bit is 1 for a negative sample and 0 for one that is not significant. The last
// two fields exist in the encoder alone. A row of words has one more on either side, and
// a row of words stands above the first stripe and below the last, none of them read.
//
// # Sliced blocks
//
// Where there is AVX-512 the encoder has one bit of 64 samples in a word instead, and
// finds their contexts all at once, see sliced.go. Decisions and bytes are the same.
//
// # Slices
//
// A code-block of a volume (ISO/IEC 15444-10) is a pile of slices. Each coding pass goes
// through all of them, one after the other, and each slice is scanned as if it were alone:
// no context looks into another slice. Their stripes follow each other, with one row
// of words that is not read between two slices.
package bitplane

import "slices"

const (
	significance = 0o777777 // all of the field
	seen         = 0o777    // what sample 0 sees of it
	around       = 0o757    // the same without the sample itself
	perSample    = 0o1111   // bit 0 of each of the four samples

	own     = 4  // a sample's place in the field of significance
	signs   = 18 // the field of signs
	refined = 36 // the sample was refined before
	visited = 37 // the significance propagation of this bit-plane coded the sample
	current = 38 // the sample's bit in this bit-plane
	ownSign = 48 // the sample's sign, significant or not
)

// The most samples of a block, whose height is made a multiple of four, and of one with
// slices.
const (
	maxSamples      = 4096
	maxSliceSamples = 1 << 18
)

// words are the column words of a block.
type words struct {
	columns int    // words to a row of words, the border included
	slice   int    // stripes of a slice
	stripes int    // of all slices
	last    uint64 // perSample of the samples that the last stripe of a slice has
	word    []uint64
}

// clear makes room for a block of d slices of w by h samples.
func (f *words) clear(w, h, d int) {
	f.columns, f.slice = w+2, (h+3)/4
	f.stripes = f.slice * d
	f.last = perSample >> (3 * uint(f.slice*4-h))
	n := f.columns * ((f.slice+1)*d + 1)
	f.word = slices.Grow(f.word[:0], n)[:n]
	clear(f.word)
}

// row is the index of the first word of stripe s, that of the border.
func (f *words) row(s int) int { return (s + s/f.slice + 1) * f.columns }

// stripe returns the words of stripe s without the border.
func (f *words) stripe(s int) []uint64 {
	at := f.row(s) + 1
	return f.word[at : at+f.columns-2]
}

// valid is perSample of the samples that stripe s has.
func (f *words) valid(s int) uint64 {
	if (s+1)%f.slice == 0 {
		return f.last
	}
	return perSample
}

// near is perSample of the samples with a significant neighbour, or that are
// significant themselves.
func near(f uint64) uint64 {
	f &= significance
	rows := f | f>>1 | f>>2
	return rows | rows>>3 | rows>>6
}

// uncoded is perSample of the samples that are neither significant nor visited.
func uncoded(f uint64) uint64 { return ^(f>>own | f>>visited) & perSample }

// spread tells the words around that the sample that lies shift bits up in its word has
// become significant. at is the index of the word of the column to the left, the row of
// the stripe plus the column, and mark what the word itself got.
func (f *words) spread(at int, shift uint, mark uint64, causal bool) {
	n := f.columns
	row := f.word[at : at+3]
	row[0] |= mark << 1
	row[2] |= mark >> 1
	switch {
	case shift == 0 && !causal:
		above := f.word[at-n : at-n+3]
		above[0] |= mark << 13
		above[1] |= mark << 12
		above[2] |= mark << 11
	case shift == 9:
		below := f.word[at+n : at+n+3]
		below[0] |= mark >> 11
		below[1] |= mark >> 12
		below[2] |= mark >> 13
	}
}

// marks returns the bits of a sample that became significant with the sign.
func marks(shift uint, sign uint64) uint64 {
	return (1<<own | sign<<(signs+own)) << shift
}
