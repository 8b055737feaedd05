//go:build cuda && cgo

package vq

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// The benchmarks on a device print tables and make their data themselves; those of the
// paper's tables use the Kodak images where they are at hand. Each runs once.

//go:embed testdata/ptx/peer.ptx
var peerPTX string

var (
	peerModule = gpu.Module{Name: "the paper's search", Variants: []string{peerPTX}}
)

type peerParams struct {
	Table, Blocks, Words gpu.Ptr
	M, N, K              uint32
}

// landscape is a grey image of smooth slopes, edges and grain.
func landscape(w, h int) *raster.Image {
	m := raster.New(w, h, 1, 1, 8)
	pool.New().Each(h, func(y int) {
		r := rand.New(rand.NewPCG(uint64(y), 5))
		for x := range w {
			v := 128 + 60*math.Sin(float64(x)/97+float64(y)/31) + 40*math.Sin(float64(x*y)/9000)
			if (x/50+y/70)%5 == 0 {
				v += 50
			}
			m.Pix[y*w+x] = clip(int(v) + r.IntN(16))
		}
	})
	return m
}

// someBlocks is a codebook of n blocks of an image.
func someBlocks(m *raster.Image, n int) *codebook {
	s := shape{4, 4}
	g := s.grid(m.Width, m.Height)
	all := make([]byte, g.blocks()*16)
	blocks(pool.New(), plane{m.Width, m.Height, m.Pix}, s, all)
	r := rand.New(rand.NewPCG(uint64(n), 6))
	b := &codebook{shape: s, words: make([]byte, n*16)}
	for i := range n {
		at := r.IntN(g.blocks())
		copy(b.word(i), all[16*at:])
	}
	return finished(b)
}

// onLane runs f with the steps on a lane.
func onLane(b *testing.B, dev *gpu.Device, f func(d *deviceSteps) error) {
	b.Helper()
	err := dev.Do(context.Background(), func(l *gpu.Lane) error { return f(newDeviceSteps(l, pool.New())) })
	if err != nil {
		b.Fatal(err)
	}
}

// best is the least time on the device of several runs, after one to warm up.
func best(d *deviceSteps, runs int, f func() error) (time.Duration, error) {
	var least time.Duration
	for i := range runs + 1 {
		t, err := d.stream.Time(f)
		if err != nil {
			return 0, err
		}
		if i == 1 || i > 1 && t < least {
			least = t
		}
	}
	return least, nil
}

func giga(n int, t time.Duration) float64 { return float64(n) / t.Seconds() / 1e9 }

// BenchmarkCardSearch is the search kernel on 8192 x 8192 grey, 4x4 blocks, beside the
// paper's on the same card.
func BenchmarkCardSearch(b *testing.B) {
	dev := gputest.Device(b, nil)
	m := landscape(8192, 8192)
	for b.Loop() {
		table := new(strings.Builder)
		fmt.Fprintf(table, "\nsearch, 8192 x 8192 grey, kernel time on %s\n%6s %10s %10s %10s %10s %10s %10s %8s\n", dev.Name(),
			"N", "ms", "Gpx/s", "dp4a ms", "Gpx/s", "paper's ms", "Gpx/s", "times")
		onLane(b, dev, func(d *deviceSteps) error {
			set := d.newBatch([]*raster.Image{m}, &Options{block: shape{4, 4}})
			if err := set.makeBlocks(context.Background()); err != nil {
				return err
			}
			columns, err := peerBlocks(d, set)
			if err != nil {
				return err
			}
			for _, n := range []int{128, 256, 512, 1024, 2048, 4096} {
				book := someBlocks(m, n)
				ours, err := searchTime(d, set, book)
				if err != nil {
					return err
				}
				d.kernels = withoutTensorCores()
				dots, err := searchTime(d, set, book)
				d.kernels = &kernels
				if err != nil {
					return err
				}
				peer, err := peerTime(d, set, columns, book)
				if err != nil {
					return err
				}
				px := len(m.Pix)
				fmt.Fprintf(table, "%6d %10.3f %10.1f %10.3f %10.1f %10.3f %10.2f %8.1f\n", book.n(),
					ours.Seconds()*1e3, giga(px, ours), dots.Seconds()*1e3, giga(px, dots), peer.Seconds()*1e3, giga(px, peer), peer.Seconds()/ours.Seconds())
				b.ReportMetric(giga(px, ours), fmt.Sprintf("Gpx/s-%d", n))
				b.ReportMetric(peer.Seconds()/ours.Seconds(), fmt.Sprintf("x-paper-%d", n))
			}
			return nil
		})
		fmt.Println(table)
	}
}

