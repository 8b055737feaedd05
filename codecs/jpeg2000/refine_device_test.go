package jpeg2000

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/ht"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// Refinement passes of any bytes change coefficients on a device to what they do in Go, with 5/3 and
// with 9/7.
func TestRefinementInLockstep(t *testing.T) {
	dev := gputest.Device(t, nil)
	batches := 12
	if testing.Short() {
		batches = 4
	}
	for n := range batches {
		rng := rand.New(rand.NewPCG(uint64(n), 5))
		transform, style := codestream.Reversible53, codestream.HT
		if n%2 == 1 {
			transform = codestream.Irreversible97
		}
		if n%4 > 1 {
			style |= codestream.Causal
		}
		refined := 0
		var tiles []*deviceTile
		for range 6 {
			tiles = append(tiles, oddTiles(rng, style, transform)...)
		}
		for _, tile := range tiles {
			tile.segments = refinedSegments(rng, tile)
			for i := range tile.segments {
				refined += tile.segments[i].refinement.Passes
			}
		}
		err := dev.Do(t.Context(), func(l *gpu.Lane) error {
			b := newBatch(dev, l, pool.New(), tiles)
			for _, f := range []func() error{b.reserve, b.decodeBlocks, b.refine, b.dequantize} {
				if err := f(); err != nil {
					return err
				}
			}
			numbers, err := b.numbers()
			if err != nil {
				return err
			}
			return b.eachComponent(func(t *deviceTile, c int, p *devicePlane) error {
				return b.differ(numbers, p.Coefficients, int(p.Stride), refinedCoefficients(t, c))
			})
		})
		if err != nil {
			t.Fatalf("batch %d: %v", n, err)
		}
		if refined < 20 {
			t.Errorf("batch %d has %d refinement passes", n, refined)
		}
	}
}

// refinedSegments are cleanup segments of sparse coefficients, of which bit-planes are
// missing, and mostly refinement segments of random bytes, some with many ones.
func refinedSegments(rng *rand.Rand, t *deviceTile) (list []deviceSegment) {
	for c := range t.tile.Components {
		component := &t.tile.Components[c]
		eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
			v := make([]int32, area.Dx()*area.Dy())
			for i := range v {
				if rng.IntN(4) == 0 {
					v[i] = int32(rng.IntN(7) - 3)
				}
			}
			data, planes := ht.Encode(nil, v, area.Dx(), area.Dx(), area.Dy())
			s := deviceSegment{data: data, zeroPlanes: max(0, band.Planes-1-rng.IntN(6)), style: component.Coding.Style}
			if planes > 0 && band.Planes-1-s.zeroPlanes > 0 && s.zeroPlanes >= 3 && rng.IntN(4) > 0 {
				s.refinement = codestream.Segment{Data: make([]byte, rng.IntN(area.Dx()*area.Dy()/3+2)), Passes: 1 + rng.IntN(2)}
				for i := range s.refinement.Data {
					if s.refinement.Data[i] = byte(rng.Uint32()); rng.IntN(3) == 0 {
						s.refinement.Data[i] |= 0x7f << rng.IntN(2)
					}
				}
			}
			if s.zeroPlanes < 3 {
				s.data = nil // magnitudes might be above the bit-planes
			}
			list = append(list, s)
		})
	}
	return list
}

// refinedCoefficients are the coefficients of a component as Go decodes them.
func refinedCoefficients(t *deviceTile, c int) wavelet.Plane[int32] {
	component := &t.tile.Components[c]
	want := wavelet.NewPlane[int32](component.Bounds.Dx(), component.Bounds.Dy())
	p, segments := &devicePlane{Stride: uint32(want.Width)}, t.segments
	for before := range c {
		eachBlock(&t.tile.Components[before], func(*codestream.Subband, image.Rectangle) { segments = segments[1:] })
	}
	eachBlock(component, func(band *codestream.Subband, area image.Rectangle) {
		s := &segments[0]
		segments = segments[1:]
		if len(s.data) == 0 {
			return
		}
		b := &codestream.Block{Width: area.Dx(), Height: area.Dy(), Style: component.Coding.Style, Planes: band.Planes, ZeroPlanes: s.zeroPlanes,
			Segments: []codestream.Segment{{Data: s.data, Passes: 1}}}
		if s.refinement.Passes > 0 {
			b.Segments = append(b.Segments, s.refinement)
		}
		v := make([]int32, b.Width*b.Height)
		if err := ht.Decode(v, b.Width, b); err != nil {
			panic(err)
		}
		at, step := int(p.coefficient(component, band, area.Min))/4, stepSize(band, t.image.Bits)
		for i, x := range v {
			to := &want.Samples[at+i/b.Width*want.Width+i%b.Width]
			if *to = x / 2; t.transform() == 1 {
				*to = int32(math.Float32bits(float32(float32(x) * step)))
			}
		}
	})
	return want
}

// Conformance streams are decoded on a device to what the CPU gives: those of several HT
// sets and refinement passes, too.
func TestADeviceDecodesConformanceStreams(t *testing.T) {
	dev := gputest.Device(t, nil)
	var files [][]byte
	var names []string
	for name, file := range conformanceFiles(t) {
		if ext := filepath.Ext(name); ext == ".j2k" || ext == ".jp2" || ext == ".jph" || ext == ".j2c" {
			files, names = append(files, file), append(names, name)
		}
	}
	want, got := Codec{}.Decode(t.Context(), codec.Run{}, files, nil), Codec{}.Decode(t.Context(), codec.Run{Device: dev}, files, nil)
	onDevice := 0
	for i := range files {
		if fmt.Sprint(want[i].Err) != fmt.Sprint(got[i].Err) || want[i].Err == nil && want[i].Image.Hash() != got[i].Image.Hash() {
			t.Errorf("%s: %v, want %v, or other samples", names[i], got[i].Err, want[i].Err)
		}
		if prepareDecoding(files[i], codec.View{}) != nil {
			onDevice++
		}
	}
	t.Logf("%d of %d streams on %s", onDevice, len(files), dev.Name())
}
