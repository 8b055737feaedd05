package vq

import (
	"unsafe"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// tableMemory covers what does not grow with the image: codebooks, the search's
// tables, the sums of a training.
const tableMemory = 4 << 20

// modelMemory is that of the model for the ranks of a segment.
const modelMemory = int64(unsafe.Sizeof(rankModel{})) + rankGroups*contextCount*int64(unsafe.Sizeof(estimates{})) + contextCount*4

// Memory is that of the planes, of their blocks, and of an index and a key for each
// block, of the tables of ranks, which grow with the square of the codebook, and of the
// models for segments that are coded at the same time.
func (Codec) Memory(s raster.Shape, _ *raster.Image, opts codec.Options) codec.Memory {
	o, _ := opts.(*Options)
	if o == nil {
		parsed, _ := Codec{}.Options(nil)
		o = parsed.(*Options)
	}
	h := newHeader(&raster.Image{Shape: s}, o)
	h.n, h.chroma = o.n, o.chroma
	if o.books != nil {
		h.n, h.block = o.books.luma.n(), shape{o.books.luma.p, o.books.luma.q}
		if o.books.chroma != nil {
			h.chroma = o.books.chroma.n()
		}
	}
	samples := h.samples()
	blocks := samples/int64(h.block.k()) + 1
	return codec.Memory{
		// Planes, blocks, and of each block a key, twice an index, a symbol.
		Encode: 2*samples + int64(s.Samples()) + 16*blocks + h.ranks() + h.models() + tableMemory,
		Decode: h.decodeMemory(),
		File:   4*blocks + tableMemory, // and its index table, see expected
	}
}

// samples is how many samples the planes of all slices have.
func (h *header) samples() (n int64) {
	for _, s := range h.planeSizes() {
		n += int64(s[0]) * int64(s[1]) * int64(h.d)
	}
	return n
}

// ranks is the memory of what orders codewords, as a rule tables: see ranker.
func (h *header) ranks() int64 {
	if h.raw() {
		return 0
	}
	n := rankerMemory(h.n)
	if h.colour() {
		n += rankerMemory(h.chroma)
	}
	return n
}

func rankerMemory(n int) int64 {
	if !vectorRanks {
		return int64(n) * 8 * int64(rankerRow(n))
	}
	const words = 2 * 16 // of both edges, in the order of indices and in that of sums
	each := words + 5*4 + int64(unsafe.Sizeof(neighbour{})) + 2 + 4
	return int64(rankerRow(n))*each + int64(unsafe.Sizeof(edgeOrder{}))
}

// models is the memory of the models for the ranks: each core codes a segment at a time.
func (h *header) models() int64 {
	if h.raw() {
		return 0
	}
	var segments int64
	for _, s := range h.planeSizes() {
		segments += h.block.grid(s[0], s[1]).segmentCount()
	}
	return min(segments*int64(h.d), int64(pool.Cores())) * modelMemory
}

// decodeMemory is that of the image, of the planes of a slice, of the indices, and of
// what decodes them.
func (h *header) decodeMemory() int64 {
	samples := h.samples()
	image := int64(h.w) * int64(h.h) * int64(h.d) * int64(h.channels())
	return image + samples/int64(h.d) + 4*samples/int64(h.block.k()) + h.ranks() + h.models() + tableMemory
}
