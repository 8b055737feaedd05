package format

// Transform is one entry of a stream's list, in the order in which the encoder applies
// them (RFC 9649, 4).
type Transform struct {
	Kind int
	Bits int // log2 of a tile's side, 2 to 9, of the predictor and the colour transform

	// Data is a predictor's modes in green; a colour transform's multipliers,
	// red-to-blue in red, green-to-blue in green and green-to-red in blue; or a palette
	// as one row, before it is coded by differences.
	Data Pixels
}

// Kinds of transforms (RFC 9649, 4).
const (
	PredictorTransform = iota
	ColourTransform
	SubtractGreen
	ColourIndexing
)

// Signature is the first byte of a VP8L bitstream (RFC 9649, 3.4).
const Signature = 0x2f
