package pcwt

import (
	_ "embed"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/gpu"
)

//go:embed ptx/kernels.ptx
var kernels75 string

var module = gpu.Module{Name: "pcwt", Variants: []string{kernels75}}

// extent is what the grids of an item follow from. A kernel looks at what it needs.
type extent struct {
	pixels   int
	tiles    int // of a level
	elements int // of a band
	regions  int // of a level of a plane
	bodies   int // tiles of it
	side     int // of such a tile
	group    int // threads of a group that works on such a tile
	fast     bool
	groups   int // of all bands of a batch
}

// Sizes of blocks of threads, and of the tiles of samples that one transforms.
const (
	tileWidth     = 64
	tileHeight    = 32
	tileThreads   = 256
	groupThreads  = 256
	readerThreads = 64
	coderThreads  = 64
	regionWidth   = 64
	regionHeight  = 16
	regionThreads = 256

	decoderThreads = 256
	loaderThreads  = 128
)

// kernels is all kernels. Those of groups have one item for the whole batch.
var kernels = gpu.Table[extent]{Module: &module, Kernels: map[string]gpu.Entry[extent]{
	"pcwt_planes":  {Params: listParams{}, Threads: ofPixels},
	"pcwt_samples": {Params: listParams{}, Threads: ofPixels},
	"pcwt_copy":    {Params: listParams{}, Threads: ofPixels},

	"pcwt_split": {Params: listParams{}, Block: tileThreads, Threads: ofTiles},
	"pcwt_join":  {Params: listParams{}, Block: tileThreads, Threads: ofTiles},

	"pcwt_quantise":     {Params: listParams{}, Threads: func(e *extent) int { return e.elements }},
	"pcwt_group_bits":   {Params: groupBitsParams{}, Block: groupThreads, Threads: func(e *extent) int { return e.groups * groupThreads }},
	"pcwt_group_places": {Params: listParams{}, Block: groupThreads, Threads: func(*extent) int { return groupThreads }},
	"pcwt_group_pack":   {Params: groupPackParams{}, Block: groupThreads, Threads: func(e *extent) int { return e.groups * groupThreads }},
	"pcwt_group_read":   {Params: groupReadParams{}, Block: readerThreads, Threads: func(e *extent) int { return e.groups }},

	"pcwt_lift":  {Params: listParams{}, Threads: ofPixels},
	"pcwt_round": {Params: listParams{}, Threads: ofPixels},

	"pcwt_predict":      {Params: listParams{}, Block: regionThreads, Threads: ofRegions},
	"pcwt_scale":        {Params: listParams{}, Block: regionThreads, Threads: ofRegions},
	"pcwt_encode_tiles": {Params: listParams{}, Block: coderThreads, Threads: ofBodies},
	"pcwt_pack_tiles":   {Params: tileParams{}, Block: coderThreads, Threads: func(e *extent) int { return e.bodies * coderThreads }},
	"pcwt_know":         {Params: listParams{}, Block: regionThreads, Threads: ofRegions},
	"pcwt_know_lh":      {Params: listParams{}, Block: regionThreads, Threads: ofRegions},
	"pcwt_know_hh":      {Params: listParams{}, Block: regionThreads, Threads: ofRegions},
	"pcwt_decode_hl":    {Params: tileParams{}, Grid: decoderGrid},
	"pcwt_decode_lh":    {Params: tileParams{}, Grid: decoderGrid},
	"pcwt_decode_hh":    {Params: tileParams{}, Grid: decoderGrid},
}}

