package codec

import (
	"strings"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Run says what a call computes with. The zero value is the CPU with all its cores.
// No field has any influence on the result.
type Run struct {
	Device *gpu.Device // nil: the CPU
	Pool   *pool.Pool  // the caller's cores, which calls at the same time may share; nil: a pool of the call's own

	// More says that other calls for the device follow at once: they keep it busy, so that a call needs not be divided for that.
	More bool

	// Alloc returns memory of n bytes for the samples of an image or for a file; nil, or where it
	// returns nil: new memory. What is in it does not matter. It is the caller's: results lie in
	// it, whole, or it is not used any more when the call returns. With memory of
	// [gpu.Device.Host] a device writes results where they belong, at the speed of its link,
	// and the caller may use it for the results of one call after the other, where the first use
	// of new memory takes longer than to decode. A codec may make results in memory of its own
	// instead. Calls are at the same time.
	Alloc func(n int) []byte

	// Expect is what Encode gave with each of the files of a Decode, or nil; it may have fewer entries than there are files, or none.
	// A decoder that finds in a file what is expected of it takes less time. It reads the whole file all the same, and gives the
	// image or the error that it gives without.
	Expect []any

	// Originals are the images of which the files of a Decode were made; there may be fewer entries than files, or none. Where a device
	// decodes a file it may also compare there, and gives [Decoded.Compared] in place of the samples.
	Originals []Original

	// Digests asks Encode for [Encoded.Decoded], which a device makes of lossy results beside its other work. Codecs may leave them out.
	Digests bool
}

// Expected is what is expected of file i of a Decode.
func (r Run) Expected(i int) any {
	if i < len(r.Expect) {
		return r.Expect[i]
	}
	return nil
}

// Original is an image of which a file was made, or none.
type Original struct {
	Image *raster.Image // not to be changed
	Fetch bool          // the samples of the decoded image come to the host all the same
}

// Original is the original of file i of a Decode.
func (r Run) Original(i int) Original {
	if i < len(r.Originals) {
		return r.Originals[i]
	}
	return Original{}
}

// Share is [gpu.Device.Share] for an Encode.
func (r Run) Share(b gpu.Batching) (own gpu.Batching, end func()) {
	if r.More {
		b.Calls = min(b.Calls, 1)
	}
	return r.Device.Share(b)
}

// Cores returns the caller's pool, or a new one where the caller has none.
func (r Run) Cores() *pool.Pool {
	if r.Pool != nil {
		return r.Pool
	}
	return pool.New()
}

// Bytes returns n bytes for a result, all of which the caller writes: they may hold anything.
func (r Run) Bytes(n int) []byte {
	if r.Alloc != nil {
		if b := r.Alloc(n); b != nil {
			return b[:n:n]
		}
	}
	return Uncleared(n)
}

// Uncleared returns n bytes of new memory, all of which the caller writes: they may hold anything.
// Memory of make is cleared by the goroutine that asks for it, which takes longer for a large
// image than to code it on a device; this is touched first by the goroutines that share the work
// of filling it.
func Uncleared(n int) []byte {
	const small = 1 << 10
	if n < small {
		return make([]byte, n)
	}
	var b strings.Builder // whose memory nobody else has
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}

// Item is one image to encode. Image is nil for a [SourceCodec] only.
type Item struct {
	Image  *raster.Image
	Source Source
}

// Source is the file that an image was read from, for codecs that carry over what is not
// samples. The zero value says that there is none, or that the caller does not have it.
type Source struct {
	Format string // as imageio names it: "png"
	Data   []byte // not to be changed
}

// Items are images without a source.
func Items(images ...*raster.Image) []Item {
	items := make([]Item, len(images))
	for i, m := range images {
		items[i].Image = m
	}
	return items
}

// Images are the images of items, in their order.
func Images(items []Item) []*raster.Image {
	images := make([]*raster.Image, len(items))
	for i := range items {
		images[i] = items[i].Image
	}
	return images
}
