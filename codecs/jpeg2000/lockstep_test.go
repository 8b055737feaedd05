package jpeg2000

import (
	"bytes"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/ht"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// The steps on a device give, after every step, what the steps in Go give: for batches of
// random images with random tiles, levels and code-blocks. The message names the first that
// differs.
func TestLockstep(t *testing.T) {
	dev := gputest.Device(t, nil)
	batches, members := 20, 30
	if testing.Short() {
		batches, members = 2, 8 // under compute-sanitizer a kernel takes a hundred times as long
	}
	for n := range batches {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		style, transform, measured := codestream.HT, codestream.Reversible53, false
		if n%2 != 0 {
			style, measured = codestream.BlockStyle(rng.IntN(int(codestream.HT))), rng.IntN(2) == 0
			if rng.IntN(3) == 0 {
				style = 0
			}
			if n%4 == 3 {
				transform = codestream.Irreversible97
			}
		}
		var tiles []*deviceTile
		for range members {
			tiles = append(tiles, oddTiles(rng, style, transform)...)
		}
		err := dev.Do(t.Context(), func(l *gpu.Lane) error {
			if err := lockstepEncode(dev, l, tiles, measured); err != nil {
				return fmt.Errorf("encode, style %b: %w", style, err)
			}
			if err := lockstepDecode(t, dev, l, tiles); err != nil {
				return fmt.Errorf("decode, style %b: %w", style, err)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("batch %d: %v", n, err)
		}
	}
	t.Logf("%d batches of %d images on %s", batches, members, dev.Name())
}

// oddTiles are the tiles of a random image: noise, slopes, few values or one.
func oddTiles(rng *rand.Rand, style codestream.BlockStyle, transform codestream.Transform) []*deviceTile {
	side := func() int { return 1 + rng.IntN(1+rng.IntN(300)) }
	m := raster.New(side(), side(), 1, 1+rng.IntN(4), 1+rng.IntN(16))
	m.Signed = rng.IntN(4) == 0
	kind, mask := rng.IntN(4), 1<<m.Bits-1
	for i := range m.Samples() {
		x, y := i/m.Channels%m.Width, i/m.Channels/m.Width
		v := rng.IntN(mask + 1)
		switch kind {
		case 1:
			v = (x + 2*y + rng.IntN(4)) & mask
		case 2:
			v = x / 9 % 2 * mask
		case 3:
			v = mask / 2
		}
		if m.Signed {
			v -= (mask + 1) / 2
		}
		if m.Bits <= 8 {
			m.Pix[i] = byte(v)
		} else {
			m.Uint16()[i] = uint16(v)
		}
	}
	size := codestream.Size{Image: image.Rect(0, 0, m.Width, m.Height), Tile: image.Pt(m.Width, m.Height)}
	if rng.IntN(3) == 0 {
		size.Tile = image.Pt(1+rng.IntN(m.Width), 1+rng.IntN(m.Height))
		for size.Tiles().X*size.Tiles().Y > 20 {
			size.Tile = image.Pt(min(m.Width, 2*size.Tile.X+1), min(m.Height, 2*size.Tile.Y+1))
		}
	}
	params := codestream.Params{Layers: 1, MCT: m.Channels >= 3 && rng.IntN(4) > 0}
	x := 2 + rng.IntN(9)
	block := image.Pt(x, 2+rng.IntN(min(9, 12-x-1)))
	levels := rng.IntN(7)
	for range m.Channels {
		size.Components = append(size.Components, codestream.Component{Bits: m.Bits, Signed: m.Signed, Step: image.Pt(1, 1)})
		q := codestream.Quantization{Guard: 3, Steps: slices.Repeat([]codestream.Step{{Exponent: m.Bits + 2}}, 1+3*levels)}
		if transform == codestream.Irreversible97 {
			q = irreversible(m.Bits, levels, math.Ldexp(1, m.Bits-9))
			q.Guard = 3
		}
		params.Components = append(params.Components, codestream.Coding{
			Levels: levels, BlockExp: block, Style: style, Transform: transform, Quantization: q,
		})
	}
	var tiles []*deviceTile
	for i := range size.Tiles().X * size.Tiles().Y {
		tiles = append(tiles, &deviceTile{image: m, tile: size.NewTile(i, &params), coloured: params.MCT})
	}
	return tiles
}

// referencePlanes are the components of a tile before the wavelet transform; for 9/7 the
// bits of float32.
func referencePlanes(t *deviceTile) []wavelet.Plane[int32] {
	m, area := t.image, t.tile.Bounds
	planes := make([]wavelet.Plane[int32], m.Channels)
	for c := range planes {
		planes[c] = wavelet.NewPlane[int32](area.Dx(), area.Dy())
		for i := range planes[c].Samples {
			x, y := area.Min.X+i%area.Dx(), area.Min.Y+i/area.Dx()
			v := m.Sample((y*m.Width+x)*m.Channels + c)
			if !m.Signed {
				v -= 1 << (m.Bits - 1)
			}
			planes[c].Samples[i] = int32(v)
		}
	}
	if t.transform() == 1 {
		floats := make([]wavelet.Plane[float32], len(planes))
		for c, p := range planes {
			floats[c] = wavelet.NewPlane[float32](p.Width, p.Height)
			for i, v := range p.Samples {
				floats[c].Samples[i] = float32(v)
			}
		}
		if t.coloured {
			forwardICT(floats[0].Samples, floats[1].Samples, floats[2].Samples)
		}
		for c := range planes {
			planes[c] = bitsOf(floats[c])
		}
		return planes
	}
	if t.coloured {
		for i, r := range planes[0].Samples {
			g, b := planes[1].Samples[i], planes[2].Samples[i]
			planes[0].Samples[i], planes[1].Samples[i], planes[2].Samples[i] = (r+2*g+b)>>2, b-g, r-g
		}
	}
	return planes
}

// bitsOf are the bits of the samples of a plane, and floatsOf the inverse.
func bitsOf(p wavelet.Plane[float32]) wavelet.Plane[int32] {
	out := wavelet.NewPlane[int32](p.Width, p.Height)
	for i, v := range p.Samples {
		out.Samples[i] = int32(math.Float32bits(v))
	}
	return out
}

func floatsOf(p wavelet.Plane[int32]) wavelet.Plane[float32] {
	out := wavelet.NewPlane[float32](p.Width, p.Height)
	for i, v := range p.Samples {
		out.Samples[i] = math.Float32frombits(uint32(v))
	}
	return out
}

// numbers downloads the planes of a batch.
func (b *batch) numbers() ([]int32, error) {
	out := make([]int32, b.memory.Size/4)
	return out, b.staging.Download([]gpu.Part{{Bytes: gpu.Bytes(out)}}, b.memory, 4*len(out))
}

// differ says where numbers on the device, rows of stride from address at on, differ from
// those of a plane.
func (b *batch) differ(numbers []int32, at gpu.Ptr, stride int, want wavelet.Plane[int32]) error {
	first := int(at-b.memory.Ptr) / 4
	for y := range want.Height {
		for x, w := range want.Row(y) {
			if got := numbers[first+y*stride+x]; got != w {
				return fmt.Errorf("(%d, %d) of %d x %d is %d, want %d", x, y, want.Width, want.Height, got, w)
			}
		}
	}
	return nil
}

// eachComponent calls f for the components of the batch's tiles with their planes.
func (b *batch) eachComponent(f func(t *deviceTile, c int, p *devicePlane) error) error {
	i := 0
	for _, t := range b.tiles {
		for c := range t.tile.Components {
			if err := f(t, c, &b.planes[i]); err != nil {
				return fmt.Errorf("tile %v of %s, component %d, %d levels, blocks 2^%v: %w", t.tile.Bounds, t.image.Shape, c,
					t.tile.Components[c].Coding.Levels, t.tile.Components[c].Coding.BlockExp, err)
			}
			i++
		}
	}
	return nil
}

// referenceCoefficients are the subbands of a component in one plane.
func referenceCoefficients(t *deviceTile, c int) wavelet.Plane[int32] {
	component := &t.tile.Components[c]
	src := referencePlanes(t)[c]
	if t.transform() == 1 {
		dst := wavelet.NewPlane[float32](src.Width, src.Height)
		wavelet.New(wavelet.Daubechies97(), wavelet.ColumnsFirst).Forward(dst, floatsOf(src), component.Coding.Levels, component.Bounds.Min.X, component.Bounds.Min.Y)
		return bitsOf(dst)
	}
	dst := wavelet.NewPlane[int32](src.Width, src.Height)
	wavelet.New(wavelet.LeGall53(), wavelet.ColumnsFirst).Forward(dst, src, component.Coding.Levels, component.Bounds.Min.X, component.Bounds.Min.Y)
	return dst
}

// referenceSegments encodes the code-blocks of a tile.
func referenceSegments(t *deviceTile) (list []deviceSegment) {
	for c := range t.tile.Components {
		plane, component := referenceCoefficients(t, c), &t.tile.Components[c]
		p := &devicePlane{Stride: uint32(plane.Width)}
		eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
			at := int(p.coefficient(component, band, area.Min)) / 4
			if component.Coding.Style&codestream.HT == 0 {
				list = append(list, t.referencePasses(plane.Samples[at:], plane.Width, area.Size(), band, component.Coding.Style))
				return
			}
			data, planes := ht.Encode(nil, plane.Samples[at:], plane.Width, area.Dx(), area.Dy())
			list = append(list, deviceSegment{data: data, planes: planes})
		})
	}
	return list
}

// referencePasses encodes a code-block of Part 1, after the quantization of 9/7.
func (t *deviceTile) referencePasses(src []int32, stride int, size image.Point, band *codestream.Subband, style codestream.BlockStyle) deviceSegment {
	e := bitplane.Encoder{Measure: true}
	if t.transform() == 1 {
		e.Fraction = indexFraction
		factor := float32((1 << indexFraction) / quantum(band.Step, t.image.Bits+band.Orientation.Gain()))
		indices := make([]int32, len(src))
		for i, v := range src {
			indices[i] = int32(float32(math.Float32frombits(uint32(v)) * factor))
		}
		src = indices
	}
	c := e.Encode(src, stride, size.X, size.Y, band.Orientation, style)
	s := deviceSegment{data: bytes.Clone(c.Data), planes: c.Planes, passes: slices.Clone(c.Passes)}
	for y := range size.Y {
		for _, v := range src[y*stride:][:size.X] {
			s.energy += float64(v) * float64(v)
		}
	}
	return s
}

// samePasses says whether a device found what there is to know of the passes of a
// code-block: of all of them if measured, and else of those that end codeword segments.
func samePasses(got, want *deviceSegment, measured bool) bool {
	if len(got.passes) != len(want.passes) || measured && got.energy != want.energy {
		return false
	}
	for i, w := range want.passes {
		g := got.passes[i]
		if measured && g != w || g.Terminated != w.Terminated || w.Terminated && g.Length != w.Length {
			return false
		}
	}
	return true
}

func lockstepEncode(dev *gpu.Device, l *gpu.Lane, tiles []*deviceTile, measured bool) error {
	b := newBatch(dev, l, pool.New(), tiles)
	if err := b.reserve(); err != nil {
		return err
	}
	if err := b.staging.Upload(b.samples, b.samples.Size, b.uploads); err != nil {
		return err
	}
	if err := b.perImage("jpeg2000_load"); err != nil {
		return err
	}
	numbers, err := b.numbers()
	if err != nil {
		return err
	}
	err = b.eachComponent(func(t *deviceTile, c int, p *devicePlane) error {
		return b.differ(numbers, p.First, int(p.Stride), referencePlanes(t)[c])
	})
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if err := b.forward(); err != nil {
		return err
	}
	if numbers, err = b.numbers(); err != nil {
		return err
	}
	err = b.eachComponent(func(t *deviceTile, c int, p *devicePlane) error {
		return b.differ(numbers, p.Coefficients, int(p.Stride), referenceCoefficients(t, c))
	})
	if err != nil {
		return fmt.Errorf("forward wavelet: %w", err)
	}
	if style := tiles[0].tile.Components[0].Coding.Style; style&codestream.HT != 0 {
		err = b.encodeBlocks()
	} else {
		err = b.encodePasses(style, indexFraction*tiles[0].transform(), measured)
	}
	if err != nil {
		return err
	}
	for _, t := range tiles {
		for i := range t.segments {
			t.segments[i].data = bytes.Clone(t.segments[i].data)
		}
	}
	if b.result != nil {
		b.result.Free()
	}
	for _, tile := range tiles {
		want := referenceSegments(tile)
		if len(want) != len(tile.segments) {
			return fmt.Errorf("%d segments, want %d", len(tile.segments), len(want))
		}
		for i := range want {
			got := &tile.segments[i]
			if got.planes != want[i].planes || !bytes.Equal(got.data, want[i].data) {
				return fmt.Errorf("tile %v of %s, blocks 2^%v: segment %d of %d: %d bit-planes, %x, want %d, %x", tile.tile.Bounds, tile.image.Shape,
					tile.tile.Components[0].Coding.BlockExp, i, len(want), got.planes, got.data, want[i].planes, want[i].data)
			}
			if !samePasses(got, &want[i], measured) {
				return fmt.Errorf("tile %v of %s, blocks 2^%v: segment %d of %d: passes %v, want %v", tile.tile.Bounds, tile.image.Shape,
					tile.tile.Components[0].Coding.BlockExp, i, len(want), got.passes, want[i].passes)
			}
		}
	}
	return nil
}

// asDecoded makes of what an encoder knows of a code-block what a decoder knows.
func (s *deviceSegment) asDecoded(band *codestream.Subband, style codestream.BlockStyle) {
	if style&codestream.HT != 0 {
		s.zeroPlanes = band.Planes - 1
		return
	}
	s.orientation, s.style = band.Orientation, style
	first, from := 0, 0
	for i, p := range s.passes {
		if p.Terminated {
			s.list = append(s.list, codestream.Segment{Data: s.data[from:p.Length], Passes: i + 1 - first})
			first, from = i+1, p.Length
		}
	}
}

// decodedCoefficients are the subbands of a component as a decoder has them in one plane.
func decodedCoefficients(t *deviceTile, c int) wavelet.Plane[int32] {
	want := referenceCoefficients(t, c)
	if t.transform() == 0 {
		return want
	}
	component, p, segments := &t.tile.Components[c], &devicePlane{Stride: uint32(want.Width)}, t.segments
	for before := range c {
		eachBlock(&t.tile.Components[before], func(*codestream.Subband, image.Rectangle) { segments = segments[1:] })
	}
	eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
		s := &segments[0]
		segments = segments[1:]
		b := &codestream.Block{Width: area.Dx(), Height: area.Dy(), Orientation: band.Orientation, Style: component.Coding.Style, Planes: s.planes, Segments: s.list}
		indices := make([]int32, area.Dx()*area.Dy())
		if err := bitplane.Decode(indices, area.Dx(), b); err != nil {
			panic(err)
		}
		at, step := int(p.coefficient(component, band, area.Min))/4, stepSize(band, t.image.Bits)
		for i, v := range indices {
			want.Samples[at+i/area.Dx()*want.Width+i%area.Dx()] = int32(math.Float32bits(float32(float32(v) * step)))
		}
	})
	return want
}

