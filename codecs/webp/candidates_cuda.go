package webp

import (
	"fmt"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/gpu"
)

// foundChains is what the search for candidates of an image leaves on the device.
type foundChains struct {
	distances, ends             []uint32
	codes                       format.DistanceCodes
	depth, stopLength           int
	memory                      *gpu.Buffer
	equal, reach, prev, offsets int    // where they begin in memory
	candidates                  uint64 // of all positions
}

// maxCandidates of an image come to the host: their offsets are words.
const maxCandidates = 1 << 30

// findChains counts the candidates that [backref.Finder.At] gives for the positions of bands.
func (c *deviceReferenceSearch) findChains(plan backref.ReferencePlan, bands []*backref.Band) *foundChains {
	n := len(c.p.ARGB)
	near := backref.NewMatcher(format.Pixels{W: c.p.W}, plan.NearCodes, 0)
	found := &foundChains{codes: near.Codes, depth: plan.Depth, stopLength: plan.StopLength}
	found.distances = append(found.distances, 1) // for runs of equal pixels
	for _, d := range near.Near {
		found.distances = append(found.distances, uint32(d))
	}
	for _, b := range bands {
		found.ends = append(found.ends, uint32(b.Hi))
	}
	var l gpu.Layout
	words := len(found.distances) * pieces(n, 32)
	found.equal, found.reach, found.prev, found.offsets = l.Take(4*words), l.Take(2*words), l.Take(4*n), l.Take(4*(n+1))
	tablesAt := roundUp(8 * (1 + pieces(n, offsetPixels*gpu.BlockThreads))) // behind the state of a running sum
	got := c.do(&request{
		step: stepChains, uploads: found.uploads(), result: 8, scratch: tablesAt + 4*linkEntries*pieces(n, linkPixels),
		reserve: func() error { return c.take(&found.memory, l.Size) },
		set: func(s *slot, at []gpu.Ptr) {
			found.set(s, at)
			s.Tables = s.Scratch + gpu.Ptr(tablesAt)
		},
	})
	found.candidates = gpu.View[uint64](got)[0]
	return found
}

// uploads are what the steps of a search need beside the image.
func (f *foundChains) uploads() [][]byte {
	return [][]byte{gpu.Bytes(f.distances), f.codes, gpu.Bytes(f.ends)}
}

// set says where a step finds the uploads and what a search has left.
func (f *foundChains) set(s *slot, at []gpu.Ptr) {
	s.Distances, s.DistanceCodes, s.Ends = at[0], at[1], at[2]
	s.Rows, s.Bands, s.Depth, s.StopLength = uint32(len(f.distances)), uint32(len(f.ends)), uint32(f.depth), uint32(f.stopLength)
	in := func(at int) gpu.Ptr { return f.memory.Ptr + gpu.Ptr(at) }
	s.Equal, s.Reach, s.Prev, s.Offsets = in(f.equal), in(f.reach), in(f.prev), in(f.offsets)
}

// readCandidates brings bands the candidates that a search has counted.
func (c *deviceReferenceSearch) readCandidates(found *foundChains, bands []*backref.Band) {
	n := len(c.p.ARGB)
	r := &request{step: stepCandidates, uploads: found.uploads(), set: found.set}
	if found.candidates > maxCandidates {
		r.reserve = func() error { return fmt.Errorf("webp: %d candidates: %w", found.candidates, gpu.ErrOutOfMemory) }
	} else {
		r.result = 4 * int(found.candidates)
	}
	r.result += 4 * (n + 1)
	list := gpu.View[uint32](c.do(r))
	c.batch.discard(found.memory)
	// A candidate is a word here and there.
	packed := list[n+1:]
	all := unsafe.Slice((*backref.Candidate)(unsafe.Pointer(unsafe.SliceData(packed))), len(packed))
	for _, b := range bands {
		b.Found = &backref.FoundCandidates{Offsets: list[b.Lo : b.Hi+1], List: all}
	}
}

// Bands returns bands with all candidates.
func (c *deviceReferenceSearch) Bands(plan backref.ReferencePlan) []*backref.Band {
	list := backref.NewBands(c.p)
	c.readCandidates(c.findChains(plan, list), list)
	return list
}

// Hits leaves the hits on the device, too.
func (c *deviceReferenceSearch) Hits() []uint8 {
	if c.hitsRead == nil {
		n := len(c.p.ARGB)
		c.hitsRead = c.do(&request{
			step: stepHits, result: n, scratch: 4 * cacheEntries * pieces(n, cachePixels),
			reserve: func() error { return c.take(&c.hit, n) },
			set:     func(s *slot, _ []gpu.Ptr) { s.Tables, s.Hits = s.Scratch, c.hit.Ptr },
		})
	}
	return c.hitsRead
}
