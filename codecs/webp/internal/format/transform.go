package format

// Transform is one of the transforms of a stream (RFC 9649, 3.5). A stream lists them in
// the order in which the encoder applies them.
type Transform struct {
	Kind int // PredictorTransform and so on
	Bits int // of the predictor and the colour transform: log2 of the side of a tile, 2 to 9

	// Data is, for the predictor, the mode of each tile in green; for the colour
	// transform the multipliers of each tile, red-to-blue in red, green-to-blue in green
	// and green-to-red in blue; and for colour indexing the palette as one row, before
	// it is coded by differences.
	Data Pixels
}

// Kinds of transforms (RFC 9649, 3.5).
const (
	PredictorTransform = iota
	ColourTransform
	SubtractGreen
	ColourIndexing
)

// Signature is the first byte of a VP8L bitstream (RFC 9649, 3.4).
const Signature = 0x2f
