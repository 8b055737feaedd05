package imageio

import (
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/raster"
)

// turn notes the orientation of the EXIF block of meta, or meta's own where it
// is set already, and gives the header the shape of the upright image.
func (p *opened) turn(meta *raster.Meta) {
	if meta.Orientation == 0 {
		meta.Orientation = exif.Orientation(meta.EXIF)
	}
	p.meta = func() raster.Meta { return *meta }
	p.DecodedBytes += int64(len(meta.EXIF) + len(meta.ICC))
	if meta.Orientation > 1 {
		p.DecodedBytes += int64(p.Size())
	}
	if meta.Orientation > 4 {
		p.Width, p.Height = p.Height, p.Width
	}
}
