//go:build cuda && cgo

package pcwt

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/tile"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// The steps of profile 1 give, after every step, what the steps in Go give, for random headers: all wavelets, planes that look at
// others, constants, q offsets, tiles, lanes, qmin, bounds and levels along z that the format has. The message names the
// first step that differs.
func TestTilesInLockstep(t *testing.T) {
	dev := gputest.Device(t, nil)
	batches := 150
	if testing.Short() {
		batches = 8 // under compute-sanitizer a kernel takes a hundred times as long
	}
	for seed := range batches {
		err := dev.Do(context.Background(), func(l *gpu.Lane) error {
			r := rand.New(rand.NewPCG(uint64(seed), 21))
			d := newDeviceSteps(l, pool.New())
			d.beside = []int{0, 3000, 9000}[seed%3] // groups of 32, 16 and 8 threads
			return tilesInLockstep(d, randomTiles(r))
		})
		if err != nil {
			t.Fatalf("batch %d: %v", seed, err)
		}
	}
}

// tilesCase is images and the headers with which they are coded.
type tilesCase struct {
	images  []*raster.Image
	headers []*header
}

func randomTiles(r *rand.Rand) *tilesCase {
	c := new(tilesCase)
	qmin, fast := 0, r.IntN(4) == 0
	if r.IntN(3) == 0 {
		qmin = 1 + r.IntN(maxQmin)
	}
	for range 1 + r.IntN(5) {
		p := randomPicture(r)
		if r.IntN(2) == 0 {
			p = landscape(1+r.IntN(300), 1+r.IntN(300), 1+r.IntN(4))
		}
		depth := 1
		if r.IntN(4) == 0 {
			depth = 1 + r.IntN(7)
		}
		m := raster.Make(raster.Shape{Width: p.width, Height: p.height, Depth: depth, Channels: p.channels, Bits: p.bits, Signed: p.signed})
		for z := range depth {
			copy(m.Slice(z).Pix, p.pix)
			for range 20 * z {
				m.Slice(z).Pix[r.IntN(m.Width*m.Height)*m.Channels*m.BytesPerSample()] ^= 1
			}
		}
		c.images, c.headers = append(c.images, m), append(c.headers, randomHeader(r, m, qmin, fast))
	}
	return c
}

// randomHeader is one that the format allows and setTables has done.
func randomHeader(r *rand.Rand, m *raster.Image, qmin int, fast bool) *header {
	o := defaults
	o.fast, o.qmin = fast, qmin
	if r.IntN(4) == 0 {
		o.near = 1 + r.IntN(9)
	}
	h := (&encoder{context.Background(), pool.New(), m, &o}).plain()
	h.tileLog, h.laneLog, h.levels = 6+r.IntN(3)*r.IntN(2), r.IntN(6), r.IntN(h.levels+1)
	if m.Channels >= 3 && r.IntN(2) == 0 {
		h.flags &^= flagRCT
	}
	for h.zLevels < maxZLevels && lowSlices(m.Depth, h.zLevels) >= 2 && r.IntN(2) == 0 {
		h.zLevels++
	}
	h.planes = make([]planeParams, m.Channels*(1+h.zLevels))
	for i := range h.planes {
		p := &h.planes[i]
		p.wavelet, p.earlier, p.constant = r.IntN(len(wavelets)), r.IntN(min(2, i%m.Channels)+1), r.IntN(constants.Variants)
		if r.IntN(2) == 0 {
			for k := range p.offsets {
				p.offsets[k] = int8(r.IntN(33) - 16)
			}
		}
	}
	if err := h.setTables(); err != nil {
		panic(err)
	}
	return h
}