func searchTime(d *deviceSteps, set *batch, book *codebook) (time.Duration, error) {
	words, err := d.stream.Put(book.words)
	if err != nil {
		return 0, err
	}
	defer words.Free()
	m := set.sets[0].m
	table, err := d.lane.Device(2 * m)
	if err != nil {
		return 0, err
	}
	defer table.Free()
	one := deviceSearch{Table: table.Ptr, Blocks: set.blocks.Ptr, Words: words.Ptr, M: uint32(m), N: uint32(book.n())}
	return best(d, 5, func() error { return d.searchAll(16, searches{one: one}, []extent{{blocks: m}}, maxCodewords) })
}

// peerBlocks brings the blocks to the device as the paper's kernel wants them: columns of
// floats.
func peerBlocks(d *deviceSteps, set *batch) (*gpu.Buffer, error) {
	samples, err := d.download(set.blocks, 16*set.sets[0].m)
	if err != nil {
		return nil, err
	}
	return d.stream.Put(columns(samples, 16))
}

func columns(samples []byte, k int) []byte {
	m := len(samples) / k
	out := make([]byte, 4*len(samples))
	for i := range m {
		for z := range k {
			binary.LittleEndian.PutUint32(out[4*(z*m+i):], math.Float32bits(float32(samples[i*k+z])))
		}
	}
	return out
}

func peerTime(d *deviceSteps, set *batch, blocks *gpu.Buffer, book *codebook) (time.Duration, error) {
	words, err := d.stream.Put(columns(book.words, 16))
	if err != nil {
		return 0, err
	}
	defer words.Free()
	table, err := d.lane.Device(4 * set.sets[0].m)
	if err != nil {
		return 0, err
	}
	defer table.Free()
	k, err := d.lane.Kernel(&peerModule, "peer_search")
	if err != nil {
		return 0, err
	}
	g := gpu.Grid{Blocks: [3]int{(set.sets[0].m + 63) / 64}, Threads: [3]int{64}}
	return best(d, 2, func() error {
		return gpu.Launch(d.stream, k, g, &peerParams{table.Ptr, blocks.Ptr, words.Ptr, uint32(set.sets[0].m), uint32(book.n()), 16})
	})
}

