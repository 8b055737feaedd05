// Package mq is the adaptive binary arithmetic coder of JPEG 2000 (ISO/IEC 15444-1
// Annex C), in both directions, and the raw bits that take its place in the selective
// arithmetic coding bypass (D.6).
//
// The decoder is cut for loops that keep its register in a local variable, see
// [Decoder]. The encoder codes whole runs of decisions at a time, see [Encoder].
package mq

// The contexts of the block coder (Table D.1 to D.4 and D.7).
const (
	ZeroCoding = 0  // 9 contexts
	SignCoding = 9  // 5 contexts
	Refinement = 14 // 3 contexts
	RunLength  = 17
	Uniform    = 18
)

// State is what a context has learnt, in one word.
//
//	bit    63 62 .. 47 46 .. 8 7 .. 1  0
//	field   0  Qe       0      row    MPS
//
// Qe is the estimated probability of the less probable symbol and row that of Table C.2.
type State uint64

// qeShift is the place of Qe in a State and of the registers of the decoder that it is
// compared with.
const qeShift = 47

// Qe is the probability at its place in the word: what Decode takes off its register.
func (s State) Qe() int64 { return int64(s &^ 0xFF) }

// MPS is the more probable symbol, 0 or 1.
func (s State) MPS() uint64 { return uint64(s & 1) }

// Contexts are the states of all contexts. The length is a power of two, so that
// contexts & 31 needs no check.
type Contexts [32]State

// Reset sets the contexts to what they are at the start of a code-block (Table D.7).
func (c *Contexts) Reset() { *c = start }

var start = func() (c Contexts) {
	for i := range c {
		c[i] = state(0, 0)
	}
	c[ZeroCoding] = state(4, 0)
	c[RunLength] = state(3, 0)
	c[Uniform] = state(46, 0)
	return c
}()

// row is one of Table C.2.
type row struct {
	qe         uint16
	nmps, nlps byte
	exchange   byte // SWITCH
}

// rows is Table C.2. Row 0: Qe is 0x5601; after an MPS that renormalizes go to row 1,
// after an LPS to row 1 with the other symbol as the more probable one.
var rows = [47]row{
	{0x5601, 1, 1, 1}, {0x3401, 2, 6, 0}, {0x1801, 3, 9, 0}, {0x0AC1, 4, 12, 0},
	{0x0521, 5, 29, 0}, {0x0221, 38, 33, 0}, {0x5601, 7, 6, 1}, {0x5401, 8, 14, 0},
	{0x4801, 9, 14, 0}, {0x3801, 10, 14, 0}, {0x3001, 11, 17, 0}, {0x2401, 12, 18, 0},
	{0x1C01, 13, 20, 0}, {0x1601, 29, 21, 0}, {0x5601, 15, 14, 1}, {0x5401, 16, 14, 0},
	{0x5101, 17, 15, 0}, {0x4801, 18, 16, 0}, {0x3801, 19, 17, 0}, {0x3401, 20, 18, 0},
	{0x3001, 21, 19, 0}, {0x2801, 22, 19, 0}, {0x2401, 23, 20, 0}, {0x2201, 24, 21, 0},
	{0x1C01, 25, 22, 0}, {0x1801, 26, 23, 0}, {0x1601, 27, 24, 0}, {0x1401, 28, 25, 0},
	{0x1201, 29, 26, 0}, {0x1101, 30, 27, 0}, {0x0AC1, 31, 28, 0}, {0x09C1, 32, 29, 0},
	{0x08A1, 33, 30, 0}, {0x0521, 34, 31, 0}, {0x0441, 35, 32, 0}, {0x02A1, 36, 33, 0},
	{0x0221, 37, 34, 0}, {0x0141, 38, 35, 0}, {0x0111, 39, 36, 0}, {0x0085, 40, 37, 0},
	{0x0049, 41, 38, 0}, {0x0025, 42, 39, 0}, {0x0015, 43, 40, 0}, {0x0009, 44, 41, 0},
	{0x0005, 45, 42, 0}, {0x0001, 45, 43, 0}, {0x5601, 46, 46, 0},
}

func state(row int, mps byte) State {
	return State(rows[row].qe)<<qeShift | State(row)<<1 | State(mps)
}

// next holds what follows on a state: entry 2s is for the MPS and 2s+1 for the LPS,
// where s are the low eight bits of the state. Entries from 188 on are never read; they
// spare a check.
var next = func() (t [512]State) {
	for i, r := range rows {
		for mps := range byte(2) {
			s := i<<1 | int(mps)
			t[2*s] = state(int(r.nmps), mps)
			t[2*s+1] = state(int(r.nlps), mps^r.exchange)
		}
	}
	return t
}()
