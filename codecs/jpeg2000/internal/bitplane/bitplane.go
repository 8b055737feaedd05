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
package bitplane

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

// maxWords is the most words that a block takes with its border: 1024 columns of one
// stripe take 1026*3, 4 columns of 256 stripes 6*258.
const maxWords = 1026 * 3

// maxSamples are the samples of a block whose height is made a multiple of four.
const maxSamples = 4096

// words are the column words of a block.
type words struct {
	columns int // words to a row of words, the border included
	stripes int
	last    uint64 // perSample of the samples that the last stripe has
	word    [maxWords]uint64
}

// clear makes room for a block of w by h samples.
func (f *words) clear(w, h int) {
	f.columns, f.stripes = w+2, (h+3)/4
	f.last = perSample >> (3 * uint(f.stripes*4-h))
	clear(f.word[:f.columns*(f.stripes+2)])
}

// stripe returns the words of stripe s without the border.
func (f *words) stripe(s int) []uint64 {
	at := (s+1)*f.columns + 1
	return f.word[at : at+f.columns-2]
}

// valid is perSample of the samples that stripe s has.
func (f *words) valid(s int) uint64 {
	if s == f.stripes-1 {
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

// spread tells the words around that the sample of column x that lies shift bits up
// in its word has become significant. mark is what the word itself got.
func (f *words) spread(s, x int, shift uint, mark uint64, causal bool) {
	n := f.columns
	at := (s+1)*n + x // the word of the column to the left
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