// decoderGrid gives every tile a group of threads, and every block its tables and for each of its groups words and three rows,
// with as many threads as these fit for, but no more than it takes to give all multiprocessors some: threads of one wait for
// each other's loads. The blocks of an item are of about the same size, because threads without a tile take the place of others; a
// lone block has more of them, which help to load the tables.
func decoderGrid(card *gpu.Info, items []extent) gpu.Grid {
	const margins = 8
	threads, all := 1, 0          // of the tiles of an item at most, of all items
	warp, tables := 0, fastTables // bytes of 32 threads and of a block
	for i := range items {
		e := &items[i]
		threads = max(threads, e.bodies*e.group)
		all += e.bodies * e.group
		warp = max(warp, 32/e.group*4*(4*e.group+3*(e.side+margins)))
		if !e.fast {
			tables = sharedTables
		}
	}
	warps := (threads + 31) / 32
	most := max(1, min(decoderThreads/32, (card.SharedMemory-tables)/warp, (all+32*multiprocessors-1)/(32*multiprocessors)))
	blocks := (warps + most - 1) / most
	block := (warps + blocks - 1) / blocks
	threads = 32 * block
	if blocks == 1 {
		threads = max(threads, loaderThreads)
	}
	return gpu.Grid{
		Blocks:  [3]int{blocks, len(items)},
		Threads: [3]int{threads},
		Shared:  tables + block*warp,
	}
}

// groupLog is log2 of the threads that work on a tile: at least the states of its stream. A launch with few tiles takes as
// long as one of them, which many threads make short; one with many takes as long as there are instructions, which are fewer
// if every thread has a state to go on with. warps is how many of each multiprocessor a launch may have.
func groupLog(laneLog, tiles, warps int) int {
	switch {
	case tiles <= multiprocessors*warps:
		return 5
	case tiles <= 2*multiprocessors*warps:
		return max(4, laneLog)
	}
	return max(3, laneLog)
}

// Warps of a multiprocessor, of a launch that encodes or decodes tiles, and the multiprocessors of an H100 or H200.
const (
	encoderWarps    = 16
	decoderWarps    = 18
	multiprocessors = 132
)

// Numbers of 32 bits that a tile keeps between its bands: its states and its place in the stream.
const (
	mostLanes   = 32
	recordWords = mostLanes + 1
)

// mostSmall is the magnitude up to which values of a picture leave no sum of profile 1 outside of 16 bits.
const mostSmall = 2047

func ofBodies(e *extent) int { return e.bodies * e.group }

func ofPixels(e *extent) int  { return e.pixels }
func ofTiles(e *extent) int   { return e.tiles * tileThreads }
func ofRegions(e *extent) int { return e.regions * regionThreads }

// regions of the positions of a level.
func regions(width, height int) int {
	return (width + regionWidth - 1) / regionWidth * ((height + regionHeight - 1) / regionHeight)
}

// tiles of a level with the given number of samples.
func tiles(width, height int) int {
	return (width + tileWidth - 1) / tileWidth * ((height + tileHeight - 1) / tileHeight)
}

// Kinds of damage that a kernel finds in a file.
const (
	errorGroup = 1 // a group does not end where its elements do
	errorTile  = 2 // a tile's stream does not end as it must
	errorRange = 3 // a sample is not in its range
)

// Filters of a level.
const (
	filter53  = 0
	filter137 = 1
	filter2   = 2
)

type listParams struct{ List gpu.Ptr }

type tileParams struct{ List, Bytes gpu.Ptr }

type groupBitsParams struct{ Bands, Groups, Bits gpu.Ptr }

type groupPackParams struct {
	Bytes                              gpu.Ptr
	Size                               uint64
	Bands, Groups, Bits, Places, Bases gpu.Ptr
}

type groupReadParams struct {
	Bands, Groups gpu.Ptr
	N             uint64
	Bytes         gpu.Ptr
	Size          uint64
	Errors        gpu.Ptr
}

// devicePicture is a picture's samples and its planes.
type devicePicture struct {
	Samples  gpu.Ptr `cuda:"uint8_t"` // pixel after pixel, of one or two bytes
	Planes   gpu.Ptr `cuda:"int32_t"` // channels x height x width
	Width    uint32
	Height   uint32
	Channels uint32
	Bits     uint32
	IsSigned uint32
	Colour   uint32  // 1: the first three channels go through the colour transform
	Near     uint32  // the bound of near-lossless coding
	Middle   int32   // of indices
	Error    gpu.Ptr `cuda:"uint32_t"` // told of samples out of their range; null where they are limited without an error
}