func tilesInLockstep(d *deviceSteps, c *tilesCase) error {
	pictures, frames := slicePictures(c.images, c.headers)
	b, err := d.newModelBatch(pictures, c.headers, frames, 0, true)
	if err != nil {
		return err
	}
	want := c.stored()
	for _, step := range []struct {
		name string
		run  func() error
		same func(*modelPlane, *storedPlane) error
	}{
		{"load", b.planesOf, nil},
		{"lift", b.lift, b.sameSamples},
		{"transform", b.split, func(p *modelPlane, s *storedPlane) error { return b.sameBands(p, s.transform(0)) }},
		{"quantise", b.round, func(p *modelPlane, s *storedPlane) error { return b.sameBands(p, s.transform(b.headers[0].qmin)) }},
		{"predict", b.predict, nil},
		{"scale", b.scale, b.sameSites},
		{"tiles", b.encode, b.sameBodies},
	} {
		if err := step.run(); err != nil {
			return err
		}
		for i := range b.planes {
			p := &b.planes[i]
			if step.same == nil {
				continue
			}
			if err := step.same(p, want.plane(b.frames[p.frame], p.channel)); err != nil {
				h := b.headers[b.frames[p.frame].file]
				return fmt.Errorf("%s: %s, slice %d, plane %d, %d levels, tile 2^%d, lanes 2^%d, qmin %d: %w",
					step.name, h.shape, b.frames[p.frame].slice, p.channel, h.levels, h.tileLog, h.laneLog, h.qmin, err)
			}
		}
	}
	return c.filesInLockstep(d, pictures, frames, want)
}

// storedSlices are the planes of files as they are stored, by file and slice.
type storedSlices [][][]*storedPlane

func (s storedSlices) plane(f frame, channel int) *storedPlane { return s[f.file][f.slice][channel] }

// storedPlane is a plane, and what the steps in Go make of it.
type storedPlane struct {
	header  *header
	params  *planeParams
	earlier []*storedPlane // that it looks at, the nearest first
	samples wavelet.Plane[int32]
	pyramid *pyramid
	coded   bool // residuals are in the pyramid
}

func (c *tilesCase) stored() storedSlices {
	out := make(storedSlices, len(c.images))
	for i, m := range c.images {
		h := c.headers[i]
		e := &encoder{ctx: context.Background(), cores: pool.New(), image: m}
		for slice, planes := range e.lifted(h) {
			var list []*storedPlane
			for k, p := range planes {
				s := &storedPlane{header: h, params: h.params(slice, k), samples: p}
				for n := range s.params.earlier {
					s.earlier = append(s.earlier, list[k-1-n])
				}
				list = append(list, s)
			}
			out[i] = append(out[i], list)
		}
	}
	return out
}

// transform is the plane's bands. The step changes nothing in samples.
func (s *storedPlane) transform(qmin int) *pyramid {
	s.pyramid = transform(pool.New(), s.samples, s.params.wavelet, s.header.levels, uint(qmin))
	return s.pyramid
}

func (s *storedPlane) neighbours(level int) *model.Neighbours {
	var earlier []*pyramid
	for _, p := range s.earlier {
		earlier = append(earlier, p.pyramid)
	}
	return neighbours(s.pyramid, earlier, level)
}

func (b *modelBatch) sameSamples(p *modelPlane, s *storedPlane) error {
	got, err := at[int32](b.deviceSteps, p.first, b.images.planes, len(s.samples.Samples))
	if err != nil {
		return err
	}
	return differ("samples", got, s.samples.Samples)
}

// sameBands compares coefficients, or what stands for them, and LL of all levels.
func (b *modelBatch) sameBands(p *modelPlane, want *pyramid) error {
	for i := range p.levels {
		l := &p.levels[i]
		low, err := at[int32](b.deviceSteps, l.low, b.memory, len(want.levels[i].LL))
		if err != nil {
			return err
		}
		if err := differ(fmt.Sprintf("LL of level %d", i+1), saturated(low), want.levels[i].LL); err != nil {
			return err
		}
		for k := range l.bands {
			c, err := at[int32](b.deviceSteps, l.bands[k].c, b.memory, len(want.levels[i].Bands[k].C))
			if err != nil {
				return err
			}
			if err := differ(fmt.Sprintf("band %d of level %d", k, i+1), saturated(c), want.levels[i].Bands[k].C); err != nil {
				return err
			}
		}
	}
	return nil
}

func saturated(list []int32) []int16 {
	out := make([]int16, len(list))
	for i, v := range list {
		out[i] = model.Saturate(v)
	}
	return out
}

// sites are what the model says of the coefficients of a band.
type sites struct {
	residuals []int32 // with the sign that they are coded with
	kinds     []uint8 // direction + 8 * fraction
	steps     []uint8 // of the scale, without offset
	e         []int16
}

