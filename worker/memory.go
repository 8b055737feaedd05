package worker

import (
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

const (
	maxMemory     = 16 << 30 // of the default
	unknownMemory = 4 << 30  // assumed where the system does not say
)

// DefaultMemory is half of what this process may use, by the machine and by its
// control groups, at most 16 GiB.
func DefaultMemory() int64 { return min(max(availableMemory()/2, MinMemory), maxMemory) }

// availableMemory is the least of the machine's memory and of the limits of the
// process's control group, of version 1 or 2, and of all groups around it.
func availableMemory() int64 {
	total := int64(unknownMemory)
	if n, err := memlimit.FromSystem(); err == nil && n > 0 {
		total = int64(min(n, math.MaxInt64))
	}
	if n, err := memlimit.FromCgroup(); err == nil && n > 0 {
		total = min(total, int64(min(n, math.MaxInt64)))
	}
	return total
}

// deviceShare is how many times the samples of an image the codec holds in this
// process while a device encodes it: staging buffers, what comes back, the file.
// Images of more than deviceImage bytes may not fit there and be done on the CPU.
const (
	deviceShare = 6
	deviceImage = 64 << 20
)

// readMemory is what reading an image takes, besides the bytes of the file.
func (k *jobContext) readMemory(h *imageio.Header) int64 {
	m := shapeOf(h)
	if m.Alpha() {
		return max(h.DecodedBytes, 2*int64(m.Size())) // while an opaque alpha channel is left out
	}
	return h.DecodedBytes
}

// workMemory is what the stages after reading take, the image included: the most
// that one of them holds. m has samples or only its shape.
func (k *jobContext) workMemory(m *raster.Image, device *gpu.Device) int64 {
	n := int64(m.Size())
	codec := k.codec.Memory(m, k.options)
	if device != nil && n <= deviceImage {
		codec.Encode = min(codec.Encode, deviceShare*n)
	}
	compare := int64(0)
	if m.Alpha() {
		compare = 2 * n // both images as they are seen
	}
	return n + max(codec.Encode, codec.File+codec.Decode+compare)
}

// shapeOf is an image without samples.
func shapeOf(h *imageio.Header) *raster.Image {
	return &raster.Image{Width: h.Width, Height: h.Height, Depth: h.Depth, Channels: h.Channels, Bits: h.Bits, Signed: h.Signed,
		Meta: raster.Meta{Frames: h.Frames}}
}

// samples is the size of the decoded image in bytes.
func samples(h *imageio.Header) int64 { return int64(shapeOf(h).Size()) }
