package webp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/search"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// The benchmarks on a device print tables. Their images are those of the Kodak suite
// where they are at hand, and else drawn. Each runs once.

// photos are some images of 768 x 512 or 512 x 768.
func photos(b *testing.B) []*raster.Image {
	var list []*raster.Image
	for n := 1; n <= 24; n++ {
		if m, ok := kodak(b, n); ok {
			list = append(list, m)
		}
	}
	for i := range 12 {
		if len(list) <= i {
			list = append(list, landscape(uint64(i), 768, 512))
		}
	}
	return list
}

// landscape is an image of smooth slopes, edges and grain.
func landscape(seed uint64, w, h int) *raster.Image {
	m := raster.New(w, h, 1, 3, 8)
	r := rand.New(rand.NewPCG(seed, 5))
	for y := range h {
		for x := range w {
			v := 128 + 60*math.Sin(float64(x)/97+float64(y)/31+float64(seed)) + 40*math.Sin(float64(x*y)/9000)
			if (x/50+y/70)%5 == 0 {
				v += 50
			}
			for c := range 3 {
				m.Pix[3*(y*w+x)+c] = byte(min(max(v*(1-float64(c)/9)+float64(r.IntN(12)), 0), 255))
			}
		}
	}
	return m
}

// repeated is n images: the given ones in turn, from the second round on with other
// values of some samples.
func repeated(list []*raster.Image, n int) []*raster.Image {
	out := append([]*raster.Image(nil), list[:min(n, len(list))]...)
	for i := len(out); i < n; i++ {
		from := list[i%len(list)]
		m := raster.New(from.Width, from.Height, 1, 3, 8)
		copy(m.Pix, from.Pix)
		r := rand.New(rand.NewPCG(uint64(i), 6))
		for range 100 {
			m.Pix[r.IntN(len(m.Pix))] ^= 1
		}
		out = append(out, m)
	}
	return out
}

// mosaic is an image made of others, with noise of one step so that nothing repeats.
func mosaic(list []*raster.Image, seed uint64, w, h int) *raster.Image {
	m := raster.New(w, h, 1, 3, 8)
	const cell = 512 // all images have as much
	pool.New().Each(h, func(y int) {
		r := rand.NewPCG(seed, uint64(y))
		for x := range w {
			from := list[(int(seed)+x/cell*5+y/cell*7)%len(list)]
			at := 3 * (y%cell*from.Width + x%cell)
			noise := r.Uint64()
			for c := range 3 {
				m.Pix[3*(y*w+x)+c] = byte(min(int(from.Pix[at+c])+int(noise>>(8*c)&1), 255))
			}
		}
	})
	return m
}

