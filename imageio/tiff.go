package imageio

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/png/inflate"
	"github.com/pelmill/pelmill/internal/container/tiff"
	"github.com/pelmill/pelmill/raster"
)

// Pages are read here and not with golang.org/x/image/tiff, which reads only the
// first page, takes planes for pixels, and knows neither signed samples nor grey
// with alpha. Its LZW and its CCITT decoder are used.

// tiffPageMemory is more than a tiffPage takes, its slots not counted.
const tiffPageMemory = 512

// tiffPage is one directory, checked.
type tiffPage struct {
	data    []byte
	order   binary.ByteOrder
	offsets tiff.Values // of strips or tiles
	counts  tiff.Values // of their bytes; without values where they must be found
	colours tiff.Values // of a palette

	width, height int
	samples       int   // per pixel in the file
	slots         []int // where each of them goes in a decoded pixel, -1 for those that are left out
	kept          int   // samples per pixel that are not left out
	planes        int   // samples per pixel up to the last one that is not left out
	bits          int   // per sample in the file
	signed        bool
	photometric   int
	compression   int
	predictor     bool
	tables        []byte // of JPEG compression
	frameMemory   int64  // most that a JPEG frame takes to decode
	reversed      bool   // the first sample is in the lowest bits
	planar        bool   // one plane per channel
	tiled         bool
	blockW        int // width of a strip or tile, the padding of tiles included
	blockH        int
	alpha         bool // the last sample that is kept is alpha
	premultiplied bool

	channels int // of the image
	outBits  int
}

func matchTIFF(data []byte) bool {
	return len(data) >= 4 && (string(data[:4]) == "II*\x00" || string(data[:4]) == "MM\x00*" || string(data[:4]) == "II+\x00" || string(data[:4]) == "MM\x00+")
}

