package packet

import "github.com/pelmill/pelmill/codecs/jpeg2000/internal/slab"

// Memory is what the packets of tiles take, used again for those of one after the other: what [Read] and
// [NewWriter] have returned with it holds until [Memory.Reset]. The zero value is ready for use, and nil
// takes new memory for all. A Memory is used by one goroutine at a time.
type Memory struct {
	pointers slab.Slab[*Precinct]
	states   slab.Slab[Precinct]
	bands    slab.Slab[Band]
	blocks   slab.Slab[Block]
	parts    slab.Slab[part]
	grids    slab.Slab[grid3]
	nodes    slab.Slab[node]
}

// Reset lets all that was taken be taken again.
func (m *Memory) Reset() {
	m.pointers.Reset()
	m.states.Reset()
	m.bands.Reset()
	m.blocks.Reset()
	m.parts.Reset()
	m.grids.Reset()
	m.nodes.Reset()
}

func (m *Memory) takePointers(n int) []*Precinct {
	if m == nil {
		return make([]*Precinct, n)
	}
	return m.pointers.Take(n)
}

func (m *Memory) takeState() *Precinct {
	if m == nil {
		return new(Precinct)
	}
	return &m.states.Take(1)[0]
}

func (m *Memory) takeBands(n int) []Band {
	if m == nil {
		return make([]Band, n)
	}
	return m.bands.Take(n)
}

func (m *Memory) takeBlocks(n int) []Block {
	if m == nil {
		return make([]Block, n)
	}
	return m.blocks.Take(n)
}

func (m *Memory) takeParts(n int) []part {
	if m == nil {
		return make([]part, n)
	}
	return m.parts.Take(n)
}

func (m *Memory) takeTree(levels, nodes int) tagTree {
	if m == nil {
		return tagTree{make([]node, nodes), make([]grid3, levels)}
	}
	return tagTree{m.nodes.Take(nodes), m.grids.Take(levels)}
}
