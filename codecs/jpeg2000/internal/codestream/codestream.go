// Package codestream holds the parameters of a JPEG 2000 codestream (ISO/IEC 15444-1
// Annex A, 15444-15 Annex A), their marker segments, and the geometry that follows from
// them (Annex B): tiles, tile-components, resolutions, subbands, precincts and
// code-blocks. Decoder and encoder share it. Coefficients and packets are not of this
// package.
//
// # Code-blocks
//
// [Block] is what a block decoder gets of a code-block. The block decoders (package
// bitplane for Part 1, package ht for Part 15) have one signature:
//
//	func Decode(dst []int32, stride int, b *codestream.Block) error
//
// dst receives b.Width x b.Height coefficients, rows stride apart, all of them, those
// of no significance as 0. A coefficient is a number in two's complement with one
// fractional bit: twice the middle of the interval in which the decoded bit-planes
// leave its quantizer index (reconstruction with r = 1/2, E.1.1.2). A coefficient of
// magnitude m whose bit-planes are all decoded is therefore 2m+1, and one of which p
// bit-planes are missing 2m + 2^p, with the sign in front. Integer division by two,
// towards zero, gives the index of a reversible path back.
//
//	bit-plane   ... 3 2 1 0 half
//	bit of dst  ... 4 3 2 1 0
//
// A decoder keeps nothing of b, changes none of its bytes and reads none behind the
// end of a slice. Its errors are those of package codec; segments that end too early
// are no error by themselves, as encoders may cut them (D.4.1).
package codestream

// BlockStyle are the flags of the code-block style (Table A.19; 15444-15 Table A.4).
type BlockStyle byte

// The flags of [BlockStyle].
const (
	Bypass      BlockStyle = 1 << iota // selective arithmetic coding bypass
	Reset                              // context probabilities start anew with each coding pass
	Terminate                          // each coding pass ends a codeword segment
	Causal                             // vertically causal contexts
	Predictable                        // predictable termination
	SegmentMark                        // segmentation symbols
	HT                                 // High Throughput (Part 15)
	Mixed                              // HT and Part 1 code-blocks side by side; only together with HT
)

// Orientation is the kind of a subband: which axes were filtered with the high-pass.
type Orientation byte

// The orientations, in the order of their subbands in a packet. Bit 0 says that the
// subband is horizontally high-pass, bit 1 that it is vertically high-pass.
const (
	LL Orientation = iota
	HL
	LH
	HH
)

func (o Orientation) String() string { return [...]string{"LL", "HL", "LH", "HH"}[o] }

// Gain is log2 of the gain of the subband (Table E.1).
func (o Orientation) Gain() int { return int(o&1 + o>>1) }

// MaxPlanes is the most bit-planes of a code-block that block decoders take: more than
// the samples of 16 bits with 7 guard bits need.
const MaxPlanes = 30

// Block is a code-block with its coded bytes.
type Block struct {
	Width, Height int // at most 1024 each, at most 4096 samples
	Orientation   Orientation
	Style         BlockStyle

	// Planes are the magnitude bit-planes of the subband: Mb of equation E-2, and with a
	// region of interest the shift on top (H.1). Not above MaxPlanes + ZeroPlanes.
	Planes int

	// ZeroPlanes are the most significant of Planes that hold nothing and are not coded
	// (B.10.5). For an HT block it counts also the planes of placeholder passes and of the
	// HT sets before the one in Segments, so that its cleanup pass is at the bit-plane
	// Planes - 1 - ZeroPlanes (15444-15: S_blk).
	ZeroPlanes int

	// Segments are the codeword segments in their order. An HT block has one, the cleanup
	// pass, or two, with one (SigProp) or two (SigProp and MagRef) passes in the second: of
	// several HT sets only the last. No segment: all coefficients are 0.
	Segments []Segment
}

// Segment is a codeword segment: coding passes that end together (D.4).
type Segment struct {
	Data   []byte
	Passes int // at least 1
}

// Passes is the number of coding passes of all segments.
func (b *Block) Passes() int {
	n := 0
	for _, s := range b.Segments {
		n += s.Passes
	}
	return n
}
