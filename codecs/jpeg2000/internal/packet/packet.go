// Package packet reads and writes the packets of a tile (ISO/IEC 15444-1 Annex B,
// "Tier-2"): the order in which they come, their headers with tag trees, and the bytes
// of code-blocks that they hold.
//
// [Read] goes through the packets of a tile once and leaves for each code-block its
// codeword segments, as slices of the file. [Writer] writes the headers of a precinct's
// packets, and [Order] is the order of packets for both.
package packet

import (
	"image"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// Precincts are the precincts of a tile, by component, resolution and number. A precinct
// is nil as long as no packet with content was read for it.
type Precincts [][][]*Precinct

// Precinct is what the packets of a precinct have brought.
type Precinct struct {
	Bands []Band // in the order of the resolution's subbands
}

// Band is the part of a precinct in one subband.
type Band struct {
	Grid   codestream.BlockGrid
	Blocks []Block // by slices and rows

	planes     int // magnitude bit-planes of the subband
	inclusion  tagTree
	zeroPlanes tagTree
}

// Block is what the packets have brought of a code-block.
type Block struct {
	parts      []part
	passes     int
	zeroPlanes int
	lblock     int
	phase      phase
}

// part is the contribution of one packet to a codeword segment.
type part struct {
	data   []byte
	passes int
	starts bool // a new codeword segment
}

func (m *Memory) newPrecinct(r *codestream.Resolution, p int) *Precinct {
	state := m.takeState()
	state.Bands = m.takeBands(len(r.Subbands))
	for i := range state.Bands {
		grid := r.Subbands[i].Precinct(p)
		state.Bands[i] = m.newBand(grid3{grid.Blocks.X, grid.Blocks.Y, 1}, r.Subbands[i].Planes)
		state.Bands[i].Grid = grid
	}
	return state
}

func (m *Memory) newBand(blocks grid3, planes int) Band {
	return Band{
		Blocks:     m.takeBlocks(blocks.count()),
		planes:     planes,
		inclusion:  m.newTagTree(blocks),
		zeroPlanes: m.newTagTree(blocks),
	}
}

// readable takes memory for a part of each code-block, all that most have.
func (m *Memory) readable(p *Precinct) *Precinct {
	for i := range p.Bands {
		blocks := p.Bands[i].Blocks
		first := m.takeParts(len(blocks))
		for k := range blocks {
			blocks[k].parts = first[k : k : k+1]
		}
	}
	return p
}

// Sizes of a precinct's state, for those who reckon with memory.
const (
	PrecinctBytes = 600 // of a precinct with its subbands
	BlockBytes    = 160 // of a code-block with its nodes and one codeword segment
)

// log2 is floor(log2(n)) of n at least 1.
func log2(n int) int {
	k := 0
	for n > 1 {
		n >>= 1
		k++
	}
	return k
}

// count is the number of blocks of a grid.
func count(p image.Point) int { return p.X * p.Y }
