package imageio

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/raster"
)

// Pages are read here and not with golang.org/x/image/tiff, which reads only the
// first page, takes planes for pixels, and knows neither signed samples nor grey
// with alpha. Its LZW and its CCITT decoder are used.

// Tags of TIFF 6.0 that matter for the samples.
const (
	tagSubfileType    = 254
	tagWidth          = 256
	tagLength         = 257
	tagBits           = 258
	tagCompression    = 259
	tagPhotometric    = 262
	tagFillOrder      = 266
	tagStripOffsets   = 273
	tagSamples        = 277
	tagRowsPerStrip   = 278
	tagStripCounts    = 279
	tagPlanar         = 284
	tagT4Options      = 292
	tagPredictor      = 317
	tagColorMap       = 320
	tagTileWidth      = 322
	tagTileLength     = 323
	tagTileOffsets    = 324
	tagTileCounts     = 325
	tagExtraSamples   = 338
	tagSampleFormat   = 339
	tagICC            = 34675
	tiffWhiteIsZero   = 0
	tiffBlackIsZero   = 1
	tiffRGB           = 2
	tiffPalette       = 3
	tiffCMYK          = 5
	tiffNone          = 1
	tiffG3            = 3
	tiffG4            = 4
	tiffLZW           = 5
	tiffDeflate       = 8
	tiffPackBits      = 32773
	tiffDeflateOld    = 32946
	tiffPremultiplied = 1
)

// tiffEntry is a field of a directory: its type, its count and its values as
// they lie in the file.
type tiffEntry struct {
	kind  uint16
	count uint32
	raw   []byte
}

// tiffPage is one directory, checked.
type tiffPage struct {
	data  []byte
	order binary.ByteOrder
	dir   map[uint16]tiffEntry

	width, height int
	samples       int // channels in the file
	bits          int // per sample in the file
	signed        bool
	photometric   int
	compression   int
	predictor     bool
	planar        bool // one plane per channel
	tiled         bool
	blockW        int // width of a strip or tile, the padding of tiles included
	blockH        int
	premultiplied bool

	channels int // of the picture
	outBits  int
}

// tiffFields bounds the fields of a page. Directories may overlap, so that a small
// file could otherwise cost hours of parsing.
const tiffFields = 1024

