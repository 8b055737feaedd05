//go:build unix

package imageio

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/raster"
)

// peerFiles are what BenchmarkPeers reads: a command makes each from one of its images, whose file takes the place of
// FROM, and writes TO.
var peerFiles = []struct{ name, from, command string }{
	{"tiff", "rgb", "tiffcp -c none FROM TO"},
	{"tiff, 16 bits", "rgb16", "tiffcp -c none FROM TO"},
	{"tiff, 16 bits, big-endian", "rgb16", "tiffcp -c none -B FROM TO"},
	{"tiff, planes", "rgb", "tiffcp -c none -p separate FROM TO"},
	{"tiff, planes, alpha", "rgba", "tiffcp -c none -p separate FROM TO"},
	{"tiff, planes, 16 bits", "rgb16", "convert FROM -compress none -interlace plane TO"},
	{"tiff, planes, LZW", "rgb", "tiffcp -c lzw:2 -p separate FROM TO"},
	{"tiff, planes in tiles", "rgb", "tiffcp -c none -p separate -t FROM TO"},
	{"tiff, tiles", "rgb", "tiffcp -c none -t FROM TO"},
	{"tiff, tiles, 16 bits", "rgb16", "tiffcp -c none -t FROM TO"},
	{"tiff, tiles, deflate", "rgb", "tiffcp -c zip:2 -t FROM TO"},
	{"tiff, PackBits", "rgb", "tiffcp -c packbits FROM TO"},
	{"tiff, PackBits, drawing", "drawing", "tiffcp -c packbits FROM TO"},
	{"tiff, LZW", "rgb", "tiffcp -c lzw FROM TO"},
	{"tiff, LZW, drawing", "drawing", "tiffcp -c lzw FROM TO"},
	{"tiff, LZW, differences", "rgb", "tiffcp -c lzw:2 FROM TO"},
	{"tiff, LZW, differences, 16 bits", "rgb16", "tiffcp -c lzw:2 FROM TO"},
	{"tiff, LZW, differences, big-endian", "rgb16", "tiffcp -B -c lzw:2 FROM TO"},
	{"tiff, LZW, differences, grey", "grey", "tiffcp -c lzw:2 FROM TO"},
	{"tiff, LZW, differences, grey 16", "grey16", "tiffcp -c lzw:2 FROM TO"},
	{"tiff, LZW, differences, alpha", "rgba", "tiffcp -c lzw:2 FROM TO"},
	{"tiff, deflate", "rgb", "tiffcp -c zip FROM TO"},
	{"tiff, deflate, drawing", "drawing", "tiffcp -c zip FROM TO"},
	{"tiff, deflate, differences", "rgb", "tiffcp -c zip:2 FROM TO"},
	{"tiff, deflate, differences, 16 bits", "rgb16", "tiffcp -c zip:2 FROM TO"},
	{"tiff, deflate, differences, big-endian", "rgb16", "tiffcp -B -c zip:2 FROM TO"},
	{"tiff, deflate, 16 bits", "rgb16", "tiffcp -c zip FROM TO"},
	{"tiff, JPEG", "rgb", "tiffcp -c jpeg FROM TO"},
	{"tiff, bits in reverse", "rgb", "tiffcp -c none -f lsb2msb FROM TO"},
	{"tiff, palette", "drawing", "convert FROM -type Palette -compress none TO"},
	{"tiff, palette, LZW", "drawing", "convert FROM -type Palette -compress LZW TO"},
	{"tiff, 4 bits", "grey", "convert FROM -colors 16 -colorspace gray -depth 4 -compress none TO"},
	{"tiff, 1 bit", "grey", "convert FROM -threshold 50% -type bilevel -depth 1 -compress none TO"},
	{"tiff, fax group 3", "grey", "convert FROM -threshold 50% -type bilevel -compress group4 TO.b && tiffcp -c g3:1d TO.b TO"},
	{"tiff, fax group 4", "grey", "convert FROM -threshold 50% -type bilevel -compress group4 TO"},
	{"tiff, CMYK", "rgb", "convert FROM -colorspace CMYK -compress none TO"},
	{"tiff, turned", "rgb", "tiffcp -c none FROM TO && tiffset -s 274 6 TO"},
	{"gif", "rgb", "convert FROM GIF:TO"},
	{"gif, drawing", "drawing", "convert FROM GIF:TO"},
	{"gif, interlaced", "rgb", "convert FROM -interlace GIF GIF:TO"},
	{"gif, 20 frames", "small", "convert -loop 0 $(for i in $(seq 20); do echo '(' FROM -roll +$((i*40))+$((i*9)) ')'; done) GIF:TO"},
	{"gif, 20 frames of parts", "small", "convert -loop 0 $(for i in $(seq 20); do echo '(' FROM -roll +$((i/5*40))+$((i*9)) ')'; done) -layers optimize GIF:TO"},
}

