//go:build linux

package webp

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkHost prints what each part of the host's work on a photograph takes where a card
// does the steps over pixels, in nanoseconds of processor time a pixel: from the bytes of a PNG
// file to a file that is checked, on one core, the least of some rounds for each of the Kodak
// images. What the card does is done before, and is not counted.
func BenchmarkHost(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(sharedData("kodak"), "*.png"))
	if len(files) == 0 {
		b.Skipf("SKIPPED: %s is absent", sharedData("kodak"))
	}
	codectest.BenchHost(b, files, func(h *codectest.HostParts, file string) { hostFile(b, h, file) })
}

// hostFile measures the parts of one file.
func hostFile(b *testing.B, h *codectest.HostParts, name string) {
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, c, o := context.Background(), pool.Of(1), &defaults
	m := h.Source(b, name, func(data []byte) (*raster.Image, error) { return imageio.Decode(data, nil) })

	var p format.Pixels
	pixels := make([]uint32, m.Width*m.Height)
	h.Part("encode: pixels loaded", func() { p = loadImage(pixels, c, m, o.exact) })
	h.Part("encode: search (of it: analysis)", func() { search.Analyse(p, search.AnalysisPixels) })
	card := &recordedSteps{cpuSteps: cpuSteps{c}}
	var s *bitstream.Stream
	var err error
	choose := func() { s, err = search.Choose(ctx, c, card, p, m.Alpha(), o.effort) }
	choose()
	check(err)
	h.Part("encode: search", func() { card.search.again(); choose() })
	check(err)
	card.search.again()
	choose()
	codes := s.Coded
	bits := slices.Clone(s.Write(c))
	s.Packer = &packedBits{s.Histograms(c), make([]byte, len(bits)+64)}
	var made []byte
	memory := new(encoderMemory)
	f := file{width: m.Width, height: m.Height, alpha: m.Alpha(), colour: true, bitstream: bits}
	h.Part("encode: bitstream, file", func() { s.Coded = codes; _, err = memory.write(c, &f, s) })
	check(err)
	small := s.Small
	var images []format.Pixels
	s.Small = func(p format.Pixels) format.Parse { images = append(images, p); return small(p) }
	s.Write(c)
	h.Part("encode: bitstream, file (of it: small images)", func() {
		for _, p := range images {
			small(p)
		}
	})
	made, err = f.write()
	check(err)

	var decoded codec.Decoded
	h.Part("verify: decode", func() { decoded = decode(ctx, made, codec.Uncleared) })
	check(decoded.Err)
	same := false
	h.Part("verify: compare", func() { same = bytes.Equal(decoded.Image.Pix, m.Pix) })
	if !same {
		b.Fatalf("%s: other pixels", name)
	}
	h.Stored(made)
}

// recordedSteps is the steps of one photograph on the CPU, whose results are kept and given again.
type recordedSteps struct {
	cpuSteps
	search *recordedSearch
}

func (d *recordedSteps) PredictorSearch(p format.Pixels) (search.PredictorSearch, error) {
	if d.search == nil {
		v, err := d.cpuSteps.PredictorSearch(p)
		if err != nil {
			return nil, err
		}
		d.search = &recordedSearch{PredictorSearch: v, first: true}
	}
	return d.search, nil
}

// recordedSearch keeps the results of a search, and then gives them again.
type recordedSearch struct {
	search.PredictorSearch
	first bool
	kept  []any
	next  int
}

func (v *recordedSearch) again() { v.first, v.next = false, 0 }

// recorded is what f returns, or what it has returned.
func recorded[T any](v *recordedSearch, f func() T) T {
	if v.first {
		v.kept = append(v.kept, f())
	}
	v.next++
	return v.kept[v.next-1].(T)
}

func (v *recordedSearch) SetModes(bits int, mode uint8) {
	if v.first {
		v.PredictorSearch.SetModes(bits, mode)
	}
}

func (v *recordedSearch) ChooseModes(bits, skip int, own *[transform.ModeCount]uint32, tables []uint16) [transform.ModeCount]uint32 {
	return recorded(v, func() [transform.ModeCount]uint32 { return v.PredictorSearch.ChooseModes(bits, skip, own, tables) })
}

func (v *recordedSearch) ChooseMultipliers(bits, skip int, steps []int, own *transform.MultiplierCosts, tables []uint16) [3][256]uint32 {
	return recorded(v, func() [3][256]uint32 { return v.PredictorSearch.ChooseMultipliers(bits, skip, steps, own, tables) })
}

func (v *recordedSearch) TileCosts(bits int, table []uint16) []uint32 {
	return recorded(v, func() []uint32 { return v.PredictorSearch.TileCosts(bits, table) })
}

func (v *recordedSearch) SetEntropyImage(g format.EntropyImage) {
	if v.first {
		v.PredictorSearch.SetEntropyImage(g)
	}
}

// assigned is what AssignGroups returns.
type assigned struct {
	counts  []uint32
	regrets []uint64
}

func (v *recordedSearch) AssignGroups(own []uint32, near int, tables []uint16) ([]uint32, []uint64) {
	a := recorded(v, func() assigned {
		counts, regrets := v.PredictorSearch.AssignGroups(own, near, tables)
		return assigned{slices.Clone(counts), slices.Clone(regrets)}
	})
	return slices.Clone(a.counts), a.regrets
}

func (v *recordedSearch) Histograms() []uint32 {
	return recorded(v, func() []uint32 { return slices.Clone(v.PredictorSearch.Histograms()) })
}

// chosen is what Result returns.
type chosen struct {
	choices search.Choices
	err     error
}

func (v *recordedSearch) Result() (*search.Choices, error) {
	a := recorded(v, func() chosen {
		c, err := v.PredictorSearch.Result()
		return chosen{*c, err}
	})
	c := a.choices
	c.Entropy.Group = slices.Clone(c.Entropy.Group)
	return &c, a.err
}

// packedBits is a packer that has packed bits, though not those of the stream.
type packedBits struct {
	counts [][]uint32
	bits   []byte
}

func (p *packedBits) Counts() [][]uint32 { return p.counts }
func (p *packedBits) Failed() error      { return nil }
func (p *packedBits) Release()           {}
func (p *packedBits) Pack(out []byte, codes [][]bitstream.Code, first, size int) {
	copy(out, p.bits[:(first+size+7)/8])
}
