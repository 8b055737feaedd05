package imageio

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/raster"
)

// Pages are read here and not with golang.org/x/image/tiff, which reads only the
// first page, takes planes for pixels, and knows neither signed samples nor grey
// with alpha. Its LZW and its CCITT decoder are used.

// tiffPageMemory is more than a tiffPage takes.
const tiffPageMemory = 512

// tiffPage is one directory, checked.
type tiffPage struct {
	data    []byte
	order   binary.ByteOrder
	offsets tiffEntry // of strips or tiles
	counts  tiffEntry // of their bytes
	colours tiffEntry // of a palette

	width, height int
	samples       int // channels in the file
	bits          int // per sample in the file
	signed        bool
	photometric   int
	compression   int
	predictor     bool
	reversed      bool // the first sample is in the lowest bits
	planar        bool // one plane per channel
	tiled         bool
	blockW        int // width of a strip or tile, the padding of tiles included
	blockH        int
	premultiplied bool

	channels int // of the picture
	outBits  int
}

func matchTIFF(data []byte) bool {
	return len(data) >= 4 && (string(data[:4]) == "II*\x00" || string(data[:4]) == "MM\x00*")
}

func openTIFF(data []byte, lim Limits) (*picture, error) {
	order, ok := byteOrder(data)
	if !ok {
		return nil, cutShort("tiff")
	}
	p := &picture{}
	var pages []*tiffPage
	var meta raster.Meta
	seen := map[uint32]bool{}
	dir := &tiffDirectory{data: data, order: order, fields: map[uint16]tiffEntry{}}
	for at := order.Uint32(data[4:]); at != 0; {
		if seen[at] {
			return nil, rejected("tiff", "its list of pages runs in a circle")
		}
		if len(seen) >= lim.Frames {
			return nil, overLimit("tiff", "more than %d pages are over the limit", lim.Frames)
		}
		seen[at] = true
		next, err := dir.read(at)
		if err != nil {
			return nil, err
		}
		at = next
		if dir.value(tagSubfileType, 0)&1 != 0 {
			// A reduced copy of another page: derived, and not a page of its own.
			continue
		}
		page := &tiffPage{data: data, order: order}
		if err := page.check(dir, lim); err != nil {
			return nil, err
		}
		if len(pages) == 0 {
			p.Header = Header{Width: page.width, Height: page.height, Channels: page.channels, Bits: page.outBits, Signed: page.signed}
			meta.Orientation = dir.orientation()
			meta.ICC = dir.fields[tagICC].raw
		} else if page.width != p.Width || page.height != p.Height || page.channels != p.Channels || page.outBits != p.Bits || page.signed != p.Signed || dir.orientation() != meta.Orientation {
			return nil, unsupported("tiff", "page %d differs in shape from the first", len(pages)+1)
		}
		pages = append(pages, page)
		p.Depth = len(pages)
		p.Frames = p.Depth > 1
		if err := lim.check("tiff", &p.Header, len(data)); err != nil {
			return nil, err
		}
	}
	if len(pages) == 0 {
		return nil, rejected("tiff", "it has no page")
	}
	var most int64
	for _, page := range pages {
		most = max(most, page.memory())
	}
	p.DecodedBytes = p.size() + most + int64(len(pages))*tiffPageMemory + overhead
	p.turn(&meta)
	p.decode = func() (*raster.Image, error) {
		m := &raster.Image{Width: pages[0].width, Height: pages[0].height, Depth: p.Depth, Channels: p.Channels, Bits: p.Bits, Signed: p.Signed}
		m.Pix = make([]byte, m.Size())
		var work tiffWork
		for z, page := range pages {
			if err := page.decode(m.Slice(z), &work); err != nil {
				return nil, err
			}
		}
		return raster.Upright(m, meta), nil
	}
	return p, nil
}

