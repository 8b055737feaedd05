//go:build cuda && cgo

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

// deviceReferenceSearch is a copier on a card, of a batch. Its methods belong to the search of its
// image. Pixels, candidates and hits are made there and stay; a parse goes there with
// the first step that is asked for after SetParse.
type deviceReferenceSearch struct {
	batch *batch
	p     format.Pixels
	err   error // the first

	frame   deviceSlot // what lasts from step to step
	parse   *format.Parse
	sent    *uint16    // where the lengths are of the parse that is on the card, or will be
	changed bool       // it has not gone there yet
	groupOf []uint16   // the groups on the card
	counted [][]uint32 // histograms of the parse and of groupOf; nil: not known

	canvas        *devicePredictorSearch // has the pixels; nil: argb
	argb          *gpu.Buffer            // 4 bytes a pixel
	length, value *gpu.Buffer            // of the parse, 2 and 4 bytes a pixel
	hit           *gpu.Buffer            // a byte a pixel: see CacheHits
	groups        *gpu.Buffer            // 2 bytes a tile
	onHost        []uint8                // what hit holds
}

// ReferenceSearch brings p to the card, or takes what v has there.
func (e *deviceSteps) ReferenceSearch(p format.Pixels, v search.PredictorSearch) (backref.ReferenceSearch, error) {
	c := &deviceReferenceSearch{batch: e.batch, p: p}
	c.frame = deviceSlot{Width: uint32(p.W), Height: uint32(p.H), Opaque: 1, N: 1}
	for _, v := range p.ARGB {
		if v>>24 != 255 {
			c.frame.Opaque = 0
			break
		}
	}
	if v != nil {
		c.canvas = v.(*devicePredictorSearch)
		c.frame.Coded = c.canvas.frame.Coded
		return c, c.canvas.err
	}
	c.do(&request{
		step: stepPixels, parts: [][]byte{asBytes(p.ARGB)}, keep: []**gpu.Buffer{&c.argb},
		room: func() error {
			if err := c.take(&c.argb, 4*len(p.ARGB)); err != nil {
				return err
			}
			c.frame.Coded = c.argb.Ptr
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

// do asks for a step and returns what comes back, zeros where the card failed.
func (c *deviceReferenceSearch) do(a *request) []byte {
	a.copier = c
	if c.err == nil {
		c.err = c.batch.wait(a)
	}
	if c.err != nil {
		return make([]byte, a.want)
	}
	return a.got
}

// withParse lets the step have the groups g and the parse. Of a parse that has changed its
// copies go to the card, which knows by the hits how all other pixels are coded.
func (c *deviceReferenceSearch) withParse(a *request, g format.EntropyImage) *request {
	n := len(c.p.ARGB)
	moved := g.Bits > 0 && !slices.Equal(g.Group, c.groupOf)
	if moved {
		a.parts = append(a.parts, asBytes(g.Group))
		a.keep = append(a.keep, &c.groups)
		c.groupOf = slices.Clone(g.Group)
	}
	if c.changed {
		list := copiesOf(c.parse)
		part, set := len(a.parts), a.set
		a.parts = append(a.parts, asBytes(list))
		a.set = func(f *deviceSlot, at []gpu.Ptr) {
			f.Copies, f.Copied = at[part], uint32(len(list)/2)
			if set != nil {
				set(f, at)
			}
		}
	}
	room := a.room
	a.room = func() error {
		if err := c.take(&c.length, 2*n); err != nil {
			return err
		}
		if err := c.take(&c.value, 4*n); err != nil {
			return err
		}
		f := &c.frame
		f.Length, f.Value, f.Hits = c.length.Ptr, c.value.Ptr, c.hit.Ptr
		f.Groups = 0
		if g.Bits > 0 {
			if err := c.take(&c.groups, 2*len(g.Group)); err != nil {
				return err
			}
			f.Groups = c.groups.Ptr
		}
		if room != nil {
			return room()
		}
		return nil
	}
	c.changed = false
	c.frame.GroupBits, c.frame.N = uint32(g.Bits), uint32(max(1, g.Groups, g.Used()))
	c.frame.CacheBits, c.frame.Symbols = uint32(c.parse.CacheBits), uint32(c.parse.Symbols())
	return a
}

// copiesOf lists the copies of a parse: where each begins, and its distance code - 1 << 12 |
// length.
func copiesOf(q *format.Parse) []uint32 {
	var list []uint32
	for i := 0; i < len(q.Length); {
		l := q.Length[i]
		if l == 0 || l == format.Cached {
			i++
			continue
		}
		list = append(list, uint32(i), (q.Value[i]-1)<<12|uint32(l))
		i += int(l)
	}
	return list
}

func (c *deviceReferenceSearch) Image() format.Pixels { return c.p }
func (c *deviceReferenceSearch) Workers() *pool.Pool  { return c.batch.pool }

func (c *deviceReferenceSearch) SetParse(q *format.Parse) {
	if c.parse == nil || &q.Length[0] != c.sent {
		c.changed = true
	}
	c.parse, c.sent, c.counted = q, &q.Length[0], nil
}

func (c *deviceReferenceSearch) SetCache(bits int) {
	// The steps that need it set it on the card.
	c.parse.CacheBits, c.counted = bits, nil
}

func (c *deviceReferenceSearch) ChooseCache() int {
	got := c.do(c.withParse(&request{
		step: stepCacheCounts, want: int(unsafe.Sizeof(backref.CacheCounts{})),
		set: func(f *deviceSlot, _ []gpu.Ptr) { f.Counts = f.Result },
	}, format.EntropyImage{}))
	return (*backref.CacheCounts)(unsafe.Pointer(&got[0])).Best()
}

func (c *deviceReferenceSearch) Histograms(g format.EntropyImage) [][]uint32 {
	if c.counted == nil || g.Bits > 0 && !slices.Equal(g.Group, c.groupOf) || max(1, g.Groups, g.Used()) != len(c.counted) {
		n := max(1, g.Groups, g.Used())
		c.counted = c.split(c.do(c.withParse(&request{
			step: stepCountCopies, want: 4 * n * c.parse.Symbols(),
			set: func(f *deviceSlot, _ []gpu.Ptr) { f.Counts = f.Result },
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
	begin, start := stepSeed, n/2
	if from.Groups > 1 {
		begin, start, n = stepCluster, from.Groups, from.Groups
	} else {
		from = format.EntropyImage{}
	}
	symbols := c.parse.Symbols()
	countsAt := roundUp(4 + 2*count)
	a := c.withParse(&request{
		step: begin, want: countsAt + 4*n*symbols, work: clusterWork(symbols, count),
		room: func() error {
			err := c.take(&c.groups, 2*count)
			if err == nil {
				c.frame.Groups = c.groups.Ptr
			}
			return err
		},
		set: func(f *deviceSlot, _ []gpu.Ptr) {
			f.GroupBits, f.N, f.Count = uint32(bits), uint32(n), uint32(start)
			f.Counts = f.Result + gpu.Ptr(countsAt)
		},
	}, from)
	got := c.do(a)
	found := format.EntropyImage{Bits: bits, Groups: int(gpu.View[uint32](got)[0])}
	found.Group = slices.Clone(gpu.View[uint16](got[4:])[:count])
	c.groupOf = found.Group
	if found.Groups < 2 {
		found = format.EntropyImage{}
	}
	c.counted = c.split(got[countsAt:], max(1, found.Groups))
	return found
}

// clusterWork is the memory that Clusters of cluster.cuh lays out.
func clusterWork(symbols, count int) int {
	padded := 1 << bits.Len(uint(count-1))
	return 8*(padded+entropy.MaxStartGroups*entropy.MaxStartGroups) + 4*(64+2*entropy.MaxStartGroups+symbols+entropy.MaxStartGroups*symbols+3*count) + 2*(1+entropy.MaxStartGroups)*symbols
}

func (c *deviceReferenceSearch) Failed() error { return c.err }

func (c *deviceReferenceSearch) Release() {
	c.batch.discard(c.argb, c.length, c.value, c.hit, c.groups)
	if c.canvas != nil {
		c.canvas.Release()
	}
}

func (c *deviceReferenceSearch) Packer(g format.EntropyImage) bitstream.Packer {
	return &devicePacker{c, g}
}

// devicePacker are the symbols of a copier's parse with groups, on a card.
type devicePacker struct {
	*deviceReferenceSearch
	g format.EntropyImage
}

func (c *devicePacker) Counts() [][]uint32 { return c.Histograms(c.g)[:c.g.Used()] }

func (c *devicePacker) Pack(codes [][]bitstream.Code, first, size int) []byte {
	words := (first + size + 31) / 32
	blocks := (len(c.p.ARGB) + packPixels*cardThreads - 1) / (packPixels * cardThreads)
	all := make([]uint32, 0, len(codes)*c.parse.Symbols())
	for _, list := range codes {
		for _, v := range list {
			all = append(all, uint32(v))
		}
	}
	a := c.withParse(&request{step: stepPackCopies, want: 4 * max(1, words), work: 8 * (1 + blocks)}, c.g)
	part, set := len(a.parts), a.set
	a.parts = append(a.parts, asBytes(all))
	a.set = func(f *deviceSlot, at []gpu.Ptr) {
		f.Codes, f.First, f.Words = at[part], uint64(first), uint64(words)
		if set != nil {
			set(f, at)
		}
	}
	return c.do(a)
}
