package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

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