// sameSites compares prediction, fraction and scale of all coefficients, coarse levels first: they look at residuals of parents.
func (b *modelBatch) sameSites(p *modelPlane, s *storedPlane) error {
	for i := len(p.levels) - 1; i >= 0; i-- {
		want := s.walk(i)
		for k := range p.levels[i].bands {
			a, w := &p.levels[i].bands[k], &want[k]
			n := len(w.e)
			residuals, err := at[int32](b.deviceSteps, a.residuals, b.memory, n)
			if err != nil {
				return err
			}
			e, err := at[int16](b.deviceSteps, a.e, b.memory, n)
			if err != nil {
				return err
			}
			kinds, err := at[uint8](b.deviceSteps, a.kinds, b.memory, n)
			if err != nil {
				return err
			}
			steps, err := at[uint8](b.deviceSteps, a.steps, b.memory, n)
			if err != nil {
				return err
			}
			name := fmt.Sprintf("band %d of level %d: ", k, i+1)
			for _, err := range []error{
				differ(name+"residuals", residuals, w.residuals), differ(name+"saturated residuals", e, w.e),
				differ(name+"directions and fractions", kinds, w.kinds), differ(name+"steps of scales", steps, w.steps),
			} {
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// walk goes over the tiles of a level and writes its residuals.
func (s *storedPlane) walk(level int) (out [constants.Bands]sites) {
	n, side := s.neighbours(level), s.header.side()
	own, qmin := n.Own, uint(s.header.qmin)
	for k := range out {
		c := len(own.Bands[k].C)
		out[k] = sites{make([]int32, c), make([]uint8, c), make([]uint8, c), own.Bands[k].E}
	}
	columns, rows := own.Tiles(side)
	m := model.NewTile(side)
	var e, c []int16
	for i := range columns * rows {
		tx, ty := i%columns, i/columns
		m.Start(n, tx, ty, constants.LevelClass(level+1), s.params.tables.Set, qmin)
		for k := range out {
			band, to := &own.Bands[k], &out[k]
			_, h := m.Band(k)
			for y := range h {
				row := (ty*side+y)*band.W + tx*side
				for parity := range 2 {
					e, c = e[:0], c[:0]
					for j := range m.HalfRow(y, parity) {
						at := row + 2*j + parity
						v := s.pyramid.bands[level][k].Row(ty*side + y)[tx*side+2*j+parity]
						residual := v - m.Predictions[j]
						band.E[at] = model.Saturate(residual)
						e, c = append(e, band.E[at]), append(c, band.C[at])
						to.residuals[at] = residual
						if m.Fractions[j] < 0 {
							to.residuals[at] = -residual
						}
						to.kinds[at] = uint8(min(max(m.Fractions[j], -m.Fractions[j])>>9, 3)) << 3
						if !s.header.fast() {
							var site model.Site
							m.Site(&site, y, parity, j)
							to.kinds[at] |= uint8((site.ScaleKey - constants.ScaleKey(constants.LevelClass(level+1), k, y, parity)))
						}
						to.steps[at] = uint8(m.Contexts[j])
						if m.Contexts[j] == 0 {
							to.steps[at] = scaleZero
						}
					}
					m.Put(y, parity, c, e)
				}
			}
			m.EndBand()
		}
	}
	return out
}

// sameBodies compares the lengths and words of all tiles; those of raw tiles are packed later.
func (b *modelBatch) sameBodies(p *modelPlane, s *storedPlane) error {
	side, lanes := s.header.side(), 1<<s.header.laneLog
	coder := tile.NewCoder(side)
	room := roomOf(side, lanes)
	for i := range p.levels {
		l := &p.levels[i]
		lengths, err := at[uint32](b.deviceSteps, b.lengths.Ptr+gpu.Ptr(4*l.tilesAt), b.lengths, l.tiles)
		if err != nil {
			return err
		}
		words, err := at[uint16](b.deviceSteps, l.words, b.memory, l.tiles*room)
		if err != nil {
			return err
		}
		for k, n := range lengths {
			want, length := coder.Encode(s.header.tileParams(s.params), s.neighbours(i), k%l.across, k/l.across, i+1, &s.pyramid.bands[i])
			if n != uint32(length) {
				return fmt.Errorf("tile %d of level %d: length %d, want %d", k, i+1, n, length)
			}
			if n%2 != 0 {
				continue
			}
			if err := differ(fmt.Sprintf("tile %d of level %d", k, i+1), words[(k+1)*room-len(want):][:len(want)], want); err != nil {
				return err
			}
		}
	}
	return nil
}

// filesInLockstep compares the files, and then decoding, level after level, in the other direction.
func (c *tilesCase) filesInLockstep(d *deviceSteps, pictures []picture, frames []frame, want storedSlices) error {
	batch, err := d.encodeTiles(context.Background(), pictures, c.headers, frames)
	if err != nil {
		return err
	}
	files, coded := make([][]byte, len(c.images)), make([]*codedFile, len(c.images))
	for i, m := range c.images {
		c.headers[i].checksum = checksum(d.cores, c.headers[i], m)
		files[i] = batch.file(pool.New(), i, func(int) []byte { return nil })
		e := &encoder{context.Background(), d.cores, m, &defaults}
		file, err := e.file(c.headers[i].copy())
		if err != nil {
			return err
		}
		if !bytes.Equal(files[i], file) {
			return fmt.Errorf("file of %s: %d bytes, want %d: %w", m.Shape, len(files[i]), len(file), differ("file", files[i], file))
		}
		if coded[i], err = readTiles(c.headers[i], file, 0); err != nil {
			return err
		}
	}
	b, err := d.newModelBatch(pictures, c.headers, frames, 0, false)
	if err != nil {
		return err
	}
	data, err := b.upload(coded)
	if err != nil {
		return err
	}
	for level := b.most - 1; level >= 0; level-- {
		if err := b.decodeLevel(level, data); err != nil {
			return err
		}
		for i := range b.planes {
			p := &b.planes[i]
			if err := b.sameLevel(p, want.plane(b.frames[p.frame], p.channel), level); err != nil {
				return fmt.Errorf("decode: %s, plane %d: %w", b.headers[b.frames[p.frame].file].shape, p.channel, err)
			}
		}
		if err := b.join(level); err != nil {
			return err
		}
	}
	return c.samplesInLockstep(b, files)
}

// sameLevel compares what decoding a level gives: LL, coefficients and residuals.
func (b *modelBatch) sameLevel(p *modelPlane, s *storedPlane, level int) error {
	if level >= len(p.levels) {
		return nil
	}
	l, want := &p.levels[level], s.pyramid.levels[level]
	low, err := at[int32](b.deviceSteps, l.low, b.memory, len(want.LL))
	if err != nil {
		return err
	}
	if err := differ(fmt.Sprintf("LL of level %d", level+1), saturated(low), want.LL); err != nil {
		return err
	}
	for k := range l.bands {
		c, err := at[int32](b.deviceSteps, l.bands[k].c, b.memory, len(want.Bands[k].C))
		if err != nil {
			return err
		}
		e, err := at[int16](b.deviceSteps, l.bands[k].e, b.memory, len(want.Bands[k].E))
		if err != nil {
			return err
		}
		if err := differ(fmt.Sprintf("residuals of band %d of level %d", k, level+1), e, want.Bands[k].E); err != nil {
			return err
		}
		if err := differ(fmt.Sprintf("band %d of level %d", k, level+1), saturated(c), want.Bands[k].C); err != nil {
			return err
		}
	}
	return nil
}

func (c *tilesCase) samplesInLockstep(b *modelBatch, files [][]byte) error {
	if err := b.alongSlices(-1); err != nil {
		return err
	}
	got, err := b.decoded(b.images)
	if err != nil {
		return err
	}
	k := 0
	for i, m := range c.images {
		back, err := decodeSamples(context.Background(), b.cores, c.headers[i], files[i])
		if err != nil {
			return err
		}
		for z := range m.Depth {
			if !bytes.Equal(got.samples[k], back.Slice(z).Pix) {
				return fmt.Errorf("samples of %s, slice %d: other bytes", m.Shape, z)
			}
			k++
		}
	}
	return nil
}
