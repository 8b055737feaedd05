package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// decoders run decompress and verify over the results of a job, each on the CPU and on
// a device. They return the classes or problems of the objects that failed, by the
// source's key.
var decoders = map[string]func(j *job, c codec.Codec, b bounds) (map[string]string, error){
	"decompress": decompressAll,
	"verify":     verifyAll,
	"decompress on device": func(j *job, c codec.Codec, b bounds) (map[string]string, error) {
		return decompressAll(j, c, b.onDevice())
	},
	"verify on device": func(j *job, c codec.Codec, b bounds) (map[string]string, error) { return verifyAll(j, c, b.onDevice()) },
}

// bounds are the options that decompress and verify share.
type bounds struct {
	cpu     int
	memory  int64
	timeout time.Duration
	device  *gpu.Device
}

func (b bounds) onDevice() bounds {
	b.device = &gpu.Device{}
	return b
}

func decompressAll(j *job, c codec.Codec, b bounds) (map[string]string, error) {
	failed := map[string]string{}
	out := j.open("mem://decompressed")
	_, err := Decompress(j.ctx, j.target, out, &DecompressOptions{Codecs: []codec.Codec{c}, CPU: b.cpu, Memory: b.memory, Timeout: b.timeout, Device: b.device,
		OnResult: func(r jobs.Result) {
			if r.Outcome != jobs.OutcomeCompressed {
				failed[r.Key] = r.Class
			}
		}})
	return failed, err
}

func verifyAll(j *job, c codec.Codec, b bounds) (map[string]string, error) {
	failed := map[string]string{}
	_, err := VerifyTarget(j.ctx, j.target, j.each, &VerifyOptions{Codecs: []codec.Codec{c}, CPU: b.cpu, Memory: b.memory, Timeout: b.timeout, Device: b.device,
		OnDone: func(v Verdict) {
			if v.Problem != "" {
				failed[v.Target] = v.Problem
			}
		}})
	return failed, err
}

// compressed is a job of n images whose results are in the target, named p/0000.fake
// and so on.
func compressed(t *testing.T, c *fake, n int) *job {
	t.Helper()
	j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Verify = "off" })
	j.photos(n, 16).plan()
	j.compress(c)
	return j
}

// holds reports whether the file of image i is among files.
func holds(files [][]byte, i int) bool {
	want := "fake " + photo(uint64(i), 16, 16, 3).Hash()
	for _, f := range files {
		if string(f) == want {
			return true
		}
	}
	return false
}

// inNoTime runs a test on a clock that stands still while anything is at work, so that nothing is late but what waits for
// good. Nothing in it may use the network or files.
func inNoTime(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// A file whose decoding does not end costs itself and nothing else, whether the codec
// heeds the end of its context or not.
func TestDecodingHasATimeLimit(t *testing.T) {
	for name, decode := range decoders {
		for _, heeds := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, heeds its context: %v", name, heeds), inNoTime(func(t *testing.T) {
				c := &fake{}
				j := compressed(t, c, 12)
				release := make(chan struct{})
				defer close(release)
				c.decoding = func(ctx context.Context, _ codec.Run, files [][]byte) {
					switch {
					case !holds(files, 5):
					case heeds:
						<-ctx.Done()
					default:
						<-release
					}
				}
				failed, err := decode(j, c, bounds{cpu: 2, timeout: 100 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				if got := failed["p/0005.fake"]; len(failed) != 1 || got != class.Timeout && got != ProblemDecode {
					t.Errorf("failed: %v, want the one that does not end", failed)
				}
			}))
		}
	}
}

// When codecs that do not end hold every core, the work ends instead of waiting for
// them.
func TestDecodingEndsWhenEveryCoreIsLost(t *testing.T) { inNoTime(decodingEndsWhenEveryCoreIsLost)(t) }

