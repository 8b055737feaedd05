package search

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
)

// PredictorSearch is an image on a device and what has been chosen for it so far. The methods
// that choose are passes: every tile takes what costs it least by prices that are the
// same for all, the device applies the choice to the image, and the caller makes the
// next prices from the counts. A pass does not depend on the order of tiles, which is
// why it gives the same on every device.
//
// Tables hold as many prices for each group, in turn, as symbols says. Where a device
// fails, the methods return anything of the right size, and result the error.
type PredictorSearch interface {
	Size() (w, h int)

	// Symbols is how many a group has.
	Symbols() int

	// SetModes gives all tiles of 1<<bits the same mode.
	SetModes(bits int, mode uint8)

	// ChooseModes chooses the modes of tiles of 1<<bits by own, what each of them costs,
	// and tables, through the multipliers there are: see the function predict. It
	// returns how many tiles took each mode.
	ChooseModes(bits, skip int, own *[transform.ModeCount]uint32, tables []uint16) (counts [transform.ModeCount]uint32)

	// ChooseMultipliers chooses the multipliers of tiles of 1<<bits: see the function colours.
	// It starts from those there are, if of the same size. It returns how many
	// tiles took each value of red-to-blue, green-to-blue and green-to-red.
	ChooseMultipliers(bits, skip int, steps []int, own *transform.MultiplierCosts, tables []uint16) (counts [3][256]uint32)

	// TileCosts returns the price of each tile of 1<<bits by one table.
	TileCosts(bits int, table []uint16) []uint32

	// SetEntropyImage sets the group of each tile. The canvas owns g.of from then on.
	SetEntropyImage(g format.EntropyImage)

	// AssignGroups moves tiles to other groups: see the function assign. It returns how
	// many tiles each group has, and the sum of their regrets.
	AssignGroups(own []uint32, near int, tables []uint16) (counts []uint32, regrets []uint64)

	// Histograms counts the symbols of each group.
	Histograms() []uint32

	Result() (*Choices, error)

	// Transformed returns the image that the choices leave.
	Transformed() format.Pixels
}

// Steps makes canvases and copiers.
type Steps interface {
	// PredictorSearch takes an image as it was loaded, and subtracts green (RFC 9649, 3.5.3). p is
	// not changed.
	PredictorSearch(p format.Pixels) (PredictorSearch, error)

	// ReferenceSearch takes over an image after its transforms: what v, one of the device's
	// canvases, has coded, if v is not nil.
	ReferenceSearch(p format.Pixels, v PredictorSearch) (backref.ReferenceSearch, error)
}

// Choices is what was chosen for an image, and the image it leaves.
type Choices struct {
	ModeBits    int
	Modes       []uint8                // of tiles of 1<<ModeBits
	Multipliers *transform.Multipliers // nil: no colour transform
	Entropy     format.EntropyImage
	Pixels      format.Pixels
	Packer      bitstream.Packer // see stream
}