// deviceCopy is numbers to copy.
type deviceCopy struct {
	To    gpu.Ptr `cuda:"int32_t"`
	From  gpu.Ptr `cuda:"const int32_t"`
	Count uint64
}

// deviceLift is a step of lifting along the slices.
type deviceLift struct {
	To     gpu.Ptr `cuda:"int32_t"`
	Before gpu.Ptr `cuda:"const int32_t"` // the slices beside it
	After  gpu.Ptr `cuda:"const int32_t"`
	Count  uint64
	OfLow  uint32 // 1: an even slice, 0: an odd one
	Sign   int32  // 1: forward, -1: inverse
}

// deviceLevel is a level of the transform of a plane.
type deviceLevel struct {
	Samples        gpu.Ptr `cuda:"int32_t"` // height rows of width
	Ll             gpu.Ptr `cuda:"int32_t"`
	Hl             gpu.Ptr `cuda:"int32_t"`
	Lh             gpu.Ptr `cuda:"int32_t"`
	Hh             gpu.Ptr `cuda:"int32_t"`
	Width          uint32
	Height         uint32
	ExtendedWidth  uint32 // with a repetition of the last column, or width
	ExtendedHeight uint32
	LowStride      uint32 // of ll
	Stride         uint32 // of lh
	HighStride     uint32 // of hl and hh
	Filter         uint32
	Wide           gpu.Ptr `cuda:"uint32_t"` // set to 1 where a value is so large that sums of profile 1 have to be limited; may be null
}

// deviceBand is a band of a wavelet tree.
type deviceBand struct {
	Coefficients gpu.Ptr `cuda:"int32_t"` // 2 x rows of 2 x columns
	Mqd          gpu.Ptr `cuda:"int8_t"`  // rows of columns
	Parent       gpu.Ptr `cuda:"int8_t"`  // MQDs one level up; null at the top
	Child        gpu.Ptr `cuda:"int8_t"`  // MQDs one level down; null where there is none
	Qmax         gpu.Ptr `cuda:"int32_t"`
	Width        uint32  // coefficients that the transform gives; those beyond are zero
	Height       uint32
	Stride       uint32
	Columns      uint32 // elements
	Rows         uint32
	ChildColumns uint32
	ChildRows    uint32
	GroupColumns uint32 // elements
	GroupRows    uint32
	Across       uint32 // groups in a row
	ZeroSigns    uint32
	Unused       uint32
}

// deviceGroup is a group of a batch.
type deviceGroup struct {
	Band    uint32
	Number  uint32 // in the band
	Picture uint32
	Unused  uint32
}

// deviceCodedGroup is a group of a batch of files.
type deviceCodedGroup struct {
	At      uint64 // its first byte
	Bits    uint32
	Band    uint32
	Number  uint32 // in the band
	Picture uint32
}

// deviceTree is the groups of a picture.
type deviceTree struct {
	Size   gpu.Ptr `cuda:"uint64_t"`       // bytes of all groups
	Places gpu.Ptr `cuda:"uint64_t"`       // of each group, bytes from the first on
	Bits   gpu.Ptr `cuda:"const uint32_t"` // of each group
	Groups uint64
}

// Sizes of what profile 1 has in tables on a device. Fast sets take the tables of one fraction only.
const (
	logBucketSlots = 7
	startStride    = constants.Tokens + 4 // a row of starts
	bucketCount    = constants.TableCount << (constants.Bits - logBucketSlots)
	fastBuckets    = constants.Contexts << (constants.Bits - logBucketSlots)
	scaleZero      = 255

	// Bytes of shared memory that a block of decoders has for weights, starts and firsts.
	scaleWeights   = 4 * constants.Directions * 8 * 4
	predictWeights = 6 * constants.Textures * 12
	sharedTables   = (scaleWeights+predictWeights+15)/16*16 + constants.TableCount*startStride*2 + bucketCount
	fastTables     = scaleWeights + constants.Contexts*startStride*2 + fastBuckets
)

