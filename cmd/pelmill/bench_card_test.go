package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// cardImages is how many images BenchmarkCardCompress compresses at SCALE=1, of 768 x 512 RGB.
const cardImages = 1200

// longJob is how many times as many a long job has, and one on several cards: there the start and the end of the process count less.
const longJob = 4

// The codecs of BenchmarkCardCompress, with what the card's run must be against the CPU's of the same build, and what it
// must be against seconds that 16 cores took for 1,200 files of PNG before the pipeline was rebuilt: on another machine, whose cores may
// have been faster or slower. Where BEFORE names a program of that time, its run on the machine's own cores counts instead.
var cardCodecs = []struct {
	name           string
	cpu            float64
	before, faster float64
}{
	{"webp", 3, 15.2, 6},
	{"vq", 4, 9.0, 8},
	{"neuquant", 2.5, 6.8, 5},
}

// cardShare is the share of the codec's own rate that the whole command must reach from uncompressed images.
const cardShare = 0.6

// BenchmarkCardCompress is the whole command on files on the local disk, codec by codec: PNG with full verification on
// the machine's cards and on all its cores, which must give the same bytes, and uncompressed images with verification on
// the cards, three times, and of a long job; beside them the rate of the codec alone on the cards, from memory and with no check. It prints what each
// took, the processor seconds, and the shares of the stages of all objects; waiting between stages is in none. At the
// end one image of 25 Mpx is alone on the card: the codec, and the whole command. SCALE is the share of 1,200 files.
func BenchmarkCardCompress(b *testing.B) {
	dev := gputest.Device(b, nil)
	n := max(24, int(benchScale(b, 1)*cardImages))
	images := kodakImages(b)
	png, pnm := b.TempDir(), b.TempDir()
	mpx := writeImages(b, png, "png", images, n)
	writeImages(b, pnm, "pnm", images, n)
	few, many := b.TempDir(), b.TempDir()
	writeImages(b, few, "pnm", images, 24)
	writeImages(b, many, "pnm", images, longJob*n)
	syscall.Sync() // else the kernel writes the images back at some time, and results wait for it
	// The driver compiles the kernels that read PNG for the first process that has more to read than its cores can.
	runCompress(b, png, n, "vq", "auto", "full")
	for b.Loop() {
		fmt.Printf("\npelmill compress, %d pictures, %.0f Mpx, on local disk, %d cores, %s\n", n, mpx, runtime.GOMAXPROCS(0), dev.Name())
		printHeads()
		for _, c := range cardCodecs {
			runCompress(b, few, 24, c.name, "auto", "device") // the driver compiles kernels for the first process on a card
			card := runCompress(b, png, n, c.name, "auto", "full")
			cpu := runCompress(b, png, n, c.name, "cpu", "full")
			sameResults(b, cpu.target, card.target, n)
			flat, took := medianCompress(b, pnm, n, c.name, "auto", "device")
			long := runCompress(b, many, longJob*n, c.name, "auto", "device")
			alone, crowded := codecAlone(b, dev, c.name, images, aloneCalls), codecAlone(b, dev, c.name, images, mostCalls)
			card.print(c.name, "PNG, card, full", mpx)
			cpu.print(c.name, "PNG, CPU, full", mpx)
			flat.print(c.name, fmt.Sprintf("PNM, card, device, of %d", len(took)), mpx)
			long.print(c.name, fmt.Sprintf("%d times the PNM", longJob), longJob*mpx)
			fmt.Printf("%-9s %-28s %26.1f\n", c.name, "codec alone on the card", alone)
			fmt.Printf("%-9s %-28s %26.1f\n", c.name, fmt.Sprintf("codec alone, %d calls at once", mostCalls), crowded)
			before := c.before * float64(n) / cardImages
			if program := os.Getenv("BEFORE"); program != "" {
				old := runProgram(b, program, b.TempDir(), nil, png, n, c.name, "cpu", "--verify", "full")
				old.print(c.name, "PNG, CPU, full, before", mpx)
				before = old.took.Seconds()
			}
			versus, share := cpu.took.Seconds()/card.took.Seconds(), mpx/flat.took.Seconds()/alone
			lasting := longJob * mpx / long.took.Seconds() / alone
			fmt.Printf("%-9s the card is %.2f times the CPU (required %v); %.2f times 16 cores before (%v); from PNM %.0f %% of the codec's own rate, from %d times as many %.0f %% (%.0f)\n",
				c.name, versus, c.cpu, before/card.took.Seconds(), c.faster, 100*share, longJob, 100*lasting, 100*cardShare)
			fmt.Printf("%-9s the runs from PNM took %.3f s\n", c.name, took)
			b.ReportMetric(versus, c.name+"-x-cpu")
			b.ReportMetric(100*share, c.name+"-%-of-codec")
			b.ReportMetric(100*lasting, c.name+"-%-of-codec-long")
		}
		largeAlone(b, dev, "photograph", 0.1, images, 1)
		largeAlone(b, dev, "graphics", 0.4, sharedImages(b, "graphics"), 0)
	}
}

