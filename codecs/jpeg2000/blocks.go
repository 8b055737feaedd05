package jpeg2000

import (
	"image"
	"sync"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/ht"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/packet"
)

// blockTask is a code-block that is to be decoded.
type blockTask[T wavelet.Sample] struct {
	band  *packet.Band
	index int
	area  image.Rectangle // of the block, in samples of the subband
	into  *bandPart[T]
}

// blockScratch is what a goroutine needs for a block.
type blockScratch struct {
	coefficients [4096]int32
	block        codestream.Block
	buffer       []byte
}

var blockScratches = sync.Pool{New: func() any { return new(blockScratch) }}

// storeBlock puts coefficients as [codestream.Block] has them into rows of a plane.
type storeBlock[T wavelet.Sample] struct {
	row func(dst []T, src []int32, step float32)

	// whole decodes a code-block without a region of interest, rows stride apart, with
	// the same numbers; nil: there is no such way.
	whole func(dst []T, stride int, b *codestream.Block) error
}

var (
	storeIndices  = storeBlock[int32]{storeInts, decodeIndices}
	storeProducts = storeBlock[float32]{storeFloats, nil}
)

func decodeIndices(dst []int32, stride int, b *codestream.Block) error {
	if b.Style&codestream.HT != 0 {
		return ht.DecodeIndices(dst, stride, b)
	}
	return bitplane.DecodeIndices(dst, stride, b)
}

// blocksAtOnce are the code-blocks that one goroutine takes at a time.
const blocksAtOnce = 4

// decodeBlocks decodes the code-blocks that lie in the parts of the subbands, whose planes may hold anything before. What no
// code-block of them covers is zero.
func decodeBlocks[T wavelet.Sample](d *decoder, t *codestream.TileComponent, precincts [][]*packet.Precinct, parts []resolution[T], store storeBlock[T]) error {
	var tasks []blockTask[T]
	for r := range parts {
		for _, p := range precincts[r] {
			if p == nil {
				continue
			}
			for i := range p.Bands {
				tasks = appendTasks(tasks, &p.Bands[i], &parts[r].bands[i])
			}
		}
		for i := range parts[r].bands {
			if b := &parts[r].bands[i]; b.covered < len(b.plane.Samples) {
				clear(b.plane.Samples) // precincts that were not read
			}
		}
	}
	bits := d.stream.Size.Components[t.Index].Bits
	// The error is that of the first malformed code-block, whoever finds another one earlier: spans begin in their order, and
	// those before it go on.
	var end atomic.Int64
	end.Store(int64(len(tasks)))
	errs := make([]error, len(tasks))
	d.pool.Spans(len(tasks), blocksAtOnce, func(lo, hi int) {
		s := blockScratches.Get().(*blockScratch)
		defer blockScratches.Put(s)
		for i := lo; i < hi && int64(i) < end.Load(); i++ {
			if errs[i] = decodeTask(s, t.Coding, bits, &tasks[i], store); errs[i] != nil {
				lower(&end, int64(i))
			}
		}
		if d.ctx.Err() != nil {
			end.Store(0)
		}
	})
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if i := end.Load(); i < int64(len(tasks)) {
		return errs[i]
	}
	return nil
}

// lower makes v at most n.
func lower(v *atomic.Int64, n int64) {
	for old := v.Load(); n < old && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

func appendTasks[T wavelet.Sample](tasks []blockTask[T], band *packet.Band, into *bandPart[T]) []blockTask[T] {
	g := &band.Grid
	if !g.Area.Overlaps(into.area) {
		return tasks
	}
	for y := range g.Blocks.Y {
		for x := range g.Blocks.X {
			if area := g.Block(x, y); area.Overlaps(into.area) {
				tasks = append(tasks, blockTask[T]{band, y*g.Blocks.X + x, area, into})
				seen := area.Intersect(into.area)
				into.covered += seen.Dx() * seen.Dy()
			}
		}
	}
	return tasks
}

// decodeTask decodes a block and puts what is wanted of it into its plane.
func decodeTask[T wavelet.Sample](s *blockScratch, c *codestream.Coding, bits int, t *blockTask[T], store storeBlock[T]) error {
	subband := t.into.subband
	b := &s.block
	b.Width, b.Height, b.Orientation = t.area.Dx(), t.area.Dy(), subband.Orientation
	coded, buffer, err := t.band.Coded(t.index, c.Style, subband.Planes, b, s.buffer)
	s.buffer = buffer
	if err != nil {
		return err
	}
	area := t.area.Intersect(t.into.area)
	if !coded {
		for y := area.Min.Y; y < area.Max.Y; y++ {
			clear(t.into.plane.Row(y - t.into.area.Min.Y)[area.Min.X-t.into.area.Min.X:][:area.Dx()])
		}
		return nil
	}
	if t.area.In(t.into.area) && store.whole != nil && c.ROIShift == 0 {
		at := t.area.Min.Sub(t.into.area.Min)
		p := t.into.plane.Crop(at.X, at.Y, b.Width, b.Height)
		return store.whole(p.Samples, p.Stride, b)
	}
	coefficients := s.coefficients[:b.Width*b.Height]
	if b.Style&codestream.HT != 0 {
		err = ht.Decode(coefficients, b.Width, b)
	} else {
		err = bitplane.Decode(coefficients, b.Width, b)
	}
	if err != nil {
		return err
	}
	if c.ROIShift > 0 {
		unshift(coefficients, c.ROIShift)
	}
	step := stepSize(subband, bits)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		src := coefficients[(y-t.area.Min.Y)*b.Width+area.Min.X-t.area.Min.X:][:area.Dx()]
		store.row(t.into.plane.Row(y - t.into.area.Min.Y)[area.Min.X-t.into.area.Min.X:][:len(src)], src, step)
	}
	return nil
}

// unshift scales coefficients of the region of interest back: those that have a bit in a
// plane above the shift (H.1). One fractional bit stays the middle of the interval.
func unshift(coefficients []int32, shift int) {
	for i, v := range coefficients {
		m := v
		if v < 0 {
			m = -v
		}
		if m>>min(shift+1, 31) == 0 {
			continue
		}
		m = m>>shift | 1
		if v < 0 {
			m = -m
		}
		coefficients[i] = m
	}
}

// stepSize is half of the quantization step of a subband (equation E-3), as coefficients
// have a fractional bit.
func stepSize(b *codestream.Subband, bits int) float32 {
	exponent := bits + b.Orientation.Gain() - b.Step.Exponent - 11 - 1
	step := float32(2048 + b.Step.Mantissa)
	for ; exponent > 0; exponent-- {
		step *= 2
	}
	for ; exponent < 0; exponent++ {
		step /= 2
	}
	return step
}

// storeInts gives the indices of a reversible path.
func storeInts(dst, src []int32, _ float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = (v - v>>31) >> 1
	}
}

// storeFloats dequantizes (equation E-6).
func storeFloats(dst []float32, src []int32, step float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(v) * step
	}
}
