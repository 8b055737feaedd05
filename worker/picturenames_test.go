package worker

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// pngNames gives the names of PNG files of keys of codecs, as a decompression of the keys would.
func pngNames(t *testing.T, keys []string) map[string]string {
	t.Helper()
	slices.Sort(keys)
	d := &decompression{decoding: &decoding{codecs: codecs.All()}, own: newOwnImages(storage.Overlap{})}
	names, targets := &pictureNames{codecs: d.codecs}, map[string]string{}
	found := func(o *object) error {
		key := o.entry.Key
		if targets[key] != "" {
			t.Errorf("%q was given twice", key)
		}
		o.record.Key, o.format = key, "png"
		targets[key] = d.target(o)
		return nil
	}
	for _, key := range keys {
		var o *object
		if _, ok := codecOf(d.codecs, key); ok {
			o = &object{entry: jobs.Entry{Key: key}}
		}
		if err := names.next(key, o, found); err != nil {
			t.Fatal(err)
		}
	}
	if err := names.end(found); err != nil {
		t.Fatal(err)
	}
	return targets
}

func TestPictureNames(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"a.webp", "a.png"},
		{"a.png.webp", "a.png"},
		{"d/A.PNG.webp", "d/A.PNG"},
		{"a.jpg.webp a.png.webp", "a.jpg.png a.png"},
		{"a.png.webp a.webp", "a.png.png a.png"},
		{"a.jp2 a.png.webp", "a.png a.png.png"}, // an extension before that of the picture
		{"a a.b.png.webp a-c.webp a.png.webp", "a.b.png a-c.png a.png.png"},
		{"a.png a.png-b.webp a.png.webp", "a.png a.png-b.png a.png.png"}, // which codec neuquant writes
		{"a.png.vq a.png.webp", "a.png a.png.png"},
		{"a.png.png.webp a.png.webp a.webp", "a.png.png.png a.png.png a.png"},
		{"a.png.png.webp", "a.png.png"},
		{".png.webp d/.png.webp", ".png.png d/.png.png"},
		{"a.tif.webp", "a.tif.png"}, // the picture is a PNG here
		{"a.png.webp b.webp", "a.png b.png"},
	} {
		keys := strings.Fields(tt.keys)
		targets := pngNames(t, slices.Clone(keys))
		var got []string
		for _, key := range keys {
			if targets[key] != "" {
				got = append(got, targets[key])
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s become %s, want %s", tt.keys, strings.Join(got, " "), tt.want)
		}
	}
}

// Files have different names where their keys without the extension of a codec differ, whatever lies beside them, and none is lost.
func TestPictureNamesDoNotMeet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	for range 20_000 {
		keys := map[string]bool{}
		for range 1 + rng.IntN(8) {
			keys[pick("", "a/", "a.png/")+pick("a", "a-b", "a.b")+pick("", ".png", ".png.png", ".PNG", ".jpg")+pick("", ".webp", ".vq", ".jp2", ".jxl")] = true
		}
		list := slices.Sorted(maps.Keys(keys))
		targets, of := pngNames(t, list), map[string]string{}
		for _, key := range list {
			c, ok := codecOf(codecs.All(), key)
			if !ok {
				continue
			}
			stem, target := stripExtension(key, c.Info()), targets[key]
			if target == "" {
				t.Fatalf("%q: %q was not given", list, key)
			}
			if other, taken := of[target]; taken && other != stem {
				t.Fatalf("%q: two files become %q", list, target)
			}
			of[target] = stem
		}
	}
}
