package packet

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// ends says of a number of passes whether a codeword segment ends behind them: D.4 and
// Table D.9 for Part 1; each HT set has a cleanup segment and one of refinement.
func ends(style codestream.BlockStyle, passes int) bool {
	switch {
	case style&codestream.HT != 0:
		return passes%3 == 1 || passes%3 == 0
	case style&codestream.Terminate != 0:
		return true
	case style&codestream.Bypass != 0:
		return passes >= 10 && passes%3 != 2
	}
	return false
}

// codedBlock is a code-block of a test: by layer its passes, and the bytes of all.
type codedBlock struct {
	zeroPlanes int
	passes     []int // by layer
	parts      [][]testPart
}

// testPart is the part of a codeword segment that a packet holds.
type testPart struct {
	passes int
	data   []byte
	starts bool
}

func randomBlock(r *rand.Rand, style codestream.BlockStyle, layers int) *codedBlock {
	b := &codedBlock{zeroPlanes: r.IntN(4), parts: make([][]testPart, layers)}
	done, starts := 0, true
	for l := range layers {
		n := 0
		if r.IntN(3) > 0 {
			n = []int{1, 2, 3, 5, 6, 9, 36, 37, 40}[r.IntN(9)]
		}
		if style&codestream.HT != 0 {
			n = min(n, 3-done)
		}
		b.passes = append(b.passes, n)
		for n > 0 {
			p := testPart{starts: starts}
			for n > 0 {
				p.passes++
				done++
				n--
				if starts = ends(style, done); starts {
					break
				}
			}
			p.data = make([]byte, r.IntN(300)/(1+r.IntN(20)))
			if style&codestream.HT != 0 {
				p.data = make([]byte, 2+r.IntN(100))
			}
			for i := range p.data {
				p.data[i] = byte(r.Uint32())
			}
			b.parts[l] = append(b.parts[l], p)
		}
	}
	return b
}

func (b *codedBlock) first() int {
	for l, n := range b.passes {
		if n > 0 {
			return l
		}
	}
	return len(b.passes)
}

// segments are the codeword segments, up to the last pass that a block of so many bit-planes
// can have.
func (b *codedBlock) segments(planes int) []codestream.Segment {
	var list []codestream.Segment
	left := 3*(planes-b.zeroPlanes) - 2
	for _, layer := range b.parts {
		for _, p := range layer {
			counted := min(p.passes, left)
			left -= counted
			if p.starts && counted == 0 {
				return list
			}
			p.passes = counted
			if p.starts {
				list = append(list, codestream.Segment{})
			}
			s := &list[len(list)-1]
			s.Passes += p.passes
			s.Data = append(s.Data, p.data...)
		}
	}
	return list
}

func testTile(levels int, style codestream.BlockStyle) (*codestream.Tile, *codestream.Params, []image.Point) {
	size := codestream.Size{Image: image.Rect(7, 2, 170, 131), Tile: image.Pt(200, 200),
		Components: []codestream.Component{{Bits: 8, Step: image.Pt(1, 1)}, {Bits: 8, Step: image.Pt(2, 1)}}}
	p := &codestream.Params{}
	for range size.Components {
		c := codestream.Coding{Levels: levels, BlockExp: image.Pt(3, 4), Style: style}
		c.Precincts = []image.Point{{3, 4}, {5, 5}, {6, 5}, {7, 7}}[:levels+1]
		c.Quantization = codestream.Quantization{Guard: 2, Steps: make([]codestream.Step, 3*levels+1)}
		for i := range c.Quantization.Steps {
			c.Quantization.Steps[i].Exponent = 24
		}
		p.Components = append(p.Components, c)
	}
	p.Components[1].Levels--
	p.Components[1].Precincts = p.Components[1].Precincts[:levels]
	return size.NewTile(0, p), p, []image.Point{{1, 1}, {2, 1}}
}

// precinctKey names a precinct.
type precinctKey struct{ component, resolution, precinct int }

