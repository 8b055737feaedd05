package worker

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/vq"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// BenchmarkPipeline compares the worker, with its queue, flights, shards and
// commits, with a direct loop that calls the same reader, codec, comparison and
// safe put on the same files. The loop runs with two goroutines a core, so that
// waiting for the disk does not idle the cores. "ratio" is the pipeline's rate over
// that of the loop.
func BenchmarkPipeline(b *testing.B) {
	b.Run("2000x256x256", func(b *testing.B) {
		dir := b.TempDir()
		for i := range 2000 {
			writeFile(b, filepath.Join(dir, fmt.Sprintf("%04d.png", i)), png(b, photo(uint64(i), 256, 256, 3)))
		}
		benchPipeline(b, dir, 2)
	})
	b.Run("48x768x512", func(b *testing.B) {
		dir := b.TempDir()
		kodak, _ := filepath.Glob("../../shared/data/kodak/*.png")
		if len(kodak) == 0 {
			b.Log("NO KODAK PICTURES in ../shared/data/kodak: the files are made instead")
		}
		for i := range 48 {
			var data []byte
			if len(kodak) > 0 {
				var err error
				if data, err = os.ReadFile(kodak[i%len(kodak)]); err != nil {
					b.Fatal(err)
				}
			} else {
				data = png(b, photo(uint64(i), 768, 512, 3))
			}
			writeFile(b, filepath.Join(dir, fmt.Sprintf("%04d.png", i)), data)
		}
		benchPipeline(b, dir, 3)
	})
}

func writeFile(b *testing.B, path string, data []byte) {
	b.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		b.Fatal(err)
	}
}

// benchPipeline runs both sides in turn, so many rounds, so that what else the
// machine does meets both; the fastest of each counts.
func benchPipeline(b *testing.B, dir string, rounds int) {
	cores := runtime.GOMAXPROCS(0)
	for b.Loop() {
		var loop, pipeline time.Duration
		var objects int
		for range rounds {
			var d time.Duration
			objects, d = directLoop(b, dir, 2*cores)
			loop = faster(loop, d)
			j := newJob(b, dir, b.TempDir(), vq.Codec{}, func(s *jobs.Spec) { s.ChunkObjects = max(16, objects/(4*cores)) }).queued()
			j.plan()
			w := j.worker(Options{}, vq.Codec{})
			counts, d := j.timed(w)
			pipeline = faster(pipeline, d)
			if done := counts.Compressed + counts.Kept; done != int64(objects) {
				b.Fatalf("%+v, want %d compressed or kept", counts, objects)
			}
		}
		b.ReportMetric(float64(objects)/pipeline.Seconds(), "objects/s")
		b.ReportMetric(float64(objects)/loop.Seconds(), "loop-objects/s")
		b.ReportMetric(loop.Seconds()/pipeline.Seconds(), "ratio")
	}
}

func faster(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// BenchmarkTinyObjects is what the worker itself costs: pictures of one sample, a
// codec that returns at once, memory for buckets, an embedded queue.
func BenchmarkTinyObjects(b *testing.B) {
	c := &fake{}
	j := newJob(b, "mem://source", "mem://target", c, nil).queued()
	one := png(b, photo(1, 1, 1, 1))
	for i := range jobs.MaxChunkObjects {
		j.put(fmt.Sprintf("%04d.png", i), one)
	}
	j.plan()
	// A result larger than the source would not be stored.
	c.encode = func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
		return []byte("tiny"), nil, true
	}
	j.spec.Verify = "off"
	w := j.worker(Options{}, c)
	b.ReportAllocs()
	for b.Loop() {
		if err := storage.Delete(j.ctx, j.target, jobs.ResultKey(j.spec.ID, 0)); err != nil {
			b.Fatal(err)
		}
		if err := j.conn.Init(j.ctx, j.spec.ID, 1, nil, jobs.Counts{}); err != nil {
			b.Fatal(err)
		}
		if err := j.chunk(w, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*jobs.MaxChunkObjects/b.Elapsed().Seconds(), "objects/s")
}

// directLoop is what a user would write: goroutines that take the next file each.
func directLoop(b *testing.B, dir string, goroutines int) (objects int, took time.Duration) {
	b.Helper()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	target, err := buckets.Open(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil {
		b.Fatal(err)
	}
	c := vq.Codec{}
	options, err := c.Options(nil)
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var failed atomic.Value
	var all sync.WaitGroup
	start := time.Now()
	for range goroutines {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				if err := direct(b.Context(), target, c, options, files[i]); err != nil {
					failed.Store(err)
				}
			}
		})
	}
	all.Wait()
	took = time.Since(start)
	if err := failed.Load(); err != nil {
		b.Fatal(err)
	}
	return len(files), took
}

func direct(ctx context.Context, target *storage.Bucket, c codec.Codec, options codec.Options, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	sha256.Sum256(data)
	m, err := imageio.Decode(data, nil)
	if err != nil {
		return err
	}
	hash := m.Hash()
	encoded := c.Encode(ctx, nil, []*raster.Image{m}, options)[0]
	if encoded.Err != nil {
		return encoded.Err
	}
	if len(encoded.Data) >= len(data) {
		return nil
	}
	decoded := c.Decode(ctx, nil, [][]byte{encoded.Data}, nil)[0]
	if decoded.Err != nil {
		return decoded.Err
	}
	if decoded.Image.Hash() != hash {
		if _, err := raster.PSNR(m, decoded.Image); err != nil {
			return err
		}
		if _, err := raster.SSIM(m, decoded.Image); err != nil {
			return err
		}
	}
	_, err = storage.Put(ctx, target, jobs.Stem(filepath.Base(file))+".vq", encoded.Data, nil)
	return err
}
