//go:build unix

package imageio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	stdgif "image/gif"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/pelmill/pelmill/raster"
)

// BenchmarkCopies prints how long it takes to read files whose samples are hardly compressed, on one core, in
// nanoseconds of processor time a pixel, beside a copy of the same samples into new memory, with the bytes of 16-bit
// samples swapped where the file's are; and of GIF beside the standard library's decoder.
func BenchmarkCopies(b *testing.B) {
	const w, h = 3000, 2000
	rgb, grey16 := scene(w, h, 3, landscape), scene(w, h, 1, plasma)
	rgb16 := raster.New(w, h, 1, 3, 16)
	for i := range rgb.Pix {
		binary.LittleEndian.PutUint16(rgb16.Pix[2*i:], uint16(rgb.Pix[i])*257+uint16(i%251))
	}
	deep := raster.New(w, h, 1, 1, 12)
	for i := range grey16.Pix {
		binary.LittleEndian.PutUint16(deep.Pix[2*i:], uint16(grey16.Pix[i])*16+uint16(i%13))
	}
	dir := b.TempDir()
	enc := func(m *raster.Image, format string) []byte {
		data, err := Encode(m, format)
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	by := func(m *raster.Image, line string) []byte {
		from, to := filepath.Join(dir, "from.tif"), filepath.Join(dir, "to")
		os.Remove(to)
		if err := os.WriteFile(from, enc(m, "tiff"), 0o600); err != nil {
			b.Fatal(err)
		}
		if out, err := exec.Command("sh", "-c", fmt.Sprintf(line, from, to)).CombinedOutput(); err != nil {
			fmt.Printf("NOT MEASURED: %s: %v: %.100s\n", line, err, out)
			return nil
		}
		data, err := os.ReadFile(to)
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	plainCopy := func(m *raster.Image) func() { return func() { keep = append([]byte(nil), m.Pix...) } }
	swapCopy := func(m *raster.Image) func() {
		return func() {
			keep = make([]byte, len(m.Pix))
			raster.SwapBytes(keep, m.Pix)
		}
	}
	gifData := by(rgb, "convert %s gif:%s")
	text := []byte("P3 3000 2000 255\n")
	for i, v := range rgb.Pix {
		text = append(strconv.AppendInt(text, int64(v), 10), " \n"[min(1, i%17/16)])
	}
	files := []struct {
		name string
		data []byte
		peer func()
	}{
		{"pnm, text, beside its bytes", text, func() { keep = append([]byte(nil), text...) }},
		{"pnm, 8 bits", enc(rgb, "pnm"), plainCopy(rgb)},
		{"pnm, 16 bits", enc(rgb16, "pnm"), swapCopy(rgb16)},
		{"pnm, 12 bits grey", enc(deep, "pnm"), swapCopy(deep)},
		{"tiff, 8 bits", by(rgb, "tiffcp -c none %s %s"), plainCopy(rgb)},
		{"tiff, 16 bits", by(rgb16, "tiffcp -c none -L %s %s"), plainCopy(rgb16)},
		{"tiff, 16 bits, big-endian", by(rgb16, "tiffcp -c none -B %s %s"), swapCopy(rgb16)},
		{"tiff, planes", by(rgb, "tiffcp -c none -p separate %s %s"), plainCopy(rgb)},
		{"tiff, tiles", by(rgb, "tiffcp -c none -t %s %s"), plainCopy(rgb)},
		{"tiff, packbits", by(rgb, "tiffcp -c packbits %s %s"), plainCopy(rgb)},
		{"tiff, LZW", by(rgb, "tiffcp -c lzw %s %s"), plainCopy(rgb)},
		{"tiff, LZW, differences", by(rgb, "tiffcp -c lzw:2 %s %s"), plainCopy(rgb)},
		{"tiff, deflate", by(rgb, "tiffcp -c zip %s %s"), plainCopy(rgb)},
		{"tiff, deflate, differences", by(rgb, "tiffcp -c zip:2 %s %s"), plainCopy(rgb)},
		{"tiff, deflate, 16 bits", by(rgb16, "tiffcp -c zip:2 %s %s"), plainCopy(rgb16)},
		{"gif, beside image/gif", gifData, func() {
			if _, err := stdgif.DecodeAll(bytes.NewReader(gifData)); err != nil {
				b.Fatal(err)
			}
		}},
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for b.Loop() {
		fmt.Printf("\n%-28s %10s %10s %8s   ns/px\n", "reading", "ours", "copy", "times")
		for _, f := range files {
			if f.data == nil {
				continue
			}
			ours, peer := time.Hour, time.Hour
			for range 5 {
				from := cpuTime(b)
				if _, err := Decode(f.data, nil); err != nil {
					b.Fatalf("%s: %v", f.name, err)
				}
				ours = min(ours, cpuTime(b)-from)
				from = cpuTime(b)
				f.peer()
				peer = min(peer, cpuTime(b)-from)
			}
			fmt.Printf("%-28s %10.2f %10.2f %8.2f\n", f.name, float64(ours.Nanoseconds())/(w*h), float64(peer.Nanoseconds())/(w*h), float64(ours)/float64(peer))
		}
	}
}

// keep holds what a benchmark made.
var keep []byte