// cardsFaster is what two cards must be against one.
const cardsFaster = 1.8

// BenchmarkCardsCompress is the whole command from uncompressed images on the local disk, on the first card of a machine and on all of
// them; with the first card also on its share of the cores, as a machine with one card has. Once more the results go to files in memory:
// a disk of a machine with several cards may be no faster than that of one with one. Beside them the rates of the codecs alone,
// from memory. The results of all runs are the same bytes. Those on disk stay until the end: ext4 without a journal takes some 50 ns for each
// file that was deleted in the last minutes before it gives a new one its inode, 1 ms after twenty runs.
func BenchmarkCardsCompress(b *testing.B) {
	all := gputest.Device(b, nil)
	cards := len(all.Cards())
	if cards < 2 {
		b.Skipf("NOT MEASURED ON SEVERAL CARDS: this machine has %d", cards)
	}
	one, err := gpu.Open("cuda:0")
	if err != nil {
		b.Fatal(err)
	}
	defer one.Close()
	n := max(24, int(benchScale(b, 1)*longJob*cardImages))
	images := kodakImages(b)
	pnm, few := b.TempDir(), b.TempDir()
	mpx := writeImages(b, pnm, "pnm", images, n)
	writeImages(b, few, "pnm", images, 24)
	syscall.Sync()
	share := fmt.Sprintf("GOMAXPROCS=%d", runtime.GOMAXPROCS(0)/cards)
	for b.Loop() {
		fmt.Printf("\npelmill compress, %d pictures, %.0f Mpx of PNM, on local disk, %d cores, %s\n", n, mpx, runtime.GOMAXPROCS(0), all.Name())
		printHeads()
		for _, c := range cardCodecs {
			runCompress(b, few, 24, c.name, "auto", "device") // the driver compiles kernels for the first process on a card
			var checked *compressRun                          // on one card with its share of the cores, with checks on the card
			for _, verify := range []string{"device", "off"} {
				flags := []string{"--verify", verify}
				cut := runIn(b, []string{share}, pnm, n, c.name, "cuda:0", flags...)
				first := runIn(b, nil, pnm, n, c.name, "cuda:0", flags...)
				both := runIn(b, nil, pnm, n, c.name, "cuda", flags...)
				sameResults(b, first.target, both.target, n)
				if verify == "device" {
					checked = cut
				}
				cut.print(c.name, "one card, its cores, "+verify, mpx)
				first.print(c.name, "one card, all cores, "+verify, mpx)
				both.print(c.name, fmt.Sprintf("%d cards, %s", cards, verify), mpx)
				fmt.Printf("%-9s %d cards are %.2f times one with its share of the cores, %.2f times one with all of them (required of two %v)\n",
					c.name, cards, cut.took.Seconds()/both.took.Seconds(), first.took.Seconds()/both.took.Seconds(), cardsFaster)
				b.ReportMetric(cut.took.Seconds()/both.took.Seconds(), c.name+"-"+verify+"-x-one")
			}
			if memory := memoryFolder(b); memory != "" {
				cut := runTo(b, filepath.Join(memory, "one"), []string{share}, pnm, n, c.name, "cuda:0", "--verify", "device")
				both := runTo(b, filepath.Join(memory, "all"), nil, pnm, n, c.name, "cuda", "--verify", "device")
				sameResults(b, cut.target, both.target, n)
				cut.print(c.name, "one card, its cores, memory", mpx)
				both.print(c.name, fmt.Sprintf("%d cards, memory", cards), mpx)
				fmt.Printf("%-9s %d cards are %.2f times one with its share of the cores where results go to memory\n", c.name, cards, cut.took.Seconds()/both.took.Seconds())
				b.ReportMetric(cut.took.Seconds()/both.took.Seconds(), c.name+"-memory-x-one")
				os.RemoveAll(memory)
			}
			single, together := codecAlone(b, one, c.name, images, aloneCalls), codecAlone(b, all, c.name, images, cards*aloneCalls)
			share := mpx / checked.took.Seconds() / single
			fmt.Printf("%-9s codec alone, from memory: %.0f and %.0f Mpx/s, %.2f times; one card with its cores and checks on it reaches %.0f %% of that (required %.0f)\n",
				c.name, single, together, together/single, 100*share, 100*cardShare)
			b.ReportMetric(100*share, c.name+"-%-of-codec")
		}
	}
}

