package neuquant

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

func TestOptions(t *testing.T) {
	for pairs, want := range map[string]string{
		"":                             "colours=256 dither=none format=png frames=shared metadata=keep refine=6 sample=10",
		"colours=2 sample=1":           "colours=2 dither=none format=png frames=shared metadata=keep refine=6 sample=1",
		"colours=2 colours=16":         "colours=16 dither=none format=png frames=shared metadata=keep refine=6 sample=10",
		"dither=floyd-steinberg":       "colours=256 dither=floyd-steinberg format=png frames=shared metadata=keep refine=6 sample=10",
		"format=gif frames=own":        "colours=256 dither=none format=gif frames=own metadata=keep refine=6 sample=10",
		"format=gif alpha=threshold":   "alpha=threshold colours=256 dither=none format=gif frames=shared metadata=keep refine=6 sample=10",
		"alpha=threshold":              "colours=256 dither=none format=png frames=shared metadata=keep refine=6 sample=10",
		"dither=ordered refine=0":      "colours=256 dither=ordered format=png frames=shared metadata=keep refine=0 sample=10",
		"metadata=strip refine=32":     "colours=256 dither=none format=png frames=shared metadata=strip refine=32 sample=10",
		"format=gif format=png":        "colours=256 dither=none format=png frames=shared metadata=keep refine=6 sample=10",
		"dither=ordered dither=none":   "colours=256 dither=none format=png frames=shared metadata=keep refine=6 sample=10",
		"metadata=strip metadata=keep": "colours=256 dither=none format=png frames=shared metadata=keep refine=6 sample=10",
	} {
		o, err := Codec{}.Options(strings.Fields(pairs))
		if err != nil || o.String() != want {
			t.Errorf("%q: %v (%v), want %s", pairs, o, err, want)
		}
	}
	for _, bad := range []string{"colours=1", "colours=257", "colours=", "colours=x", "refine=-1", "refine=33", "sample=0", "sample=31",
		"dither=floyd", "dither=", "format=jpg", "frames=two", "metadata=all", "seed=wu"} {
		if _, err := (Codec{}).Options([]string{bad}); err == nil || !strings.Contains(err.Error(), "neuquant: option ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// The options choose the kind of file.
func TestFilesByOptions(t *testing.T) {
	info := Codec{}.Info()
	for pairs, want := range map[string][2]string{"colours=9": {".png", "image/png"}, "format=gif": {".gif", "image/gif"}} {
		o, err := Codec{}.Options([]string{pairs})
		if err != nil {
			t.Fatal(err)
		}
		with := info.With(o)
		if with.Extension != want[0] || with.MediaType != want[1] {
			t.Errorf("%s: %s files of type %s", pairs, with.Extension, with.MediaType)
		}
		for _, key := range []string{"a.png", "b/A.GIF"} {
			if with.Ending(key) == "" || info.Ending(key) == "" {
				t.Errorf("%s: %s does not end like a file of this codec", pairs, key)
			}
		}
	}
	if info.With(nil).Extension != ".png" || info.Ending("a.webp") != "" || info.Ending("png") != "" {
		t.Errorf("%+v", info)
	}
}

// An image that the format cannot hold is refused with what would work.
func TestRefusalsSayWhatWorks(t *testing.T) {
	frames, signed := raster.New(2, 2, 3, 3, 8), raster.New(2, 2, 1, 1, 8)
	frames.Frames, signed.Signed = true, true
	for _, c := range []struct {
		m          *raster.Image
		opts, want string
	}{
		{raster.New(2, 2, 1, 3, 16), "format=png", "convert the samples to 8 bits first"},
		{raster.New(2, 2, 1, 3, 16), "format=gif", "convert the samples to 8 bits first"},
		{signed, "format=png", "shift them to 0 to 255"},
		{frames, "format=png", "-o format=gif"},
		{frames, "format=gif", ""},
		{raster.New(2, 2, 3, 3, 8), "format=gif", "as pictures of their own"},
		{raster.New(65536, 1, 1, 1, 8), "format=gif", "cut the picture"},
		{raster.New(2, 2, 1, 3, 5), "format=png", "takes 8-bit samples only"},
	} {
		o, err := Codec{}.Options([]string{c.opts})
		if err != nil {
			t.Fatal(err)
		}
		err = Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(c.m), o)[0].Err
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.m.Shape, err)
			}
			continue
		}
		if u := (*codec.UnsupportedError)(nil); !errors.As(err, &u) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.m.Shape, err, c.want)
		}
	}
}
