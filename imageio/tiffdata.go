package imageio

import (
	"bytes"
	oldlzw "compress/lzw"
	"encoding/binary"
	"io"
	"math/bits"

	"github.com/klauspost/compress/zlib"
	"golang.org/x/image/ccitt"
	"golang.org/x/image/tiff/lzw"

	"github.com/pelmill/pelmill/internal/container/png/inflate"
	"github.com/pelmill/pelmill/raster"
)

// tiffWork is the memory that pages of a file share.
type tiffWork struct {
	block    []byte // a strip or tile, decompressed
	reversed []byte // the same, compressed, where the file stores bits in reverse
	native   []byte // samples of the file that are not those of the image
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
	across, down := t.across(), t.down()
	for i := range t.blocks() {
		slot := t.slot(i)
		if slot < 0 {
			continue
		}
		offset, count := t.extent(i)
		rows := t.rows(i)
		block, err := t.decompress(t.data[offset:offset+count], rows*t.rowBytes(), rows, work)
		if err != nil {
			return err
		}
		t.place(into, block, i%across*t.blockW, i/across%down*t.blockH, slot)
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

// decompress returns the n bytes of a strip or tile, valid until the next call.
// A block that holds fewer is an error; what it holds beyond is ignored, as
// encoders pad.
func (t *tiffPage) decompress(raw []byte, n, rows int, work *tiffWork) ([]byte, error) {
	if t.reversed {
		raw = raw[:min(int64(len(raw)), reversedMost(int64(n)))]
		work.reversed = append(work.reversed[:0], raw...)
		for i, v := range work.reversed {
			work.reversed[i] = bits.Reverse8(v)
		}
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
	if cap(work.block) < n {
		work.block = make([]byte, t.rowBytes()*t.blockH)
	}
	block := work.block[:n]
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

// unpackBits undoes PackBits (TIFF 6.0, section 9): a byte n of 0 to 127 is
// followed by n+1 bytes as they are, one of -127 to -1 by a byte to repeat 1-n
// times.
func unpackBits(dst, src []byte) error {
	for len(dst) > 0 {
		if len(src) < 2 {
			return io.ErrUnexpectedEOF
		}
		n := int(int8(src[0]))
		src = src[1:]
		switch {
		case n >= 0:
			n = min(n+1, len(dst))
			if n > len(src) {
				return io.ErrUnexpectedEOF
			}
			copy(dst, src[:n])
			dst, src = dst[n:], src[n:]
		case n != -128:
			n = min(1-n, len(dst))
			for i := range dst[:n] {
				dst[i] = src[0]
			}
			dst, src = dst[n:], src[1:]
		}
	}
	return nil
}

// addLeft undoes horizontal differencing (TIFF 6.0, section 14).
func (t *tiffPage) addLeft(block []byte) {
	n := t.perBlock()
	stride := t.rowBytes()
	for ; len(block) >= stride; block = block[stride:] {
		row := block[:stride]
		if t.bits == 8 {
			addBytes(row, n)
			continue
		}
		if (n == 3 || n == 4) && t.order == binary.ByteOrder(binary.LittleEndian) {
			row = addWords(row, n)
		}
		for i := 2 * n; i+1 < len(row); i += 2 {
			t.order.PutUint16(row[i:], t.order.Uint16(row[i:])+t.order.Uint16(row[i-2*n:]))
		}
	}
}

// addBytes adds to each byte of a row the sum n bytes before it.
func addBytes(row []byte, n int) {
	if n == 3 && len(row) >= 4 {
		var sum uint32
		v := binary.LittleEndian.Uint32(row)
		for {
			const low = 0x7f7f7f7f
			sum = (sum&low + v&low) ^ (sum^v)&^low
			if len(row) < 7 {
				break
			}
			// The fourth byte is the next pixel's, which is read before.
			next := binary.LittleEndian.Uint32(row[3:])
			binary.LittleEndian.PutUint32(row, sum&0xffffff|v&^0xffffff)
			row, v = row[3:], next
		}
		row[0], row[1], row[2] = byte(sum), byte(sum>>8), byte(sum>>16)
		row = row[3:]
		for i := range row[:min(3, len(row))] {
			row[i] += byte(sum >> (8 * i))
		}
		return
	}
	for i := n; i < len(row); i++ {
		row[i] += row[i-n]
	}
}

// addWords does the same for little-endian words, up to the last pixels, which it returns with the one before them.
func addWords(row []byte, n int) []byte {
	pixel := ^uint64(0) >> (64 - 16*n)
	var sum uint64
	done := 0
	if len(row) < 8 {
		return row
	}
	for v := binary.LittleEndian.Uint64(row); done+8+2*n <= len(row); done += 2 * n {
		const low = 0x7fff7fff7fff7fff
		sum = (sum&low + v&low) ^ (sum^v)&^low
		next := binary.LittleEndian.Uint64(row[done+2*n:])
		binary.LittleEndian.PutUint64(row[done:], sum&pixel|v&^pixel)
		v = next
	}
	return row[max(0, done-2*n):]
}

// place writes the samples of a strip or tile at (x, y), and leaves out what lies
// beyond the image. In a file with planes they are those of one channel, slot.
func (t *tiffPage) place(m *raster.Image, block []byte, x, y, slot int) {
	cols, rows := min(t.blockW, t.width-x), min(len(block)/t.rowBytes(), t.height-y)
	slots := t.slots
	if t.planar {
		slots = []int{slot}
	}
	for r := range rows {
		src := block[r*t.rowBytes():][:t.rowBytes()]
		at := ((y+r)*m.Width + x) * m.Channels
		switch {
		case t.bits == 8 && len(slots) == m.Channels:
			copy(m.Pix[at:at+cols*m.Channels], src)
		case t.bits == 8 && len(slots) == 1:
			dst := m.Pix[at+slot:]
			for j, v := range src[:cols] {
				dst[j*m.Channels] = v
			}
		case t.bits == 8:
			for i, slot := range slots[:min(len(slots), t.planes)] {
				for j, k := at+slot, i; slot >= 0 && k < cols*len(slots); j, k = j+m.Channels, k+len(slots) {
					m.Pix[j] = src[k]
				}
			}
		case t.bits == 16 && m.Bits == 16 && len(slots) == m.Channels && t.photometric != tiffWhiteIsZero:
			dst := m.Pix[2*at:][:2*cols*m.Channels]
			if t.order == binary.ByteOrder(binary.LittleEndian) {
				copy(dst, src)
			} else {
				swapped(dst, src)
			}
		default:
			t.placeRow(m, src, at, cols, slots)
		}
		if t.bits == 8 && t.photometric == tiffWhiteIsZero {
			for i := at; i < at+cols*m.Channels && slots[0] == 0; i += m.Channels {
				m.Pix[i] = ^m.Pix[i]
			}
		}
	}
}

// placeRow writes the samples of cols pixels of other than 8 bits to the given
// places in each. Samples of less than 16 bits are packed, the first in the
// highest bits.
func (t *tiffPage) placeRow(m *raster.Image, src []byte, at, cols int, slots []int) {
	most := uint32(1)<<t.bits - 1
	widen := uint32(1)
	if t.bits < 8 && m.Bits == 8 {
		widen = 255 / most
	}
	whiteIsZero := t.photometric == tiffWhiteIsZero
	var acc uint32
	var have, next int
	for range cols {
		for _, slot := range slots {
			var v uint32
			if t.bits == 16 {
				v = uint32(t.order.Uint16(src[next:]))
				next += 2
			} else {
				for have < t.bits {
					acc = acc<<8 | uint32(src[next])
					next++
					have += 8
				}
				have -= t.bits
				v = acc >> have & most
			}
			if slot < 0 {
				continue
			}
			if whiteIsZero && slot == 0 {
				v = most - v
			}
			v *= widen
			if t.signed && v > most/2 {
				v |= ^most
			}
			if j := at + slot; m.Bits > 8 {
				binary.LittleEndian.PutUint16(m.Pix[2*j:], uint16(v))
			} else {
				m.Pix[j] = byte(v)
			}
		}
		at += m.Channels
	}
}

// lookUp replaces indices by the colours of the map, of which, as in libtiff, the
// high 8 of 16 bits count, unless no value uses them. Alpha stays.
func (t *tiffPage) lookUp(dst *raster.Image, native []byte) {
	n := 1 << t.bits
	shift := 0
	for i := range 3 * n {
		if t.colours.Int(t.order, i) > 255 {
			shift = 8
		}
	}
	var table [256][3]byte
	for i := range n {
		for c := range 3 {
			table[i][c] = byte(t.colours.Int(t.order, i+c*n) >> shift)
		}
	}
	most := 1<<t.bits - 1
	for i, j := 0, 0; j < len(native); i, j = i+dst.Channels, j+t.kept {
		copy(dst.Pix[i:i+3], table[native[j]][:])
		if t.alpha {
			dst.Pix[i+3] = byte(int(native[j+1]) * 255 / most)
		}
	}
}

// fromCMYK converts with the rounding of libtiff, and keeps alpha.
func (t *tiffPage) fromCMYK(dst *raster.Image, native []byte) {
	for i, j := 0, 0; j < len(native); i, j = i+dst.Channels, j+t.kept {
		s := native[j : j+t.kept : j+t.kept]
		k := 255 - uint32(s[3])
		for c := range 3 {
			dst.Pix[i+c] = byte((255 - uint32(s[c])) * k / 255)
		}
		if t.alpha {
			dst.Pix[i+3] = s[4]
		}
	}
}

// divideAlpha turns premultiplied colours into straight ones, rounded to
// nearest. Where alpha is zero there is nothing to recover.
func divideAlpha(m *raster.Image) {
	most := 1<<m.Bits - 1
	for i := 0; i < m.Samples(); i += m.Channels {
		a := m.Sample(i + m.Channels - 1)
		if a == 0 || a == most {
			continue
		}
		for c := i; c < i+m.Channels-1; c++ {
			v := min((m.Sample(c)*most+a/2)/a, most)
			if m.Bits > 8 {
				binary.LittleEndian.PutUint16(m.Pix[2*c:], uint16(v))
			} else {
				m.Pix[c] = byte(v)
			}
		}
	}
}
