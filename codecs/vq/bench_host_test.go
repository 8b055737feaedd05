//go:build linux

package vq

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		h := &hostParts{took: map[string]time.Duration{}}
		for _, f := range files {
			h.file(b, f)
		}
		all := time.Duration(0)
		fmt.Printf("\n%d pictures of the Kodak suite, %d bytes\n", len(files), h.bytes)
		slices.SortStableFunc(h.order, func(x, y string) int { return cmp.Compare(h.took[y], h.took[x]) })
		for _, part := range h.order {
			if !strings.Contains(part, "of it") {
				all += h.took[part]
			}
			fmt.Printf("%-40s %8.2f ns/px\n", part, float64(h.took[part].Nanoseconds())/float64(h.pixels))
		}
		fmt.Printf("%-40s %8.2f ns/px\n", "together", float64(all.Nanoseconds())/float64(h.pixels))
	}
}

// hostParts is what the parts took, for all files.
type hostParts struct {
	pixels, bytes int
	order         []string
	took          map[string]time.Duration
}

// hostRounds is how often each part is measured.
const hostRounds = 9

// part measures f.
func (h *hostParts) part(name string, f func()) {
	least := time.Duration(math.MaxInt64)
	for range hostRounds {
		before := threadTime()
		f()
		least = min(least, threadTime()-before)
	}
	if _, ok := h.took[name]; !ok {
		h.order = append(h.order, name)
	}
	h.took[name] += least
}

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

func (h *hostParts) file(b *testing.B, name string) {
	data, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, c := context.Background(), pool.Of(1)
	o, err := Codec{}.resolve(nil)
	check(err)
	m, err := imageio.Decode(data, nil)
	check(err)
	h.pixels += m.Width * m.Height
	h.part("fetch: hashes of the source", func() { sha256.Sum256(data); md5.Sum(data) })
	h.part("read: PNG", func() { _, err = imageio.Decode(data, nil) })
	check(err)
	h.part("read: hash of the pixels", func() { m.Hash() })

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
	h.part("encode: codebooks, file", func() { _, err = assemble(ctx, c, a) })
	check(err)
	h.bytes += len(file)

	head, err := parseHeader(file)
	check(err)
	section, index, err := head.sections(file)
	check(err)
	var books *bookPair
	h.part("verify: codebooks", func() { books, err = decodeBooks(section, head.block, head.n, head.chroma) })
	check(err)
	h.part("verify: rankers", func() {
		for _, book := range books.list() {
			fresh := codebook{shape: book.shape, words: book.words}
			fresh.ranker(c)
		}
	})
	for _, book := range books.list() {
		book.ranker(c)
	}
	var table [][]uint16
	h.part("verify: index tables", func() { table, err = decodeTables(ctx, c, head, books, index) })
	check(err)
	decoded := raster.New(m.Width, m.Height, 1, 3, 8)
	h.part("verify: blocks, colours", func() { err = cpuSteps{c}.expand(ctx, head, books, table, decoded) })
	check(err)
	h.part("verify: memory for the image", func() { raster.New(m.Width, m.Height, 1, 3, 8) })
	h.part("verify: hash of the pixels", func() { decoded.Hash() })
	h.part("verify: PSNR", func() { _, err = raster.PSNR(m, decoded) })
	check(err)
	h.part("verify: SSIM", func() { _, err = raster.SSIM(m, decoded) })
	check(err)
	h.part("store: hashes of the file", func() { sha256.Sum256(file); md5.Sum(file) })
}