// check takes the page's description from its directory and refuses what is not
// read.
func (t *tiffPage) check(dir *tiffDirectory, lim Limits) error {
	const sideMost = 1 << 31
	w, h := dir.value(tagWidth, 0), dir.value(tagLength, 0)
	if w >= sideMost || h >= sideMost {
		return overLimit("tiff", "%d x %d samples are over the limit", w, h)
	}
	t.width, t.height = int(w), int(h)
	t.samples = int(dir.value(tagSamples, 1))
	t.bits = int(dir.value(tagBits, 1))
	t.photometric = int(dir.value(tagPhotometric, -1))
	t.compression = int(dir.value(tagCompression, tiffNone))
	t.planar = dir.value(tagPlanar, 1) == 2 && t.samples > 1
	if t.samples < 1 || t.samples > 5 {
		return unsupported("tiff", "%d samples per pixel are not read", t.samples)
	}
	for i := 1; i < t.samples && i < int(dir.fields[tagBits].count); i++ {
		if dir.at(tagBits, i) != int64(t.bits) {
			return unsupported("tiff", "channels of different depth are not read")
		}
	}
	if t.bits < 1 || t.bits > 16 {
		return unsupported("tiff", "samples of %d bits are not read", t.bits)
	}
	for i := range max(1, min(t.samples, int(dir.fields[tagSampleFormat].count))) {
		f := int64(1)
		if _, ok := dir.fields[tagSampleFormat]; ok {
			f = dir.at(tagSampleFormat, i)
		}
		if f != 1 && f != 2 && f != 4 || i > 0 && (f == 2) != t.signed {
			return unsupported("tiff", "sample format %d is not read", f)
		}
		t.signed = f == 2
	}
	if err := t.checkColour(dir); err != nil {
		return err
	}
	shape := Header{Width: t.width, Height: t.height, Depth: 1, Channels: t.channels, Bits: t.outBits}
	if err := lim.check("tiff", &shape, len(t.data)); err != nil {
		return err
	}
	return t.checkBlocks(dir)
}

// checkColour finds the channels of the picture.
func (t *tiffPage) checkColour(dir *tiffDirectory) error {
	colours := 1
	t.outBits = t.bits
	switch t.photometric {
	case tiffWhiteIsZero, tiffBlackIsZero:
		if !t.signed && (t.bits == 1 || t.bits == 2 || t.bits == 4) && t.samples == 1 {
			t.outBits = 8
		}
	case tiffRGB:
		colours = 3
	case tiffPalette:
		if t.samples != 1 || t.bits > 8 || int(dir.fields[tagColorMap].count) != 3<<t.bits || dir.fields[tagColorMap].kind != 3 {
			return rejected("tiff", "its palette does not fit its samples")
		}
		t.colours = dir.fields[tagColorMap]
		t.outBits = 8
		t.channels = 3
		return nil
	case tiffCMYK:
		if t.samples != 4 || t.bits != 8 || t.signed {
			return unsupported("tiff", "CMYK with other than 4 samples of 8 bits is not read")
		}
		t.channels = 3
		return nil
	case -1:
		return rejected("tiff", "it does not say what its samples mean")
	default:
		return unsupported("tiff", "colour space %d is not read", t.photometric)
	}
	if t.photometric == tiffWhiteIsZero && (t.signed || t.samples > 1) {
		return unsupported("tiff", "white at zero with signed samples or with alpha is not read")
	}
	if t.samples < colours || t.samples > colours+1 {
		return unsupported("tiff", "%d samples per pixel in colour space %d are not read", t.samples, t.photometric)
	}
	t.channels = t.samples
	t.premultiplied = t.samples > colours && dir.value(tagExtraSamples, 0) == tiffPremultiplied && !t.signed
	return nil
}

