// Package constants holds the weights and tables that profile 1 of PCWT codes planes
// with: the sets of the format, and the sets that files bring along. README.md of package
// pcwt says what they mean and how they are written.
package constants

// Slots is the number of taps of a prediction and of features of a scale: a vector
// register of 16-bit numbers.
const Slots = 16

// Subbands of a level, in the order in which they are coded.
const (
	HL = iota // high horizontally
	LH        // high vertically
	HH
	Bands
)

// Classes of textures.
const (
	Directions = 5
	Diagonals  = 3
	Activities = 3
	Textures   = Directions * Diagonals * Activities
)

// Keys of weights.
const (
	LevelClasses = 3 // levels 1, 2, and all above
	PredictKeys  = LevelClasses * Bands * 3 * 2 * Textures
	ScaleKeys    = LevelClasses * Bands * 2 * 2 * Directions
)

// Tables of frequencies.
const (
	Contexts    = 44 // steps of the scale
	Fractions   = 4  // classes of how far a prediction lies from an integer
	Tokens      = 88
	Escape      = Tokens - 1
	Bits        = 14 // the frequencies of a table add up to 1 << Bits
	TableCount  = Fractions * Contexts
	MaxWeights  = 61440   // the absolute weights of a key add up to at most that
	MaxBias     = 1 << 24 // and a bias is at most that
	weightScale = 4096
)

// Weights are those of one key, in 1/4096.
type Weights = [Slots]int16

// Table are the frequencies of the tokens of one context.
type Table = [Tokens]uint16

// Set is what a plane is coded with.
type Set struct {
	Thresholds [Activities - 1]int16
	Predict    *[PredictKeys]Weights // nil in fast sets
	Scale      [ScaleKeys]Weights
	Bias       [ScaleKeys]int32  // in 1/4096
	Tables     [TableCount]Table // by fraction, then context
}

// LevelClass is the class of a level, counted from 1.
func LevelClass(level int) int { return min(level, LevelClasses) - 1 }

// PredictKey is the index of the weights of the prediction without the texture, which
// is added to it.
func PredictKey(levelClass, band, y, x int) int {
	row := 0
	if y > 0 {
		row = 1 + y&1
	}
	return (((levelClass*Bands+band)*3+row)*2 + x&1) * Textures
}

// ScaleKey is the index of the weights of the scale without the direction, which is added to it.
func ScaleKey(levelClass, band, y, x int) int {
	return (((levelClass*Bands+band)*2+min(y, 1))*2 + x&1) * Directions
}
