//go:build unix

package pcwt

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// coding is what a coder takes for an image: bytes, and processor time on one core.
type coding struct {
	bytes          int
	encode, decode time.Duration
}

// tableCoder codes grey images of 8 bits.
type tableCoder struct {
	name   string
	encode int // Mpx/s that are required, 0 if none are
	decode int
	code   func(b *testing.B, m *raster.Image) coding
}

// BenchmarkTables prints tables 5.2 and 5.3 of the paper for grey photographs of the Kodak suite: compression ratio, running
// times, and what the peers take, JPEG 2000 of opj_compress and WebP of cwebp -z 6, in the place of JPEG XR. Times are of one core, the
// least of three; those of peers are of their programs with files of PNM and PNG. Rates stand beside those that are required.
func BenchmarkTables(b *testing.B) {
	var images []*raster.Image
	for n := 1; n <= 24; n++ {
		if m, ok := kodak(b, n, true); ok {
			images = append(images, m)
		}
	}
	if len(images) == 0 {
		b.Skipf("SKIPPED: %s is absent", sharedData("kodak"))
	}
	coders := []tableCoder{
		{"profile 0", 0, 0, ours("profile=0")},
		{"profile 1", 30, 30, ours()},
		{"profile 1 fast", 60, 60, ours("fast=true")},
	}
	for _, peer := range []tableCoder{{"opj_compress", 0, 0, openJPEG}, {"cwebp -z 6", 0, 0, webp}} {
		if _, err := exec.LookPath(firstWord(peer.name)); err != nil {
			b.Logf("NOT COMPARED with %s: it is not installed", peer.name)
			continue
		}
		coders = append(coders, peer)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as in BenchmarkOneCore
	for b.Loop() {
		printTables(b, images, coders)
	}
}

func printTables(b *testing.B, images []*raster.Image, coders []tableCoder) {
	line := func(name string) {
		fmt.Printf("%-12s", name)
	}
	fmt.Printf("\nTable 5.2: compression ratio (CR), compression and decompression time in ms\n")
	line("")
	for _, c := range coders {
		fmt.Printf(" %23s", c.name)
	}
	fmt.Println()
	line("image")
	for range coders {
		fmt.Printf(" %7s %7s %7s", "CR", "comp", "decomp")
	}
	fmt.Println()
	sums := make([]coding, len(coders))
	pixels := 0
	for i, m := range images {
		line(fmt.Sprintf("%d, %d x %d", i+1, m.Width, m.Height))
		pixels += m.Pixels()
		for k, c := range coders {
			r := c.code(b, m)
			sums[k].bytes, sums[k].encode, sums[k].decode = sums[k].bytes+r.bytes, sums[k].encode+r.encode, sums[k].decode+r.decode
			fmt.Printf(" %7.3f %7.2f %7.2f", float64(m.Pixels())/float64(r.bytes), ms(r.encode), ms(r.decode))
		}
		fmt.Println()
	}
	base := comparedWith(coders)
	fmt.Printf("\nTable 5.3: all %d, weighted by size; overhead and acceleration against %s\n", len(images), coders[base].name)
	fmt.Printf("%-16s %10s %9s %8s %8s %24s\n", "", "bytes", "overhead", "comp", "decomp", "Mpx/s (required)")
	against := sums[base]
	for k, c := range coders {
		s := sums[k]
		rate := func(d time.Duration) float64 { return float64(pixels) / 1e6 / d.Seconds() }
		required := ""
		if c.encode > 0 {
			required = fmt.Sprintf("(%d / %d)", c.encode, c.decode)
		}
		fmt.Printf("%-16s %10d %+8.2f%% %7.2fx %7.2fx %7.1f / %5.1f %s\n", c.name, s.bytes, 100*float64(s.bytes)/float64(against.bytes)-100,
			against.encode.Seconds()/s.encode.Seconds(), against.decode.Seconds()/s.decode.Seconds(), rate(s.encode), rate(s.decode), required)
	}
}

// comparedWith is the place of JPEG 2000, or of profile 0 where that is not installed.
func comparedWith(coders []tableCoder) int {
	return max(0, slices.IndexFunc(coders, func(c tableCoder) bool { return firstWord(c.name) == "opj_compress" }))
}

func ms(d time.Duration) float64 { return 1000 * d.Seconds() }

func firstWord(s string) string {
	for i, c := range s {
		if c == ' ' {
			return s[:i]
		}
	}
	return s
}

// leastOfThree is the least processor time of three calls.
func leastOfThree(b *testing.B, f func()) (least time.Duration) {
	for range 3 {
		start := processorTime(b)
		f()
		if d := processorTime(b) - start; least == 0 || d < least {
			least = d
		}
	}
	return least
}

// ours codes in this process.
func ours(pairs ...string) func(b *testing.B, m *raster.Image) coding {
	run := codec.Run{Pool: pool.Of(1)}
	return func(b *testing.B, m *raster.Image) (r coding) {
		o, err := Codec{}.Options(pairs)
		if err != nil {
			b.Fatal(err)
		}
		var file []byte
		r.encode = leastOfThree(b, func() { file = Codec{}.Encode(context.Background(), run, codec.Items(m), o)[0].Data })
		var d codec.Decoded
		r.decode = leastOfThree(b, func() { d = Codec{}.Decode(context.Background(), run, [][]byte{file}, nil)[0] })
		if d.Err != nil || d.Image.Hash() != m.Hash() {
			b.Fatalf("%q: another image (%v)", pairs, d.Err)
		}
		r.bytes = len(file)
		return r
	}
}

// commandTime is the least processor time of three runs of a command.
func commandTime(b *testing.B, name string, args ...string) (least time.Duration) {
	for range 3 {
		c := exec.Command(name, args...)
		if text, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", name, err, text)
		}
		if d := c.ProcessState.UserTime() + c.ProcessState.SystemTime(); least == 0 || d < least {
			least = d
		}
	}
	return max(least, time.Microsecond)
}

func sizeOfFile(b *testing.B, name string) int {
	info, err := os.Stat(name)
	if err != nil {
		b.Fatal(err)
	}
	return int(info.Size())
}

func openJPEG(b *testing.B, m *raster.Image) (r coding) {
	dir := b.TempDir()
	pgm, j2k := filepath.Join(dir, "a.pgm"), filepath.Join(dir, "a.j2k")
	data := append(fmt.Appendf(nil, "P5\n%d %d\n255\n", m.Width, m.Height), m.Pix...)
	if err := os.WriteFile(pgm, data, 0o600); err != nil {
		b.Fatal(err)
	}
	r.encode = commandTime(b, "opj_compress", "-i", pgm, "-o", j2k)
	r.bytes = sizeOfFile(b, j2k)
	r.decode = commandTime(b, "opj_decompress", "-i", j2k, "-o", pgm)
	return r
}

func webp(b *testing.B, m *raster.Image) (r coding) {
	dir := b.TempDir()
	file, out := filepath.Join(dir, "a.png"), filepath.Join(dir, "a.webp")
	var data bytes.Buffer
	if err := png.Encode(&data, &image.Gray{Pix: m.Pix, Stride: m.Width, Rect: image.Rect(0, 0, m.Width, m.Height)}); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, data.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	r.encode = commandTime(b, "cwebp", "-quiet", "-z", "6", file, "-o", out)
	r.bytes = sizeOfFile(b, out)
	r.decode = commandTime(b, "dwebp", "-quiet", out, "-pgm", "-o", file)
	return r
}