// checkBlocks finds the strips or tiles and sees that the file has one for every
// part of the page.
func (t *tiffPage) checkBlocks(dir *tiffDirectory) error {
	switch t.compression {
	case tiffNone, tiffLZW, tiffDeflate, tiffDeflateOld, tiffPackBits:
	case tiffG3, tiffG4:
		if t.bits != 1 || t.samples != 1 {
			return rejected("tiff", "fax compression with %d samples of %d bits", t.samples, t.bits)
		}
		if t.compression == tiffG3 && dir.value(tagT4Options, 0) != 0 {
			return unsupported("tiff", "fax compression of group 3 in two dimensions or with padding is not read")
		}
	default:
		return unsupported("tiff", "compression %d is not read", t.compression)
	}
	switch v := dir.value(tagPredictor, 1); {
	case v == 2 && (t.bits == 8 || t.bits == 16):
		t.predictor = t.compression == tiffLZW || t.compression == tiffDeflate || t.compression == tiffDeflateOld
	case v != 1:
		return unsupported("tiff", "predictor %d for samples of %d bits is not read", v, t.bits)
	}
	_, t.tiled = dir.fields[tagTileWidth]
	if !t.tiled {
		rows := dir.value(tagRowsPerStrip, int64(t.height))
		if rows < 1 {
			return rejected("tiff", "its strips have no rows")
		}
		t.blockW, t.blockH = t.width, int(min(rows, int64(t.height)))
	} else {
		w, h := dir.value(tagTileWidth, 0), dir.value(tagTileLength, 0)
		// A tile may be larger than a small picture, but not at any price; and
		// tiles of a few samples cost more than they hold.
		if w < 8 || h < 8 || w > max(1024, int64(t.width)+16) || h > max(1024, int64(t.height)+16) {
			return rejected("tiff", "tiles of %d x %d do not fit %d x %d samples", w, h, t.width, t.height)
		}
		t.blockW, t.blockH = int(w), int(h)
	}
	t.reversed = dir.value(tagFillOrder, 1) == 2
	t.offsets, t.counts = dir.fields[tagStripOffsets], dir.fields[tagStripCounts]
	if t.tiled {
		t.offsets, t.counts = dir.fields[tagTileOffsets], dir.fields[tagTileCounts]
	}
	n := int64(t.blocks())
	for _, e := range []tiffEntry{t.offsets, t.counts} {
		if int64(e.count) < n || e.kind != 3 && e.kind != 4 {
			return rejected("tiff", "it tells the places of %d of %d strips or tiles", e.count, n)
		}
	}
	for i := range int(n) {
		if t.offsets.at(t.order, i)+t.counts.at(t.order, i) > int64(len(t.data)) {
			return cutShort("tiff")
		}
	}
	return nil
}

func (t *tiffPage) across() int { return (t.width + t.blockW - 1) / t.blockW }
func (t *tiffPage) down() int   { return (t.height + t.blockH - 1) / t.blockH }

// blocks is the number of strips or tiles, over all planes.
func (t *tiffPage) blocks() int {
	n := t.across() * t.down()
	if t.planar {
		n *= t.samples
	}
	return n
}

// perBlock is the number of samples per pixel in a strip or tile.
func (t *tiffPage) perBlock() int {
	if t.planar {
		return 1
	}
	return t.samples
}

// rowBytes is the length of a row of a strip or tile, which ends at a byte.
func (t *tiffPage) rowBytes() int { return (t.blockW*t.perBlock()*t.bits + 7) / 8 }

// memory is what decode takes besides the picture: a strip or tile as it is in
// the file where its bits are reversed, the same decompressed, and the samples
// of the file where they are not those of the picture.
func (t *tiffPage) memory() int64 {
	n := int64(t.rowBytes()) * int64(t.blockH)
	if t.reversed {
		for i := range t.blocks() {
			n = max(n, t.counts.at(t.order, i))
		}
		n *= 2
	}
	if t.converts() {
		n += int64(t.width) * int64(t.height) * int64(t.samples) * int64((t.bits+7)/8)
	}
	return n
}

// converts reports whether the samples of the file are not those of the picture.
func (t *tiffPage) converts() bool { return t.photometric == tiffPalette || t.photometric == tiffCMYK }
