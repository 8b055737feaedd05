//go:build unix

package webp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// sharedData is the folder of a data set beside the repository.
func sharedData(name string) string {
	return filepath.Join("..", "..", "..", "shared", "data", name)
}

// total is what encoding a set took: bytes of files, and time of processors, of that
// what our codec took after the images were read.
type total struct {
	bytes      int
	cpu, codec time.Duration
}

func cpuTime(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCwebp prints the sizes of the files of two sets of images, and the processor
// time from PNG file to WebP file in nanoseconds a pixel: ours in this process on one
// core, and cwebp's in a process for each image, on the same machine in the same run.
func BenchmarkCwebp(b *testing.B) {
	need(b, "cwebp")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for b.Loop() {
		fmt.Printf("\n%-10s %6s %8s %-14s %12s %8s %12s %12s\n", "set", "files", "Mpx", "encoder", "bytes", "ns/px", "size to peer", "time of peer")
		for _, set := range []string{"kodak", "graphics"} {
			files, err := filepath.Glob(filepath.Join(sharedData(set), "*.png"))
			if err != nil || len(files) == 0 {
				b.Skipf("SKIPPED: %s is absent", sharedData(set))
			}
			compare(b, set, files)
		}
	}
}

func compare(b *testing.B, set string, files []string) {
	pixels := 0
	for _, f := range files {
		h, err := header(f)
		if err != nil {
			b.Fatal(err)
		}
		pixels += h.Width * h.Height
	}
	peers := map[int]total{6: cwebp(b, files, 6), 9: cwebp(b, files, 9)}
	row := func(name string, t total, peer *total) {
		line := fmt.Sprintf("%-10s %6d %8.2f %-14s %12d %8.1f", set, len(files), float64(pixels)/1e6, name, t.bytes, float64(t.cpu.Nanoseconds())/float64(pixels))
		if peer != nil {
			line += fmt.Sprintf(" %11.2f%% %11.2fx", 100*float64(t.bytes)/float64(peer.bytes), float64(peer.cpu)/float64(t.cpu))
		}
		fmt.Println(line)
	}
	for _, level := range []int{6, 9} {
		row(fmt.Sprint("cwebp -z ", level), peers[level], nil)
	}
	var ours [10]total
	for _, effort := range []int{1, 6, 9} {
		ours[effort] = own(b, files, effort)
		peer := peers[6]
		if effort == 9 {
			peer = peers[9]
		}
		row(fmt.Sprint("effort=", effort), ours[effort], &peer)
	}
	fmt.Printf("%-10s effort=1 against effort=6: %.2f times as fast, %.2f without reading PNG, %.2f %% larger\n", set,
		float64(ours[6].cpu)/float64(ours[1].cpu), float64(ours[6].codec)/float64(ours[1].codec), 100*float64(ours[1].bytes)/float64(ours[6].bytes)-100)
}

func header(file string) (imageio.Header, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return imageio.Header{}, err
	}
	return imageio.ReadHeader(data, nil)
}

// own encodes files with the codec and checks what comes back.
func own(b *testing.B, files []string, effort int) (t total) {
	o, err := Codec{}.Options([]string{fmt.Sprint("effort=", effort), "metadata=strip"})
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		start := cpuTime(syscall.RUSAGE_SELF)
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		m, err := imageio.Decode(data, nil)
		if err != nil {
			b.Fatal(err)
		}
		read := cpuTime(syscall.RUSAGE_SELF)
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
		end := cpuTime(syscall.RUSAGE_SELF)
		t.cpu, t.codec = t.cpu+end-start, t.codec+end-read
		if e.Err != nil {
			b.Fatalf("%s: %v", f, e.Err)
		}
		t.bytes += len(e.Data)
		if got, err := decoded(e.Data); err != nil || got.Hash() != m.Hash() {
			b.Fatalf("%s: comes back as another picture (%v)", f, err)
		}
	}
	return t
}

func cwebp(b *testing.B, files []string, level int) (t total) {
	out := filepath.Join(b.TempDir(), "a.webp")
	for _, f := range files {
		cmd := exec.Command("cwebp", "-quiet", "-exact", "-metadata", "none", "-z", fmt.Sprint(level), f, "-o", out)
		if text, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, text)
		}
		t.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		info, err := os.Stat(out)
		if err != nil {
			b.Fatal(err)
		}
		t.bytes += int(info.Size())
	}
	return t
}

// BenchmarkWrite measures the step from chosen symbols and the codes of groups to bits, with the small images.
func BenchmarkWrite(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(sharedData("kodak"), "*.png"))
	if len(files) == 0 {
		b.Skipf("SKIPPED: %s is absent", sharedData("kodak"))
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		b.Fatal(err)
	}
	m, err := imageio.Decode(data, nil)
	if err != nil {
		b.Fatal(err)
	}
	workers := pool.New()
	s, err := search.Photo(context.Background(), workers, cpuSteps{workers}, loaded(testimages.Pools[0], m, true), defaults.effort)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(4 * len(s.Pixels.ARGB)))
	b.ReportAllocs()
	for b.Loop() {
		s.Write(testimages.Pools[0])
	}
}

// BenchmarkSmall measures images of 27 x 27 pixels, whose PNG files have about 1.8 KB, with the default options, one image a
// call as a job has them: what a call takes beside its pixels.
func BenchmarkSmall(b *testing.B) {
	for _, c := range []struct {
		name  string
		noise int
	}{{"photograph", 12}, {"graphic", 0}} {
		b.Run(c.name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			r := rand.New(rand.NewPCG(1, 2))
			m := raster.New(27, 27, 1, 3, 8)
			for i := range m.Pix {
				x, y := i/3%27, i/3/27
				m.Pix[i] = byte(60 + 2*x + 3*y + x/9*y/9*20)
				if c.noise > 0 {
					m.Pix[i] += byte(r.IntN(c.noise))
				}
			}
			var run codec.Run
			b.ReportAllocs()
			for b.Loop() {
				if e := (Codec{}).Encode(context.Background(), run, codec.Items(m), nil)[0]; e.Err != nil {
					b.Fatal(e.Err)
				}
			}
		})
	}
}

// BenchmarkSmallImages measures the parses of the small images that describe the photographs of a set: their modes, multipliers
// and entropy images. A pixel is one of the small images.
func BenchmarkSmallImages(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(sharedData("kodak"), "*.png"))
	if len(files) == 0 {
		b.Skipf("SKIPPED: %s is absent", sharedData("kodak"))
	}
	workers := pool.Of(1)
	var small []format.Pixels
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		m, err := imageio.Decode(data, nil)
		if err != nil {
			b.Fatal(err)
		}
		s, err := search.Photo(context.Background(), workers, cpuSteps{workers}, loaded(workers, m, true), defaults.effort)
		if err != nil {
			b.Fatal(err)
		}
		s.Small = func(p format.Pixels) format.Parse {
			small = append(small, p)
			return backref.ParseSmall(p)
		}
		s.Write(workers)
	}
	pixels := 0
	for _, p := range small {
		pixels += len(p.ARGB)
	}
	b.ReportAllocs()
	rounds, from := 0, cpuTime(syscall.RUSAGE_SELF)
	for b.Loop() {
		for _, p := range small {
			backref.ParseSmall(p)
		}
		rounds++
	}
	b.ReportMetric(float64((cpuTime(syscall.RUSAGE_SELF)-from).Nanoseconds())/float64(rounds*pixels), "cpu-ns/pixel")
	b.ReportMetric(float64(pixels)/float64(len(small)), "pixels/image")
}
