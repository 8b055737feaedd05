package webp

// predictorSearch is an image on a device and what has been chosen for it so far. The methods
// that choose are passes: every tile takes what costs it least by prices that are the
// same for all, the device applies the choice to the image, and the caller makes the
// next prices from the counts. A pass does not depend on the order of tiles, which is
// why it gives the same on every device.
//
// Tables hold as many prices for each group, in turn, as symbols says. Where a device
// fails, the methods return anything of the right size, and result the error.
type predictorSearch interface {
	size() (w, h int)

	// symbols is how many a group has.
	symbols() int

	// setModes gives all tiles of 1<<bits the same mode.
	setModes(bits int, mode uint8)

	// chooseModes chooses the modes of tiles of 1<<bits by own, what each of them costs,
	// and tables, through the multipliers there are: see the function predict. It
	// returns how many tiles took each mode.
	chooseModes(bits, skip int, own *[modeCount]uint32, tables []uint16) (counts [modeCount]uint32)

	// chooseMultipliers chooses the multipliers of tiles of 1<<bits: see the function colours.
	// It starts from those there are, if of the same size. It returns how many
	// tiles took each value of red-to-blue, green-to-blue and green-to-red.
	chooseMultipliers(bits, skip int, steps []int, own *multiplierCosts, tables []uint16) (counts [3][256]uint32)

	// tileCosts returns the price of each tile of 1<<bits by one table.
	tileCosts(bits int, table []uint16) []uint32

	// setEntropyImage sets the group of each tile. The canvas owns g.of from then on.
	setEntropyImage(g entropyImage)

	// assignGroups moves tiles to other groups: see the function assign. It returns how
	// many tiles each group has, and the sum of their regrets.
	assignGroups(own []uint32, near int, tables []uint16) (counts []uint32, regrets []uint64)

	// histograms counts the symbols of each group.
	histograms() []uint32

	result() (*choices, error)

	// transformed returns the image that the choices leave.
	transformed() pixels
}

// steps makes canvases and copiers.
type steps interface {
	// predictorSearch takes an image as it was loaded, and subtracts green (RFC 9649, 4.3). p is
	// not changed.
	predictorSearch(p pixels) (predictorSearch, error)

	// referenceSearch takes over an image after its transforms: what v, one of the device's
	// canvases, has coded, if v is not nil.
	referenceSearch(p pixels, v predictorSearch) (referenceSearch, error)
}

// choices is what was chosen for an image, and the image it leaves.
type choices struct {
	modeBits    int
	modes       []uint8      // of tiles of 1<<modeBits
	multipliers *multipliers // nil: no colour transform
	entropy     entropyImage
	pixels      pixels
	packer      packer // see stream
}