// memoryFolder is a new folder whose files lie in memory, empty where the system has none. The caller removes it.
func memoryFolder(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "pelmill-bench-")
	if err != nil {
		b.Logf("NOT MEASURED with results in memory: %v", err)
		return ""
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// benchScale is SCALE from the environment, or scale.
func benchScale(b *testing.B, scale float64) float64 {
	b.Helper()
	if text := os.Getenv("SCALE"); text != "" {
		var err error
		if scale, err = strconv.ParseFloat(text, 64); err != nil || scale <= 0 {
			b.Fatalf("SCALE=%s: want a number above 0", text)
		}
	}
	return scale
}

// sharedImages are the PNG images of a set beside the tree; none where it is absent.
func sharedImages(b *testing.B, set string) (list []*raster.Image) {
	b.Helper()
	files, _ := filepath.Glob(filepath.Join("../../../shared/data", set, "*.png"))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		m, err := imageio.Decode(data, nil)
		if err != nil {
			b.Fatal(err)
		}
		if m.Channels == 3 && m.Bits == 8 {
			list = append(list, m)
		}
	}
	return list
}

// kodakImages are the Kodak images, or made ones where those are missing.
func kodakImages(b *testing.B) []*raster.Image {
	b.Helper()
	list := sharedImages(b, "kodak")
	if len(list) == 0 {
		b.Log("NO KODAK PICTURES in ../shared/data/kodak: the pictures are made instead")
		for i := range 24 {
			list = append(list, faults.Image(uint64(i), "", 768, 512).Image)
		}
	}
	return list
}

// writeImages makes n files of the images, and returns how many million pixels they have. The Kodak files stay as they are
// where they are wanted.
func writeImages(b *testing.B, dir, format string, known []*raster.Image, n int) (mpx float64) {
	b.Helper()
	var files [][]byte
	originals, _ := filepath.Glob(filepath.Join("../../../shared/data/kodak/*." + format))
	for i, m := range known {
		data, err := imageio.Encode(m, format)
		if len(originals) == len(known) {
			data, err = os.ReadFile(originals[i])
		}
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, data)
	}
	for i := range n {
		m := known[i%len(known)]
		mpx += float64(m.Width*m.Height) / 1e6
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.%s", i, format)), files[i%len(known)], 0o666); err != nil {
			b.Fatal(err)
		}
	}
	return mpx
}

// compressRun is what one run of the command came to.
type compressRun struct {
	target    string
	took, cpu time.Duration // of the process
	system    time.Duration // of cpu: in the kernel
	faults    int64         // pages of memory used for the first time
	memory    int64         // bytes at most
	report    jobs.Report
	device    string // what the worker said of its device, if anything
}

// runCompress compresses the n files of a folder with a process of its own, whose start counts.
func runCompress(b *testing.B, dir string, n int, name, device, verify string, flags ...string) *compressRun {
	b.Helper()
	return runIn(b, nil, dir, n, name, device, append([]string{"--verify", verify}, flags...)...)
}

