package webp

import (
	_ "embed"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/container/webp/lossless"
)

//go:embed ptx/decode.ptx
var decoder75 string

// decoderKernels decode files on a device.
var decoderKernels = gpu.Table[codedImage]{
	Module: &gpu.Module{Name: "webp decoder", Variants: []string{decoder75}},
	Kernels: map[string]gpu.Entry[codedImage]{
		"webp_decode_symbols": {Params: codedParams{}, Block: warp, Threads: func(*codedImage) int { return warp }},
		"webp_undo_predictor": {Params: undoParams{}, Block: predictorRows, Threads: func(*codedImage) int { return predictorRows }},
		"webp_undo_others":    {Params: undoParams{}, Threads: (*codedImage).pixelCount},
		"webp_find_colour":    {Params: codedParams{}, Threads: (*codedImage).pixelCount},
		"webp_store":          {Params: codedParams{}, Threads: func(c *codedImage) int { return pieces(c.pixelCount(), storePixels) }},
	},
}

// sharedWords is the shared memory of a block of webp_decode_symbols, in words of 4 bytes: what every card has.
const sharedWords = 48 << 10 / 4

// predictorRows is how many rows of an image a block of webp_undo_predictor has at a time.
const predictorRows = 512

// storePixels is how many pixels a thread of webp_store takes: the samples of four fill whole words.
const storePixels = 4

// mostTransforms is how many transforms a bitstream has, each at most once.
const mostTransforms = 4

// codedImage is an image of a batch that a device decodes. See package lossless for what tables hold.
type codedImage struct {
	Words          gpu.Ptr `cuda:"const uint32_t"`  // of the bitstream, from the one on in which the pixels begin
	Tables         gpu.Ptr `cuda:"const uint16_t"`  // of all prefix codes, see codedEntries
	Groups         gpu.Ptr `cuda:"const Group"`     // of prefix codes
	Numbers        gpu.Ptr `cuda:"const uint32_t"`  // by tile: its group, as a pixel whose red and green are the high and the low byte; null: there is one group
	NearDistances  gpu.Ptr `cuda:"const uint32_t"`  // by distance code less 1, of those that stand for neighbours
	Transforms     gpu.Ptr `cuda:"const Transform"` // in the order of the bitstream
	Pixels         gpu.Ptr `cuda:"uint32_t"`        // height x coded width, then of the transforms up to the one that widens
	WidePixels     gpu.Ptr `cuda:"uint32_t"`        // height x width, from there on; null: none widens
	Samples        gpu.Ptr `cuda:"uint32_t"`        // height x width x channels bytes, and up to the next group of four pixels
	State          gpu.Ptr `cuda:"ImageState"`
	Bits           uint64  // from the first of words to the end of the bitstream
	WordCount      uint32
	FirstBit       uint32 // of the first word, where the pixels begin
	Width          uint32 // pixels
	Height         uint32 // pixels
	CodedWidth     uint32 // pixels, less than width where pixels of a palette share one
	GroupCount     uint32 // prefix code groups
	TileBits       uint32 // log2 of the side of a tile of numbers
	CacheBits      uint32 // of the colour cache; 0: there is none
	TransformCount uint32
	Widened        uint32 // 1 + which transform makes several pixels of one; 0: none
	Alpha          uint32 // 1: the samples have alpha
	EntryCount     uint32 // of tables
}

// imageState is what kernels find out about an image.
type imageState struct {
	Broken   uint32 // 1: the bitstream breaks a rule
	Coloured uint32 // 1: a pixel is not grey; also before, where a mark of the file says that grey pixels are colour
}

// codedGroup is the prefix codes of a group: for each where its first table begins, and which of the next bits it is
// looked up with.
type codedGroup struct {
	Green        uint32 // and lengths, and places of the cache
	GreenMask    uint32
	Red          uint32
	RedMask      uint32
	Blue         uint32
	BlueMask     uint32
	Alpha        uint32
	AlphaMask    uint32
	Distance     uint32
	DistanceMask uint32
	OnlyAlpha    uint32 // alpha << 24 where its code has one symbol
	End          uint32 // of the tables
}

// codedTransform is a transform that the device undoes.
type codedTransform struct {
	Pix   gpu.Ptr `cuda:"const uint32_t"` // pixels of the tiles, or 256 colours
	Kind  uint32
	Width uint32 // of the image that it was applied to
	Bits  uint32 // log2 of the side of a tile, or of how many pixels of a palette share one
	Rest  uint32
}

// The parameters of the kernels: the batch's images, and for kernels that run in several rounds which one it is.
type (
	codedParams struct {
		Images gpu.Ptr
	}
	undoParams struct {
		Images gpu.Ptr
		Round  uint32
	}
)

func (c *codedImage) pixelCount() int { return int(c.Width) * int(c.Height) }

// codedEntries is tables as the device looks them up, in entries of 16 bits: the length of a code in the lowest 4 and its symbol
// above; or in the first table of a code, where 8 bits do not suffice, 8 more than the bits that the second one is looked up
// with, and half the distance from the first table to the second. ok is false where that is too far.
func codedEntries(s *lossless.Stream) (entries []uint16, ok bool) {
	entries = make([]uint16, (len(s.Tables)+1)&^1)
	code := func(at, mask uint32) bool {
		for i := at; i <= at+mask; i++ {
			e := s.Tables[i]
			if e&lossless.Longer == 0 {
				entries[i] = uint16(e>>lossless.SymbolAt<<4 | e&(1<<lossless.LengthBits-1))
				continue
			}
			second, wide := e>>lossless.SymbolAt, e&15
			for k := second; k < second+1<<wide; k++ {
				e := s.Tables[k]
				entries[k] = uint16(e>>lossless.SymbolAt<<4 | e&(1<<lossless.LengthBits-1))
			}
			far := second - at
			if far%2 != 0 || far/2 >= 1<<12 {
				return false
			}
			entries[i] = uint16(far/2<<4 | lossless.FirstBits + wide)
		}
		return true
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if !code(g.Green, g.GreenMask) || !code(g.Red, g.RedMask) || !code(g.Blue, g.BlueMask) || !code(g.Alpha, g.AlphaMask) || !code(g.Distance, g.DistanceMask) {
			return nil, false
		}
	}
	return entries, true
}

// codedGroups are the groups of s.
func codedGroups(s *lossless.Stream, entries []uint16) []codedGroup {
	groups := make([]codedGroup, len(s.Groups))
	for k, g := range s.Groups {
		groups[k] = codedGroup{
			Green: g.Green, GreenMask: g.GreenMask, Red: g.Red, RedMask: g.RedMask, Blue: g.Blue, BlueMask: g.BlueMask,
			Alpha: g.Alpha, AlphaMask: g.AlphaMask, Distance: g.Distance, DistanceMask: g.DistanceMask, End: uint32(len(entries)),
		}
		if g.AlphaMask == 0 {
			groups[k].OnlyAlpha = uint32(entries[g.Alpha]) >> 4 << 24
		}
		if k > 0 {
			groups[k-1].End = g.Green
		}
	}
	return groups
}
