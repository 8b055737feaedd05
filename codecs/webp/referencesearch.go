package webp

import "github.com/pelmill/pelmill/codecs/pool"

// referenceSearch is an image on a device after its transforms, and the part of the search for
// copies, colour cache and groups that goes over all pixels in any order. What is serial
// or small is the parser's, in Go. As with a canvas no method depends on the order of
// positions or tiles, which is why it gives the same on every device.
//
// From setParse on the methods are about that parse. Where a device fails, they return
// anything of the right size, and failed the error.
type referenceSearch interface {
	image() pixels

	// workers share the bands.
	workers() *pool.Pool

	// bands returns what the parser's bands start from, with the candidates that the
	// function finder.at gives: found when they are first asked for, or all of them.
	bands(f referencePlan) []*band

	// hits says which caches have a pixel: see the function cacheHits.
	hits() []uint8

	// setParse takes a parse, which nobody changes but the copier until the next one.
	setParse(q *parse)

	// chooseCache returns the best bits of a cache: see the function chooseCache.
	chooseCache() int

	// setCache gives the parse another cache. In memory its literals and cached pixels
	// may stay what they were; the copier knows what they are.
	setCache(bits int)

	// histograms counts the symbols of each group.
	histograms(g entropyImage) [][]uint32

	// cluster chooses groups on tiles of 1<<bits, where from were those of the parse
	// before: see the function cluster.
	cluster(from entropyImage, bits, most int) entropyImage

	// packer returns what writes the symbols with the groups, until the next setParse;
	// nil where the parse in memory says it all.
	packer(g entropyImage) packer

	failed() error

	// release gives back what the copier has on a device. It is not used any more.
	release()
}

// memoryReferenceSearch is a copier in memory, whose steps run in Go.
type memoryReferenceSearch struct {
	pool  *pool.Pool
	p     pixels
	hit   []uint8
	parse *parse
}

func newMemoryReferenceSearch(p pixels) *memoryReferenceSearch {
	return &memoryReferenceSearch{pool: pool.Of(1), p: p}
}

func (v *memoryReferenceSearch) image() pixels       { return v.p }
func (v *memoryReferenceSearch) workers() *pool.Pool { return v.pool }

func (v *memoryReferenceSearch) bands(f referencePlan) []*band {
	m := newMatcher(v.p, f.nearCodes, f.depth)
	list := newBands(v.p)
	for _, b := range list {
		b.find = newFinder(m, b.hi, f.stopLength)
		if f.costPasses+f.groupPasses > 0 {
			b.first = make([]uint32, b.hi-b.lo)
		}
	}
	return list
}

func (v *memoryReferenceSearch) hits() []uint8 {
	if v.hit == nil {
		v.hit = cacheHits(v.p.argb)
	}
	return v.hit
}

func (v *memoryReferenceSearch) setParse(q *parse) { v.parse = q }

func (v *memoryReferenceSearch) chooseCache() int { return chooseCache(v.p, v.parse, v.hits()) }

func (v *memoryReferenceSearch) setCache(bits int) { setCache(v.parse, v.p, v.hits(), bits) }

func (v *memoryReferenceSearch) stream(g entropyImage) *stream {
	return &stream{pixels: v.p, parse: *v.parse, entropy: g}
}

func (v *memoryReferenceSearch) histograms(g entropyImage) [][]uint32 {
	return v.stream(g).histograms(pool.Of(1))
}

func (v *memoryReferenceSearch) cluster(from entropyImage, bits, most int) entropyImage {
	return cluster(v.stream(from), bits, most)
}

func (v *memoryReferenceSearch) packer(entropyImage) packer { return nil }
func (v *memoryReferenceSearch) failed() error              { return nil }
func (v *memoryReferenceSearch) release()                   {}