// medianCompress is runCompress three times, and returns the run that took the median time and the seconds that all took: a run of less
// than a second is at the mercy of the machine, and a card that had nothing to do for some seconds begins with a low clock.
func medianCompress(b *testing.B, dir string, n int, name, device, verify string) (median *compressRun, took []float64) {
	b.Helper()
	runs := make([]*compressRun, 3)
	for i := range runs {
		runs[i] = runCompress(b, dir, n, name, device, verify)
		took = append(took, runs[i].took.Seconds())
	}
	slices.SortFunc(runs, func(x, y *compressRun) int { return cmp.Compare(x.took, y.took) })
	return runs[len(runs)/2], took
}

// runIn is runCompress with variables of the environment.
func runIn(b *testing.B, env []string, dir string, n int, name, device string, flags ...string) *compressRun {
	b.Helper()
	return runTo(b, b.TempDir(), env, dir, n, name, device, flags...)
}

// runTo is runIn with a folder for the results.
func runTo(b *testing.B, target string, env []string, dir string, n int, name, device string, flags ...string) *compressRun {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	return runProgram(b, self, target, env, dir, n, name, device, flags...)
}

// runProgram is runTo for a program that may be another one than this.
func runProgram(b *testing.B, program, target string, env []string, dir string, n int, name, device string, flags ...string) *compressRun {
	b.Helper()
	r := &compressRun{target: target}
	var said bytes.Buffer
	cmd := exec.CommandContext(b.Context(), program, append([]string{"compress", dir, r.target, "--codec", name, "--device", device, "-v"}, flags...)...)
	cmd.Args[0] = "pelmill" // what TestMain goes by
	settings := func(s string) bool { return strings.HasPrefix(s, "PELMILL_") }
	cmd.Env = append(slices.DeleteFunc(os.Environ(), settings), fmt.Sprintf("GOMAXPROCS=%d", runtime.GOMAXPROCS(0)))
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = &said
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s on %s: %v\n%s", name, device, err, said.Bytes())
	}
	r.took, r.cpu, r.system = time.Since(start), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.faults, r.memory = u.Minflt, u.Maxrss<<10
	}
	for line := range strings.Lines(said.String()) {
		if _, after, ok := strings.Cut(line, `msg="worker ends" `); ok {
			r.device = strings.TrimSpace(after)
		}
	}
	reports, err := filepath.Glob(filepath.Join(r.target, jobs.Root, "jobs", "*", "report.json"))
	if err != nil || len(reports) != 1 {
		b.Fatalf("reports %v, %v", reports, err)
	}
	data, err := os.ReadFile(reports[0])
	if err == nil {
		err = json.Unmarshal(data, &r.report)
	}
	if err != nil || r.report.Counts.Compressed != int64(n) {
		b.Fatalf("%s on %s: %+v, %v", name, device, r.report.Counts, err)
	}
	return r
}

// printHeads prints the heads of the columns of print.
func printHeads() {
	fmt.Printf("%-9s %-28s %8s %8s %8s %8s %8s %8s %8s   %s\n", "codec", "run", "s", "CPU s", "Mpx/s", "out MB/s", "kernel s", "k faults", "MB",
		"share of the time of all objects in fetch, read, encode, verify, store")
}

// print prints the run as a row of the table.
func (r *compressRun) print(name, what string, mpx float64) {
	sum, shares := 0.0, ""
	for _, v := range r.report.Stages {
		sum += v
	}
	for _, stage := range []string{"fetch", "read", "encode", "verify", "store"} {
		shares += fmt.Sprintf(" %4.1f %%", 100*r.report.Stages[stage]/sum)
	}
	fmt.Printf("%-9s %-28s %8.2f %8.1f %8.1f %8.1f %8.2f %8.1f %8.0f  %s  %s\n", name, what, r.took.Seconds(), r.cpu.Seconds(), mpx/r.took.Seconds(),
		float64(r.report.Counts.BytesOut)/1e6/r.took.Seconds(), r.system.Seconds(),
		float64(r.faults)/1e3, float64(r.memory)/1e6, shares, r.device)
}

