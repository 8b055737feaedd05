package jpeg2000

import (
	"image"
	"slices"
	"sync"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/ht"
)

// codedBlock is an encoded code-block.
type codedBlock struct {
	planes int // bit-planes of its largest magnitude
	coded  int // bit-planes that the passes code
	data   []byte
	passes []bitplane.Pass
	layers []int // by quality layer: the passes in it and those before it

	// Where layers are chosen by distortion: the cuts that are worth it, the squared error
	// of the block without a pass, in units of coefficients, and how much that counts.
	cuts   []cut
	energy float64
	weight float64
}

// codedTile are the code-blocks of a tile.
type codedTile struct {
	tile   *codestream.Tile
	blocks [][][]codedPrecinct // by component, resolution and precinct
}

// codedPrecinct are the code-blocks of a precinct by subband, and there by rows.
type codedPrecinct [][]*codedBlock

// blockKey names what the coded bytes of a block depend on, for one image.
type blockKey struct {
	tile, component, level int
	orientation            codestream.Orientation
	area                   image.Rectangle // in the subband
	style                  codestream.BlockStyle
}

// blockCache holds the blocks that several trials share: subbands are the same with more
// levels below them.
type blockCache map[blockKey]*codedBlock

// encodeTask is a code-block that is to be encoded.
type encodeTask struct {
	key   blockKey
	plane wavelet.Plane[int32]
	out   **codedBlock

	measured bool
	fraction int     // of the coefficients, see [bitplane.Encoder]
	weight   float64 // of squared errors of coefficients
}

var blockEncoders = sync.Pool{New: func() any { return bitplane.NewPair() }}

// encodeBlocks encodes the code-blocks of a tile, but for those that are in the cache,
// which gets the others. bands are the planes of the subbands by
// component, resolution and subband.
func (e *encoder) encodeBlocks(main *codestream.Main, tile *codestream.Tile, bands [][][]wavelet.Plane[int32]) (*codedTile, error) {
	coded := &codedTile{tile: tile, blocks: make([][][]codedPrecinct, len(tile.Components))}
	var tasks []encodeTask
	for c := range tile.Components {
		t := &tile.Components[c]
		coded.blocks[c] = make([][]codedPrecinct, len(t.Resolutions))
		for r := range t.Resolutions {
			precincts := make([]codedPrecinct, t.Resolutions[r].Precincts.X*t.Resolutions[r].Precincts.Y)
			for p := range precincts {
				precincts[p], tasks = e.appendTasks(tasks, main, tile.Index, t, r, p, bands[c][r])
			}
			coded.blocks[c][r] = precincts
		}
	}
	todo := tasks[:0]
	for _, t := range tasks {
		if *t.out = e.cache[t.key]; *t.out == nil {
			todo = append(todo, t)
		}
	}
	// Two blocks at a time are faster than one, unless cores wait for blocks.
	atOnce := 1
	if main.Params.Components[0].Style&codestream.HT == 0 && len(todo) >= pairsFrom*e.workers.Size() {
		atOnce = 2
	}
	made := make([]codedBlock, len(todo))
	for i := range todo {
		*todo[i].out = &made[i]
	}
	size := min(mostChunk, roomForBlock*(len(todo)+1))
	e.workers.Spans(len(todo), atOnce, func(lo, hi int) {
		chunk := e.chunks.take(size)
		switch {
		case e.ctx.Err() != nil:
		case hi-lo == 2:
			chunk = encodePair(&todo[lo], &todo[lo+1], chunk)
		default:
			chunk = encodeBlock(&todo[lo], chunk)
		}
		e.chunks.give(chunk)
	})
	if e.cache != nil {
		for _, t := range todo {
			e.cache[t.key] = *t.out
		}
	}
	return coded, e.ctx.Err()
}

func (e *encoder) appendTasks(tasks []encodeTask, main *codestream.Main, tile int, t *codestream.TileComponent, r, p int, planes []wavelet.Plane[int32]) (codedPrecinct, []encodeTask) {
	res := &t.Resolutions[r]
	precinct := make(codedPrecinct, len(res.Subbands))
	for i := range res.Subbands {
		band := &res.Subbands[i]
		grid := band.Precinct(p)
		unit := unitOf(&main.Params, t, band, e.image.Bits, e.fraction())
		blocks := make([]*codedBlock, grid.Blocks.X*grid.Blocks.Y)
		for k := range blocks {
			area := grid.Block(k%grid.Blocks.X, k/grid.Blocks.X)
			at := area.Min.Sub(band.Bounds.Min)
			tasks = append(tasks, encodeTask{
				key:   blockKey{tile, t.Index, band.Level, band.Orientation, area, t.Coding.Style},
				plane: planes[i].Crop(at.X, at.Y, area.Dx(), area.Dy()),
				out:   &blocks[k],

				measured: e.measured(),
				fraction: e.fraction(),
				weight:   unit,
			})
		}
		precinct[i] = blocks
	}
	return precinct, tasks
}

