package pcwt

import (
	"sync"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/tile"
	"github.com/pelmill/pelmill/codecs/pool"
)

// Images of up to 8 bits are coded with coefficients of 16: the bands of the wavelets are what the model reads, so that nothing is
// copied between steps. steps.go is the same for all images, on 32 bits.

// narrowWavelets are those of images of up to 8 bits, by their id; nil is none.
var narrowWavelets = [...]func() *wavelet.Filter[int16]{wavelet53: wavelet.LeGall53Narrow, wavelet2Tap: wavelet.TwoTapNarrow}

// freeTransforms are transforms that nobody uses, by the id of their wavelet.
var freeTransforms [len(narrowWavelets)]sync.Pool

// eachNarrow calls f for parts of rows with a transform of a wavelet.
func eachNarrow(c *pool.Pool, id, rows int, f func(t *wavelet.Transform[int16], first, last int)) {
	eachRows(c, rows, func(first, last int) {
		free := &freeTransforms[id]
		t, ok := free.Get().(*wavelet.Transform[int16])
		if !ok {
			t = wavelet.New(narrowWavelets[id](), wavelet.RowsFirst)
		}
		f(t, first, last)
		free.Put(t)
	})
}

// narrow says whether coefficients of an image fit in 16 bits, and the sums of two as well.
func (h *header) narrow() bool {
	if h.profile == 0 || h.stored() || h.shape.Bits > 8 || h.qmin > 0 || h.zLevels > 0 || h.levels == 0 {
		return false
	}
	for i := range h.planes {
		if narrowWavelets[h.planes[i].wavelet] == nil {
			return false
		}
	}
	return true
}

// cells are arrays for the planes and levels of images, which nobody uses.
var freeCells sync.Pool

// mostKept is the greatest array that is kept for other images.
const mostKept = 1 << 24

// narrowCells is an array for all planes of a slice and their levels: a sample of a plane, and of each level LL, coefficients and
// residuals.
func (h *header) narrowCells() *[]int16 {
	n := 0
	for level := range h.levels {
		n += reduced(h.shape.Width, level) * reduced(h.shape.Height, level)
	}
	n = (2*n + h.shape.Width*h.shape.Height) * h.shape.Channels
	if p, ok := freeCells.Get().(*[]int16); ok && cap(*p) >= n {
		*p = (*p)[:n]
		return p
	}
	cells := make([]int16, n)
	return &cells
}

func giveCells(p *[]int16) {
	if cap(*p) <= mostKept {
		freeCells.Put(p)
	}
}

// narrowPlanes are the planes of a slice, not filled, and their levels.
func (h *header) narrowPlanes(cells []int16) ([]wavelet.Plane[int16], []*pyramid) {
	memory := model.NewMemory(cells)
	planes, pyramids := make([]wavelet.Plane[int16], h.shape.Channels), make([]*pyramid, h.shape.Channels)
	for i := range planes {
		w, l := h.shape.Width, h.shape.Height
		planes[i] = plane16(memory.Take(w*l), w, l)
		p := &pyramid{levels: make([]*model.Level, h.levels)}
		for k := range p.levels {
			p.levels[k] = model.NewLevelIn(memory, w, l, !h.fast())
			w, l = (w+1)/2, (l+1)/2
		}
		pyramids[i] = p
	}
	return planes, pyramids
}

func plane16(samples []int16, w, h int) wavelet.Plane[int16] {
	return wavelet.Plane[int16]{Samples: samples, Width: w, Height: h, Stride: w}
}

// narrowBands are the bands of a level for the wavelets.
func narrowBands(l *model.Level) wavelet.Bands[int16] {
	of := func(b *model.Band) wavelet.Plane[int16] { return plane16(b.C, b.W, b.H) }
	return wavelet.Bands[int16]{LL: plane16(l.LL, l.Low.Dx(), l.Low.Dy()), HL: of(&l.Bands[0]), LH: of(&l.Bands[1]), HH: of(&l.Bands[2])}
}

// narrowSlice is slice for images of up to 8 bits.
func (e *encoder) narrowSlice(h *header, k *coders, number int) [][]byte {
	cells := h.narrowCells()
	defer giveCells(cells)
	planes, pyramids := h.narrowPlanes(*cells)
	loadInto(e.cores, planes, e.image, number, h.near, h.rct())
	for i, p := range pyramids {
		src := planes[i]
		for _, l := range p.levels {
			bands := narrowBands(l)
			eachNarrow(e.cores, h.params(number, i).wavelet, src.Height, func(t *wavelet.Transform[int16], first, last int) {
				t.ForwardRows(bands, src, 0, 0, first, last)
			})
			src = bands.LL
		}
		p.last = wavelet.NewPlane[int32](src.Width, src.Height)
		for i, v := range src.Samples {
			p.last.Samples[i] = int32(v)
		}
	}
	return e.code(h, k, pyramids, number)
}

// narrowSlice decodes a whole slice of an image of up to 8 bits. done is false if its coefficients are not such of an image, so that the
// decoder of all images finds out what is wrong: sums may wrap around here, and give no samples in their range then.
func (d *decoder) narrowSlice(z int) (done bool, err error) {
	h := d.header
	lows, err := d.lows(z)
	if err != nil {
		return true, err
	}
	cells := h.narrowCells()
	defer giveCells(cells)
	planes, pyramids := h.narrowPlanes(*cells)
	for i, p := range pyramids {
		ll := p.levels[h.levels-1].LL
		for k, v := range lows[i].Samples {
			if ll[k] = int16(v); int32(ll[k]) != v {
				return false, nil
			}
		}
	}
	for level := h.levels; level > 0; level-- {
		data, err := h.sectionBytes(d.file, h.section(level, z))
		if err != nil {
			return true, err
		}
		if done, err := d.narrowLevel(z, level, pyramids, planes, data); !done || err != nil {
			return done, err
		}
	}
	return storePlanes(d.cores, d.image, z, h.near, h.rct(), planes), nil
}

// narrowLevel decodes a level of all planes of a slice into the low bands of the next one, or into planes.
func (d *decoder) narrowLevel(z, level int, pyramids []*pyramid, planes []wavelet.Plane[int16], data []byte) (done bool, err error) {
	h := d.header
	columns, rows := h.tiles(level)
	bodies, err := readLengths(data, len(pyramids)*columns*rows)
	if err != nil {
		return true, err
	}
	for i, p := range pyramids {
		params := h.params(z, i)
		n := neighbours(p, earlierOf(pyramids, i, params.earlier), level-1)
		fits, err := d.tiles(h.tileParams(params), n, level, nil, data, bodies[i*columns*rows:][:columns*rows])
		if !fits || err != nil {
			return fits, err
		}
		out := planes[i]
		if level > 1 {
			next := p.levels[level-2]
			out = plane16(next.LL, next.Low.Dx(), next.Low.Dy())
		}
		bands := narrowBands(p.levels[level-1])
		eachNarrow(d.cores, params.wavelet, out.Height, func(t *wavelet.Transform[int16], first, last int) {
			t.InverseRows(out, bands, 0, 0, first, last)
		})
	}
	return true, nil
}

// bandsOf are the indices of a level, nil where they are the coefficients.
func (p *pyramid) bandsOf(level int) *tile.Bands {
	if p.bands == nil {
		return nil
	}
	return &p.bands[level]
}
