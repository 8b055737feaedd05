package codecs

import (
	"context"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

func TestNamesAndExtensionsAreUnique(t *testing.T) {
	names, extensions := map[string]bool{}, map[string]bool{}
	for _, c := range All() {
		i := c.Info()
		if names[i.Name] {
			t.Errorf("codec %s: taken twice", i.Name)
		}
		names[i.Name] = true
		for _, ext := range append([]string{i.Extension}, i.Also...) {
			if extensions[ext] {
				t.Errorf("codec %s, extension %s: taken twice", i.Name, ext)
			}
			extensions[ext] = true
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range All() {
		got, err := Find(c.Info().Name)
		if err != nil || got.Info().Name != c.Info().Name {
			t.Errorf("Find(%q): %v", c.Info().Name, err)
		}
	}
	if _, err := Find("zip"); err == nil || !strings.Contains(err.Error(), `no codec "zip"; there are jpeg2000, jpegxl, neuquant, pcwt, vq`) {
		t.Errorf("Find of an unknown codec: %v", err)
	}
}

func TestByExtension(t *testing.T) {
	for key, want := range map[string]string{"a/b.vq": "vq", "A.VQ": "vq", "a.webp": "webp", "a.WebP": "webp", "a.png": "neuquant", "a.Gif": "neuquant", "a.jp2": "jpeg2000", "a.j2c": "jpeg2000", "a.jpg": "", "vq": "", "a.vq/b": "", "": ""} {
		c, ok := ByExtension(key)
		if ok != (want != "") || ok && c.Info().Name != want {
			t.Errorf("ByExtension(%q): %v, want %q", key, ok, want)
		}
	}
}

func TestSniff(t *testing.T) {
	for _, c := range All() {
		a := c.Info().Accepts
		items := codec.Items(raster.New(8, 8, 1, a.Channels[0], a.MaxBits))
		if s, ok := c.(codec.SourceCodec); ok {
			items = []codec.Item{{Source: codec.Source{Format: s.SourceFormat(), Data: s.SourceSample()}}}
		}
		e := c.Encode(context.Background(), codec.Run{}, items, nil)
		if e[0].Err != nil {
			t.Fatal(e[0].Err)
		}
		got, ok := Sniff(e[0].Data)
		if !ok || got.Info().Name != c.Info().Name {
			t.Errorf("a file of %s is taken for another", c.Info().Name)
		}
	}
	if _, ok := Sniff([]byte("\x89PNG\r\n\x1a\n")); ok {
		t.Error("a PNG is taken for a file of ours")
	}
}
