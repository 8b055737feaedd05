package worker

import (
	"os"
	"strconv"
	"strings"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

const (
	maxMemory     = 16 << 30 // of the default
	unknownMemory = 4 << 30  // assumed where the system does not say
)

// DefaultMemory is half of what this process may use, by the machine and by its
// control group, at most 16 GiB.
func DefaultMemory() int64 {
	total := int64(unknownMemory)
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line) // "MemTotal:  24576000 kB"
			if len(f) >= 2 && f[0] == "MemTotal:" {
				if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					total = n << 10
				}
			}
		}
	}
	for _, limit := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(limit)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 {
			total = min(total, n)
		}
	}
	return min(max(total/2, MinMemory), maxMemory)
}

// deviceShare is how many times the samples of an image the codec holds in this
// process while a device encodes it: staging buffers, what comes back, the file.
// Images of more than deviceImage bytes may not fit there and be done on the CPU.
const (
	deviceShare = 6
	deviceImage = 64 << 20
)

// readMemory is what reading an image takes, besides the bytes of the file.
func (k *known) readMemory(h *imageio.Header) int64 {
	m := shapeOf(h)
	if m.Alpha() {
		return max(h.DecodedBytes, 2*int64(m.Size())) // while an opaque alpha channel is left out
	}
	return h.DecodedBytes
}

// workMemory is what the stages after reading take, the image included: the most
// that one of them holds. m has samples or only its shape.
func (k *known) workMemory(m *raster.Image, device *gpu.Device) int64 {
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
