package worker

import (
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"

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
	if h.Alpha() {
		return max(h.DecodedBytes, 2*int64(h.Size())) // while an opaque alpha channel is left out
	}
	return h.DecodedBytes
}

// workMemory is what the stages after reading an image of shape s take, the image
// included: the most that one of them holds, less what is set aside with a device for those that are on a core.
// m may be nil: the image is not read yet.
func (k *jobContext) workMemory(s raster.Shape, m *raster.Image, onDevice bool) int64 {
	n := int64(s.Size())
	bounded := onDevice && n <= deviceImage
	if bounded && m != nil {
		// What the samples say would bring less than the bound for no codec, and takes a core some time.
		without := *m
		without.Pix, m = nil, &without
	}
	codec := k.codec.Memory(s, m, k.options)
	if bounded {
		codec.Encode = min(codec.Encode, deviceShare*n)
	}
	check := codec.File + codec.Decode
	if s.Alpha() {
		check += 2 * n // both images as they are seen
	}
	encode := max(codec.Encode, codec.File)
	if !onDevice {
		return n + max(encode, check)
	}
	p := k.batches.p
	return n + p.budget.beside(encode, max(encode, check), p.cores.Size())
}
