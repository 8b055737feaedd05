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
// waiting for the disk does not idle the cores. Both run in turn, part by part, so
// that what else the machine does slows both. "ratio" is the pipeline's rate over
// that of the loop, over all parts; the time for the job's start is in it.
func BenchmarkPipeline(b *testing.B) {
	b.Run("2000x256x256", func(b *testing.B) {
		var parts []string
		for p := range 8 {
			parts = append(parts, b.TempDir())
			for i := range 250 {
				writeFile(b, filepath.Join(parts[p], fmt.Sprintf("%04d.png", i)), png(b, photo(uint64(250*p+i), 256, 256, 3)))
			}
		}
		benchPipeline(b, parts...)
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
		benchPipeline(b, dir, dir, dir)
	})
}

func writeFile(b *testing.B, path string, data []byte) {
	b.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		b.Fatal(err)
	}
}

func benchPipeline(b *testing.B, parts ...string) {
	cores := runtime.GOMAXPROCS(0)
	for b.Loop() {
		var loop, pipeline time.Duration
		objects := 0
		for _, dir := range parts {
			n, d := directLoop(b, dir, 2*cores)
			objects += n
			loop += d
			j := newJob(b, dir, b.TempDir(), vq.Codec{}, func(s *jobs.Spec) { s.ChunkObjects = max(16, n/(4*cores)) }).queued()
			j.plan()
			counts, d := j.timed(j.worker(Options{}, vq.Codec{}))
			pipeline += d
			if done := counts.Compressed + counts.Kept; done != int64(n) {
				b.Fatalf("%+v, want %d compressed or kept", counts, n)
			}
		}
		b.ReportMetric(float64(objects)/pipeline.Seconds(), "objects/s")
		b.ReportMetric(float64(objects)/loop.Seconds(), "loop-objects/s")
		b.ReportMetric(loop.Seconds()/pipeline.Seconds(), "ratio")
	}
}

// BenchmarkTinyObjects is what the worker itself costs: images of one sample, a
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
		if err := storage.Delete(j.ctx, j.target, jobs.Folder(j.spec.ID).Result(0)); err != nil {
			b.Fatal(err)
		}
		if err := j.conn.Job(j.spec.ID).Init(j.ctx, 1, nil, jobs.Counts{}); err != nil {
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
	encoded := c.Encode(ctx, codec.Run{}, codec.Items(m), options)[0]
	if encoded.Err != nil {
		return encoded.Err
	}
	if len(encoded.Data) >= len(data) {
		return nil
	}
	decoded := c.Decode(ctx, codec.Run{}, [][]byte{encoded.Data}, nil)[0]
	if decoded.Err != nil {
		return decoded.Err
	}
	if decoded.Image.Hash() != hash {
		if _, _, err := raster.Quality(m, decoded.Image); err != nil {
			return err
		}
	}
	_, err = storage.Put(ctx, target, jobs.Stem(filepath.Base(file), ".vq")+".vq", encoded.Data, nil)
	return err
}
