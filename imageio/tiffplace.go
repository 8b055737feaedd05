package imageio

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container/tiff"
	"github.com/pelmill/pelmill/raster"
)

// swaps reports whether samples are words whose bytes are not in our order.
func (t *tiffPage) swaps() bool {
	return t.bits == 16 && t.order == binary.ByteOrder(binary.BigEndian)
}

// interleaves reports whether the samples of m are those of the file's planes as they lie there.
func (t *tiffPage) interleaves(m *raster.Image) bool {
	return t.planar && t.compression == tiffNone && !t.reversed && (t.bits == 8 || t.bits == 16) && m.Channels == t.kept && t.kept > 1 &&
		t.photometric != tiffWhiteIsZero
}

// interleave fills m with the samples of planes that are not compressed, without memory for any.
func (t *tiffPage) interleave(m *raster.Image) error {
	sample := t.bits / 8
	pixels := tiff.NewPlanes(t.kept, sample, t.swaps())
	blocks, rows := make([][]byte, t.kept), make([][]byte, t.kept)
	across := t.across()
	each := across * t.down()
	for i := range each {
		high := t.rows(i)
		for plane, slot := range t.slots[:t.planes] {
			if slot < 0 {
				continue
			}
			offset, count := t.extent(plane*each + i)
			if count < int64(high*t.rowBytes()) {
				return cutShort("tiff")
			}
			blocks[slot] = t.data[offset : offset+count]
		}
		x, y := i%across*t.blockW, i/across*t.blockH
		cols := min(t.blockW, t.width-x)
		high = min(high, t.height-y)
		if cols == t.blockW && cols == t.width {
			cols, high = cols*high, 1 // rows without a gap
		}
		for r := range high {
			for c := range rows {
				rows[c] = blocks[c][r*t.rowBytes():]
			}
			at := ((y+r)*t.width + x) * t.kept * sample
			pixels.Interleave(m.Pix[at:at+cols*t.kept*sample], rows)
		}
	}
	return nil
}

// rowsOf returns the part of m that a strip has the samples of, if they are the same bytes, and else nil.
func (t *tiffPage) rowsOf(m *raster.Image, y, rows int) []byte {
	if t.tiled || t.bits != 8 && (t.bits != 16 || t.swaps()) || m.Channels != t.perBlock() || t.photometric == tiffWhiteIsZero {
		return nil
	}
	row := t.rowBytes()
	return m.Pix[y*row : (y+rows)*row]
}

// place writes the samples of a strip or tile at (x, y), and leaves out what lies
// beyond the image. In a file with planes they are those of one channel, slot. samples is the table for unpack, or nil.
func (t *tiffPage) place(m *raster.Image, block []byte, x, y, slot int, samples *[256]uint64) {
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
			if t.swaps() {
				raster.SwapBytes(dst, src)
			} else {
				copy(dst, src)
			}
		case samples != nil:
			t.unpack(m.Pix[at:at+cols], src, samples)
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
	whiteIsZero, swaps := t.photometric == tiffWhiteIsZero, t.swaps()
	var acc uint32
	var have, next int
	for range cols {
		for _, slot := range slots {
			var v uint32
			if t.bits == 16 {
				v = uint32(binary.LittleEndian.Uint16(src[next:]))
				if swaps {
					v = v>>8 | v&0xff<<8
				}
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

// unpack fills dst with the samples of 1, 2 or 4 bits of a row of one channel.
func (t *tiffPage) unpack(dst, src []byte, samples *[256]uint64) {
	switch t.bits {
	case 1:
		for ; len(dst) >= 8; dst, src = dst[8:], src[1:] {
			binary.LittleEndian.PutUint64(dst, samples[src[0]])
		}
	case 2:
		for ; len(dst) >= 4; dst, src = dst[4:], src[1:] {
			binary.LittleEndian.PutUint32(dst, uint32(samples[src[0]]))
		}
	case 4:
		for ; len(dst) >= 8; dst, src = dst[8:], src[4:] {
			v := binary.LittleEndian.Uint32(src)
			low := samples[byte(v)] | samples[byte(v>>8)]<<16
			binary.LittleEndian.PutUint64(dst, low|samples[byte(v>>16)]<<32|samples[byte(v>>24)]<<48)
		}
		for ; len(dst) >= 2; dst, src = dst[2:], src[1:] {
			binary.LittleEndian.PutUint16(dst, uint16(samples[src[0]]))
		}
	}
	if len(dst) > 0 {
		last := samples[src[0]]
		for i := range dst {
			dst[i] = byte(last >> (8 * i))
		}
	}
}

// samplesOfBytes makes the table for unpack, for pages of one channel that are large enough.
func (t *tiffPage) samplesOfBytes(into *raster.Image) *[256]uint64 {
	const large = 4096 // pixels
	if t.bits >= 8 || 8%t.bits != 0 || t.samples != 1 || t.width*t.height < large {
		return nil
	}
	table := new([256]uint64)
	m := *into
	for v := range table {
		var samples [8]byte
		m.Pix = samples[:]
		t.placeRow(&m, []byte{byte(v)}, 0, 8/t.bits, []int{0})
		table[v] = binary.LittleEndian.Uint64(samples[:])
	}
	return table
}
