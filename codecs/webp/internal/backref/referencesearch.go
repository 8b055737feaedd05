package backref

import (
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// ReferenceSearch is an image on a device after its transforms, and the part of the search for
// copies, colour cache and groups that goes over all pixels in any order. What is serial
// or small is the parser's, in Go. As with a canvas no method depends on the order of
// positions or tiles, which is why it gives the same on every device.
//
// From SetParse on the methods are about that parse. Where a device fails, they return
// anything of the right size, and failed the error.
type ReferenceSearch interface {
	Image() format.Pixels

	// Workers share the bands.
	Workers() *pool.Pool

	// Bands returns what the parser's bands start from, with the candidates that the
	// function finder.at gives: found when they are first asked for, or all of them.
	Bands(f ReferencePlan) []*Band

	// Hits says which caches have a pixel: see the function CacheHits.
	Hits() []uint8

	// SetParse takes a parse, which nobody changes but the copier until the next one.
	SetParse(q *format.Parse)

	// ChooseCache returns the best bits of a cache: see the function ChooseCache.
	ChooseCache() int

	// SetCache gives the parse another cache. In memory its literals and cached pixels
	// may stay what they were; the copier knows what they are.
	SetCache(bits int)

	// Histograms counts the symbols of each group.
	Histograms(g format.EntropyImage) [][]uint32

	// Cluster chooses groups on tiles of 1<<bits, where from were those of the parse
	// before: see the function cluster.
	Cluster(from format.EntropyImage, bits, most int) format.EntropyImage

	// Packer returns what writes the symbols with the groups, until the next SetParse;
	// nil where the parse in memory says it all.
	Packer(g format.EntropyImage) bitstream.Packer

	Failed() error

	// Release gives back what the copier has on a device. It is not used any more.
	Release()
}

// MemoryReferenceSearch is a copier in memory, whose steps run in Go.
type MemoryReferenceSearch struct {
	Pool  *pool.Pool
	P     format.Pixels
	hit   []uint8
	parse *format.Parse
}

func NewMemoryReferenceSearch(p format.Pixels) *MemoryReferenceSearch {
	return &MemoryReferenceSearch{Pool: pool.Of(1), P: p}
}

func (v *MemoryReferenceSearch) Image() format.Pixels { return v.P }
func (v *MemoryReferenceSearch) Workers() *pool.Pool  { return v.Pool }

func (v *MemoryReferenceSearch) Bands(f ReferencePlan) []*Band {
	m := NewMatcher(v.P, f.NearCodes, f.Depth)
	list := NewBands(v.P)
	for _, b := range list {
		b.find = NewFinder(m, b.Hi, f.StopLength)
		if f.costPasses+f.groupPasses > 0 {
			b.first = make([]uint32, b.Hi-b.Lo)
		}
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
