package storage_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
)

// BenchmarkWalk80k lists a folder of 80,000 files in 81 folders, as storage does it and as gocloud does.
func BenchmarkWalk80k(b *testing.B) {
	const files = 80000
	dir := b.TempDir()
	for i := range files {
		sub := filepath.Join(dir, fmt.Sprintf("d%02d", i/1000))
		if i%1000 == 0 {
			if err := os.Mkdir(sub, 0o777); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("img-%05d.png", i)), nil, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	ctx := context.Background()
	report := func(b *testing.B, found int) {
		if found != files {
			b.Fatalf("%d files listed", found)
		}
		seconds := b.Elapsed().Seconds() / float64(b.N)
		b.ReportMetric(seconds, "s/list")
		b.ReportMetric(files/seconds, "files/s")
	}
	b.Run("storage", func(b *testing.B) {
		bs := storage.NewBuckets()
		defer bs.Close()
		bk, err := bs.Open(ctx, dir)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for b.Loop() {
			n = 0
			if err := storage.Walk(ctx, bk, nil, func(p storage.Page) error { n += len(p.Objects); return nil }); err != nil {
				b.Fatal(err)
			}
		}
		report(b, n)
	})
	b.Run("gocloud", func(b *testing.B) {
		if testing.Short() {
			b.Skip("takes half a minute")
		}
		bk, err := fileblob.OpenBucket(dir, &fileblob.Options{Metadata: fileblob.MetadataDontWrite})
		if err != nil {
			b.Fatal(err)
		}
		defer bk.Close()
		n := 0
		for b.Loop() {
			n = 0
			list := bk.List(&blob.ListOptions{})
			for {
				_, err := list.Next(ctx)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
		}
		report(b, n)
	})
}

// BenchmarkPut writes small objects one after the other, with all that Put does for safety.
func BenchmarkPut(b *testing.B) {
	ctx := context.Background()
	for _, url := range []string{b.TempDir(), "mem://bench"} {
		bs := storage.NewBuckets()
		bk, err := bs.Open(ctx, url)
		if err != nil {
			b.Fatal(err)
		}
		data := make([]byte, 32<<10)
		b.Run(bk.Kind(), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := storage.Put(ctx, bk, fmt.Sprintf("%d/%d", b.N, i), data, &storage.PutOptions{Overwrite: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
		bs.Close()
	}
}

// BenchmarkPutTogether creates objects of 20 KB in one folder from many goroutines, as a job does with its results.
// cpu-µs/op is the processor time of this process, that of the kernel included.
func BenchmarkPutTogether(b *testing.B) {
	data := make([]byte, 20<<10)
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(writers, " writers"), func(b *testing.B) {
			bs := storage.NewBuckets()
			defer bs.Close()
			bk, err := bs.Open(b.Context(), b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			var next atomic.Int64
			var all sync.WaitGroup
			began := cpuTime(b)
			for range writers {
				all.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if _, err := storage.Put(b.Context(), bk, fmt.Sprint("out/", i), data, nil); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(cpuTime(b)-began)/1e3/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkSmallObjectsS3 creates and reads objects of 2 KB on an S3 server, as a worker does with each image, 16 at once.
// cpu-µs/op is the processor time of this process, without that of the server.
func BenchmarkSmallObjectsS3(b *testing.B) {
	server := services.VersityGWWith(b, "--keep-alive")
	bs := storage.NewBuckets()
	defer bs.Close()
	bk, err := bs.Open(b.Context(), server.NewBucket("small"))
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 2<<10)
	sum := sha256.Sum256(data)
	meta := map[string]string{"pelmill_source_sha256": hex.EncodeToString(sum[:]), "pelmill_pixel_hash": hex.EncodeToString(sum[:]), "pelmill_source_format": "png"}
	objects := func(b *testing.B, do func(key string) error) {
		b.ReportAllocs()
		var next atomic.Int64
		b.SetParallelism(16)
		began := cpuTime(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := do(fmt.Sprintf("%d/%d.bin", b.N, next.Add(1))); err != nil {
					b.Error(err)
					return
				}
			}
		})
		b.ReportMetric(float64(cpuTime(b)-began)/1e3/float64(b.N), "cpu-µs/op")
	}
	b.Run("put", func(b *testing.B) {
		objects(b, func(key string) error {
			_, err := storage.Put(b.Context(), bk, key, data, &storage.PutOptions{Metadata: meta, ContentType: "image/webp"})
			return err
		})
	})
	if _, err := storage.Put(b.Context(), bk, "one", data, nil); err != nil {
		b.Fatal(err)
	}
	b.Run("get", func(b *testing.B) {
		objects(b, func(string) error {
			_, err := storage.Get(b.Context(), bk, "one", 1<<20, nil)
			return err
		})
	})
}

// cpuTime is what this process has used of all processors, in nanoseconds.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
