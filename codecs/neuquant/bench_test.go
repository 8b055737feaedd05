//go:build unix

package neuquant

import (
	"context"
	"fmt"
	"math"
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
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// total is what palettes for a set of images came to.
type total struct {
	psnr  float64 // the mean of the images
	least float64
	ssim  float64
	bytes int
	cpu   time.Duration
}

func cpuTime(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPngquant prints, for the Kodak images, the mean PSNR and SSIM, the size of
// all files, and the processor time from PNG file to indexed PNG file in nanoseconds a
// pixel: ours in this process on one core, pngquant's in a process for each image, on
// the same machine in the same run; and then how long both take on all cores.
func BenchmarkPngquant(b *testing.B) {
	files := kodakFiles(b)
	cores := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(cores)
	pixels := 0
	for _, f := range files {
		_, m := readImage(b, f)
		pixels += m.Width * m.Height
	}
	for b.Loop() {
		fmt.Printf("\n%d pictures of the Kodak suite\n", len(files))
		fmt.Printf("%-40s %8s %8s %8s %10s %8s\n", "encoder", "PSNR dB", "least", "SSIM", "bytes", "ns/px")
		row := func(name string, t total) {
			fmt.Printf("%-40s %8.3f %8.3f %8.5f %10d %8.1f\n", name, t.psnr, t.least, t.ssim, t.bytes, float64(t.cpu.Nanoseconds())/float64(pixels))
		}
		for _, o := range []string{
			"sample=1 refine=0", "", "sample=1 refine=32",
			"refine=0", "refine=4", "refine=5", "refine=7", "refine=8", "refine=12", "refine=32",
			"dither=ordered", "dither=floyd-steinberg",
		} {
			name := "neuquant " + o
			if o == "" {
				name = "neuquant, default (" + fmt.Sprintf("sample=%d refine=%d", defaults.sample, defaults.refine) + ")"
			}
			row(name, ours(b, files, strings.Fields(o)))
		}
		var list []*raster.Image
		for _, f := range files {
			_, m := readImage(b, f)
			list = append(list, m)
		}
		for _, sample := range []int{1, 10} {
			took, psnr, err := libgd(b, list, sample)
			if err != nil {
				fmt.Println("NOT COMPARED with libgd:", err)
				break
			}
			name := fmt.Sprintf("libgd's NeuQuant, sample=%d, no files", sample)
			fmt.Printf("%-40s %8.3f %8s %8s %10s %8.1f\n", name, psnr, "", "", "", float64(took.Nanoseconds())/float64(pixels))
		}
		if _, err := exec.LookPath("pngquant"); err != nil {
			fmt.Println("SKIPPED: pngquant is not installed")
			continue
		}
		for _, speed := range []string{"4", "1"} {
			row("pngquant --nofs --speed "+speed, pngquant(b, files, speed))
		}
		runtime.GOMAXPROCS(cores)
		mine, theirs := onAllCores(b, files)
		runtime.GOMAXPROCS(1)
		rate := func(d time.Duration) float64 { return repeats * float64(pixels) / 1e6 / d.Seconds() }
		fmt.Printf("files to files on %d cores: default %.1f Mpx/s, pngquant --nofs --speed 4 %.1f Mpx/s, %.2f times\n", cores, rate(mine), rate(theirs), theirs.Seconds()/mine.Seconds())
	}
}

// BenchmarkGraphics prints PSNR and bytes of each drawing of the graphics set beside
// pngquant's, which leaves ICC profiles out, and on one core the processor time of all.
func BenchmarkGraphics(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "graphics", "*.png"))
	if len(files) == 0 {
		b.Skip("NOT MEASURED: ../shared/data/graphics, which is no part of the project, is absent")
	}
	if _, err := exec.LookPath("pngquant"); err != nil {
		b.Skip("NOT MEASURED: pngquant is not installed")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for b.Loop() {
		fmt.Printf("\n%d drawings, and pngquant --nofs --speed 4\n%-28s %8s %8s %7s %9s %9s %7s\n", len(files), "", "PSNR dB", "theirs", "", "bytes", "theirs", "")
		var mine, theirs total
		leastGain, mostMore, gain, compared := math.Inf(1), math.Inf(-1), 0.0, 0
		for _, f := range files {
			m, p := ours(b, []string{f}, []string{"metadata=strip"}), pngquant(b, []string{f}, "4")
			better, more := m.psnr-p.psnr, 100*(float64(m.bytes)/float64(p.bytes)-1)
			fmt.Printf("%-28s %8.2f %8.2f %+7.2f %9d %9d %+6.1f%%\n", strings.TrimSuffix(filepath.Base(f), ".png"), m.psnr, p.psnr, better, m.bytes, p.bytes, more)
			mostMore, leastGain = max(mostMore, more), min(leastGain, better)
			if max(m.psnr, p.psnr) < raster.Identical {
				gain += better
				compared++
			}
			mine.bytes, theirs.bytes = mine.bytes+m.bytes, theirs.bytes+p.bytes
			mine.cpu, theirs.cpu = mine.cpu+m.cpu, theirs.cpu+p.cpu
		}
		fmt.Printf("worst %+.2f dB and %+.1f %%; mean of %d that are not exact %+.2f dB; %d bytes beside %d, %.2f s beside %.2f s\n",
			leastGain, mostMore, compared, gain/float64(compared), mine.bytes, theirs.bytes, mine.cpu.Seconds(), theirs.cpu.Seconds())
	}
}

const repeats = 4 // of the files where all cores work

// onAllCores returns how long it takes to make files of files, with the default options
// and with as many processes of pngquant as there are cores.
func onAllCores(b *testing.B, files []string) (mine, theirs time.Duration) {
	dir := b.TempDir()
	each := func(make func(from, to string) error) time.Duration {
		start := time.Now()
		pool.New().Each(repeats*len(files), func(i int) {
			if err := make(files[i%len(files)], filepath.Join(dir, fmt.Sprint(i))); err != nil {
				b.Error(err)
			}
		})
		return time.Since(start)
	}
	mine = each(func(from, to string) error {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		m, err := imageio.Decode(data, nil)
		if err != nil {
			return err
		}
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), nil)[0]
		if e.Err != nil {
			return e.Err
		}
		return os.WriteFile(to, e.Data, 0o600)
	})
	theirs = each(func(from, to string) error {
		cmd := exec.Command("pngquant", "--nofs", "--speed", "4", "--force", "--output", to, "--", "256", from)
		cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
		return cmd.Run()
	})
	return mine, theirs
}