// unitOf is what a squared error of 1 in the coefficients of a subband, as they are
// encoded, with so many fractional bits, adds to the squared errors of samples.
func unitOf(p *codestream.Params, t *codestream.TileComponent, band *codestream.Subband, bits, fraction int) float64 {
	unit := float64(componentNorm(p, t.Index) * bandNorm(t.Coding.Transform, band.Orientation, band.Level))
	if t.Coding.Transform == codestream.Irreversible97 {
		step := float64(quantum(band.Step, bits+band.Orientation.Gain()) / float64(int(1)<<fraction))
		unit *= float64(step * step)
	}
	return unit
}

// codedChunks are memory for the bytes of code-blocks, which are many and small. A goroutine appends those of a
// block to a chunk that it has for itself. Those of an image are one after the other's, of all tiles and trials: each may
// be small, and as many chunks as there are goroutines would be left with little in them.
type codedChunks struct {
	mu   sync.Mutex
	list [][]byte
}

// A chunk is made for as many blocks as there are, of the size that is usual, and is given up when there may be no more
// room for one.
const (
	roomForBlock = 4 << 10
	mostChunk    = 64 << 10
)

// take returns a chunk with room for a block, a new one of so many bytes if there is none.
func (c *codedChunks) take(size int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.list)
	if n == 0 {
		return make([]byte, 0, size)
	}
	chunk := c.list[n-1]
	c.list = c.list[:n-1]
	return chunk
}

func (c *codedChunks) give(chunk []byte) {
	if cap(chunk)-len(chunk) < roomForBlock {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, chunk)
}

// encodeBlock encodes a block. Its bytes are appended to chunk, which is returned.
func encodeBlock(t *encodeTask, chunk []byte) []byte {
	if t.key.style&codestream.HT != 0 {
		return encodeHTBlock(t, chunk)
	}
	p := blockEncoders.Get().(*bitplane.Pair)
	defer blockEncoders.Put(p)
	e, b := &p.First, t.block()
	e.Fraction, e.Measure = t.fraction, t.measured
	return t.coded(e.Encode(b.Samples, b.Stride, b.Width, b.Height, b.Orientation, t.key.style), chunk)
}

// pairsFrom is how many code-blocks there have to be for each goroutine if they are encoded in pairs.
const pairsFrom = 4

// encodePair is encodeBlock for two blocks of Part 1 of one style.
func encodePair(t, u *encodeTask, chunk []byte) []byte {
	p := blockEncoders.Get().(*bitplane.Pair)
	defer blockEncoders.Put(p)
	p.First.Fraction, p.First.Measure = t.fraction, t.measured
	p.Second.Fraction, p.Second.Measure = u.fraction, u.measured
	a, b := p.Encode(t.block(), u.block(), t.key.style)
	return u.coded(b, t.coded(a, chunk))
}

func (t *encodeTask) block() bitplane.Block {
	p := t.plane
	return bitplane.Block{Samples: p.Samples, Stride: p.Stride, Width: p.Width, Height: p.Height, Orientation: t.key.orientation}
}

// coded makes the block of what was encoded as c, and appends its bytes to chunk.
func (t *encodeTask) coded(c bitplane.Coded, chunk []byte) []byte {
	b := *t.out
	n := len(chunk)
	chunk = append(chunk, c.Data...)
	*b = codedBlock{planes: c.Planes, coded: c.Planes, data: chunk[n:len(chunk):len(chunk)], passes: slices.Clone(c.Passes)}
	if t.measured {
		b.weigh(energy(t.plane), t.weight)
	}
	return chunk
}

// encodeHTBlock encodes the one coding pass that there is, of bit-plane 0.
func encodeHTBlock(t *encodeTask, chunk []byte) []byte {
	p := t.plane
	n := len(chunk)
	chunk, planes := ht.Encode(chunk, p.Samples, p.Stride, p.Width, p.Height)
	(*t.out).setHT(chunk[n:len(chunk):len(chunk)], planes, make([]bitplane.Pass, 1))
	return chunk
}

// setHT sets the block to what a cleanup pass codes, if the magnitudes have any bit-plane.
// passes is memory for one.
func (b *codedBlock) setHT(data []byte, planes int, passes []bitplane.Pass) {
	b.planes, b.coded, b.data = planes, 1, data
	if planes > 0 {
		passes[0] = bitplane.Pass{Length: len(data), Terminated: true}
		b.passes = passes
	}
}

// energy is the sum of squares.
func energy(p wavelet.Plane[int32]) float64 {
	sum := 0.0
	for y := range p.Height {
		for _, v := range p.Row(y) {
			sum += float64(float64(v) * float64(v))
		}
	}
	return sum
}

// each calls f for all blocks in their order.
func (t *codedTile) each(f func(band *codestream.Subband, b *codedBlock)) {
	for c, resolutions := range t.blocks {
		for r, precincts := range resolutions {
			for _, bands := range precincts {
				for i, blocks := range bands {
					for _, b := range blocks {
						f(&t.tile.Components[c].Resolutions[r].Subbands[i], b)
					}
				}
			}
		}
	}
}
