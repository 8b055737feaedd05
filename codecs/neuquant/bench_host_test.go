//go:build linux

package neuquant

import (
	"context"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkHost prints what each part of the host's work on a file takes where a card trains
// and maps, in nanoseconds of processor time a pixel: from the bytes of a PNG file to a file
// that is checked, on one core, the least of some rounds for each of the Kodak images. What
// the card does is done before, and is not counted.
func BenchmarkHost(b *testing.B) {
	files := kodakFiles(b)
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

	var scope *paletteScope
	h.Part("encode: colours counted", func() { scope = newPaletteScope(m, o) })
	problems := []problem{scope.problems()[0].problem}
	problems[0].mapped = true
	solved := cpuSteps{c}.solve(ctx, problems, o)
	var p *indexed
	var err error
	h.Part("encode: palette and indices", func() {
		j := &job{image: m, scopes: []*paletteScope{scope}, solutions: [][]solution{solved}}
		p, _, err = j.index(ctx, c, o)
	})
	check(err)
	var list []uint8
	var rows, deflated, file []byte
	h.Part("encode: order of the palette", func() { list = sorted(p.palettes[0], p.census(0)) })
	h.Part("encode: rows", func() { rows = p.rows(list) })
	h.Part("encode: deflate", func() { deflated = compress(rows) })
	h.Part("encode: chunks", func() { file, err = p.assemble(list, deflated) })
	check(err)

	var decoded codec.Decoded
	h.Part("verify: decode", func() { decoded = decode(ctx, file, nil, codec.Uncleared) })
	check(decoded.Err)
	f, err := png.Open(file, container.Strict)
	check(err)
	h.Part("verify: decode (of it: inflate, filters)", func() { _, err = f.Decode() })
	check(err)
	h.Part("verify: hash of the pixels", func() { decoded.Image.Hash() })
	h.Part("verify: PSNR and SSIM", func() { _, _, err = raster.Quality(m, decoded.Image) })
	check(err)
	h.Stored(file)
}