// deviceSet is a set of constants.
type deviceSet struct {
	Predict    [constants.PredictKeys * constants.Slots]int16
	Scale      [constants.ScaleKeys * constants.Slots]int16
	Starts     [constants.TableCount * startStride]uint16 // of a table, where each token begins, and 1 << 14 behind the last
	Firsts     [bucketCount]uint8                         // of a table, the token of the first slot of each bucket
	Bias       [constants.ScaleKeys]int32
	Thresholds [2]int16
	Unused     uint32
	Ranges     [constants.TableCount * constants.Tokens]uint32 // of a table, where each token begins, and its frequency << 16
}

// deviceModelBand is a band of a level of profile 1, and what its coefficients are coded from. Arrays have height rows of
// width; those of parents likewise.
type deviceModelBand struct {
	C            gpu.Ptr `cuda:"int32_t"`
	E            gpu.Ptr `cuda:"int16_t"` // residuals, saturated
	Residuals    gpu.Ptr `cuda:"int32_t"` // encoding: with the sign that they are coded with; decoding: sums of predictions
	Scales       gpu.Ptr `cuda:"int32_t"` // decoding: sums of scales
	Kinds        gpu.Ptr `cuda:"uint8_t"` // encoding: direction + 8 * fraction; decoding: texture + 128 * whether a feature is not 0
	Steps        gpu.Ptr `cuda:"uint8_t"` // encoding: steps of the scale
	ParentC      gpu.Ptr `cuda:"const int32_t"`
	ParentE      gpu.Ptr `cuda:"const int16_t"`
	BeforeC      gpu.Ptr `cuda:"const int32_t"`
	BeforeE      gpu.Ptr `cuda:"const int16_t"`
	SecondC      gpu.Ptr `cuda:"const int32_t"`
	SecondE      gpu.Ptr `cuda:"const int16_t"`
	Width        uint32
	Height       uint32
	ParentWidth  uint32
	ParentHeight uint32
}

// deviceModel is a level of a plane of profile 1.
type deviceModel struct {
	Low        gpu.Ptr         `cuda:"const int32_t"`
	Set        gpu.Ptr         `cuda:"const Set"`
	Hl         deviceModelBand `cuda:"ModelBand"`
	Lh         deviceModelBand `cuda:"ModelBand"`
	Hh         deviceModelBand `cuda:"ModelBand"`
	Words      gpu.Ptr         `cuda:"uint16_t"` // room words of each tile
	Lengths    gpu.Ptr         `cuda:"uint32_t"` // of each tile, as in the file
	RawBits    gpu.Ptr         `cuda:"uint8_t"`  // of each tile, what an index takes
	Places     gpu.Ptr         `cuda:"uint64_t"` // of each tile, where its body is
	States     gpu.Ptr         `cuda:"uint32_t"` // decoding: a record of each tile, states and then the place in the stream
	Error      gpu.Ptr         `cuda:"uint32_t"` // of the picture
	Wide       gpu.Ptr         `cuda:"uint32_t"` // of the picture: 1 where sums have to be limited
	Width      uint32          // of the low band
	Height     uint32
	Side       uint32 // of a tile
	LogSide    uint32
	LogLanes   uint32
	LevelClass uint32
	Variant    uint32 // number of earlier planes that are looked at
	Fast       uint32
	Qmin       uint32
	Across     uint32 // tiles in a row
	Tiles      uint32
	Room       uint32
	Offsets    [4]int8 // of HL, LH and HH
	LogGroup   uint32  // threads that work on a tile
}

// Modules are all kernels, see [codec.DeviceCodec].
func (Codec) Modules() []*gpu.Module { return []*gpu.Module{&module} }
