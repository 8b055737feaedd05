package jpeg2000

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// With a device, files are those that the CPU makes, and images and errors those that it
// finds: also of files that the device leaves to it, and of damaged ones.
func TestADeviceChangesNothing(t *testing.T) {
	dev := gputest.Device(t, nil)
	t.Run("Part 15", func(t *testing.T) {
		deviceChangesNothing(t, dev, [][]string{
			{"mode=ht"}, {"mode=ht", "effort=fast", "container=j2c"}, {"mode=ht", "tile=100x90", "levels=3", "block=16x64", "progression=RPCL"},
			{"mode=ht", "precincts=64x64", "levels=2"}, {"mode=ht", "levels=0"}, {"mode=ht", "wavelet=9/7"},
		})
	})
	t.Run("Part 1", func(t *testing.T) {
		deviceChangesNothing(t, dev, [][]string{
			{"effort=fast"}, {"container=j2k", "tile=120x77", "levels=2", "block=32x16"}, {"style=bypass+reset+termall+causal+predictable+segsym"},
			{"style=bypass", "layers=3"}, {"wavelet=5/3", "bpp=1.5", "layers=2"}, {"wavelet=5/3", "psnr=45"}, {"effort=best", "levels=1", "block=64x64"},
		})
	})
	t.Run("9/7", func(t *testing.T) {
		deviceChangesNothing(t, dev, [][]string{
			{"quality=60"}, {"wavelet=9/7", "levels=7"}, {"psnr=42", "tile=97x101", "levels=3"}, {"bpp=0.7", "layers=3", "style=bypass+causal"}, {"wavelet=9/7", "levels=0"},
		})
	})
}

func deviceChangesNothing(t *testing.T, dev *gpu.Device, options [][]string) {
	var images []*raster.Image
	for i, s := range []raster.Shape{
		shape(1, 1, 1, 8, false), shape(300, 200, 3, 8, false), shape(97, 411, 1, 12, false), shape(130, 66, 4, 16, false),
		shape(64, 64, 2, 5, false), shape(257, 129, 1, 16, true), shape(700, 500, 3, 8, false), shape(3, 900, 3, 1, false),
	} {
		m := pattern(s)
		if i == 6 {
			clear(m.Pix)
		}
		images = append(images, m)
	}
	sameOnDevice(t, dev, images, options)
}

// sameOnDevice encodes images with each of the options and decodes the files, and damaged
// ones, with a device and without.
func sameOnDevice(t *testing.T, dev *gpu.Device, images []*raster.Image, options [][]string) {
	ctx, run, onDevice := t.Context(), codec.Run{}, codec.Run{Device: dev}
	var files [][]byte
	for _, pairs := range options {
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		want, got := Codec{}.Encode(ctx, run, codec.Items(images...), o), Codec{}.Encode(ctx, onDevice, codec.Items(images...), o)
		for i := range want {
			if want[i].Err != nil || got[i].Err != nil || !bytes.Equal(want[i].Data, got[i].Data) {
				t.Fatalf("%q, %s: %d bytes, %v; want %d, %v", pairs, images[i].Shape, len(got[i].Data), got[i].Err, len(want[i].Data), want[i].Err)
			}
			files = append(files, want[i].Data)
		}
	}
	for i, f := range files[:len(files):len(files)] {
		for k := range 6 {
			bad := bytes.Clone(f)
			bad[(len(bad)-1)*(k+1)/7] ^= byte(1 + 37*k + i)
			files = append(files, bad)
		}
		files = append(files, f[:len(f)*2/3])
	}
	want, got := Codec{}.Decode(ctx, run, files, nil), Codec{}.Decode(ctx, onDevice, files, nil)
	damaged := 0
	for i := range want {
		if fmt.Sprint(want[i].Err) != fmt.Sprint(got[i].Err) {
			t.Fatalf("file %d: %v, want %v", i, got[i].Err, want[i].Err)
		}
		if want[i].Err != nil {
			damaged++
		} else if want[i].Image.Hash() != got[i].Image.Hash() {
			t.Fatalf("file %d: other samples", i)
		}
	}
	t.Logf("%d files, %d of them malformed, on %s", len(files), damaged, dev.Name())
}
