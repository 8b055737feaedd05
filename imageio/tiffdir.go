package imageio

import "encoding/binary"

// Tags of TIFF 6.0 that matter for the samples.
const (
	tagSubfileType  = 254
	tagOldSubfile   = 255
	tagWidth        = 256
	tagLength       = 257
	tagBits         = 258
	tagCompression  = 259
	tagPhotometric  = 262
	tagFillOrder    = 266
	tagStripOffsets = 273
	tagOrientation  = 274
	tagSamples      = 277
	tagRowsPerStrip = 278
	tagStripCounts  = 279
	tagPlanar       = 284
	tagT4Options    = 292
	tagPredictor    = 317
	tagColorMap     = 320
	tagTileWidth    = 322
	tagTileLength   = 323
	tagTileOffsets  = 324
	tagTileCounts   = 325
	tagSubPages     = 330 // SubIFDs, TIFF technical note 1
	tagInkSet       = 332
	tagExtraSamples = 338
	tagSampleFormat = 339
	tagICC          = 34675
)

// Values of these tags.
const (
	tiffWhiteIsZero = 0
	tiffBlackIsZero = 1
	tiffRGB         = 2
	tiffPalette     = 3
	tiffCMYK        = 5
	tiffNone        = 1
	tiffG3          = 3
	tiffG4          = 4
	tiffLZW         = 5
	tiffDeflate     = 8
	tiffPackBits    = 32773
	tiffDeflateOld  = 32946

	tiffPremultiplied = 1 // ExtraSamples
	tiffStraight      = 2
	tiffStraightOther = 999 // what CorelDRAW writes
)

// tiffEntry is a field of a directory: its type, its count and its values as
// they lie in the file.
type tiffEntry struct {
	kind  uint16
	count uint32
	raw   []byte
}

// at returns value i, and 0 beyond the end or for types that are no integers.
// The types with a sign are taken as those without, as no field here is negative.
func (e *tiffEntry) at(order binary.ByteOrder, i int) int64 {
	if i >= int(e.count) {
		return 0
	}
	switch e.kind {
	case 1, 6, 7:
		return int64(e.raw[i])
	case 3, 8:
		return int64(order.Uint16(e.raw[2*i:]))
	case 4, 9, 13:
		return int64(order.Uint32(e.raw[4*i:]))
	}
	return 0
}

// tiffDirectory holds the fields of one page at a time.
type tiffDirectory struct {
	data   []byte
	order  binary.ByteOrder
	fields map[uint16]tiffEntry
}

// tiffFields bounds the fields of a page, as libtiff does. Directories may overlap,
// so that a small file could otherwise cost hours of parsing.
const tiffFields = 4096

// read replaces the fields by those of the directory at an offset and returns the
// offset of the next one (TIFF 6.0, section 2).
func (d *tiffDirectory) read(at uint32) (next uint32, err error) {
	size := int64(len(d.data))
	start := int64(at) + 2
	if start > size {
		return 0, cutShort("tiff")
	}
	n := int64(d.order.Uint16(d.data[at:]))
	if n > tiffFields {
		return 0, overLimit("tiff", "a page with %d fields is over the limit of %d", n, tiffFields)
	}
	if start+12*n+4 > size {
		// libtiff takes a page without the offset of the next one for the last. Here it
		// is the sign of a file that was cut, and pages may be missing.
		return 0, cutShort("tiff")
	}
	clear(d.fields)
	widths := [...]int64{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
	for i := range n {
		f := d.data[start+12*i:][:12]
		if !tiffUsed(d.order.Uint16(f)) {
			continue
		}
		e := tiffEntry{kind: d.order.Uint16(f[2:]), count: d.order.Uint32(f[4:])}
		if e.kind == 0 || int(e.kind) >= len(widths) {
			continue
		}
		length := int64(e.count) * widths[e.kind]
		if length <= 4 {
			e.raw = f[8 : 8+length]
		} else {
			from := int64(d.order.Uint32(f[8:]))
			if from+length > size {
				return 0, cutShort("tiff")
			}
			e.raw = d.data[from : from+length]
		}
		d.fields[d.order.Uint16(f)] = e
	}
	return d.order.Uint32(d.data[start+12*n:]), nil
}

// tiffUsed reports whether a tag is read here. Others are skipped unseen: they may
// be damaged or huge without harm.
func tiffUsed(tag uint16) bool {
	switch tag {
	case tagSubfileType, tagOldSubfile, tagWidth, tagLength, tagBits, tagCompression, tagPhotometric, tagFillOrder,
		tagStripOffsets, tagOrientation, tagSamples, tagRowsPerStrip, tagStripCounts, tagPlanar,
		tagT4Options, tagPredictor, tagColorMap, tagTileWidth, tagTileLength, tagTileOffsets,
		tagTileCounts, tagSubPages, tagInkSet, tagExtraSamples, tagSampleFormat, tagICC:
		return true
	}
	return false
}

// at returns value i of a field, and 0 where there is none.
func (d *tiffDirectory) at(tag uint16, i int) int64 {
	e := d.fields[tag]
	return e.at(d.order, i)
}

// value returns the first value of a field, or its default where it is absent.
func (d *tiffDirectory) value(tag uint16, absent int64) int64 {
	if e, ok := d.fields[tag]; !ok || e.count == 0 {
		return absent
	}
	return d.at(tag, 0)
}

// reduced reports whether the page is a smaller copy of another one.
func (d *tiffDirectory) reduced() bool {
	const reduced, oldReduced = 1, 2
	return d.value(tagSubfileType, 0)&reduced != 0 || d.value(tagOldSubfile, 0) == oldReduced
}

// mask reports whether the page tells which samples of another one are seen.
func (d *tiffDirectory) mask() bool {
	const mask = 4
	return d.value(tagSubfileType, 0)&mask != 0
}

func (d *tiffDirectory) orientation() int {
	if o := d.value(tagOrientation, 0); o >= 1 && o <= 8 {
		return int(o)
	}
	return 0
}
