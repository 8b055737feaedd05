package imageio

import (
	"bytes"
	oldlzw "compress/lzw"
	"io"

	"github.com/klauspost/compress/zlib"
	"golang.org/x/image/ccitt"
	"golang.org/x/image/tiff/lzw"

	"github.com/pelmill/pelmill/internal/container/png/inflate"
	"github.com/pelmill/pelmill/raster"
)

// tiffWork is the memory that pages of a file share.
type tiffWork struct {
	block    []byte       // a strip or tile, decompressed
	direct   []byte       // where the image has the samples of the strip as they are, if it does
	reversed []byte       // the same, compressed, where the file stores bits in reverse
	native   []byte       // samples of the file that are not those of the image
	samples  *[256]uint64 // of a byte, the first in the lowest byte; nil for pages that do without
	strings  *lzwStrings
	fast     *inflate.Reader
	inflate  io.ReadCloser // for what fast does not take
}

// decode fills dst, one slice, from the strips or tiles of the page.
func (t *tiffPage) decode(dst *raster.Image, work *tiffWork) error {
	into := dst
	if t.converts() {
		into = &raster.Image{Shape: raster.Shape{Width: t.width, Height: t.height, Depth: 1, Channels: t.kept, Bits: t.bits}}
		if cap(work.native) < into.Size() {
			work.native = make([]byte, into.Size())
		}
		into.Pix = work.native[:into.Size()]
	}
	if t.interleaves(into) {
		if err := t.interleave(into); err != nil {
			return err
		}
	} else if err := t.decodeBlocks(into, work); err != nil {
		return err
	}
	switch {
	case t.photometric == tiffPalette:
		t.lookUp(dst, into.Pix)
	case t.photometric == tiffCMYK:
		t.fromCMYK(dst, into.Pix)
	}
	if t.premultiplied {
		divideAlpha(dst)
	}
	return nil
}

// decodeBlocks decompresses one strip or tile after the other and puts its samples to their places.
func (t *tiffPage) decodeBlocks(into *raster.Image, work *tiffWork) error {
	across, down := t.across(), t.down()
	work.samples = t.samplesOfBytes(into)
	for i := range t.blocks() {
		slot := t.slot(i)
		if slot < 0 {
			continue
		}
		offset, count := t.extent(i)
		rows := t.rows(i)
		x, y := i%across*t.blockW, i/across%down*t.blockH
		work.direct = t.rowsOf(into, y, rows)
		block, err := t.decompress(t.data[offset:offset+count], rows*t.rowBytes(), rows, work)
		if err != nil {
			return err
		}
		if len(work.direct) == 0 || &work.direct[0] != &block[0] {
			t.place(into, block, x, y, slot, work.samples)
		}
	}
	return nil
}

// decompress returns the n bytes of a strip or tile, valid until the next call.
// A block that holds fewer is an error; what it holds beyond is ignored, as
// encoders pad.
func (t *tiffPage) decompress(raw []byte, n, rows int, work *tiffWork) ([]byte, error) {
	if t.reversed {
		raw = raw[:min(int64(len(raw)), reversedMost(int64(n)))]
		work.reversed = append(work.reversed[:0], raw...)
		reverseBits(work.reversed)
		raw = work.reversed
	}
	if t.compression == tiffNone {
		if len(raw) < n {
			return nil, cutShort("tiff")
		}
		return raw[:n], nil
	}
	if t.compression == tiffJPEG {
		return t.decodeJPEG(raw, n, work)
	}
	block := work.direct
	if len(block) != n {
		if cap(work.block) < n {
			work.block = make([]byte, t.rowBytes()*t.blockH)
		}
		block = work.block[:n]
	}
	var err error
	switch t.compression {
	case tiffPackBits:
		err = unpackBits(block, raw)
	case tiffLZW:
		err = work.unpackLZW(block, raw)
	case tiffDeflate, tiffDeflateOld:
		err = work.unzip(block, raw)
	case tiffG3, tiffG4:
		form := ccitt.Group3
		if t.compression == tiffG4 {
			form = ccitt.Group4
		}
		// White runs are zero bits; photometric says later what zero means.
		z := ccitt.NewReader(bytes.NewReader(raw), ccitt.MSB, form, t.blockW, rows, &ccitt.Options{Invert: true})
		_, err = io.ReadFull(z, block)
	}
	if err != nil {
		return nil, err
	}
	if t.predictor {
		t.addLeft(block)
	}
	return block, nil
}

// reversedMost bounds the encoded bytes that are turned for n decoded ones. No
// compression here needs as many; strips whose length is not told, or that
// overlap, would otherwise cost the length of the file each.
func reversedMost(n int64) int64 { return 8*n + 4096 }

// lzwReader tells the LZW of TIFF from that of libtiff before 1991, as libtiff
// does: codes then began at the lowest bit, and the first, a clear code, gives
// the bytes 0 and 1. Their width also grew one code later.
func lzwReader(raw []byte) io.ReadCloser {
	if earlyLZW(raw) {
		return oldlzw.NewReader(bytes.NewReader(raw), oldlzw.LSB, 8)
	}
	return lzw.NewReader(bytes.NewReader(raw), lzw.MSB, 8)
}

func earlyLZW(raw []byte) bool { return len(raw) >= 2 && raw[0] == 0 && raw[1]&1 != 0 }

// unpackLZW fills block. What the fast decoder does not take is left to the others, which know what is wrong with it.
func (w *tiffWork) unpackLZW(block, raw []byte) error {
	if !earlyLZW(raw) {
		if w.strings == nil {
			w.strings = new(lzwStrings)
		}
		if w.strings.unpack(block, raw) {
			return nil
		}
	}
	z := lzwReader(raw)
	defer z.Close()
	_, err := io.ReadFull(z, block)
	return err
}

// inflateStep is how much is inflated before it is copied, in bytes.
const inflateStep = 32 << 10

// inflated fills block from a stream that holds that and nothing else, and returns false where it does not.
func (w *tiffWork) inflated(block, raw []byte) bool {
	next := func() ([]byte, bool) {
		piece := raw
		raw = nil
		return piece, len(piece) > 0
	}
	if w.fast == nil {
		w.fast = inflate.New(next, int64(len(block)), inflateStep)
	} else {
		w.fast.Reset(next, int64(len(block)), inflateStep)
	}
	for len(block) > 0 {
		b, err := w.fast.Next(min(len(block), inflateStep))
		if err != nil {
			return false
		}
		block = block[copy(block, b):]
	}
	return w.fast.End() == nil
}

// unzip fills block and verifies the checksum where the data end with it.
func (w *tiffWork) unzip(block, raw []byte) error {
	if w.inflated(block, raw) {
		return nil
	}
	src := bytes.NewReader(raw)
	var err error
	if w.inflate == nil {
		w.inflate, err = zlib.NewReader(src)
	} else {
		err = w.inflate.(zlib.Resetter).Reset(src, nil)
	}
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(w.inflate, block); err != nil {
		return err
	}
	var more [1]byte
	if n, err := w.inflate.Read(more[:]); n == 0 && err != nil && err != io.EOF {
		return err
	}
	return nil
}
