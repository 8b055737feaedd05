package imageio

import (
	"github.com/pelmill/pelmill/internal/container/tiff"
	"github.com/pelmill/pelmill/raster"
)

// checkBlocks finds the strips or tiles and sees that the file has one for every
// part of the page.
func (t *tiffPage) checkBlocks(dir *tiffDirectory, lim Limits) error {
	if err := t.checkCompression(dir); err != nil {
		return err
	}
	if err := t.checkLayout(dir, lim); err != nil {
		return err
	}
	t.reversed = dir.value(tagFillOrder, 1) == 2
	t.offsets, t.counts = dir.fields[tagStripOffsets], dir.fields[tagStripCounts]
	if _, ok := dir.fields[tagTileOffsets]; ok && t.tiled {
		// Files of the first days of tiles have them in the fields of strips.
		t.offsets, t.counts = dir.fields[tagTileOffsets], dir.fields[tagTileCounts]
	}
	n := int64(t.blocks())
	for _, e := range []tiff.Values{t.offsets, t.counts} {
		if e.Raw == nil && e.Type == 0 && t.offsets.Type != 0 {
			continue // libtiff finds the counts
		}
		if int64(e.Count) < n || e.Type != 1 && e.Type != 3 && e.Type != 4 && e.Type != tiff.Long8 {
			return rejected("tiff", "it tells the places of %d of %d strips or tiles", e.Count, n)
		}
	}
	for i := range t.blocks() {
		if t.slot(i) < 0 {
			continue
		}
		if offset, count := t.extent(i); offset+count > int64(len(t.data)) || count < 0 {
			return cutShort("tiff")
		}
	}
	if t.compression == tiffJPEG {
		return t.checkFrames()
	}
	return nil
}

func (t *tiffPage) checkCompression(dir *tiffDirectory) error {
	switch t.compression {
	case tiffNone, tiffPackBits:
	case tiffLZW, tiffDeflate, tiffDeflateOld:
		switch v := dir.value(tagPredictor, 1); {
		case v == 2 && (t.bits == 8 || t.bits == 16):
			t.predictor = true
		case v != 1:
			return unsupported("tiff", "predictor %d for samples of %d bits is not read", v, t.bits)
		}
	case tiffJPEG:
		return t.checkJPEG(dir)
	case tiffG3, tiffG4:
		if t.bits != 1 || t.perBlock() != 1 {
			return rejected("tiff", "fax compression with %d samples of %d bits", t.samples, t.bits)
		}
		if t.compression == tiffG3 && dir.value(tagT4Options, 0) != 0 {
			return unsupported("tiff", "fax compression of group 3 in two dimensions or with padding is not read")
		}
	default:
		return unsupported("tiff", "compression %d is not read", t.compression)
	}
	return nil
}

// checkLayout finds the size of the strips or tiles.
func (t *tiffPage) checkLayout(dir *tiffDirectory, lim Limits) error {
	_, t.tiled = dir.fields[tagTileWidth]
	if !t.tiled {
		rows := dir.value(tagRowsPerStrip, int64(t.height))
		if rows < 1 {
			return rejected("tiff", "its strips have no rows")
		}
		t.blockW, t.blockH = t.width, int(min(rows, int64(t.height)))
		return nil
	}
	w, h := dir.value(tagTileWidth, 0), dir.value(tagTileLength, 0)
	// Tiles of a few samples cost more than they hold; sides are multiples of 16
	// (TIFF 6.0, section 15), and libtiff warns of others.
	if w < 8 || h < 8 {
		return rejected("tiff", "tiles of %d x %d are not defined", w, h)
	}
	const sideMost = 1 << 20
	if w > sideMost || h > sideMost {
		return overLimit("tiff", "tiles of %d x %d samples are over the limit", w, h)
	}
	// A tile may be larger than the page, and is decoded as a whole.
	t.blockW, t.blockH = int(w), int(h)
	const small = 8 << 20
	if w*h*int64(t.perBlock()) <= small {
		return nil
	}
	// The last tile of a row may reach beyond the longest side.
	shape := Header{Shape: raster.Shape{Width: min(t.blockW, lim.Side), Height: min(t.blockH, lim.Side), Depth: 1, Channels: t.perBlock(), Bits: t.bits}}
	return lim.check("tiff", &shape, len(t.data))
}

// extent tells where strip or tile i lies. Where the file does not say how long
// the blocks are, those without compression have the length of their samples,
// and others are read until they have given theirs.
func (t *tiffPage) extent(i int) (offset, count int64) {
	offset = t.offsets.Int(t.order, i)
	switch {
	case t.counts.Count > 0:
		count = t.counts.Int(t.order, i)
	case t.compression == tiffNone:
		count = int64(t.rowBytes()) * int64(t.rows(i))
	default:
		count = int64(len(t.data)) - offset
	}
	return offset, count
}

func (t *tiffPage) across() int { return (t.width + t.blockW - 1) / t.blockW }
func (t *tiffPage) down() int   { return (t.height + t.blockH - 1) / t.blockH }

// blocks is the number of strips or tiles, over all planes up to the last one that
// is not left out.
func (t *tiffPage) blocks() int {
	n := t.across() * t.down()
	if t.planar {
		n *= t.planes
	}
	return n
}

// rows is the number of rows of strip or tile i; tiles are always whole.
func (t *tiffPage) rows(i int) int {
	if t.tiled {
		return t.blockH
	}
	return min(t.blockH, t.height-i/t.across()%t.down()*t.blockH)
}

// slot is where the plane of block i goes in a decoded pixel, -1 where it is
// left out, and 0 where a block has all samples.
func (t *tiffPage) slot(i int) int {
	if !t.planar {
		return 0
	}
	return t.slots[i/(t.across()*t.down())]
}
