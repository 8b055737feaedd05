package webp

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/gpu"
)

// deviceReferenceSearch is the search for backward references of an image of a batch,
// whose steps run on the device. Its methods belong to the goroutine of that search.
// Pixels, candidates and hits are made on the device and stay there; a parse goes there
// with the first step that is wanted after SetParse.
type deviceReferenceSearch struct {
	batch *batch
	p     format.Pixels
	err   error // the first

	slot    slot // what lasts from step to step
	parse   *format.Parse
	sent    *uint16    // where the lengths are of the parse that is on the device, or will be
	changed bool       // it has not gone there yet
	groupOf []uint16   // the groups of the tiles on the device
	counted [][]uint32 // histograms of the parse and of groupOf; nil: not counted yet

	predictors    *devicePredictorSearch // has the pixels; nil: argb has them
	argb          *gpu.Buffer            // 4 bytes a pixel
	length, value *gpu.Buffer            // of the parse, 2 and 4 bytes a pixel
	hit           *gpu.Buffer            // a byte a pixel: see backref.CacheHits
	groups        *gpu.Buffer            // 2 bytes a tile
	hitsRead      []uint8                // what hit holds; nil: not read yet
}

// newReferenceSearch brings p to the device, or takes what the search of has there.
func (d *deviceSteps) newReferenceSearch(p format.Pixels, of search.PredictorSearch) (*deviceReferenceSearch, error) {
	c := &deviceReferenceSearch{batch: d.batch, p: p}
	c.slot = slot{Width: uint32(p.W), Height: uint32(p.H), Opaque: 1, GroupCount: 1}
	if !opaque(d.batch.pool, p) {
		c.slot.Opaque = 0
	}
	if of != nil {
		c.predictors = of.(*devicePredictorSearch)
		c.slot.Coded = c.predictors.slot.Coded
		return c, c.predictors.err
	}
	c.do(&request{
		step: stepPixels, uploads: [][]byte{gpu.Bytes(p.ARGB)}, retain: []**gpu.Buffer{&c.argb},
		reserve: func() error {
			if err := c.take(&c.argb, 4*len(p.ARGB)); err != nil {
				return err
			}
			c.slot.Coded = c.argb.Ptr
			return nil
		},
	})
	return c, c.err
}

// take makes room for a buffer of n bytes.
func (c *deviceReferenceSearch) take(b **gpu.Buffer, n int) (err error) {
	if *b == nil || (*b).Size != n {
		if *b != nil {
			(*b).Free()
		}
		*b, err = c.batch.lane.Device(n)
	}
	return err
}

// do has a step done and returns its result, zeros where the device failed.
func (c *deviceReferenceSearch) do(r *request) []byte {
	r.slot, r.wait = &c.slot, referenceWait
	if c.err == nil {
		c.err = c.batch.send(r)
	}
	if c.err != nil {
		return make([]byte, r.result)
	}
	return r.got
}

// withParse adds the groups g and the parse to a request. Of a parse that has changed the
// backward references go to the device, which sees by the hits how all other pixels are
// coded.
func (c *deviceReferenceSearch) withParse(r *request, g format.EntropyImage) *request {
	n := len(c.p.ARGB)
	moved := g.Bits > 0 && !slices.Equal(g.Group, c.groupOf)
	if moved {
		r.uploads = append(r.uploads, gpu.Bytes(g.Group))
		r.retain = append(r.retain, &c.groups)
		c.groupOf = slices.Clone(g.Group)
	}
	if c.changed {
		list := referencesOf(c.batch.pool, c.parse)
		part, set := len(r.uploads), r.set
		r.uploads = append(r.uploads, gpu.Bytes(list))
		r.set = func(s *slot, at []gpu.Ptr) {
			s.References, s.ReferenceCount = at[part], uint32(len(list)/2)
			if set != nil {
				set(s, at)
			}
		}
	}
	reserve := r.reserve
	r.reserve = func() error {
		if err := c.take(&c.length, 2*n); err != nil {
			return err
		}
		if err := c.take(&c.value, 4*n); err != nil {
			return err
		}
		s := &c.slot
		s.Length, s.Value, s.Hits = c.length.Ptr, c.value.Ptr, c.hit.Ptr
		s.Groups = 0
		if g.Bits > 0 {
			if err := c.take(&c.groups, 2*len(g.Group)); err != nil {
				return err
			}
			s.Groups = c.groups.Ptr
		}
		if reserve != nil {
			return reserve()
		}
		return nil
	}
	c.changed = false
	c.slot.GroupBits, c.slot.GroupCount = uint32(g.Bits), uint32(max(1, g.Groups, g.Used()))
	c.slot.CacheBits, c.slot.Symbols = uint32(c.parse.CacheBits), uint32(c.parse.Symbols())
	return r
}

// referencesOf lists the backward references of a parse: where each begins, and its
// distance code - 1 << 12 | length.
func referencesOf(c *pool.Pool, q *format.Parse) []uint32 {
	lists := make([][]uint32, pieces(len(q.Length), listedPixels))
	c.Spans(len(q.Length), listedPixels, func(from, to int) {
		var list []uint32
		for i := q.FirstFrom(from); i < to; {
			l := q.Length[i]
			if l == 0 || l == format.Cached {
				i++
				continue
			}
			list = append(list, uint32(i), (q.Value[i]-1)<<12|uint32(l))
			i += int(l)
		}
		lists[from/listedPixels] = list
	})
	return slices.Concat(lists...)
}

