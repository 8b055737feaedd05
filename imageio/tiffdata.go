package imageio

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"

	"github.com/klauspost/compress/zlib"
	"golang.org/x/image/ccitt"
	"golang.org/x/image/tiff/lzw"

	"github.com/pelmill/pelmill/raster"
)

// tiffWork is the memory that pages of a file share.
type tiffWork struct {
	block    []byte // a strip or tile, decompressed
	reversed []byte // the same, compressed, where the file stores bits in reverse
	native   []byte // samples of the file that are not those of the picture
	inflate  io.ReadCloser
}

// decode fills dst, one slice, from the strips or tiles of the page.
func (t *tiffPage) decode(dst *raster.Image, work *tiffWork) error {
	into := dst
	if t.converts() {
		into = &raster.Image{Width: t.width, Height: t.height, Depth: 1, Channels: t.samples, Bits: t.bits}
		if cap(work.native) < into.Size() {
			work.native = make([]byte, into.Size())
		}
		into.Pix = work.native[:into.Size()]
	}
	across, down := t.across(), t.down()
	for i := range t.blocks() {
		x, y := i%across*t.blockW, i/across%down*t.blockH
		rows := t.blockH
		if !t.tiled {
			rows = min(rows, t.height-y)
		}
		raw := t.data[t.offsets.at(t.order, i):][:t.counts.at(t.order, i)]
		block, err := t.decompress(raw, rows*t.rowBytes(), rows, work)
		if err != nil {
			return err
		}
		plane := 0
		if t.planar {
			plane = i / (across * down)
		}
		t.place(into, block, x, y, plane)
	}
	switch {
	case t.photometric == tiffPalette:
		t.lookUp(dst.Pix, into.Pix)
	case t.photometric == tiffCMYK:
		for i, j := 0, 0; i < len(dst.Pix); i, j = i+3, j+4 {
			s := into.Pix[j : j+4 : j+4]
			k := 255 - uint32(s[3])
			for c := range 3 {
				dst.Pix[i+c] = byte(((255-uint32(s[c]))*k + 127) / 255)
			}
		}
	case t.premultiplied:
		divideAlpha(dst)
	}
	return nil
}

// decompress returns the n bytes of a strip or tile, valid until the next call.
// A block that holds fewer is an error; what it holds beyond is ignored, as
// encoders pad.
func (t *tiffPage) decompress(raw []byte, n, rows int, work *tiffWork) ([]byte, error) {
	if t.reversed {
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
	if cap(work.block) < n {
		work.block = make([]byte, t.rowBytes()*t.blockH)
	}
	block := work.block[:n]
	var err error
	switch t.compression {
	case tiffPackBits:
		err = unpackBits(block, raw)
	case tiffLZW:
		z := lzw.NewReader(bytes.NewReader(raw), lzw.MSB, 8)
		_, err = io.ReadFull(z, block)
		z.Close()
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

// unzip fills block and verifies the checksum where the data end with it.
func (w *tiffWork) unzip(block, raw []byte) error {
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
			for i := n; i < len(row); i++ {
				row[i] += row[i-n]
			}
			continue
		}
		for i := 2 * n; i+1 < len(row); i += 2 {
			t.order.PutUint16(row[i:], t.order.Uint16(row[i:])+t.order.Uint16(row[i-2*n:]))
		}
	}
}

// place writes the samples of a strip or tile at (x, y), for one plane where the
// file has planes, and leaves out what lies beyond the picture.
func (t *tiffPage) place(m *raster.Image, block []byte, x, y, plane int) {
	cols, rows := min(t.blockW, t.width-x), min(len(block)/t.rowBytes(), t.height-y)
	step := m.Channels / t.perBlock() // samples of m from one to the next
	for r := range rows {
		src := block[r*t.rowBytes():][:t.rowBytes()]
		at := ((y+r)*m.Width+x)*m.Channels + plane
		n := cols * t.perBlock()
		switch {
		case t.bits == 8 && step == 1:
			copy(m.Pix[at:at+n], src)
			t.invert8(m.Pix[at : at+n])
		case t.bits == 8:
			for i, j := 0, at; i < n; i, j = i+1, j+step {
				m.Pix[j] = src[i]
			}
		default:
			t.placeRow(m, src, at, n, step)
		}
	}
}

func (t *tiffPage) invert8(row []byte) {
	if t.photometric == tiffWhiteIsZero {
		for i := range row {
			row[i] = ^row[i]
		}
	}
}

// placeRow writes n samples of other than 8 bits. Samples of less than 16 bits
// are packed, the first in the highest bits.
func (t *tiffPage) placeRow(m *raster.Image, src []byte, at, n, step int) {
	most := uint32(1)<<t.bits - 1
	widen := uint32(1)
	if t.bits < 8 && m.Bits == 8 {
		widen = 255 / most
	}
	invert := t.photometric == tiffWhiteIsZero
	var acc uint32
	var have, next int
	for i := range n {
		var v uint32
		if t.bits == 16 {
			v = uint32(t.order.Uint16(src[2*i:]))
		} else {
			for have < t.bits {
				acc = acc<<8 | uint32(src[next])
				next++
				have += 8
			}
			have -= t.bits
			v = acc >> have & most
		}
		if invert {
			v = most - v
		}
		v *= widen
		if t.signed && v > most/2 {
			v |= ^most
		}
		if j := at + i*step; m.Bits > 8 {
			binary.LittleEndian.PutUint16(m.Pix[2*j:], uint16(v))
		} else {
			m.Pix[j] = byte(v)
		}
	}
}

// lookUp replaces indices by the colours of the map, which are of 16 bits; files
// that use only the low 8 bits of them exist and are taken as meant.
func (t *tiffPage) lookUp(dst, indices []byte) {
	n := 1 << t.bits
	shift := 0
	for i := range 3 * n {
		if t.colours.at(t.order, i) > 255 {
			shift = 8
		}
	}
	var table [256][3]byte
	for i := range n {
		for c := range 3 {
			table[i][c] = byte(t.colours.at(t.order, i+c*n) >> shift)
		}
	}
	for i, v := range indices {
		copy(dst[3*i:3*i+3], table[v][:])
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
