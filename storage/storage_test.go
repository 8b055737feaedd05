package storage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestPutGetWalkOnFolderAndMemory(t *testing.T) {
	ctx := context.Background()
	bs := NewBuckets()
	defer bs.Close()
	for _, url := range []string{t.TempDir(), "mem://x/pre/fix"} {
		b, err := bs.Open(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"b/c.png", "a.png", "a/z.png", "a-.png", ".pelmill/jobs/1"} {
			if _, err := Put(ctx, b, k, []byte(k), nil); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Put(ctx, b, "a.png", []byte("a.png"), nil)
		if err != nil || !r.Existed {
			t.Fatalf("same bytes again: %+v, %v", r, err)
		}
		var exists *ExistsError
		if _, err := Put(ctx, b, "a.png", []byte("other"), nil); !errors.As(err, &exists) {
			t.Fatalf("other bytes: %v", err)
		}
		var keys []string
		var objects []Object
		if err := Walk(ctx, b, nil, func(p Page) error {
			for _, o := range p.Objects {
				keys = append(keys, o.Key)
				objects = append(objects, o)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := len(keys); got != 4 || keys[0] != "a-.png" || keys[1] != "a.png" || keys[2] != "a/z.png" {
			t.Fatal(keys)
		}
		g, err := Get(ctx, b, "a.png", 100, &objects[1])
		if err != nil || string(g.Data) != "a.png" {
			t.Fatal(g, err)
		}
		if _, err := Put(ctx, b, "a.png", []byte("others"), &PutOptions{Overwrite: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := Get(ctx, b, "a.png", 100, &objects[1]); !errors.Is(err, ErrChanged) {
			t.Fatal(err)
		}
		if b.Dir() != "" {
			if l, _ := os.ReadDir(filepath.Join(b.Dir(), ".pelmill/tmp")); len(l) != 0 {
				t.Fatal(l)
			}
		}
	}
}
