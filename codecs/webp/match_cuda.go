//go:build cuda && cgo

package webp

import (
	"fmt"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/gpu"
)

// searched is what the search for candidates of an image leaves on the card.
type searched struct {
	distances, ends             []uint32
	codes                       format.DistanceCodes
	depth, stop                 int
	memory                      *gpu.Buffer
	equal, reach, prev, offsets int    // where they begin in memory
	candidates                  uint64 // of all positions
}

// maxCandidates of an image are given to the host.
const maxCandidates = 1 << 30

// search counts the candidates that finder.at gives for the positions of bands.
func (c *deviceReferenceSearch) search(f backref.ReferencePlan, bands []*backref.Band) *searched {
	n := len(c.p.ARGB)
	near := backref.NewMatcher(format.Pixels{W: c.p.W}, f.NearCodes, 0)
	s := &searched{codes: near.Codes, depth: f.Depth, stop: f.StopLength}
	s.distances = append(s.distances, 1) // for runs of equal pixels
	for _, d := range near.Near {
		s.distances = append(s.distances, uint32(d))
	}
	for _, b := range bands {
		s.ends = append(s.ends, uint32(b.Hi))
	}
	var l gpu.Layout
	words := len(s.distances) * pieces(n, 32)
	s.equal, s.reach, s.prev, s.offsets = l.Take(4*words), l.Take(2*words), l.Take(4*n), l.Take(4*(n+1))
	tablesAt := roundUp(8 * (1 + pieces(n, offsetPixels*cardThreads))) // behind the state of a running sum
	got := c.do(&request{
		step: stepSearch, parts: s.parts(), want: 8, work: tablesAt + 4*linkEntries*pieces(n, linkPixels),
		room: func() error { return c.take(&s.memory, l.Size) },
		set: func(f *deviceSlot, at []gpu.Ptr) {
			s.set(f, at)
			f.Tables = f.State + gpu.Ptr(tablesAt)
		},
	})
	s.candidates = gpu.View[uint64](got)[0]
	return s
}

// parts are what the steps of a search need beside the image.
func (s *searched) parts() [][]byte {
	return [][]byte{asBytes(s.distances), s.codes, asBytes(s.ends)}
}

// set says where a step finds the parts and what a search has left.
func (s *searched) set(f *deviceSlot, at []gpu.Ptr) {
	f.Distances, f.DistanceCodes, f.Ends = at[0], at[1], at[2]
	f.Rows, f.Bands, f.Depth, f.Stop = uint32(len(s.distances)), uint32(len(s.ends)), uint32(s.depth), uint32(s.stop)
	in := func(at int) gpu.Ptr { return s.memory.Ptr + gpu.Ptr(at) }
	f.Equal, f.Reach, f.Prev, f.Offsets = in(s.equal), in(s.reach), in(s.prev), in(s.offsets)
}

// give brings bands the candidates that a search has counted.
func (c *deviceReferenceSearch) give(s *searched, bands []*backref.Band) {
	n := len(c.p.ARGB)
	a := &request{step: stepCandidates, parts: s.parts(), set: s.set}
	if s.candidates > maxCandidates {
		a.room = func() error { return fmt.Errorf("webp: %d candidates: %w", s.candidates, gpu.ErrOutOfMemory) }
	} else {
		a.want = 4 * int(s.candidates)
	}
	a.want += 4 * (n + 1)
	list := gpu.View[uint32](c.do(a))
	c.batch.discard(s.memory)
	// A candidate is a word here and there.
	packed := list[n+1:]
	all := unsafe.Slice((*backref.Candidate)(unsafe.Pointer(unsafe.SliceData(packed))), len(packed))
	for _, b := range bands {
		b.Found = &backref.FoundCandidates{Offsets: list[b.Lo : b.Hi+1], List: all}
	}
}

// Bands returns bands with all candidates.
func (c *deviceReferenceSearch) Bands(f backref.ReferencePlan) []*backref.Band {
	list := backref.NewBands(c.p)
	c.give(c.search(f, list), list)
	return list
}

// Hits leaves the hits on the card, too.
func (c *deviceReferenceSearch) Hits() []uint8 {
	if c.onHost == nil {
		n := len(c.p.ARGB)
		c.onHost = c.do(&request{
			step: stepHits, want: n, work: 4 * hitEntries * pieces(n, hitPixels),
			room: func() error { return c.take(&c.hit, n) },
			set:  func(f *deviceSlot, _ []gpu.Ptr) { f.Tables, f.Hits = f.State, c.hit.Ptr },
		})
	}
	return c.onHost
}
