package search

import (
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
)

// PredictorSearch is the state of the search for modes, multipliers and the entropy image of
// one image: what has been chosen so far, and the residuals that it leaves. Its methods that
// choose are passes: each tile takes what costs it least by costs that are the same for all
// tiles, the choice is applied to the image, and the caller makes the next costs from the
// counts. A pass does not depend on the order of tiles, and so gives the same on every device.
//
// Costs are in 1/256 bit. A cost table has Symbols costs for each group in turn. Where a
// device fails, the methods return anything of the right size, and Result the error.
type PredictorSearch interface {
	Size() (w, h int)

	// Symbols is how many a group has.
	Symbols() int

	// SetModes gives all tiles of 1<<bits the same mode.
	SetModes(bits int, mode uint8)

	// ChooseModes chooses the modes of tiles of 1<<bits: see [transform.ChooseModes].
	// own is what each mode costs. It returns how many tiles took each mode.
	ChooseModes(bits, skip int, own *[transform.ModeCount]uint32, tables []uint16) (counts [transform.ModeCount]uint32)

	// ChooseMultipliers chooses the multipliers of tiles of 1<<bits: see
	// [transform.ChooseMultipliers]. It starts from the present ones where their tiles have
	// that size, and else from 0. It returns how many tiles took each value of red-to-blue,
	// green-to-blue and green-to-red.
	ChooseMultipliers(bits, skip int, steps []int, own *transform.MultiplierCosts, tables []uint16) (counts [3][256]uint32)

	// TileCosts returns the cost of each tile of 1<<bits by one table.
	TileCosts(bits int, table []uint16) []uint32

	// SetEntropyImage sets the group of each tile. The search owns g.Group from then on.
	SetEntropyImage(g format.EntropyImage)

	// AssignGroups moves tiles to other groups: see [entropy.AssignGroups]. It returns how
	// many tiles each group has, and the sum of their regrets.
	AssignGroups(own []uint32, near int, tables []uint16) (counts []uint32, regrets []uint64)

	// Histograms counts the symbols of each group. What it returns stays as it is until two more passes are made.
	Histograms() []uint32

	// Result returns what was chosen.
	Result() (*Choices, error)

	// Transformed returns the residuals after all transforms.
	Transformed() format.Pixels
}

// Steps begins the searches of one image, in memory or on a device.
type Steps interface {
	// PredictorSearch begins with an image as it was loaded, which it does not change, and
	// subtracts green (RFC 9649, 3.5.3).
	PredictorSearch(p format.Pixels) (PredictorSearch, error)

	// ReferenceSearch begins with an image after its transforms. Where p is what the
	// predictor search of has left, of is not nil, and a device has the pixels already.
	ReferenceSearch(p format.Pixels, of PredictorSearch) (backref.ReferenceSearch, error)
}

// Choices is what a predictor search has chosen, and the residuals that are left.
type Choices struct {
	ModeBits    int
	Modes       []uint8                // of tiles of 1<<ModeBits
	Multipliers *transform.Multipliers // nil: no colour transform
	Entropy     format.EntropyImage
	Pixels      format.Pixels
	Packer      bitstream.Packer // see bitstream.Stream
}
