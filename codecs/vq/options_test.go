package vq

import (
	"context"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

func TestOptions(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	for _, c := range []struct {
		pairs, want string // want: the canonical form, or the error after "!"
	}{
		{"", "block=4x4 chroma=420 chroma-n=64 codebook=image index=rank n=256 passes=16 train=kmeans++"},
		{"n=1024", "block=4x4 chroma=420 chroma-n=256 codebook=image index=rank n=1024 passes=16 train=kmeans++"},
		{"n=2", "block=4x4 chroma=420 chroma-n=2 codebook=image index=rank n=2 passes=16 train=kmeans++"},
		{"n=8 n=16", "block=4x4 chroma=420 chroma-n=4 codebook=image index=rank n=16 passes=16 train=kmeans++"},
		{"block=8x8 chroma=444 index=raw train=split passes=200", "block=8x8 chroma=444 chroma-n=64 codebook=image index=raw n=256 passes=200 train=split"},
		{"codebook=job", "block=4x4 chroma=420 chroma-n=64 codebook=job index=rank n=256 passes=16 train=kmeans++"},
		{"codebook=./book.vqcb", "block=4x4 chroma=420 chroma-n=64 codebook=./book.vqcb index=rank n=256 passes=16 train=kmeans++"},
		{"n=77 codebook=sha256:" + hash, "chroma=420 codebook=sha256:" + hash + " index=rank"},
		{"block=2x2 codebook=sha256:" + hash, "block=2x2 chroma=420 codebook=sha256:" + hash + " index=rank"},
		{"n", "!want key=value"},
		{"n=1", "!n=1: want 2 to 4096"},
		{"n=4097", "!n=4097: want 2 to 4096"},
		{"n=many", "!want 2 to 4096"},
		{"chroma-n=0", "!chroma-n=0: want 2 to 4096"},
		{"block=4x8", "!block=4x8: want 2x2, 4x2, 4x4 or 8x8"},
		{"chroma=422", "!want 420 or 444"},
		{"index=huffman", "!want rank or raw"},
		{"train=random", "!want kmeans++ or split"},
		{"passes=0", "!want 1 to 200"},
		{"codebook=", "!want image, job"},
		{"codebook=sha256:12", "!64 lower-case hexadecimal digits"},
		{"quality=3", "!\"quality\" is not known; there are block, n,"},
	} {
		o, err := Codec{}.Options(strings.Fields(c.pairs))
		if wrong, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%q: error %v, want %q", c.pairs, err, wrong)
			}
			continue
		}
		if err != nil || o.String() != c.want {
			t.Errorf("%q: %q, %v, want %q", c.pairs, o, err, c.want)
		}
	}
}

func TestWant(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	for pair, want := range map[string]codec.Want{
		"codebook=image":          {},
		"codebook=job":            {Trained: true},
		"codebook=b.vqcb":         {Path: "b.vqcb"},
		"codebook=sha256:" + hash: {SHA256: hash},
	} {
		if got := mustOptions(t, pair).Want(); got != want {
			t.Errorf("%s wants %+v, want %+v", pair, got, want)
		}
	}
}

func TestAssetMustFit(t *testing.T) {
	asset, err := Codec{}.Train(context.Background(), codec.Run{}, []*raster.Image{scene(40, 40, 1, 1)}, mustOptions(t, "n=16", "codebook=job"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mustOptions(t, "codebook=b.vqcb", "block=8x8").WithAsset(asset); err == nil || !strings.Contains(err.Error(), "blocks of 4x4, want 8x8") {
		t.Errorf("codebook of other blocks: %v", err)
	}
	if _, err := mustOptions(t, "codebook=b.vqcb").WithAsset([]byte("P6 1 1 255")); err == nil {
		t.Error("a codebook of another format is taken")
	}
	o, err := mustOptions(t, "codebook=b.vqcb").WithAsset(asset)
	if err != nil {
		t.Fatal(err)
	}
	e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(scene(8, 8, 1, 3), scene(8, 8, 1, 1)), o)
	if e[0].Err == nil || !strings.Contains(e[0].Err.Error(), "made from grey pictures only") {
		t.Errorf("colour with a grey codebook: %v", e[0].Err)
	}
	if e[1].Err != nil {
		t.Errorf("grey beside it: %v", e[1].Err)
	}
}
