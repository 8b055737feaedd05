package webp

// pixels is an image between the transforms: w x h values 0xAARRGGBB in raster order.
type pixels struct {
	w, h int
	argb []uint32
}

// transform is one entry of a stream's list, in the order in which the encoder applies
// them (RFC 9649, 4).
type transform struct {
	kind int
	bits int // log2 of a tile's side, 2 to 9, of the predictor and the colour transform

	// data is a predictor's modes in green; a colour transform's multipliers,
	// red-to-blue in red, green-to-blue in green and green-to-red in blue; or a palette
	// as one row, before it is coded by differences.
	data pixels
}

// Kinds of transforms (RFC 9649, 4).
const (
	predictorTransform = iota
	colourTransform
	subtractGreen
	colourIndexing
)

// parse says of every pixel how it is coded. A nil length means all as literals.
type parse struct {
	cacheBits int      // of the colour cache, 0 to 11; 0: none
	length    []uint16 // 0 literal, 2 to 4095 copy from here on, covered, cached
	value     []uint32 // of a copy its distance code (RFC 9649, 5.2.2), of cached its index
}

const (
	covered = 0xffff // inside a copy
	cached  = 0xfffe // in the colour cache
)

// groups says which group of prefix codes each tile uses. With bits 0 there is one group.
type groups struct {
	bits, n int
	of      []uint16
}

// The symbols of a group lie in one slice: alpha, red, blue, distance, then green with
// 256 literals, 24 lengths and the indices of the colour cache.
const (
	alphaAt    = 0
	redAt      = 256
	blueAt     = 512
	distanceAt = 768
	greenAt    = 808
	lengthAt   = greenAt + 256
	cacheAt    = lengthAt + 24
)

// signature is the first byte of a VP8L bitstream (RFC 9649, 3.4).
const signature = 0x2f

// stream is everything that is turned into bits.
type stream struct {
	width, height int
	alpha         bool
	transforms    []transform
	pixels        pixels // after all transforms; narrower than width where pixels are bundled
	packer        packer // nil, or a device that has the pixels and how they are coded
	parse         parse
	groups        groups
	quick         bool   // the images that describe the main one are parsed once, greedily
	written       []byte // nil: not written yet
}

// packer is a device that has the pixels of a stream. Where it fails, its methods return
// anything of the right size, and failed the error.
type packer interface {
	// counts returns the histograms of the groups.
	counts() [][]uint32

	// pack returns the symbols of all pixels by the codes of the groups, size bits in
	// all, behind first bits of 0.
	pack(codes [][]code, first, size int) []byte

	failed() error

	// release gives back what it has on a device. It is not used any more.
	release()
}

// release lets go of what the stream has on a device; it cannot be written any more.
func (s *stream) release() {
	if s.packer != nil {
		s.packer.release()
	}
}
