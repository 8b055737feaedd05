package storage_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/storage"
)

// TestFolderLinksAreNotFollowed plants links to a folder outside at several depths
// and holds every operation against them. The root itself may be a link.
func TestFolderLinksAreNotFollowed(t *testing.T) {
	top := t.TempDir()
	root, outside := filepath.Join(top, "root"), filepath.Join(top, "outside")
	for _, dir := range []string{filepath.Join(root, "a", "b"), filepath.Join(outside, "c")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(outside, "x.png")
	for _, name := range []string{secret, filepath.Join(outside, "c", "x.png"), filepath.Join(root, "a", "y.png")} {
		if err := os.WriteFile(name, []byte("bytes"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"root/link": outside, "root/a/link": "../../outside", "root/a/b/in": "../../a", "root/a/z.png": secret, "alias": root,
	} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(ctx, filepath.Join(top, "alias"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	err = storage.Walk(ctx, b, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			listed = append(listed, o.Key)
		}
		return nil
	})
	if got := strings.Join(listed, " "); err != nil || got != "a/y.png" {
		t.Errorf("listed %q, %v; want a/y.png", got, err)
	}
	for _, key := range []string{"link/x.png", "link/c/x.png", "a/link/x.png", "a/link/c/x.png", "a/b/in/y.png", "a/z.png"} {
		if _, err := storage.Get(ctx, b, key, -1, nil); err == nil {
			t.Errorf("%s is read through a link", key)
		}
		if _, _, err := storage.Stat(ctx, b, key); err == nil {
			t.Errorf("%s is seen through a link", key)
		}
		storage.Delete(ctx, b, key)
		if key == "a/z.png" {
			continue // a write replaces the link itself, or fails as the name is taken
		}
		for _, overwrite := range []bool{false, true} {
			_, err := storage.Put(ctx, b, filepath.Join(filepath.Dir(key), "new", "n.vq"), []byte("new"), &storage.PutOptions{Overwrite: overwrite})
			if err == nil || !strings.Contains(err.Error(), "is a link") {
				t.Errorf("%s: a write through a link ends with %v", key, err)
			}
		}
	}
	var found []string
	filepath.WalkDir(outside, func(path string, _ os.DirEntry, _ error) error {
		found = append(found, filepath.Base(path))
		return nil
	})
	if got := strings.Join(found, " "); got != "outside c x.png x.png" {
		t.Errorf("outside are %s", got)
	}
	if _, err := storage.Put(ctx, b, "new/deep/n.vq", []byte("new"), nil); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(root, "new", "deep", "n.vq")); string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestOwnFolderIsNoLink: a .pelmill that is a link would take records and temporary
// files elsewhere.
func TestOwnFolderIsNoLink(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, ".pelmill")); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a.vq", ".pelmill/jobs/x/spec.json"} {
		_, err := storage.Put(ctx, b, key, []byte("x"), nil)
		if err == nil || !strings.Contains(err.Error(), "is a link") || strings.Contains(err.Error(), "/proc/") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if entries, err := os.ReadDir(outside); len(entries) != 0 || err != nil {
		t.Errorf("%d files outside, %v", len(entries), err)
	}
}

// TestErrorsOfFoldersNameThem: a path that goes through a handle is not shown.
func TestErrorsOfFoldersNameThem(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("as root no folder is closed; only the errors of links and files are looked at")
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "a", "b.vq"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a/b.vq", "file/x.vq", "a/" + strings.Repeat("n", 300)} {
		_, err := storage.Put(ctx, b, key, []byte("x"), nil)
		var exists *storage.ExistsError
		if err == nil || errors.As(err, &exists) || strings.Contains(err.Error(), "/proc/") {
			t.Errorf("%.40s: %v", key, err)
		}
	}
}
