package storage

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
)

// What a set of buckets keeps does not grow with the buckets that were opened: a process that runs for long sees a new target with
// every job. A bucket that somebody holds stays the same one, and what a memory bucket has is not lost with it.
func TestBucketsThatNobodyHoldsAreForgotten(t *testing.T) {
	ctx, dir, want := t.Context(), t.TempDir(), []byte("content")
	bs := NewBuckets()
	defer bs.Close()
	held, err := bs.Open(ctx, dir+"/held")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 * keptBuckets {
		for _, url := range []string{fmt.Sprintf("%s/%d", dir, i), fmt.Sprintf("mem://bucket/%d", i)} {
			b, err := bs.Open(ctx, url)
			if err != nil {
				t.Fatal(err)
			}
			if i%keptBuckets != 0 {
				continue
			}
			if _, err := Put(ctx, b, "folder/key", want, nil); err != nil {
				t.Fatal(err)
			}
			again, err := bs.Open(ctx, url)
			if err != nil || again != b {
				t.Fatalf("%s is another bucket when it is opened again (%v)", url, err)
			}
		}
		if i%keptBuckets == 0 {
			runtime.GC()
		}
	}
	runtime.GC()
	bs.mu.Lock()
	bs.most = 0
	bs.forget()
	left := len(bs.open)
	bs.mu.Unlock()
	if most := keptBuckets + 1; left > most {
		t.Errorf("%d buckets are left of %d, want at most %d", left, 40*keptBuckets+1, most)
	}
	if again, err := bs.Open(ctx, dir+"/held"); err != nil || again != held {
		t.Errorf("a bucket that is held is another one when it is opened again (%v)", err)
	}
	for _, url := range []string{dir + "/0", "mem://bucket/0"} {
		b, err := bs.Open(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Get(ctx, b, "folder/key", 1<<10, nil); err != nil || !bytes.Equal(got.Data, want) {
			t.Errorf("%s has %q (%v)", url, got.Data, err)
		}
	}
	runtime.KeepAlive(held)
}

// Entries of buckets that are gone are dropped without being asked for.
func TestBucketsAreForgottenWhileOthersAreOpened(t *testing.T) {
	bs := NewBuckets()
	defer bs.Close()
	for i := range 20 * keptBuckets {
		if _, err := bs.Open(t.Context(), fmt.Sprintf("mem://bucket/%d", i)); err != nil {
			t.Fatal(err)
		}
		if i%keptBuckets == 0 {
			runtime.GC()
		}
		if most := 4 * keptBuckets; len(bs.open) > most {
			t.Fatalf("%d entries after %d buckets, want at most %d", len(bs.open), i+1, most)
		}
	}
}

// The folders that a bucket remembers as swept are bounded.
func TestSweptFoldersAreBounded(t *testing.T) {
	f := newFileBucket(t.TempDir(), nil)
	for i := range keptSwept + 100 {
		f.sweepOnce(f.dir, fmt.Sprint(i))
	}
	if n := f.swept.Len(); n != keptSwept {
		t.Errorf("%d folders are remembered, want %d", n, keptSwept)
	}
}