// writePackets writes the packets of a tile, all in one body or with their headers apart,
// and says where in the body they end.
func writePackets(tile *codestream.Tile, p *codestream.Params, steps []image.Point, blocks map[precinctKey][][]*codedBlock, packed bool) (Input, []int) {
	writers := map[precinctKey]*Writer{}
	var body, headers []byte
	var ends []int
	n := 0
	Order(tile, p, steps, func(id ID) bool {
		key := precinctKey{id.Component, id.Resolution, id.Precinct}
		bands := blocks[key]
		if writers[key] == nil {
			writers[key] = NewWriter(&tile.Components[id.Component].Resolutions[id.Resolution], id.Precinct, nil, func(band, k int) (int, int) {
				return bands[band][k].first(), bands[band][k].zeroPlanes
			})
		}
		if p.SOP && n%3 != 0 {
			body = codestream.AppendSOP(body, n)
		}
		n++
		to := &body
		if packed {
			to = &headers
		}
		*to = writers[key].AppendHeader(*to, id.Layer, func(band, k int) []Length {
			var list []Length
			for _, part := range bands[band][k].parts[id.Layer] {
				list = append(list, Length{part.passes, len(part.data)})
			}
			return list
		})
		if p.EPH {
			*to = codestream.AppendEPH(*to)
		}
		for _, band := range bands {
			for _, b := range band {
				for _, part := range b.parts[id.Layer] {
					body = append(body, part.data...)
				}
			}
		}
		ends = append(ends, len(body))
		return true
	})
	return Input{Bodies: [][]byte{body}, Packed: packed, Headers: headers}, ends
}

func randomBlocks(r *rand.Rand, tile *codestream.Tile, layers int, style codestream.BlockStyle) map[precinctKey][][]*codedBlock {
	blocks := map[precinctKey][][]*codedBlock{}
	for c := range tile.Components {
		for i := range tile.Components[c].Resolutions {
			res := &tile.Components[c].Resolutions[i]
			for p := range count(res.Precincts) {
				var bands [][]*codedBlock
				for k := range res.Subbands {
					var list []*codedBlock
					for range count(res.Subbands[k].Precinct(p).Blocks) {
						list = append(list, randomBlock(r, style, layers))
					}
					bands = append(bands, list)
				}
				blocks[precinctKey{c, i, p}] = bands
			}
		}
	}
	return blocks
}

// What is written in any order, with any style and number of layers, is read again.
func TestPacketsComeBack(t *testing.T) {
	changes := []codestream.Progression{
		{FirstResolution: 0, EndResolution: 2, FirstComponent: 1, EndComponent: 2, EndLayer: 2, Order: codestream.RPCL},
		{FirstResolution: 1, EndResolution: 4, FirstComponent: 0, EndComponent: 2, EndLayer: 3, Order: codestream.CPRL},
		{FirstResolution: 0, EndResolution: 33, FirstComponent: 0, EndComponent: 2, EndLayer: 9, Order: codestream.LRCP},
	}
	seed := uint64(0)
	for _, style := range []codestream.BlockStyle{0, codestream.Bypass, codestream.Terminate, codestream.Bypass | codestream.Terminate, codestream.HT} {
		for order := codestream.LRCP; order <= codestream.CPRL+1; order++ {
			for _, packed := range []bool{false, true} {
				seed++
				tile, p, steps := testTile(3, style)
				p.Layers, p.Order, p.SOP, p.EPH = 1+int(seed%4), order, seed%3 == 0, seed%2 == 0
				if order > codestream.CPRL {
					p.Order, p.Changes = codestream.LRCP, changes
				}
				t.Run(fmt.Sprintf("style %x order %v layers %d packed %v", style, order, p.Layers, packed), func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, 1))
					blocks := randomBlocks(r, tile, p.Layers, style)
					in, _ := writePackets(tile, p, steps, blocks, packed)
					got, err := Read(tile, p, steps, in, func(int, int) bool { return true })
					if err != nil {
						t.Fatal(err)
					}
					compare(t, tile, got, blocks)
				})
			}
		}
	}
}

