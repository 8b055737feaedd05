//go:build linux

package vq

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkHost prints what each part of the host's work on a file takes where a card trains,
// searches and codes the indices, in nanoseconds of processor time a pixel: from the bytes of a
// PNG file to a file that is checked, on one core, the least of some rounds for each of the Kodak
// images. What the card does is done before, and is not counted.
func BenchmarkHost(b *testing.B) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "kodak", "*.png"))
	if err != nil {
		b.Fatal(err)
	}
	if len(files) == 0 {
		b.Skip("SKIPPED: ../shared/data/kodak is absent")
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
	ctx, c := context.Background(), pool.Of(1)
	o, err := Codec{}.resolve(nil)
	check(err)
	m := h.Source(b, name, func(data []byte) (*raster.Image, error) { return imageio.Decode(data, nil) })

	known, err := cpuSteps{c}.analyse(ctx, []*raster.Image{m}, o)
	check(err)
	a := known[0]
	file, err := assemble(ctx, c, a)
	check(err)
	list := pieces(a.header, a.symbols)
	a.coded = make([][][]byte, 2)
	for _, p := range list {
		a.coded[p.book] = append(a.coded[p.book], encodeSegment(p.table, p.grid.cols, p.segment, a.header.codewords(p.book)))
	}
	h.Part("encode: codebooks, file", func() { _, err = assemble(ctx, c, a) })
	check(err)

	head, err := parseHeader(file)
	check(err)
	section, index, err := head.sections(file)
	check(err)
	var books *bookPair
	h.Part("verify: codebooks", func() { books, err = decodeBooks(section, head.block, head.n, head.chroma) })
	check(err)
	h.Part("verify: rankers", func() {
		for _, book := range books.list() {
			fresh := codebook{shape: book.shape, words: book.words}
			fresh.ranker(c)
		}
	})
	for _, book := range books.list() {
		book.ranker(c)
	}
	var table [][]uint16
	h.Part("verify: index tables", func() { table, err = decodeTables(ctx, c, head, books, index, a.table) })
	check(err)
	h.Part("(not of it: index tables of which nothing is expected)", func() { _, err = decodeTables(ctx, c, head, books, index, nil) })
	check(err)
	decoded := raster.New(m.Width, m.Height, 1, 3, 8)
	h.Part("verify: blocks, colours", func() { err = cpuSteps{c}.expand(ctx, head, books, table, decoded) })
	check(err)
	h.Part("verify: memory for the image", func() { raster.New(m.Width, m.Height, 1, 3, 8) })
	h.Part("verify: hash of the pixels", func() { decoded.Hash() })
	h.Part("verify: PSNR and SSIM", func() { _, _, err = raster.Quality(m, decoded) })
	check(err)
	h.Stored(file)
}
