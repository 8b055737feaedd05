package main

import (
	"bytes"
	"context"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pelmill/pelmill/storage"
)

// atObject opens the bucket that is the first of n arguments.
func atObject(ts *testscript.TestScript, neg bool, args []string, n int, fn func(ctx context.Context, b *storage.Bucket, key string) error) {
	if neg || len(args) != n {
		ts.Fatalf("want %d arguments, a bucket and a key first", n)
	}
	buckets := storage.NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(context.Background(), args[0])
	ts.Check(err)
	ts.Check(fn(context.Background(), b, args[1]))
}

func spoil(ts *testscript.TestScript, neg bool, args []string) {
	atObject(ts, neg, args, 2, func(ctx context.Context, b *storage.Bucket, key string) error {
		_, metadata, err := storage.Stat(ctx, b, key)
		if err != nil {
			return err
		}
		got, err := storage.Get(ctx, b, key, 1<<30, nil)
		if err != nil {
			return err
		}
		got.Data[len(got.Data)-1] ^= 1
		delete(metadata, "sha256")
		_, err = storage.Put(ctx, b, key, got.Data, &storage.PutOptions{Overwrite: true, Metadata: metadata})
		return err
	})
}

func remove(ts *testscript.TestScript, neg bool, args []string) {
	atObject(ts, neg, args, 2, func(ctx context.Context, b *storage.Bucket, key string) error {
		if _, _, err := storage.Stat(ctx, b, key); err != nil {
			return err
		}
		return storage.Delete(ctx, b, key)
	})
}

func same(ts *testscript.TestScript, neg bool, args []string) {
	atObject(ts, neg, args, 3, func(ctx context.Context, b *storage.Bucket, key string) error {
		got, err := storage.Get(ctx, b, key, 1<<30, nil)
		if err == nil && !bytes.Equal(got.Data, []byte(ts.ReadFile(args[2]))) {
			ts.Fatalf("%s has other content than %s", key, args[2])
		}
		return err
	})
}

func carries(ts *testscript.TestScript, neg bool, args []string) {
	atObject(ts, neg, args, 3, func(ctx context.Context, b *storage.Bucket, key string) error {
		_, metadata, err := storage.Stat(ctx, b, key)
		if at := storage.CarriedTime(metadata); err == nil && strconv.FormatInt(at.Unix(), 10) != args[2] {
			ts.Fatalf("%s carries %v, want %s", key, at, args[2])
		}
		return err
	})
}