func compare(t *testing.T, tile *codestream.Tile, got Precincts, blocks map[precinctKey][][]*codedBlock) {
	t.Helper()
	var block codestream.Block
	var buffer []byte
	for key, bands := range blocks {
		res := &tile.Components[key.component].Resolutions[key.resolution]
		var p *Precinct
		if list := got[key.component][key.resolution]; list != nil {
			p = list[key.precinct]
		}
		for i := range bands {
			for k, b := range bands[i] {
				want := b.segments(res.Subbands[i].Planes)
				if p == nil {
					if len(want) > 0 {
						t.Fatalf("%v: not read", key)
					}
					continue
				}
				coded, more, err := p.Bands[i].Coded(k, tile.Components[key.component].Coding.Style, res.Subbands[i].Planes, &block, buffer)
				buffer = more
				if err != nil {
					t.Fatalf("%v: %v", key, err)
				}
				if coded != (len(want) > 0) || len(block.Segments) != len(want) || coded && block.ZeroPlanes != b.zeroPlanes {
					t.Fatalf("%v band %d block %d: %d segments, %d bit-planes missing, want %d and %d", key, i, k, len(block.Segments), block.ZeroPlanes, len(want), b.zeroPlanes)
				}
				for s := range want {
					if g := block.Segments[s]; g.Passes != want[s].Passes || !bytes.Equal(g.Data, want[s].Data) {
						t.Fatalf("%v band %d block %d: segment %d has %d passes and %d bytes, want %d and %d", key, i, k, s, g.Passes, len(g.Data), want[s].Passes, len(want[s].Data))
					}
				}
			}
		}
	}
}

// A cut is an error but behind a packet when all of layer 0 are there, and so is a header
// without EPH where it is promised.
func TestPacketsThatAreCutShort(t *testing.T) {
	tile, p, steps := testTile(1, 0)
	p.Layers = 2
	r := rand.New(rand.NewPCG(1, 2))
	in, ends := writePackets(tile, p, steps, randomBlocks(r, tile, p.Layers, 0), false)
	whole := in.Bodies[0]
	for cut := 0; cut < len(whole); cut += 1 + cut/30 {
		if _, err := Read(tile, p, steps, Input{Bodies: [][]byte{whole[:cut]}}, func(int, int) bool { return true }); err == nil && !slices.Contains(ends, cut) {
			t.Fatalf("%d of %d bytes are enough", cut, len(whole))
		}
	}
	for i, end := range ends {
		_, err := Read(tile, p, steps, Input{Bodies: [][]byte{whole[:end]}}, func(int, int) bool { return true })
		if all := i+1 >= len(ends)/p.Layers; all != (err == nil) {
			t.Errorf("the first %d of %d packets: %v", i+1, len(ends), err)
		}
	}
	if got, err := Read(tile, p, steps, Input{Bodies: [][]byte{whole[:len(whole)/2]}}, func(int, int) bool { return false }); err != nil || got == nil {
		t.Errorf("nothing is wanted: %v", err)
	}
	p.EPH = true
	if _, err := Read(tile, p, steps, in, func(int, int) bool { return true }); err == nil {
		t.Error("packets without EPH are read")
	}
}

// The last HT set that has bytes counts, behind placeholder passes and whole sets
// (15444-15, 7.1.2).
func TestHTSets(t *testing.T) {
	bytesOf := func(n int) []byte { return make([]byte, n) }
	for _, tt := range []struct {
		name   string
		parts  []part
		zero   int
		passes []int
		sizes  []int
	}{
		{"cleanup", []part{{bytesOf(5), 1, true}}, 3, []int{1}, []int{5}},
		{"two sets of placeholders", []part{{bytesOf(5), 7, true}, {bytesOf(4), 2, true}}, 5, []int{1, 2}, []int{5, 4}},
		{"placeholders in a packet of their own", []part{{nil, 3, true}, {bytesOf(5), 1, true}, {bytesOf(2), 1, true}, {bytesOf(1), 1, false}}, 4, []int{1, 2}, []int{5, 3}},
		{"two sets", []part{{bytesOf(5), 1, true}, {bytesOf(4), 2, true}, {bytesOf(9), 1, true}, {bytesOf(3), 1, true}}, 4, []int{1, 1}, []int{9, 3}},
		{"a last set without bytes", []part{{bytesOf(5), 1, true}, {bytesOf(4), 2, true}, {nil, 1, true}}, 3, []int{1, 2}, []int{5, 4}},
	} {
		b := Block{parts: tt.parts, zeroPlanes: 3, phase: highThroughput, passes: 1}
		band := Band{Blocks: []Block{b}}
		var got codestream.Block
		coded, _, err := band.Coded(0, codestream.HT|codestream.Mixed, 10, &got, nil)
		if err != nil || !coded || got.ZeroPlanes != tt.zero || got.Style != codestream.HT || len(got.Segments) != len(tt.passes) {
			t.Errorf("%s: %+v (%v)", tt.name, got, err)
			continue
		}
		for i, s := range got.Segments {
			if s.Passes != tt.passes[i] || len(s.Data) != tt.sizes[i] {
				t.Errorf("%s: segment %d: %d passes, %d bytes, want %d and %d", tt.name, i, s.Passes, len(s.Data), tt.passes[i], tt.sizes[i])
			}
		}
	}
}

