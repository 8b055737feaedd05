package jpeg2000

import (
	"fmt"
	"image"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// Views are decoded on a device to what the CPU gives: regions, lower resolutions and both, of
// images with tiles and without, and of volumes; errors are the same.
func TestADeviceDecodesViews(t *testing.T) {
	dev := gputest.Device(t, nil)
	before := leastView
	defer func() { leastView = before }()
	leastView.part1, leastView.ht = 0, 0
	images := []*raster.Image{
		pattern(shape(300, 200, 3, 8, false)), pattern(shape(97, 211, 1, 12, false)), pattern(shape(130, 66, 4, 16, false)), pattern(shape(1, 1, 1, 8, false)),
		pattern(raster.Shape{Width: 129, Height: 100, Depth: 5, Channels: 1, Bits: 8}),
	}
	var files [][]byte
	for _, m := range images {
		for _, pairs := range [][]string{{"levels=4"}, {"tile=50x40", "levels=2", "quality=70"}, {"mode=ht", "tile=64x64", "levels=3"}, {"mode=ht", "quality=80"}} {
			files = append(files, encoded(t, m, pairs...))
		}
	}
	files = append(files, encoded(t, images[4], "container=jp3d"), []byte("no image"))
	onDevice := 0
	for _, view := range []codec.View{
		{}, {Reduce: 1}, {Reduce: 3}, {Reduce: 9}, {Region: image.Rect(10, 20, 90, 60)}, {Region: image.Rect(60, 50, 1000, 1000), Reduce: 2}, {Region: image.Rect(0, 0, 3, 3)},
		{Region: image.Rect(500, 500, 600, 600)},
	} {
		want := Codec{}.DecodeView(t.Context(), codec.Run{}, files, nil, view)
		got := Codec{}.DecodeView(t.Context(), codec.Run{Device: dev}, files, nil, view)
		for i := range files {
			if fmt.Sprint(want[i].Err) != fmt.Sprint(got[i].Err) || want[i].Err == nil && want[i].Image.Hash() != got[i].Image.Hash() {
				t.Fatalf("file %d, %+v: %v, want %v, or other samples", i, view, got[i].Err, want[i].Err)
			}
			if prepareDecoding(files[i], view) != nil {
				onDevice++
			}
		}
	}
	t.Logf("%d views on %s", onDevice, dev.Name())
}