func decodingEndsWhenEveryCoreIsLost(t *testing.T) {
	c := &fake{}
	j := compressed(t, c, 8)
	release := make(chan struct{})
	defer close(release)
	c.decoding = func(context.Context, codec.Run, [][]byte) { <-release }
	d, err := newDecoding(nil, 2, MinMemory, 50*time.Millisecond, []codec.Codec{c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.patience = time.Millisecond
	v := &verification{decoding: d, target: j.target, report: VerifyReport{Problems: map[string]int64{}}}
	err = v.each(t.Context(), func(found func(*object) error) error { return v.list(j.each, found) }, v.object)
	if !errors.Is(err, ErrStuck) {
		t.Errorf("%v, want %v", err, ErrStuck)
	}
}

// The same where they hold the memory that all others wait for.
func TestDecodingEndsWhenTheMemoryIsLost(t *testing.T) { inNoTime(decodingEndsWhenTheMemoryIsLost)(t) }

func decodingEndsWhenTheMemoryIsLost(t *testing.T) {
	c := &fake{memory: 5 << 20} // two at once
	j := compressed(t, c, 8)
	release := make(chan struct{})
	defer close(release)
	c.decoding = func(context.Context, codec.Run, [][]byte) { <-release }
	d, err := newDecoding(nil, 8, MinMemory, 50*time.Millisecond, []codec.Codec{c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &verification{decoding: d, target: j.target, report: VerifyReport{Problems: map[string]int64{}}}
	err = v.each(t.Context(), func(found func(*object) error) error { return v.list(j.each, found) }, v.object)
	if !errors.Is(err, ErrStuck) {
		t.Errorf("%v, want %v", err, ErrStuck)
	}
}

// Small files whose images are large are decoded one after the other where their
// memory allows no more, and not at all where it is too little for one.
func TestDecodingKeepsToTheMemory(t *testing.T) {
	for name, decode := range decoders {
		for _, test := range []struct {
			memory int64 // of one image
			atOnce int64
			class  string
		}{{5 << 20, 2, ""}, {14 << 20, 1, ""}, {100 << 20, 0, class.Limit}} {
			t.Run(fmt.Sprintf("%s, %d MiB", name, test.memory>>20), func(t *testing.T) {
				c := &fake{}
				j := compressed(t, c, 12)
				var atWork, most atomic.Int64
				c.memory = test.memory
				c.decoding = func(_ context.Context, _ codec.Run, files [][]byte) {
					n := atWork.Add(int64(len(files)))
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					time.Sleep(2 * time.Millisecond)
					atWork.Add(-int64(len(files)))
				}
				// The budget is 18 MiB, of which 13.5 are for images that do not need all.
				failed, err := decode(j, c, bounds{cpu: 8, memory: MinMemory})
				if err != nil {
					t.Fatal(err)
				}
				if n := most.Load(); n > test.atOnce || test.atOnce > 0 && n == 0 {
					t.Errorf("%d images at once, want at most %d", n, test.atOnce)
				}
				if (test.class == "") != (len(failed) == 0) {
					t.Errorf("failed: %v", failed)
				}
				for key, got := range failed {
					if got != class.Limit && got != ProblemMemory {
						t.Errorf("%s: %s", key, got)
					}
				}
			})
		}
	}
}

// On a device files reach the codec in batches.
func TestDecodingInBatches(t *testing.T) {
	for _, name := range []string{"decompress on device", "verify on device"} {
		t.Run(name, inNoTime(func(t *testing.T) {
			const n = 200
			c := &fake{}
			j := compressed(t, c, n)
			var calls, files, largest atomic.Int64
			c.decoding = func(_ context.Context, run codec.Run, batch [][]byte) {
				if run.Device == nil || run.Pool == nil {
					t.Errorf("decoded with %+v, want the device and the pool of the process", run)
				}
				calls.Add(1)
				files.Add(int64(len(batch)))
				for m := largest.Load(); int64(len(batch)) > m && !largest.CompareAndSwap(m, int64(len(batch))); m = largest.Load() {
				}
				time.Sleep(20 * time.Millisecond) // in which others come
			}
			if failed, err := decoders[name](j, c, bounds{cpu: 2}); err != nil || len(failed) > 0 {
				t.Fatal(failed, err)
			}
			if files.Load() != n || calls.Load() > n/8 || largest.Load() > batchImages {
				t.Errorf("%d files in %d calls, the largest of %d; want %d in a few, at most %d each", files.Load(), calls.Load(), largest.Load(), n, batchImages)
			}
		}))
	}
}

// A file that is damaged, or with which the codec panics, harms no neighbour of its
// batch; nor does a device that gives a wrong image, which the CPU finds out.
func TestDamagedFilesHarmNoNeighbour(t *testing.T) {
	const n, victim = 60, 7
	for name, decode := range decoders {
		for what, damage := range map[string]func(j *job, c *fake) (fails bool){
			"damaged": func(j *job, c *fake) bool {
				bad := photo(victim, 16, 16, 3).Hash()
				c.decode = func(m *raster.Image) (*raster.Image, error, bool) {
					return nil, codec.Malformedf("damaged"), m.Hash() == bad
				}
				return true
			},
			"panic": func(j *job, c *fake) bool {
				c.decoding = func(_ context.Context, _ codec.Run, files [][]byte) {
					if holds(files, victim) {
						panic("boo")
					}
				}
				return true
			},
			"no answer for one": func(j *job, c *fake) bool {
				bad := photo(victim, 16, 16, 3).Hash()
				c.decode = func(m *raster.Image) (*raster.Image, error, bool) { return nil, nil, m.Hash() == bad }
				return true
			},
			"device that fails": func(j *job, c *fake) bool {
				var mu sync.Mutex
				onDevice := false
				c.decoding = func(_ context.Context, run codec.Run, _ [][]byte) {
					mu.Lock()
					defer mu.Unlock()
					onDevice = run.Device != nil
				}
				c.decode = func(m *raster.Image) (*raster.Image, error, bool) {
					mu.Lock()
					defer mu.Unlock()
					return nil, codec.Malformedf("the card is wrong"), onDevice
				}
				return false
			},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				c := &fake{}
				j := compressed(t, c, n)
				fails := damage(j, c)
				failed, err := decode(j, c, bounds{cpu: 4})
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := failed[fmt.Sprintf("p/%04d.fake", victim)]; ok != fails || len(failed) > 1 {
					t.Errorf("failed: %v, want that only the %dth does: %v", failed, victim, fails)
				}
			})
		}
	}
}

// A lost device ends the work, and blames no file.
func TestDecodingEndsWithTheDevice(t *testing.T) {
	c := &fake{}
	j := compressed(t, c, 20)
	d, err := newDecoding(&gpu.Device{}, 2, MinMemory, time.Minute, []codec.Codec{c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.lost = func() error { return gpu.ErrFatal }
	v := &verification{decoding: d, target: j.target, report: VerifyReport{Problems: map[string]int64{}}}
	err = v.each(t.Context(), func(found func(*object) error) error { return v.list(j.each, found) }, v.object)
	if !errors.Is(err, gpu.ErrFatal) || v.report.Bad() > 0 {
		t.Errorf("%v and %d bad files, want %v and none", err, v.report.Bad(), gpu.ErrFatal)
	}
}

// The cores of the process are the codec's too: many large images at once do not make
// many times as many goroutines.
func TestImagesAndCodecsShareTheCores(t *testing.T) {
	const cpu = 4
	var atWork, most atomic.Int64
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, nil)
	j.photos(30, 16).plan()
	c.encoding = func(run codec.Run) {
		run.Pool.Each(40, func(int) {
			n := atWork.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(50 * time.Microsecond)
			atWork.Add(-1)
		})
	}
	if err := j.chunk(j.worker(Options{CPU: cpu}, c), 0); err != nil {
		t.Fatal(err)
	}
	if n := most.Load(); n > cpu || n < 2 {
		t.Errorf("%d pieces of work at once, want at most %d", n, cpu)
	}
	if _, err := storage.Get(j.ctx, j.target, "p/0001.fake", -1, nil); err != nil {
		t.Error(err)
	}
}
