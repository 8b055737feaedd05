package codec

import (
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Run says what a call computes with. The zero value is the CPU with all its cores.
// Neither field has any influence on the result.
type Run struct {
	Device *gpu.Device // nil: the CPU
	Pool   *pool.Pool  // the caller's cores, which calls at the same time may share; nil: a pool of the call's own
}

// Cores returns the caller's pool, or a new one where the caller has none.
func (r Run) Cores() *pool.Pool {
	if r.Pool != nil {
		return r.Pool
	}
	return pool.New()
}

// Item is one image to encode. Image is never nil.
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