// Calls of the codec as a worker makes them.
const (
	aloneCalls = 2  // at once on a card, for the codec's own rate
	mostCalls  = 8  // about as many as a job has when all lanes are at work
	aloneBatch = 64 // images
)

// codecAlone is the rate of a codec on a device in Mpx/s, from images in memory: of the best of some rounds of calls.
func codecAlone(b *testing.B, dev *gpu.Device, name string, known []*raster.Image, atOnce int) (best float64) {
	b.Helper()
	c, err := codecs.Find(name)
	if err != nil {
		b.Fatal(err)
	}
	var batch []*raster.Image
	mpx := 0.0
	for i := range aloneBatch {
		m := known[i%len(known)]
		batch = append(batch, m)
		mpx += float64(m.Width*m.Height) / 1e6
	}
	cores := pool.Shared(runtime.GOMAXPROCS(0))
	for range 3 {
		const calls = 4 // of each
		var all sync.WaitGroup
		start := time.Now()
		for range atOnce {
			all.Go(func() {
				for range calls {
					for _, e := range c.Encode(b.Context(), codec.Run{Device: dev, Pool: cores.First()}, codec.Items(batch...), nil) {
						if e.Err != nil {
							b.Error(e.Err)
						}
					}
				}
			})
		}
		all.Wait()
		best = max(best, float64(atOnce*calls)*mpx/time.Since(start).Seconds())
	}
	return best
}

// largeAlone prints what one image of 6144 x 4096, tiles of known ones, takes with webp on a device: the best of some
// calls of the codec, and of the command.
func largeAlone(b *testing.B, dev *gpu.Device, what string, required float64, known []*raster.Image, noise byte) {
	b.Helper()
	if len(known) == 0 {
		b.Logf("NOT MEASURED: %s of 25 Mpx, as ../shared/data has no images for it", what)
		return
	}
	m := tiled(known, 6144, 4096, noise)
	c, err := codecs.Find("webp")
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	data, err := imageio.Encode(m, "pnm")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "large.ppm"), data, 0o666)
	}
	if err != nil {
		b.Fatal(err)
	}
	alone, command := time.Hour, time.Hour
	for range 5 {
		start := time.Now()
		if e := c.Encode(b.Context(), codec.Run{Device: dev, Pool: pool.New()}, codec.Items(m), nil)[0]; e.Err != nil {
			b.Fatal(e.Err)
		}
		alone = min(alone, time.Since(start))
	}
	for range 2 {
		command = min(command, runCompress(b, dir, 1, "webp", "auto", "full").took)
	}
	fmt.Printf("webp      one picture of 25 Mpx, %s: %.3f s on the card (required %v), %.2f s the command with reading PNM and full verification\n",
		what, alone.Seconds(), required, command.Seconds())
}

// tiled lays known images side by side in rows, each as often as there is room. With noise, 1, the lowest bits are random,
// so that no two tiles are the same, which no photograph has.
func tiled(known []*raster.Image, width, height int, noise byte) *raster.Image {
	m := raster.New(width, height, 1, 3, 8)
	next, row := 0, 0
	for y := 0; y < height; y += row {
		row = height
		for x := 0; x < width; next++ {
			tile := known[next%len(known)]
			w, h := min(tile.Width, width-x), min(tile.Height, height-y)
			for line := range h {
				copy(m.Pix[3*((y+line)*width+x):][:3*w], tile.Pix[3*line*tile.Width:])
			}
			x, row = x+w, min(row, tile.Height)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] ^= byte(random.Uint32()) & noise
	}
	return m
}

// sameResults compares the n results in two targets, byte for byte.
func sameResults(b *testing.B, want, got string, results int) {
	b.Helper()
	own := filepath.Clean(jobs.Root)
	n := 0
	err := filepath.WalkDir(want, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == own:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		n++
		name, err := filepath.Rel(want, path)
		if err != nil {
			return err
		}
		one, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		two, err := os.ReadFile(filepath.Join(got, name))
		if err == nil && !bytes.Equal(one, two) {
			err = fmt.Errorf("%s has other bytes", name)
		}
		return err
	})
	if err != nil || n != results {
		b.Fatalf("%d results compared: %v", n, err)
	}
}