// BenchmarkCardDecode is the kernel of the decoder on 8192 x 8192 grey, beside a copy
// and a fill within the device. All are timed in passes over 1 GiB of images, one launch
// after the other, so that what starting one costs is spread and the cache holds no
// result of the pass before; for the decoder also as one launch alone.
func BenchmarkCardDecode(b *testing.B) {
	dev := gputest.Device(b, nil)
	const (
		all   = 1 << 30
		size  = 8192 * 8192
		parts = all / size
		moved = size + size/8 // pixels written and table read
	)
	m := landscape(8192, 8192)
	for b.Loop() {
		onLane(b, dev, func(d *deviceSteps) error {
			from, err := d.lane.Device(all)
			if err != nil {
				return err
			}
			to, err := d.lane.Device(all)
			if err != nil {
				return err
			}
			tables, err := d.lane.Device(all / 8)
			if err != nil {
				return err
			}
			pass := func(f func(i int) error) (time.Duration, error) {
				took, err := best(d, 50, func() error {
					for i := range parts {
						if err := f(i); err != nil {
							return err
						}
					}
					return nil
				})
				return took / parts, err
			}
			took, err := best(d, 10, func() error { return d.stream.Copy(to, 0, from, 0, all) })
			if err != nil {
				return err
			}
			rate := giga(2*all, took)
			// A copy that moves as much as the decoder does not come to that rate either,
			// nor does one that only writes.
			same, err := pass(func(i int) error { return d.stream.Copy(to, i*size, from, i*size, moved/2) })
			if err != nil {
				return err
			}
			fill, err := pass(func(i int) error { return d.stream.Fill(to, i*size, size, 1) })
			if err != nil {
				return err
			}
			fmt.Printf("\ndecode, 8192 x 8192 grey, kernel time on %s; a copy of 1 GiB moves %.0f GB/s read and written, one of %d bytes %.0f, a fill of %d bytes %.0f\n%6s %10s %10s %10s %8s %10s %8s\n",
				dev.Name(), rate, moved/2, giga(moved, same), size, giga(size, fill), "N", "ms", "Gpx/s", "GB/s", "of copy", "alone ms", "of copy")
			for _, n := range []int{128, 256, 512, 1024, 4096} {
				book := someBlocks(m, n)
				h := newHeader(m, &Options{block: book.shape})
				words, err := d.stream.Put(book.words)
				if err != nil {
					return err
				}
				set := d.newBatch([]*raster.Image{m}, &Options{block: book.shape})
				if err := set.makeBlocks(context.Background()); err != nil {
					return err
				}
				set.sets[0].book = book
				if err := set.search(); err != nil {
					return err
				}
				for i := range parts {
					if err := d.stream.Copy(tables, i*size/8, set.tables, 0, size/8); err != nil {
						return err
					}
				}
				decode := func(i int) error {
					p := deviceExpansion{Pixels: to.Ptr + gpu.Ptr(i*size), Luma: tables.Ptr + gpu.Ptr(i*size/8), Words: words.Ptr, N: uint32(book.n()),
						Width: 8192, Height: 8192, Channels: 1, P: 4, Q: 4}
					var one expansions
					one.add(h, p, 0, 8192)
					return d.launchExpand(&one)
				}
				took, err := pass(decode)
				if err != nil {
					return err
				}
				at := 0
				alone, err := best(d, 100, func() error { at++; return decode(at % parts) })
				if err != nil {
					return err
				}
				fmt.Printf("%6d %10.4f %10.1f %10.0f %7.0f%% %10.4f %7.0f%%\n", book.n(), took.Seconds()*1e3, giga(size, took),
					giga(moved, took), 100*giga(moved, took)/rate, alone.Seconds()*1e3, 100*giga(moved, alone)/rate)
				b.ReportMetric(giga(moved, took)/rate, fmt.Sprintf("of-copy-%d", n))
			}
			return nil
		})
	}
}

// BenchmarkCardLatency is one image of 512 x 512 after the other, from pinned
// memory to the index table in host memory, N = 1024: the median.
func BenchmarkCardLatency(b *testing.B) {
	dev := gputest.Device(b, nil)
	m := landscape(512, 512)
	o := &Options{block: shape{4, 4}, raw: true, books: &bookPair{luma: someBlocks(m, 1024)}}
	pin(b, dev, []*raster.Image{m})
	for b.Loop() {
		var each []time.Duration
		workers := pool.New()
		for range 500 {
			start := time.Now()
			err := dev.Do(context.Background(), func(l *gpu.Lane) error {
				_, err := newDeviceSteps(l, workers).analyse(context.Background(), []*raster.Image{m}, o)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			each = append(each, time.Since(start))
		}
		slices.Sort(each)
		fmt.Printf("\n512 x 512 grey, N = 1024, one at a time, host to host on %s: median of 500 %.3f ms, least %.3f ms\n",
			dev.Name(), each[250].Seconds()*1e3, each[0].Seconds()*1e3)
		b.ReportMetric(each[250].Seconds()*1e3, "ms")
	}
}

// pin moves the samples of images into pinned memory, one after the other.
func pin(b *testing.B, dev *gpu.Device, list []*raster.Image) {
	b.Helper()
	size := 0
	for _, m := range list {
		size += len(m.Pix)
	}
	h, err := dev.Host(size)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(h.Free)
	at := h.Bytes
	for _, m := range list {
		copy(at, m.Pix)
		m.Pix, at = at[:len(m.Pix)], at[len(m.Pix):]
	}
}

// BenchmarkCardBatch is 4096 images of 512 x 512 that share a codebook of 256, from
// pinned memory to index tables in host memory, beside the measured link.
func BenchmarkCardBatch(b *testing.B) {
	for _, lanes := range []int{3, 6} {
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) { deviceBatch(b, lanes) })
	}
}

