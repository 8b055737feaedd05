//go:build cuda && cgo

package device

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/imageio"
)

// kodak are photographs, where they are at hand.
func kodak(t testing.TB) (list []file) {
	names, _ := filepath.Glob("../../../../../shared/data/kodak/*.png")
	for _, n := range names {
		data, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, file{n, data})
	}
	return list
}

// A device reads what package imageio reads, and nothing else, in batches of mixed sizes.
func TestLockstepPNG(t *testing.T) {
	dev := gputest.Device(t, nil)
	rng := rand.New(rand.NewPCG(53, 54))
	damaged := 3000
	if testing.Short() {
		damaged = 300
	}
	most := map[string]int{"damaged": damaged}
	for name, files := range map[string][]file{"made": madeFiles(rng), "corpus": corpus(t), "damaged": damagedFiles(rng, damaged), "kodak": kodak(t)} {
		t.Run(name, func(t *testing.T) {
			streams, of := streamsOf(files)
			done, err := Decode(t.Context(), codec.Run{Device: dev, Pool: pool.New()}, coded(streams))
			if err != nil {
				t.Fatal(err)
			}
			checkAll(t, of, streams, done, most[name])
		})
	}
}

// Indices of a palette are read as samples are.
func TestIndicesOnCard(t *testing.T) {
	dev := gputest.Device(t, nil)
	files, streams := indexFiles(t, rand.New(rand.NewPCG(57, 58)))
	done, err := Decode(t.Context(), codec.Run{Device: dev, Pool: pool.New()}, streams)
	if err != nil {
		t.Fatal(err)
	}
	checkIndices(t, files, streams, done)
}

// A device with too little memory reads what fits.
func TestLittleMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 56))
	streams, of := streamsOf(madeFiles(rng))
	for memory := int64(100 << 10); memory < 64<<20; memory *= 5 {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		done, err := Decode(t.Context(), codec.Run{Device: dev, Pool: pool.New()}, coded(streams))
		if err != nil {
			t.Fatal(err)
		}
		checkAll(t, of, streams, done, len(of))
	}
}

// BenchmarkCardPNG reads batches of photographs into pinned memory, by one lane and by several.
func BenchmarkCardPNG(b *testing.B) {
	photographs := kodak(b)
	if len(photographs) == 0 {
		b.Skip("SKIPPED: ../shared/data/kodak is absent")
	}
	dev := gputest.Device(b, nil)
	for _, n := range []int{1, 16, 64, 256} {
		for _, lanes := range []int{1, 3} {
			b.Run(fmt.Sprintf("%d/lanes=%d", n, lanes), func(b *testing.B) {
				type call struct {
					streams []*imageio.Stream
					hosts   [][]byte
				}
				calls := make([]call, lanes)
				pixels := 0
				for i := range calls {
					for j := range n {
						s, ok := imageio.OpenStream(photographs[(i+j)%len(photographs)].data, nil)
						if !ok {
							b.Fatal("is not taken")
						}
						h, err := dev.Host(s.Size())
						if err != nil {
							b.Fatal(err)
						}
						defer h.Free()
						calls[i].streams, calls[i].hosts = append(calls[i].streams, s), append(calls[i].hosts, h.Bytes)
						pixels += s.Size() / s.PixelBytes
					}
				}
				b.SetBytes(int64(pixels))
				cores := pool.New()
				for b.Loop() {
					var wg sync.WaitGroup
					for _, c := range calls {
						wg.Go(func() {
							var mu sync.Mutex
							hosts := slices.Clone(c.hosts)
							run := codec.Run{Device: dev, Pool: cores, Alloc: func(n int) []byte {
								mu.Lock()
								defer mu.Unlock()
								i := slices.IndexFunc(hosts, func(h []byte) bool { return len(h) >= n })
								h := hosts[i]
								hosts = slices.Delete(hosts, i, i+1)
								return h[:n:n]
							}}
							done, err := Decode(b.Context(), run, coded(c.streams))
							if err != nil || slices.Contains(done, false) {
								b.Error(err, done)
							}
						})
					}
					wg.Wait()
				}
			})
		}
	}
}

// BenchmarkCardPNGKernels is what the kernels take for 64 photographs.
func BenchmarkCardPNGKernels(b *testing.B) {
	photographs := kodak(b)
	if len(photographs) == 0 {
		b.Skip("SKIPPED: ../shared/data/kodak is absent")
	}
	dev := gputest.Device(b, nil)
	for _, n := range []int{1, 64, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var streams []*imageio.Stream
			for j := range n {
				s, _ := imageio.OpenStream(photographs[j%len(photographs)].data, nil)
				streams = append(streams, s)
			}
			run := codec.Run{Device: dev, Pool: pool.New()}
			sums := map[string]time.Duration{}
			for b.Loop() {
				err := dev.Do(b.Context(), func(l *gpu.Lane) error {
					t := &batch{lane: l, run: run, staging: gpu.Staging{Lane: l, Spans: run.Cores().Spans}, streams: coded(streams),
						timed: func(kernel string, took time.Duration) { sums[kernel] += took }}
					_, _, err := t.decode()
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			for kernel, sum := range sums {
				b.ReportMetric(float64(sum.Microseconds())/1000/float64(b.N), strings.TrimPrefix(kernel, "png_")+"-ms")
			}
		})
	}
}