// take adds the image that comes back from file for m.
func (t *total) take(b *testing.B, n int, m *raster.Image, file []byte) {
	got, err := imageio.Decode(file, nil)
	if err != nil {
		b.Fatal(err)
	}
	if got.Channels != m.Channels { // pngquant leaves channels out and adds some
		m, got = inColour(m), inColour(got)
	}
	p, s, err := raster.Quality(m, got)
	if err != nil {
		b.Fatal(err)
	}
	if t.bytes == 0 {
		t.least = math.Inf(1)
	}
	t.psnr += p / float64(n)
	t.ssim += s / float64(n)
	t.least = min(t.least, p)
	t.bytes += len(file)
}

// inColour is m with four channels.
func inColour(m *raster.Image) *raster.Image {
	list, out := load(m), raster.New(m.Width, m.Height, 1, 4, 8)
	put(out.Pix, 4, func(i int) uint32 { return list[i] })
	return out
}

func ours(b *testing.B, files, pairs []string) (t total) {
	o, err := Codec{}.Options(pairs)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		before := cpuTime(syscall.RUSAGE_SELF)
		m, err := imageio.Decode(data, nil)
		if err != nil {
			b.Fatal(err)
		}
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
		t.cpu += cpuTime(syscall.RUSAGE_SELF) - before
		if e.Err != nil {
			b.Fatalf("%s: %v", f, e.Err)
		}
		t.take(b, len(files), m, e.Data)
	}
	return t
}

func pngquant(b *testing.B, files []string, speed string) (t total) {
	out := filepath.Join(b.TempDir(), "a.png")
	for _, f := range files {
		_, m := readImage(b, f)
		cmd := exec.Command("pngquant", "--nofs", "--speed", speed, "--force", "--output", out, "--", "256", f)
		cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
		if text, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, text)
		}
		t.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		data, err := os.ReadFile(out)
		if err != nil {
			b.Fatal(err)
		}
		t.take(b, len(files), m, data)
	}
	return t
}