// listedPixels is of how many pixels a goroutine lists the references at a time.
const listedPixels = 1 << 18

func (c *deviceReferenceSearch) Image() format.Pixels { return c.p }
func (c *deviceReferenceSearch) Workers() *pool.Pool  { return c.batch.pool }

func (c *deviceReferenceSearch) SetParse(q *format.Parse) {
	if c.parse == nil || &q.Length[0] != c.sent {
		c.changed = true
	}
	c.parse, c.sent, c.counted = q, &q.Length[0], nil
}

func (c *deviceReferenceSearch) SetCache(bits int) {
	// The steps that need the cache set it on the device.
	c.parse.CacheBits, c.counted = bits, nil
}

func (c *deviceReferenceSearch) ChooseCache() int {
	got := c.do(c.withParse(&request{
		step: stepCacheCounts, result: int(unsafe.Sizeof(backref.CacheCounts{})),
		set: func(s *slot, _ []gpu.Ptr) { s.Counts = s.Result },
	}, format.EntropyImage{}))
	return (*backref.CacheCounts)(unsafe.Pointer(&got[0])).Best()
}

func (c *deviceReferenceSearch) Histograms(g format.EntropyImage) [][]uint32 {
	if c.counted == nil || g.Bits > 0 && !slices.Equal(g.Group, c.groupOf) || max(1, g.Groups, g.Used()) != len(c.counted) {
		n := max(1, g.Groups, g.Used())
		c.counted = c.split(c.do(c.withParse(&request{
			step: stepCountSymbols, result: 4 * n * c.parse.Symbols(),
			set: func(s *slot, _ []gpu.Ptr) { s.Counts = s.Result },
		}, g)), n)
	}
	return c.counted
}

// split cuts counts into the histograms of n groups.
func (c *deviceReferenceSearch) split(counts []byte, n int) [][]uint32 {
	list, symbols := gpu.View[uint32](counts), c.parse.Symbols()
	out := make([][]uint32, n)
	for k := range out {
		out[k] = list[k*symbols:][:symbols:symbols]
	}
	return out
}

func (c *deviceReferenceSearch) Cluster(from format.EntropyImage, bits, most int) format.EntropyImage {
	count := format.Tiles(c.p.W, bits) * format.Tiles(c.p.H, bits)
	n := min(most, count/4, entropy.MaxStartGroups)
	if n < 2 {
		return format.EntropyImage{}
	}
	begin, start := stepSeedAndCluster, n/2
	if from.Groups > 1 {
		begin, start, n = stepCluster, from.Groups, from.Groups
	} else {
		from = format.EntropyImage{}
	}
	symbols := c.parse.Symbols()
	countsAt := roundUp(4 + 2*count)
	r := c.withParse(&request{
		step: begin, result: countsAt + 4*n*symbols, scratch: clusterScratch(symbols, count),
		reserve: func() error {
			err := c.take(&c.groups, 2*count)
			if err == nil {
				c.slot.Groups = c.groups.Ptr
			}
			return err
		},
		set: func(s *slot, _ []gpu.Ptr) {
			s.GroupBits, s.GroupCount, s.Count = uint32(bits), uint32(n), uint32(start)
			s.Counts = s.Result + gpu.Ptr(countsAt)
		},
	}, from)
	got := c.do(r)
	found := format.EntropyImage{Bits: bits, Groups: int(gpu.View[uint32](got)[0])}
	found.Group = slices.Clone(gpu.View[uint16](got[4:])[:count])
	c.groupOf = found.Group
	if found.Groups < 2 {
		found = format.EntropyImage{}
	}
	c.counted = c.split(got[countsAt:], max(1, found.Groups))
	return found
}

// clusterScratch is the size in bytes of the memory that Clusters of cluster.cuh lays out.
func clusterScratch(symbols, count int) int {
	padded := 1 << bits.Len(uint(count-1))
	return 8*(padded+entropy.MaxStartGroups*entropy.MaxStartGroups) + 4*(64+2*entropy.MaxStartGroups+symbols+entropy.MaxStartGroups*symbols+3*count) + 2*(1+entropy.MaxStartGroups)*symbols
}

func (c *deviceReferenceSearch) Failed() error { return c.err }

func (c *deviceReferenceSearch) Release() {
	c.batch.discard(c.argb, c.length, c.value, c.hit, c.groups)
	if c.predictors != nil {
		c.predictors.Release()
	}
}

func (c *deviceReferenceSearch) Packer(g format.EntropyImage) bitstream.Packer {
	return &devicePacker{c, g}
}

// devicePacker writes the symbols of a parse with prefix code groups on the device.
type devicePacker struct {
	*deviceReferenceSearch
	g format.EntropyImage
}

func (c *devicePacker) Counts() [][]uint32 { return c.Histograms(c.g)[:c.g.Used()] }

func (c *devicePacker) Pack(out []byte, codes [][]bitstream.Code, first, size int) {
	words, blocks := pieces(first+size, 32), pieces(len(c.p.ARGB), packPixels*gpu.BlockThreads)
	r := c.withParse(&request{step: stepPackReferences, result: 4 * max(1, words), into: out, scratch: 8 * (1 + blocks)}, c.g)
	part, set := len(r.uploads), r.set
	r.uploads = append(r.uploads, gpu.Bytes(slices.Concat(codes...)))
	r.set = func(s *slot, at []gpu.Ptr) {
		s.Codes, s.First, s.Words = at[part], uint64(first), uint64(words)
		if set != nil {
			set(s, at)
		}
	}
	c.do(r)
}
