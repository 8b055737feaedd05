package vq

import (
	"context"
	"sync"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// The steps of the codec, in the order in which they run. The steps marked with a star are
// behind the interface steps: in Go in steps_cpu.go, train.go, start.go, gather.go and shift.go, and
// on a device in kernels.cu with its parts, which the files named _cuda.go launch
// for all images of a batch, with the same numbers; decode is in decode.go and decode_cuda.go. The others run strictly in sequence,
// and on the CPU.
//
//	step       input                      output                            unit of parallel work
//	planes*    image                    grey or Y, Co, Cg, 8 bit          row
//	blocks*    plane                      M x K samples, block after block  row of blocks
//	sample*    blocks                     blocks to train on                block
//	draw*      weights of blocks          the next codewords to start from  block
//	search*    M x K blocks, N codewords  M keys: distance, index           block (eq. 1, Algorithm 1)
//	gather*    blocks, indices            N x K sums, N counts              block, summed in integers
//	centre*    sums, counts               N codewords                       sample
//	halves*    blocks, keys, codewords    N pairs of codewords, N gains     block, summed in integers
//	nearest*   codewords                  N keys of other codewords         codeword
//	shift*     the last four              N codewords for the next pass     pair of cells
//	ranks*     index table, codewords     M symbols                         block
//	code*      symbols                    bytes                             segment
//	decode*    bytes, codewords           index table                       segment
//	expand*    index table, codewords     plane (Algorithm 2)               row of blocks
//	image*   planes                     image                           row
//
// M blocks are in raster order, K = p x q samples of a block too.

// steps runs the steps. There are two kinds: [cpuSteps] in Go, and [deviceSteps] on a lane
// of a device, with the same results.
type steps interface {
	// analyse finds the codebooks and the index tables of images: everything up to the
	// coding of the tables, and on a device that, too. It does not change the images.
	analyse(ctx context.Context, images []*raster.Image, o *Options) ([]*analysis, error)

	// sample returns the blocks of m that the training of a shared codebook looks at, of
	// luma and of chroma, K samples each: at most 256 for each codeword, one from each of
	// as many equal stretches, at a place that a generator draws, so that no column of
	// the image is favoured.
	sample(ctx context.Context, m *raster.Image, o *Options) ([2][]byte, error)

	// train makes a codebook for the blocks of luma and, if there are two sets, of
	// chroma: see the function train.
	train(ctx context.Context, sets [][]byte, o *Options) ([]*codebook, error)

	// expand writes the image of index tables of luma and of chroma, as decodeTables
	// gives them.
	expand(ctx context.Context, h *header, books *bookPair, table [][]uint16, m *raster.Image) error
}

// reader is blocks that can be looked at.
type reader interface {
	m() int

	// read returns the samples of blocks lo to hi-1, not to be changed.
	read(lo, hi int) ([]byte, error)
}

// memoryBlocks is blocks of K samples in memory.
type memoryBlocks struct {
	k       int
	samples []byte
}

func (b memoryBlocks) m() int                          { return len(b.samples) / b.k }
func (b memoryBlocks) read(lo, hi int) ([]byte, error) { return b.samples[lo*b.k : hi*b.k], nil }

// sample is most of the blocks, of which there are more: see the function sample.
func (b memoryBlocks) sample(most int) memoryBlocks {
	out := memoryBlocks{b.k, make([]byte, 0, most*b.k)}
	for _, at := range samplePlaces(b.m(), most) {
		out.samples = append(out.samples, b.samples[at*b.k:(at+1)*b.k]...)
	}
	return out
}

// shape is the geometry of the blocks: p rows of q samples, as in the paper.
type shape struct {
	p, q int
}

func (s shape) k() int { return s.p * s.q }

// plane is one channel of one slice, row after row without padding.
type plane struct {
	w, h int
	pix  []byte
}

// grid is the geometry of the index table of a plane.
type grid struct {
	rows, cols int
}

func (s shape) grid(w, h int) grid {
	return grid{(h + s.p - 1) / s.p, (w + s.q - 1) / s.q}
}

func (g grid) blocks() int { return g.rows * g.cols }

// segment is a run of whole rows of the index table that is coded on its own:
// it looks at no block outside itself.
type segment struct {
	first, rows int
}

// segments cuts the table into segments of as many rows as hold segmentBlocks
// blocks, at least one.
func (g grid) segments() []segment {
	step := g.segmentRows()
	var s []segment
	for r := 0; r < g.rows; r += step {
		s = append(s, segment{r, min(step, g.rows-r)})
	}
	return s
}

// segmentRows is how many rows a segment has, but for the last one.
func (g grid) segmentRows() int { return max(1, segmentBlocks/g.cols) }

// segmentCount is the number of segments.
func (g grid) segmentCount() int64 {
	step := g.segmentRows()
	return int64((g.rows + step - 1) / step)
}

// vectors are M blocks of K samples, one after the other.
type vectors struct {
	k       int
	samples []byte
	norms   []uint32 // M: sums of the squared samples, for the search
}

func newVectors(c *pool.Pool, k int, samples []byte) vectors {
	v := vectors{k, samples, make([]uint32, len(samples)/k)}
	c.Spans(len(v.norms), blocksAtOnce, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v.norms[i] = norm(v.at(i))
		}
	})
	return v
}

func norm(x []byte) uint32 {
	var s uint32
	for _, v := range x {
		s += uint32(v) * uint32(v)
	}
	return s
}

func (v vectors) m() int          { return len(v.norms) }
func (v vectors) at(i int) []byte { return v.samples[i*v.k : (i+1)*v.k : (i+1)*v.k] }

func (v vectors) part(lo, hi int) vectors {
	return vectors{v.k, v.samples[lo*v.k : hi*v.k], v.norms[lo:hi]}
}

// codebook is N codewords of K samples. The codewords of a finished codebook
// ascend by the sum of their samples, then by their samples from the first, and
// no two are equal.
type codebook struct {
	shape
	words []byte // N x K

	once sync.Once
	side *ranker // of a finished codebook, made when it is first needed
}

// ranker returns the side-match order of a finished codebook. A shared codebook
// makes it once for all images.
func (b *codebook) ranker(c *pool.Pool) *ranker {
	b.once.Do(func() { b.side = newRanker(c, b, vectorRanks) })
	return b.side
}

func (b *codebook) n() int { return len(b.words) / b.k() }

func (b *codebook) word(i int) []byte {
	k := b.k()
	return b.words[i*k : (i+1)*k : (i+1)*k]
}

// key packs what search decides by, the squared distance and then the index:
// the least key is the nearest codeword, and of equally near ones the first.
// 64 samples of 8 bits are at most 2^22 apart and an index takes 12 bits, so
// that a key takes 34 bits; for blocks of up to 16 samples it is 32.
type key uint64

const indexBits = 12

func makeKey(distance uint32, index int) key { return key(distance)<<indexBits | key(index) }

func (k key) index() int       { return int(k & (1<<indexBits - 1)) }
func (k key) distance() uint32 { return uint32(k >> indexBits) }
