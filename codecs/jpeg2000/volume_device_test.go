package jpeg2000

import (
	"testing"

	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// volumes are small ones of all kinds.
func volumes() (list []*raster.Image) {
	for _, s := range []raster.Shape{
		{Width: 40, Height: 30, Depth: 9, Channels: 1, Bits: 12}, {Width: 33, Height: 65, Depth: 5, Channels: 3, Bits: 8},
		{Width: 1, Height: 1, Depth: 2, Channels: 1, Bits: 1}, {Width: 70, Height: 20, Depth: 3, Channels: 2, Bits: 16, Signed: true},
		{Width: 129, Height: 100, Depth: 17, Channels: 1, Bits: 8}, {Width: 5, Height: 3, Depth: 70, Channels: 4, Bits: 7},
	} {
		list = append(list, pattern(s))
	}
	return list
}

// Slices that are components are encoded and decoded on a device to what the CPU gives.
func TestADeviceTakesSlicesAsComponents(t *testing.T) {
	dev := gputest.Device(t, nil)
	sameOnDevice(t, dev, volumes(), [][]string{
		{"effort=fast"}, {"mode=ht"}, {"mode=ht", "tile=30x20", "levels=2"}, {"bpp=2", "layers=2"}, {"quality=70", "tile=50x40"},
	})
}

// High Throughput code-blocks with loss are encoded to any goal and decoded on a device to what the
// CPU gives.
func TestADeviceTakesHTWithLoss(t *testing.T) {
	dev := gputest.Device(t, nil)
	options := [][]string{
		{"mode=ht", "wavelet=9/7"}, {"mode=ht", "bpp=1.5", "tile=100x90", "levels=3", "block=16x64"}, {"mode=ht", "psnr=40"}, {"mode=ht", "quality=70", "tile=77x60"},
	}
	deviceChangesNothing(t, dev, options)
	sameOnDevice(t, dev, volumes(), options)
}