func lockstepDecode(t *testing.T, dev *gpu.Device, l *gpu.Lane, tiles []*deviceTile) error {
	for _, tile := range tiles {
		for c, i := 0, 0; c < len(tile.tile.Components); c++ {
			style := tile.tile.Components[c].Coding.Style
			eachBlock(&tile.tile.Components[c], func(band *codestream.Subband, _ image.Rectangle) {
				tile.segments[i].asDecoded(band, style)
				if tile.transform() == 1 {
					tile.segments[i].step = math.Float32bits(stepSize(band, tile.image.Bits))
				}
				i++
			})
		}
	}
	b := newBatch(dev, l, pool.New(), tiles)
	if err := b.reserve(); err != nil {
		return err
	}
	if err := b.decodeBlocks(); err != nil {
		return err
	}
	numbers, err := b.numbers()
	if err != nil {
		return err
	}
	err = b.eachComponent(func(t *deviceTile, c int, p *devicePlane) error {
		return b.differ(numbers, p.Coefficients, int(p.Stride), decodedCoefficients(t, c))
	})
	if err != nil {
		return fmt.Errorf("coefficients: %w", err)
	}
	again := newBatch(dev, l, pool.New(), tiles)
	if err := again.decode(t.Context()); err != nil {
		return err
	}
	defer again.result.Free()
	for _, tile := range tiles {
		if tile.failed {
			return fmt.Errorf("tile %v of %s counts as malformed", tile.tile.Bounds, tile.image.Shape)
		}
		// With losses the samples are those of the CPU, see TestADeviceChangesNothing.
		if tile.transform() == 0 && !bytes.Equal(again.samplesOf(tile.image), tile.image.Pix) {
			return fmt.Errorf("tile %v of %s: samples differ", tile.tile.Bounds, tile.image.Shape)
		}
	}
	return nil
}