func fastest(n int, f func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range n {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// BenchmarkCardColours prints the paper's table: the search of the colour transform and
// the transform, of residuals in memory, with the copies to the device and back, beside the
// same on one core. The paper has 5 to 28 times.
func BenchmarkCardColours(b *testing.B) {
	dev := gputest.Device(b, nil)
	list := photos(b)
	for b.Loop() {
		fmt.Printf("colour transform as at effort 6, tiles of 32 x 32, with both copies, on %s\n| pixels | one core, ms | card, ms | of them kernels | speed-up |\n", dev.Name())
		for _, size := range [][2]int{{1024, 1024}, {2048, 2048}, {4096, 2560}, {6144, 4096}, {8192, 6144}, {15000, 11878}} {
			if err := paperRow(b, dev, list, size[0], size[1]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func paperRow(b *testing.B, dev *gpu.Device, list []*raster.Image, w, h int) error {
	const bits = 5
	skip := search.PredictorPlans[6].ColourSkip
	n := w * h
	one := pool.Of(1)
	in, err := dev.Host(4 * n)
	if err != nil {
		return err
	}
	defer in.Free()
	out, err := dev.Host(4 * n)
	if err != nil {
		return err
	}
	defer out.Free()
	r := gpu.View[uint32](in.Bytes)
	residualMosaic(list, w, h, r)
	p := format.Pixels{W: w, H: h, ARGB: r}
	hist := entropy.Histograms(pool.New(), &p, &format.Parse{}, true, format.EntropyImage{})
	tables := make([]uint16, len(hist))
	entropy.IdealCosts(hist, tables)
	g := &entropy.CostTables{Symbols: len(tables), Costs: tables, Opaque: true}
	own := new(transform.MultiplierCosts)
	m := transform.NewMultipliers(w, h, bits)
	coded := make([]uint32, n)
	for i := range coded {
		coded[i] = 1 // the first use of memory takes longer than the transform
	}
	slow := fastest(1, func() {
		transform.ChooseMultipliers(one, w, h, r, skip, transform.ColourSteps, own, g, nil, m)
		transform.ApplyMultipliers(one, w, r, m, coded)
	})
	elements, err := dev.Host(4 * len(m.Element))
	if err != nil {
		return err
	}
	defer elements.Free()
	var quick, inKernels time.Duration
	err = dev.Do(context.Background(), func(l *gpu.Lane) error {
		c := &devicePredictorSearch{batch: newBatch(l, pool.Shared(runtime.GOMAXPROCS(0))), w: w, h: h}
		if err := c.take(4*n, &c.residual, &c.coloured); err != nil {
			return err
		}
		if err := c.take(4*len(m.Element), &c.multipliers); err != nil {
			return err
		}
		rest, err := l.Device(64 << 10)
		if err != nil {
			return err
		}
		const tablesAt, ownAt, resultAt = 16 << 10, 32 << 10, 48 << 10
		slots := paperBands(c, w, h, bits, skip)
		for i := range slots {
			s := &slots[i]
			s.MultiplierCosts, s.Costs, s.Result = rest.Ptr+ownAt, rest.Ptr+tablesAt, rest.Ptr+resultAt
		}
		if err := errors.Join(l.Stream(0).Fill(rest, 0, rest.Size, 0), l.Stream(0).Upload(rest, 0, gpu.Bytes(slots)),
			l.Stream(0).Upload(rest, tablesAt, gpu.Bytes(tables)), l.Sync()); err != nil {
			return err
		}
		run := func(i, stream int) error {
			on := &batch{lane: l, stream: l.Stream(stream)}
			params := &slotParams{rest.Ptr + gpu.Ptr(i*len(gpu.Bytes(slots[:1])))}
			return on.launch(slots[i:i+1], params, "webp_choose_multipliers", "webp_apply_multipliers")
		}
		quick = fastest(4, func() {
			err = errors.Join(err, l.Stream(0).Fill(c.multipliers, 0, c.multipliers.Size, 0), l.Sync())
			at := 0
			for i := range slots {
				s, n := l.Stream(i%2), 4*slots[i].pixels()
				err = errors.Join(err, s.Upload(c.residual, at, in.Bytes[at:at+n]), run(i, i%2), s.Download(out.Bytes[at:at+n], c.coloured, at))
				at += n
			}
			err = errors.Join(err, l.Sync(), l.Stream(0).Download(elements.Bytes, c.multipliers, 0), l.Sync())
		})
		err = errors.Join(err, l.Stream(0).Fill(c.multipliers, 0, c.multipliers.Size, 0))
		inKernels, _ = l.Stream(0).Time(func() error {
			for i := range slots {
				err = errors.Join(err, run(i, 0))
			}
			return err
		})
		return err
	})
	if err != nil {
		return err
	}
	for i, v := range gpu.View[uint32](elements.Bytes) {
		if v|transform.NoMultipliers != m.Element[i] {
			b.Fatalf("%d x %d: multipliers of tile %d: %x, want %x", w, h, i, v, m.Element[i])
		}
	}
	for i, v := range gpu.View[uint32](out.Bytes) {
		if v != coded[i] {
			b.Fatalf("%d x %d: pixel %d: %x, want %x", w, h, i, v, coded[i])
		}
	}
	fmt.Printf("| %d | %.0f | %.2f | %.2f | %.0f |\n", n, ms(slow), ms(quick), ms(inKernels), slow.Seconds()/quick.Seconds())
	return nil
}

// paperBands are the slots of an image in bands, of which one is copied while another
// one is searched.
func paperBands(c *devicePredictorSearch, w, h, bits, skip int) (list []slot) {
	bands := min(max(w*h>>21, 1), 8) // small ones do not fill the device
	rows := (format.Tiles(h, bits) + bands - 1) / bands << bits
	for y := 0; y < h; y += rows {
		s := c.slot
		s.Width, s.Height, s.Opaque, s.GroupCount, s.Symbols = uint32(w), uint32(min(rows, h-y)), 1, 1, uint32(c.Symbols())
		s.ColourBits, s.Skip, s.Count = uint32(bits), uint32(skip), uint32(len(transform.ColourSteps))
		for i, v := range transform.ColourSteps {
			s.Steps[i] = uint32(v)
		}
		s.Residual += gpu.Ptr(4 * w * y)
		s.Coded += gpu.Ptr(4 * w * y)
		s.Multipliers += gpu.Ptr(4 * format.Tiles(w, bits) * (y >> bits))
		list = append(list, s)
	}
	return list
}

// residualMosaic fills out with residuals of images by the first mode, side by side.
func residualMosaic(list []*raster.Image, w, h int, out []uint32) {
	c := pool.New()
	var parts []format.Pixels
	for _, m := range list {
		made, _ := cpuSteps{c}.PredictorSearch(loaded(testimages.Pools[0], m, true))
		v := made.(*memoryPredictorSearch)
		v.SetModes(4, search.FirstMode)
		parts = append(parts, v.coded)
	}
	const cell = 512
	c.Each(h, func(y int) {
		for x := 0; x < w; x += cell {
			p := parts[(x/cell*5+y/cell*7)%len(parts)]
			copy(out[y*w+x:y*w+min(w, x+cell)], p.ARGB[y%cell*p.W:])
		}
	})
}

// BenchmarkCardEncode is whole files from pixels in memory to bytes in memory, beside the
// CPU on all cores and, where it is installed, cwebp on one core.
func BenchmarkCardEncode(b *testing.B) {
	dev := gputest.Device(b, nil)
	list := photos(b)
	large := mosaic(list, 0, 6144, 4096)
	cases := []struct {
		what  string
		batch []*raster.Image
		onCPU int             // how many the CPU does too, at effort 9
		peer  []*raster.Image // for cwebp
	}{
		{"240 x 768 x 512 RGB", repeated(list, 240), 240, list},
		{"10 x 6144 x 4096 RGB", []*raster.Image{large}, 2, []*raster.Image{mosaic(list, 0, 1024, 1024)}},
	}
	for i := range 9 {
		cases[1].batch = append(cases[1].batch, mosaic(list, uint64(i+1), 6144, 4096))
	}
	for b.Loop() {
		for _, c := range cases {
			for _, effort := range []int{6, 9} {
				onCPU := len(c.batch)
				if effort == 9 {
					onCPU = c.onCPU
				}
				compareOnCard(b, dev, c.what, c.batch, onCPU, c.peer, effort)
			}
		}
	}
}

// drawings are the images of the set graphics, where it is at hand.
func drawings(t testing.TB) (list []*raster.Image) {
	files, _ := filepath.Glob(filepath.Join(sharedData("graphics"), "*.png"))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := imageio.Decode(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// BenchmarkCardGraphics is the same of drawings, screens and diagrams, at effort 9 of
// each once.
func BenchmarkCardGraphics(b *testing.B) {
	dev := gputest.Device(b, nil)
	list := drawings(b)
	if len(list) == 0 {
		b.Skipf("SKIPPED: %s is absent", sharedData("graphics"))
	}
	var batch []*raster.Image
	for len(batch) < 256 {
		batch = append(batch, list...)
	}
	for b.Loop() {
		compareOnCard(b, dev, fmt.Sprintf("%d graphics", len(batch)), batch, len(batch), list, 6)
		compareOnCard(b, dev, fmt.Sprintf("%d graphics", len(list)), list, len(list), list, 9)
	}
}

// compareOnCard prints what a batch takes.
func compareOnCard(b *testing.B, dev *gpu.Device, what string, batch []*raster.Image, onCPU int, peer []*raster.Image, effort int) {
	o := defaults
	o.effort, o.strip = effort, true // the peer leaves metadata out, too
	count := func(list []*raster.Image) (n int) {
		for _, m := range list {
			n += m.Width * m.Height
		}
		return n
	}
	var files [2][]codec.Encoded
	runs := 3
	if effort == 9 {
		runs = 1
	}
	quick := fastest(runs, func() {
		files[1] = Codec{}.Encode(context.Background(), codec.Run{Device: dev}, codec.Items(batch...), &o)
	})
	slow := fastest(1, func() {
		files[0] = Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(batch[:onCPU]...), &o)
	})
	size := 0
	for i, e := range files[1] {
		if e.Err != nil || i < onCPU && !bytes.Equal(e.Data, files[0][i].Data) {
			b.Fatalf("%s, effort %d: picture %d: other bytes on the card (%v)", what, effort, i, e.Err)
		}
		size += len(e.Data)
	}
	rate := func(list []*raster.Image, took time.Duration) float64 {
		return took.Seconds() * 1e9 / float64(count(list))
	} // ns per pixel
	card, cpu := rate(batch, quick), rate(batch[:onCPU], slow)
	fmt.Printf("%s, effort %d: %.0f ms on %s, %.2f ns a pixel, %d bytes; %.2f ns on %d cores (%d pictures, the same bytes), %.1f times\n",
		what, effort, ms(quick), dev.Name(), card, size, cpu, runtime.GOMAXPROCS(0), onCPU, cpu/card)
	b.ReportMetric(cpu/card, "x-cpu")
	shares(b, dev, batch, &o)
	theirs, took, err := timed(peer, effort)
	if err != nil {
		fmt.Printf("  NOT COMPARED with cwebp: %v\n", err)
		return
	}
	ours := 0
	for _, e := range (Codec{}).Encode(context.Background(), codec.Run{Device: dev}, codec.Items(peer...), &o) {
		ours += len(e.Data)
	}
	fmt.Printf("  cwebp -z %d on one core: %.0f ns a pixel, the card %.0f times; its files of %d pictures %d bytes, ours %d, %+.2f %%\n",
		effort, rate(peer, took), rate(peer, took)/card, len(peer), theirs, ours, 100*(float64(ours)/float64(theirs)-1))
}

// shares prints how the time of a call's first batch, alone on the device, divides.
func shares(b *testing.B, dev *gpu.Device, batch []*raster.Image, o *Options) {
	items := make([]int, len(batch))
	for i := range items {
		items[i] = i
	}
	images := batch[:len(batching.Divide(items, func(i int) int { return batch[i].Width * batch[i].Height })[0])]
	took := map[string]time.Duration{}
	var order []string
	begin := time.Now()
	last := begin
	err := dev.Do(context.Background(), func(l *gpu.Lane) error {
		d := newBatch(l, pool.Shared(runtime.GOMAXPROCS(0)))
		begin = time.Now()
		last = begin
		d.note = func(what string) {
			if took[what] == 0 {
				order = append(order, what)
			}
			took[what] += time.Since(last)
			last = time.Now()
		}
		return d.encode(images, o, func(v steps, i int) {
			if _, err := encode(context.Background(), d.pool, v, images[i], o); err != nil {
				b.Error(err)
			}
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	took["host"] += time.Since(last)
	fmt.Printf("  a batch of %d alone, %.1f ms:", len(images), ms(time.Since(begin)))
	for _, what := range order {
		fmt.Printf(" %s %.1f,", what, ms(took[what]))
	}
	fmt.Println()
}

var encodeTime = regexp.MustCompile(`Time to encode picture: ([0-9.]+)s`)

// timed encodes images with libwebp's program, as many at once as half the cores, and
// returns the bytes of the files and the sum of the times that it reports for encoding
// alone.
func timed(list []*raster.Image, level int) (size int, took time.Duration, err error) {
	program, err := exec.LookPath("cwebp")
	if err != nil {
		return 0, 0, err
	}
	dir, err := os.MkdirTemp("", "pelmill-cwebp")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	sizes, times, errs := make([]int, len(list)), make([]time.Duration, len(list)), make([]error, len(list))
	pool.Of(max(1, runtime.NumCPU()/2)).Each(len(list), func(i int) {
		m := list[i]
		in, out := filepath.Join(dir, strconv.Itoa(i)+".pam"), filepath.Join(dir, strconv.Itoa(i)+".webp")
		kind := []string{"", "GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA"}[m.Channels]
		head := fmt.Sprintf("P7\nWIDTH %d\nHEIGHT %d\nDEPTH %d\nMAXVAL 255\nTUPLTYPE %s\nENDHDR\n", m.Width, m.Height, m.Channels, kind)
		if errs[i] = os.WriteFile(in, append([]byte(head), m.Pix...), 0o666); errs[i] != nil {
			return
		}
		text, err := exec.Command(program, "-v", "-z", strconv.Itoa(level), "-exact", in, "-o", out).CombinedOutput()
		found := encodeTime.FindStringSubmatch(string(text))
		if err != nil || found == nil {
			errs[i] = fmt.Errorf("cwebp: %v: %s", err, strings.TrimSpace(string(text)))
			return
		}
		seconds, _ := strconv.ParseFloat(found[1], 64)
		times[i] = time.Duration(seconds * float64(time.Second))
		if info, err := os.Stat(out); err == nil {
			sizes[i] = int(info.Size())
		}
	})
	for i := range list {
		if errs[i] != nil {
			return 0, 0, errs[i]
		}
		size += sizes[i]
		took += times[i]
	}
	return size, took, nil
}
