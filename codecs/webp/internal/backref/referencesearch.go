package backref

import (
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// ReferenceSearch is the state of the search for backward references, a colour cache and
// prefix code groups in one image after its transforms. Its methods are the steps that go
// over all pixels in any order; what is serial or small is done by the Parser. A method does
// not depend on the order of positions or tiles, and so gives the same on every device.
//
// From SetParse on the methods are about that parse. Where a device fails, they return
// anything of the right size, and Failed the error.
type ReferenceSearch interface {
	Image() format.Pixels

	// Workers are the goroutines that share the bands.
	Workers() *pool.Pool

	// Bands returns the bands of the image with the candidates that Finder.At gives. They
	// are found already, or are found when a parse comes to their position.
	Bands(plan ReferencePlan) []*Band

	// Hits says which caches have each pixel: see CacheHits.
	Hits() []uint8

	// SetParse takes a parse, which nobody but the search changes until the next one.
	SetParse(q *format.Parse)

	// ChooseCache returns the bits of the cache with which the parse takes least.
	ChooseCache() int

	// SetCache gives the parse a cache of other bits. On a device the literals and cached
	// pixels change there alone, and q keeps what it had.
	SetCache(bits int)

	// Histograms counts the symbols of each group.
	Histograms(g format.EntropyImage) [][]uint32

	// Cluster chooses groups on tiles of 1<<bits; from are those of the parse before, if it
	// had any: see [entropy.Cluster].
	Cluster(from format.EntropyImage, bits, most int) format.EntropyImage

	// Packer returns what writes the symbols with the groups g, until the next SetParse;
	// nil where the pixels and the parse are in memory.
	Packer(g format.EntropyImage) bitstream.Packer

	Failed() error

	// Release gives back what the search has on a device. It is not used any more.
	Release()
}

// MemoryReferenceSearch is a search in memory, whose steps run in Go.
type MemoryReferenceSearch struct {
	Pool  *pool.Pool
	P     format.Pixels
	hit   []uint8
	parse *format.Parse
}

// NewMemoryReferenceSearch is a search on one goroutine.
func NewMemoryReferenceSearch(p format.Pixels) *MemoryReferenceSearch {
	return &MemoryReferenceSearch{Pool: pool.Of(1), P: p}
}

func (v *MemoryReferenceSearch) Image() format.Pixels { return v.P }
func (v *MemoryReferenceSearch) Workers() *pool.Pool  { return v.Pool }

func (v *MemoryReferenceSearch) Bands(plan ReferencePlan) []*Band {
	m := NewMatcher(v.P, plan.NearCodes, plan.Depth)
	list := NewBands(v.P)
	for _, b := range list {
		b.find = NewFinder(m, b.Hi, plan.StopLength)
		b.keeps = plan.costPasses+plan.groupPasses > 0
	}
	return list
}

func (v *MemoryReferenceSearch) Hits() []uint8 {
	if v.hit == nil {
		v.hit = CacheHits(v.P.ARGB)
	}
	return v.hit
}

func (v *MemoryReferenceSearch) SetParse(q *format.Parse) { v.parse = q }

func (v *MemoryReferenceSearch) ChooseCache() int { return chooseCache(v.P, v.parse, v.Hits()) }

func (v *MemoryReferenceSearch) SetCache(bits int) { setCache(v.parse, v.P, v.Hits(), bits) }

func (v *MemoryReferenceSearch) stream(g format.EntropyImage) *bitstream.Stream {
	return &bitstream.Stream{Pixels: v.P, Parse: *v.parse, Entropy: g}
}

func (v *MemoryReferenceSearch) Histograms(g format.EntropyImage) [][]uint32 {
	return v.stream(g).Histograms(pool.Of(1))
}

func (v *MemoryReferenceSearch) Cluster(from format.EntropyImage, bits, most int) format.EntropyImage {
	return entropy.Cluster(v.stream(from), bits, most)
}

func (v *MemoryReferenceSearch) Packer(format.EntropyImage) bitstream.Packer { return nil }
func (v *MemoryReferenceSearch) Failed() error                               { return nil }
func (v *MemoryReferenceSearch) Release()                                    {}
