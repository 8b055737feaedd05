package imageio

import "github.com/pelmill/pelmill/internal/container/tiff"

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
	tagJPEGTables   = 347 // TIFF technical note 2
	tagICC          = tiff.TagICC
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
	tiffYCbCr       = 6 // of photometric
	tiffJPEG        = 7
	tiffDeflate     = 8
	tiffPackBits    = 32773
	tiffDeflateOld  = 32946

	tiffPremultiplied = 1 // ExtraSamples
	tiffStraight      = 2
	tiffStraightOther = 999 // what CorelDRAW writes
)

// tiffDirectory holds the fields of one page at a time.
type tiffDirectory struct {
	tiff.Structure
	fields map[uint16]tiff.Values
}

// read replaces the fields by those of the directory at an offset and returns the
// offset of the next one.
func (d *tiffDirectory) read(at uint32) (next uint32, err error) {
	if next, err = d.Next(at); err != nil {
		return 0, err
	}
	clear(d.fields)
	for f, err := range d.Fields(at) {
		if err != nil {
			return 0, err
		}
		if !tiffUsed(f.Tag) {
			continue
		}
		v, err := d.Values(f)
		if err != nil {
			return 0, err
		}
		if v.Type != 0 {
			d.fields[f.Tag] = v
		}
	}
	return next, nil
}

// tiffUsed reports whether a tag is read here. Others are skipped unseen: they may
// be damaged or huge without harm.
func tiffUsed(tag uint16) bool {
	switch tag {
	case tagSubfileType, tagOldSubfile, tagWidth, tagLength, tagBits, tagCompression, tagPhotometric, tagFillOrder,
		tagStripOffsets, tagOrientation, tagSamples, tagRowsPerStrip, tagStripCounts, tagPlanar,
		tagT4Options, tagPredictor, tagColorMap, tagTileWidth, tagTileLength, tagTileOffsets,
		tagTileCounts, tagSubPages, tagInkSet, tagExtraSamples, tagSampleFormat, tagJPEGTables, tagICC:
		return true
	}
	return false
}

// at returns value i of a field, and 0 where there is none.
func (d *tiffDirectory) at(tag uint16, i int) int64 {
	e := d.fields[tag]
	return e.Int(d.Order, i)
}

// value returns the first value of a field, or its default where it is absent.
func (d *tiffDirectory) value(tag uint16, absent int64) int64 {
	if e, ok := d.fields[tag]; !ok || e.Count == 0 {
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