// BenchmarkPeers prints how long it takes to read files of TIFF and GIF on one core, in nanoseconds of processor time a
// pixel: ours in this process, libtiff's or giflib's in another, in turns, and a copy of the samples into new memory. The
// C programs are made of testdata, where libtiff-dev and libgif-dev are installed.
func BenchmarkPeers(b *testing.B) {
	dir := b.TempDir()
	programs := map[string]string{}
	for name, library := range map[string]string{"libtiff": "-ltiff", "giflib": "-lgif"} {
		program := filepath.Join(dir, name)
		if out, err := exec.Command("cc", "-O2", "-o", program, filepath.Join("testdata", name+".c"), library).CombinedOutput(); err != nil {
			fmt.Printf("NOT COMPARED with %s, which needs cc and its header: %v: %.200s\n", name, err, out)
			continue
		}
		programs[name] = program
	}
	images := peerImages()
	for name, m := range images {
		data, err := Encode(m, "tiff")
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".tif"), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for b.Loop() {
		fmt.Printf("\n%-40s %10s %10s %10s %8s %8s   ns/px\n", "reading", "ours", "copy", "peer", "/copy", "/peer")
		for i, f := range peerFiles {
			to := filepath.Join(dir, fmt.Sprintf("%d.tif", i))
			line := strings.NewReplacer("FROM", filepath.Join(dir, f.from+".tif"), "TO", to).Replace(f.command)
			if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
				fmt.Printf("NOT MEASURED: %s: %v: %.100s\n", line, err, out)
				continue
			}
			data, err := os.ReadFile(to)
			if err != nil {
				b.Fatal(err)
			}
			program := programs["libtiff"]
			if strings.HasPrefix(f.name, "gif") {
				program = programs["giflib"]
			}
			comparePeer(b, f.name, data, program, to)
		}
	}
}

// comparePeer prints the least times of several rounds for a file.
func comparePeer(b *testing.B, name string, data []byte, program, file string) {
	ours, plain, theirs := time.Hour, time.Hour, 1e9
	var pixels float64
	for range 4 {
		for range 3 {
			from := cpuTime(b)
			m, err := Decode(data, nil)
			if err != nil {
				b.Fatalf("%s: %v", name, err)
			}
			ours = min(ours, cpuTime(b)-from)
			pixels = float64(m.Pixels())
			from = cpuTime(b)
			keep = append([]byte(nil), m.Pix...)
			plain = min(plain, cpuTime(b)-from)
		}
		if program == "" {
			continue
		}
		out, err := exec.Command(program, "3", file).Output()
		if err != nil {
			b.Fatalf("%s %s: %v", program, file, err)
		}
		var n int
		var seconds float64
		if _, err := fmt.Sscan(string(out), &n, &seconds); err != nil {
			b.Fatalf("%s says %q: %v", program, out, err)
		}
		theirs = min(theirs, seconds)
	}
	fmt.Printf("%-40s %10.2f %10.2f %10.2f %8.2f %8.2f\n", name, float64(ours.Nanoseconds())/pixels, float64(plain.Nanoseconds())/pixels,
		theirs*1e9/pixels, float64(ours)/float64(plain), ours.Seconds()/theirs)
}

// peerImages are the images that BenchmarkPeers makes files of.
func peerImages() map[string]*raster.Image {
	const w, h = 2000, 1500
	images := map[string]*raster.Image{
		"rgb": scene(w, h, 3, landscape), "rgba": raster.New(w, h, 1, 4, 8), "grey": scene(w, h, 1, plasma), "small": scene(500, 400, 3, landscape),
		"rgb16": raster.New(w, h, 1, 3, 16), "grey16": raster.New(w, h, 1, 1, 16), "drawing": raster.New(w, h, 1, 3, 8),
	}
	for name, from := range map[string]string{"rgb16": "rgb", "grey16": "grey"} {
		for i, v := range images[from].Pix {
			binary.LittleEndian.PutUint16(images[name].Pix[2*i:], uint16(v)*257+uint16(i%251))
		}
	}
	for i := range w * h {
		copy(images["rgba"].Pix[4*i:], images["rgb"].Pix[3*i:3*i+3])
		images["rgba"].Pix[4*i+3] = byte(i % w / 8)
	}
	drawing := images["drawing"].Pix
	for i := range w * h {
		// Lines on areas of one colour.
		x, y := i%w, i/w
		v := byte(x/200*20 + y/150*8)
		if (x*3+y)%97 == 0 || y%50 == 0 {
			v = 0
		}
		drawing[3*i], drawing[3*i+1], drawing[3*i+2] = v, v/2, 255-v
	}
	return images
}
