//go:build linux

package neuquant

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pelmill/pelmill/codecs/codec"
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
	ctx, c, o := context.Background(), pool.Of(1), &defaults
	m, err := imageio.Decode(data, nil)
	check(err)
	h.pixels += m.Width * m.Height
	h.part("fetch: hashes of the source", func() { sha256.Sum256(data); md5.Sum(data) })
	h.part("read: PNG", func() { _, err = imageio.Decode(data, nil) })
	check(err)
	h.part("read: hash of the pixels", func() { m.Hash() })

	var scope *paletteScope
	h.part("encode: colours counted", func() { scope = newPaletteScope(m, o) })
	problems := []problem{scope.problems()[0].problem}
	problems[0].mapped = true
	solved := cpuSteps{c}.solve(ctx, problems, o)
	var p *indexed
	h.part("encode: palette and indices", func() {
		j := &job{image: m, scopes: []*paletteScope{scope}, solutions: [][]solution{solved}}
		p, _, err = j.index(ctx, c, o)
	})
	check(err)
	var list []uint8
	var rows, deflated, file []byte
	h.part("encode: order of the palette", func() { list = sorted(p.palettes[0], p.census(0)) })
	h.part("encode: rows", func() { rows = p.rows(list) })
	h.part("encode: deflate", func() { deflated = compress(rows) })
	h.part("encode: chunks", func() { file, err = p.assemble(list, deflated) })
	check(err)
	h.bytes += len(file)

	var decoded codec.Decoded
	h.part("verify: decode", func() { decoded = decode(ctx, file) })
	check(decoded.Err)
	f, err := png.Open(file, container.Strict)
	check(err)
	h.part("verify: decode (of it: inflate, filters)", func() { _, err = f.Decode() })
	check(err)
	h.part("verify: hash of the pixels", func() { decoded.Image.Hash() })
	h.part("verify: PSNR", func() { _, err = raster.PSNR(m, decoded.Image) })
	check(err)
	h.part("verify: SSIM", func() { _, err = raster.SSIM(m, decoded.Image) })
	check(err)
	h.part("store: hashes of the file", func() { sha256.Sum256(file); md5.Sum(file) })
}