func openTIFF(data []byte, lim Limits) (*opened, error) {
	structure, ok := tiff.OpenFile(data)
	if !ok {
		return nil, cutShort("tiff")
	}
	p := &opened{}
	var pages tiffPages
	seen := map[uint32]bool{}
	var reduced uint32 // the first page that is a reduced copy
	dir := &tiffDirectory{Structure: structure, fields: map[uint16]tiff.Values{}}
	for at := structure.First(); at != 0; {
		if seen[at] {
			return nil, rejected("tiff", "its list of pages runs in a circle")
		}
		if len(seen) >= lim.Frames {
			return nil, overLimit("tiff", "more than %d pages are over the limit", lim.Frames)
		}
		seen[at] = true
		next, err := dir.read(at)
		switch {
		case err != nil:
			return nil, err
		case dir.mask():
			pages.masks++
		case dir.reduced():
			// A reduced copy of another page is no page of its own.
			reduced = cmp.Or(reduced, at)
		default:
			err = pages.take(p, dir, at, lim)
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	if len(pages.list) == 0 && reduced != 0 {
		if err := pages.takeReduced(p, dir, reduced, lim); err != nil {
			return nil, err
		}
	}
	if len(pages.list) == 0 {
		return nil, rejected("tiff", "it has no page")
	}
	var most int64
	for _, page := range pages.list {
		most = max(most, page.memory())
		p.DecodedBytes += tiffPageMemory + 8*int64(len(page.slots))
	}
	p.DecodedBytes += int64(p.Size()) + most + overhead
	p.Note = pages.note()
	meta := pages.meta
	attributes := p.withoutInks(&meta, structure.Attributes(pages.first))
	p.turn(&meta)
	p.attributes(attributes)
	p.decode = func() (*raster.Image, error) {
		first := pages.list[0]
		m := raster.Unfilled(raster.Shape{Width: first.width, Height: first.height, Depth: p.Depth, Channels: p.Channels, Bits: p.Bits, Signed: p.Signed})
		var work tiffWork
		for z, page := range pages.list {
			if err := page.decode(m.Slice(z), &work); err != nil {
				return nil, err
			}
		}
		return exif.Attach(m, meta), nil
	}
	return p, nil
}

// tiffPages collects the pages of a file that make up the image.
type tiffPages struct {
	list  []*tiffPage
	first uint32      // the place of the first one's directory
	meta  raster.Meta // of the first
	masks int         // pages that are transparency masks
}

// takeReduced adds a page of a file that holds nothing but reduced copies: it is a
// image like any other, unless what it is a copy of lies below it, as in files
// of cameras.
func (t *tiffPages) takeReduced(p *opened, dir *tiffDirectory, at uint32, lim Limits) error {
	if _, err := dir.read(at); err != nil {
		return err
	}
	if _, ok := dir.fields[tagSubPages]; ok {
		return unsupported("tiff", "its picture lies in a directory below that of a reduced copy, which is not read")
	}
	return t.take(p, dir, at, lim)
}

// take adds the page of the directory at a place.
func (t *tiffPages) take(p *opened, dir *tiffDirectory, at uint32, lim Limits) error {
	page := &tiffPage{data: dir.Data, order: dir.Order}
	if err := page.check(dir, lim); err != nil {
		return err
	}
	if len(t.list) == 0 {
		t.first = at
		p.Header = Header{Shape: raster.Shape{Width: page.width, Height: page.height, Channels: page.channels, Bits: page.outBits, Signed: page.signed}}
		t.meta = raster.Meta{Orientation: dir.orientation(), ICC: dir.fields[tagICC].Raw}
	} else if page.width != p.Width || page.height != p.Height || page.channels != p.Channels || page.outBits != p.Bits || page.signed != p.Signed || dir.orientation() != t.meta.Orientation {
		return unsupported("tiff", "page %d differs in shape from the first", len(t.list)+1)
	}
	t.list = append(t.list, page)
	p.Depth = len(t.list)
	p.Frames = p.Depth > 1
	return lim.check("tiff", &p.Header, len(dir.Data))
}

// note says what of the pages is not in the image.
func (t *tiffPages) note() string {
	for _, page := range t.list {
		if left := page.samples - page.kept; left > 0 {
			return fmt.Sprintf("it has %d samples per pixel of which %d are neither colour nor alpha and were left out", page.samples, left)
		}
	}
	if t.masks > 0 {
		return "it has a transparency mask, which was left out"
	}
	return ""
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
	t.compression = int(dir.value(tagCompression, tiffNone))
	t.planar = dir.value(tagPlanar, 1) == 2 && t.samples > 1
	if t.samples < 1 || t.samples > 1<<16 {
		return rejected("tiff", "it has %d samples per pixel", t.samples)
	}
	for i := 1; i < t.samples && i < int(dir.fields[tagBits].Count); i++ {
		if dir.at(tagBits, i) != int64(t.bits) {
			return unsupported("tiff", "channels of different depth are not read")
		}
	}
	if f := dir.value(tagSampleFormat, 1); f == 3 || f == 5 || f == 6 {
		kind := map[int64]string{3: "floating point", 5: "complex integers", 6: "complex floating point"}[f]
		return unsupported("tiff", "samples of %d bits that are %s are not read; convert them to integers of at most 16 bits first", t.bits, kind)
	}
	if t.bits < 1 || t.bits > 16 {
		return unsupported("tiff", "samples of %d bits are not read", t.bits)
	}
	for i := range max(1, min(t.samples, int(dir.fields[tagSampleFormat].Count))) {
		f := int64(1)
		if _, ok := dir.fields[tagSampleFormat]; ok {
			f = dir.at(tagSampleFormat, i)
		}
		if f != 1 && f != 2 && f != 4 || i > 0 && (f == 2) != t.signed {
			return unsupported("tiff", "sample format %d is not read", f)
		}
		t.signed = f == 2
	}
	// What is left out is decoded too: the limit is on all samples.
	shape := Header{Shape: raster.Shape{Width: t.width, Height: t.height, Depth: 1, Channels: t.samples, Bits: t.bits}}
	if err := lim.check("tiff", &shape, len(t.data)); err != nil {
		return err
	}
	if err := t.checkColour(dir); err != nil {
		return err
	}
	return t.checkBlocks(dir, lim)
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

// memory is what decode takes besides the image: a strip or tile as it is in
// the file where its bits are reversed, the same decompressed, and the samples
// of the file where they are not those of the image.
func (t *tiffPage) memory() int64 {
	n := int64(t.rowBytes()) * int64(t.blockH)
	if t.reversed {
		var most int64
		for i := range t.blocks() {
			_, count := t.extent(i)
			most = max(most, count)
		}
		n += min(most, reversedMost(n))
	}
	n += t.frameMemory
	switch t.compression {
	case tiffDeflate, tiffDeflateOld:
		n += inflate.Overhead + inflateStep
	case tiffLZW:
		n += 6 * lzwCodes
	}
	if t.converts() {
		n += int64(t.width) * int64(t.height) * int64(t.kept) * int64((t.bits+7)/8)
	}
	return n
}

// converts reports whether the samples of the file are not those of the image.
func (t *tiffPage) converts() bool { return t.photometric == tiffPalette || t.photometric == tiffCMYK }