// Progressions that name packets again are gone through, and those that do so without end are not, whatever
// they go through: packets that came, components without any, or nothing.
func TestProgressionsThatNameNothingNew(t *testing.T) {
	tile, p, steps := testTile(2, 0)
	p.Layers = 3
	all := codestream.Progression{EndLayer: 3, EndResolution: 33, EndComponent: 2}
	last := codestream.Progression{FirstResolution: 2, EndLayer: 3, EndResolution: 3, EndComponent: 2}
	first := all
	first.EndResolution = 2
	count := func(changes ...codestream.Progression) (n int) {
		p.Changes = changes
		Order(tile, p, steps, func(ID) bool { n++; return true })
		return n
	}
	total, some := count(all), count(first)
	if some == 0 || some == total {
		t.Fatalf("%d of %d packets are of the first resolutions", some, total)
	}
	for order := codestream.LRCP; order <= codestream.CPRL; order++ {
		again, nothing := first, last
		again.Order, nothing.Order = order, order
		nothing.FirstResolution, nothing.EndResolution = 30, 33
		if got := count(append(slices.Repeat([]codestream.Progression{again}, 50), last)...); got != total {
			t.Errorf("%v: %d packets after 50 progressions of the same, want %d", order, got, total)
		}
		if got := count(append(slices.Repeat([]codestream.Progression{again}, 9000), last)...); got != some {
			t.Errorf("%v: %d packets after 9,000 progressions of the same, want that they end at %d", order, got, some)
		}
		if got := count(append(slices.Repeat([]codestream.Progression{nothing}, 500_000), last)...); got != 0 {
			t.Errorf("%v: %d packets after 500,000 progressions of nothing, want none", order, got)
		}
	}
}

// Headers of every bit pattern end in blocks or in an error.
func FuzzRead(f *testing.F) {
	tile, p, steps := testTile(2, 0)
	p.Layers = 2
	r := rand.New(rand.NewPCG(3, 4))
	for _, style := range []codestream.BlockStyle{0, codestream.HT, codestream.HT | codestream.Mixed, codestream.Bypass} {
		in, _ := writePackets(tile, p, steps, randomBlocks(r, tile, p.Layers, style&^codestream.Mixed), false)
		f.Add(byte(style), byte(0), in.Bodies[0])
		f.Add(byte(style), byte(3), bytes.Repeat([]byte{0xff, 0x7f}, 50))
	}
	f.Fuzz(func(t *testing.T, style, order byte, data []byte) {
		tile, p, steps := testTile(2, codestream.BlockStyle(style))
		p.Layers, p.Order = 2, codestream.Order(order%5)
		precincts, _ := Read(tile, p, steps, Input{Bodies: [][]byte{data}}, func(int, int) bool { return true })
		var block codestream.Block
		for c := range precincts {
			for r := range precincts[c] {
				for _, p := range precincts[c][r] {
					if p == nil {
						continue
					}
					for i := range p.Bands {
						for k := range p.Bands[i].Blocks {
							p.Bands[i].Coded(k, codestream.BlockStyle(style), 20, &block, nil)
						}
					}
				}
			}
		}
	})
}