func deviceBatch(b *testing.B, lanes int) {
	dev := gputest.Device(b, &gpu.Options{Pinned: 6 << 30, Lanes: lanes})
	const count = 4096
	whole := landscape(512, 512*64)
	var batch []*raster.Image
	for i := range count {
		m := raster.New(512, 512, 1, 1, 8)
		m.Pix = whole.Pix[i%64*len(m.Pix):][:len(m.Pix)]
		batch = append(batch, m)
	}
	o := &Options{block: shape{4, 4}, raw: true, books: &bookPair{luma: someBlocks(whole, 256)}, hash: strings.Repeat("0", 64)}
	pin(b, dev, batch)
	links, err := dev.Links(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		workers := pool.New()
		batches := batching(o).Divide(ascending(count), func(i int) int { return batch[i].Size() })
		pass := func() {
			dev.Run(context.Background(), batches, gpu.Work{
				Device: func(l *gpu.Lane, items []int) error {
					_, err := newDeviceSteps(l, workers).analyse(context.Background(), batch[items[0]:items[0]+len(items)], o)
					return err
				},
				CPU:    func(items []int) { b.Errorf("%d pictures do not fit", len(items)) },
				Failed: func(_ []int, err error) { b.Error(err) },
			})
		}
		pass()
		took := fastest(5, pass)
		rate := float64(count*512*512) / took.Seconds()
		files := fastest(2, func() { Codec{}.Encode(context.Background(), codec.Run{Device: dev}, codec.Items(batch...), o) })
		fmt.Printf("\n4096 x 512 x 512 grey, N = 256, to index tables on %s, %d lanes: %.1f ms, %.1f GB/s, link %.1f GB/s, %.0f%%; to whole files (plain tables) %.1f ms\n",
			dev.Name(), lanes, took.Seconds()*1e3, rate/1e9, links[0].Up/1e9, 100*rate/links[0].Up, files.Seconds()*1e3)
		b.ReportMetric(rate/links[0].Up, "of-link")
	}
}

// BenchmarkCardTraining is Lloyd's algorithm with shifts, N = 256, 20 passes over all
// blocks of 8192 x 8192 grey, beside the CPU path on two cores, which does 4 passes of
// the same make-up and counts five times.
func BenchmarkCardTraining(b *testing.B) {
	dev := gputest.Device(b, nil)
	m := landscape(8192, 8192)
	h := newHeader(m, &Options{block: shape{4, 4}})
	start := someBlocks(m, 256)
	fresh := func() *codebook { return &codebook{shape: start.shape, words: bytes.Clone(start.words)} }
	ctx := context.Background()
	for b.Loop() {
		var quick time.Duration
		var short *codebook
		onLane(b, dev, func(d *deviceSteps) error {
			set := d.newBatch([]*raster.Image{m}, &Options{block: start.shape})
			if err := set.makeBlocks(ctx); err != nil {
				return err
			}
			t, err := newTrainer(d, start.shape, []*trainingJob{{blocks: set.blocks.Ptr, m: set.sets[0].m, n: start.n()}})
			if err != nil {
				return err
			}
			passes := func(count int) (*codebook, error) {
				if err := t.resume(true); err != nil {
					return nil, err
				}
				if err := d.stream.Upload(t.words, 0, start.words); err != nil {
					return nil, err
				}
				if err := t.lloyd(ctx, t.most, count); err != nil {
					return nil, err
				}
				err := t.finish()
				return t.jobs[0].book, err
			}
			for range 3 {
				begin := time.Now()
				if _, err := passes(20); err != nil {
					return err
				}
				if took := time.Since(begin); quick == 0 || took < quick {
					quick = took
				}
			}
			short, err = passes(4)
			return err
		})
		before := runtime.GOMAXPROCS(2)
		set := cpuSteps{pool.New()}.blocks(h, m)[0]
		book, begin := fresh(), time.Now()
		if err := lloyd(ctx, set, book, 4); err != nil {
			b.Fatal(err)
		}
		slow := 5 * time.Since(begin)
		runtime.GOMAXPROCS(before)
		if !bytes.Equal(book.words, short.words) {
			b.Error("the codebooks differ")
		}
		fmt.Printf("\nLBG with shifts, N = 256, 20 passes over 8192 x 8192 grey: %.1f ms on %s, %.0f ms on two cores, %.0f times\n",
			quick.Seconds()*1e3, dev.Name(), slow.Seconds()*1e3, slow.Seconds()/quick.Seconds())
		b.ReportMetric(slow.Seconds()/quick.Seconds(), "x-cpu")
	}
}
