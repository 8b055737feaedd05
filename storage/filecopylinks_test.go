package storage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/storage"
)

// With CopyLinks a link stands for what it leads to, but for loops, what is not there, and the target.
func TestCopyLinks(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"src/a/own.png", "out/b/far.png", "out/file.png", "dst/deep/result.png"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"src/far": "../out", "src/a/one.png": "../../out/file.png", "src/a/loop": "..", "src/none": "nowhere",
		"src/results": "../dst", "src/a/deep": "../../dst/deep", "out/b/back": "../../src",
	} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	source, err := storage.Canonical(filepath.Join(top, "src"))
	if err != nil {
		t.Fatal(err)
	}
	target, err := storage.Canonical(filepath.Join(top, "dst"))
	if err != nil {
		t.Fatal(err)
	}
	buckets := storage.NewBuckets()
	defer buckets.Close()
	buckets.CopyLinks = &storage.CopyLinks{Source: source, Target: target}
	b, err := buckets.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	err = storage.Walk(t.Context(), b, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			listed = append(listed, o.Key)
			if got, err := storage.Get(t.Context(), b, o.Key, -1, &o); err != nil || !strings.HasSuffix(string(got.Data), ".png") {
				t.Errorf("%s holds %q (%v)", o.Key, got.Data, err)
			}
		}
		return nil
	})
	const want = "a/one.png a/own.png far/b/far.png far/file.png"
	if got := strings.Join(listed, " "); err != nil || got != want {
		t.Errorf("listed %q, %v; want %q", got, err, want)
	}
	for _, key := range []string{"results/deep/result.png", "a/deep/result.png"} {
		if _, err := storage.Get(t.Context(), b, key, -1, nil); !storage.IsNotExist(err) {
			t.Errorf("%s, which lies in the target, is read (%v)", key, err)
		}
	}
	plain, err := buckets.Open(t.Context(), filepath.Join(top, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Get(t.Context(), plain, "b/back/a/own.png", -1, nil); err == nil {
		t.Error("a link of another folder is followed")
	}
}