func openTIFF(data []byte, lim Limits) (*picture, error) {
	order, ok := byteOrder(data)
	if !ok {
		return nil, cutShort("tiff")
	}
	p := &picture{}
	var pages []*tiffPage
	var meta raster.Meta
	seen := map[uint32]bool{}
	for at := order.Uint32(data[4:]); at != 0; {
		if seen[at] {
			return nil, rejected("tiff", "its list of pages runs in a circle")
		}
		if len(seen) >= lim.Frames {
			return nil, overLimit("tiff", "more than %d pages are over the limit", lim.Frames)
		}
		seen[at] = true
		page := &tiffPage{data: data, order: order}
		next, err := page.readDirectory(at)
		if err != nil {
			return nil, err
		}
		at = next
		if page.value(tagSubfileType, 0)&1 != 0 {
			// A reduced copy of another page: derived, and not a page of its own.
			continue
		}
		if err := page.check(lim); err != nil {
			return nil, err
		}
		if len(pages) == 0 {
			p.Header = Header{Width: page.width, Height: page.height, Channels: page.channels, Bits: page.outBits, Signed: page.signed}
			meta.Orientation = page.orientation()
			meta.ICC = page.dir[tagICC].raw
		} else if page.width != p.Width || page.height != p.Height || page.channels != p.Channels || page.outBits != p.Bits || page.signed != p.Signed || page.orientation() != meta.Orientation {
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
	p.DecodedBytes = p.size() + most + overhead
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
		return upright(m, meta), nil
	}
	return p, nil
}

// readDirectory reads the fields at an offset and returns the offset of the next
// directory (TIFF 6.0, section 2).
func (t *tiffPage) readDirectory(at uint32) (next uint32, err error) {
	size := int64(len(t.data))
	start := int64(at) + 2
	if start > size {
		return 0, cutShort("tiff")
	}
	n := int64(t.order.Uint16(t.data[at:]))
	if n > tiffFields {
		return 0, overLimit("tiff", "a page with %d fields is over the limit of %d", n, tiffFields)
	}
	if start+12*n+4 > size {
		return 0, cutShort("tiff")
	}
	t.dir = make(map[uint16]tiffEntry, 16)
	widths := [...]int64{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}
	for i := range n {
		f := t.data[start+12*i:][:12]
		if !tiffUsed(t.order.Uint16(f)) {
			continue
		}
		e := tiffEntry{kind: t.order.Uint16(f[2:]), count: t.order.Uint32(f[4:])}
		if e.kind == 0 || int(e.kind) >= len(widths) {
			continue
		}
		length := int64(e.count) * widths[e.kind]
		if length <= 4 {
			e.raw = f[8 : 8+length]
		} else {
			from := int64(t.order.Uint32(f[8:]))
			if from+length > size {
				return 0, cutShort("tiff")
			}
			e.raw = t.data[from : from+length]
		}
		t.dir[t.order.Uint16(f)] = e
	}
	return t.order.Uint32(t.data[start+12*n:]), nil
}

// tiffUsed reports whether a tag is read here. Others are skipped unseen: they may
// be damaged or huge without harm.
func tiffUsed(tag uint16) bool {
	switch tag {
	case tagSubfileType, tagWidth, tagLength, tagBits, tagCompression, tagPhotometric, tagFillOrder,
		tagStripOffsets, tagOrientation, tagSamples, tagRowsPerStrip, tagStripCounts, tagPlanar,
		tagT4Options, tagPredictor, tagColorMap, tagTileWidth, tagTileLength, tagTileOffsets,
		tagTileCounts, tagExtraSamples, tagSampleFormat, tagICC:
		return true
	}
	return false
}

// at returns value i of a field, and 0 beyond its end or for other types than
// byte, short and long.
func (t *tiffPage) at(tag uint16, i int) int64 {
	e := t.dir[tag]
	if i >= int(e.count) {
		return 0
	}
	switch e.kind {
	case 1, 7:
		return int64(e.raw[i])
	case 3:
		return int64(t.order.Uint16(e.raw[2*i:]))
	case 4:
		return int64(t.order.Uint32(e.raw[4*i:]))
	}
	return 0
}

// value returns the first value of a field, or its default where it is absent.
func (t *tiffPage) value(tag uint16, absent int64) int64 {
	if e, ok := t.dir[tag]; !ok || e.count == 0 {
		return absent
	}
	return t.at(tag, 0)
}

func (t *tiffPage) orientation() int {
	if o := t.value(tagOrientation, 0); o >= 1 && o <= 8 {
		return int(o)
	}
	return 0
}

// check takes the page's description from its directory and refuses what is not
// read.
func (t *tiffPage) check(lim Limits) error {
	const sideMost = 1 << 31
	w, h := t.value(tagWidth, 0), t.value(tagLength, 0)
	if w >= sideMost || h >= sideMost {
		return overLimit("tiff", "%d x %d samples are over the limit", w, h)
	}
	t.width, t.height = int(w), int(h)
	t.samples = int(t.value(tagSamples, 1))
	t.bits = int(t.value(tagBits, 1))
	t.photometric = int(t.value(tagPhotometric, -1))
	t.compression = int(t.value(tagCompression, tiffNone))
	t.planar = t.value(tagPlanar, 1) == 2 && t.samples > 1
	if t.samples < 1 || t.samples > 5 {
		return unsupported("tiff", "%d samples per pixel are not read", t.samples)
	}
	for i := 1; i < t.samples && i < int(t.dir[tagBits].count); i++ {
		if t.at(tagBits, i) != int64(t.bits) {
			return unsupported("tiff", "channels of different depth are not read")
		}
	}
	if t.bits < 1 || t.bits > 16 {
		return unsupported("tiff", "samples of %d bits are not read", t.bits)
	}
	for i := range max(1, min(t.samples, int(t.dir[tagSampleFormat].count))) {
		f := int64(1)
		if _, ok := t.dir[tagSampleFormat]; ok {
			f = t.at(tagSampleFormat, i)
		}
		if f != 1 && f != 2 && f != 4 || i > 0 && (f == 2) != t.signed {
			return unsupported("tiff", "sample format %d is not read", f)
		}
		t.signed = f == 2
	}
	if err := t.checkColour(); err != nil {
		return err
	}
	shape := Header{Width: t.width, Height: t.height, Depth: 1, Channels: t.channels, Bits: t.outBits}
	if err := lim.check("tiff", &shape, len(t.data)); err != nil {
		return err
	}
	return t.checkBlocks()
}

// checkColour finds the channels of the picture.
func (t *tiffPage) checkColour() error {
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
		if t.samples != 1 || t.bits > 8 || int(t.dir[tagColorMap].count) != 3<<t.bits || t.dir[tagColorMap].kind != 3 {
			return rejected("tiff", "its palette does not fit its samples")
		}
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
	t.premultiplied = t.samples > colours && t.value(tagExtraSamples, 0) == tiffPremultiplied && !t.signed
	return nil
}

// checkBlocks finds the strips or tiles and sees that the file has one for every
// part of the page.
func (t *tiffPage) checkBlocks() error {
	switch t.compression {
	case tiffNone, tiffLZW, tiffDeflate, tiffDeflateOld, tiffPackBits:
	case tiffG3, tiffG4:
		if t.bits != 1 || t.samples != 1 {
			return rejected("tiff", "fax compression with %d samples of %d bits", t.samples, t.bits)
		}
		if t.compression == tiffG3 && t.value(tagT4Options, 0) != 0 {
			return unsupported("tiff", "fax compression of group 3 in two dimensions or with padding is not read")
		}
	default:
		return unsupported("tiff", "compression %d is not read", t.compression)
	}
	switch v := t.value(tagPredictor, 1); {
	case v == 2 && (t.bits == 8 || t.bits == 16):
		t.predictor = t.compression == tiffLZW || t.compression == tiffDeflate || t.compression == tiffDeflateOld
	case v != 1:
		return unsupported("tiff", "predictor %d for samples of %d bits is not read", v, t.bits)
	}
	_, t.tiled = t.dir[tagTileWidth]
	if !t.tiled {
		rows := t.value(tagRowsPerStrip, int64(t.height))
		if rows < 1 {
			return rejected("tiff", "its strips have no rows")
		}
		t.blockW, t.blockH = t.width, int(min(rows, int64(t.height)))
	} else {
		w, h := t.value(tagTileWidth, 0), t.value(tagTileLength, 0)
		// A tile may be larger than a small picture, but not at any price; and
		// tiles of a few samples cost more than they hold.
		if w < 8 || h < 8 || w > max(1024, int64(t.width)+16) || h > max(1024, int64(t.height)+16) {
			return rejected("tiff", "tiles of %d x %d do not fit %d x %d samples", w, h, t.width, t.height)
		}
		t.blockW, t.blockH = int(w), int(h)
	}
	offsets, counts := t.blockTags()
	n := int64(t.blocks())
	for _, tag := range []uint16{offsets, counts} {
		if e := t.dir[tag]; int64(e.count) < n || e.kind != 3 && e.kind != 4 {
			return rejected("tiff", "it tells the places of %d of %d strips or tiles", e.count, n)
		}
	}
	for i := range int(n) {
		from, length := t.at(offsets, i), t.at(counts, i)
		if from+length > int64(len(t.data)) {
			return cutShort("tiff")
		}
	}
	return nil
}

func (t *tiffPage) blockTags() (offsets, counts uint16) {
	if t.tiled {
		return tagTileOffsets, tagTileCounts
	}
	return tagStripOffsets, tagStripCounts
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
	_, counts := t.blockTags()
	if t.value(tagFillOrder, 1) == 2 {
		for i := range t.blocks() {
			n = max(n, t.at(counts, i))
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

func matchTIFF(data []byte) bool {
	return len(data) >= 4 && (string(data[:4]) == "II*\x00" || string(data[:4]) == "MM\x00*")
}
