package imageio

import "encoding/binary"

// lzwStrings are the strings of the codes of LZW in TIFF (TIFF 6.0, section 13). A new code stands for the string of
// the code before it and one byte more, and both follow one another in what is decoded: the string of each code is
// kept as its place there.
type lzwStrings struct {
	start  [lzwCodes]uint32
	length [lzwCodes]uint16
}

const (
	lzwCodes = 1 << 12
	lzwClear = 256
	lzwEnd   = 257
)

// unpack fills dst, and returns false where it does not know the form of the data, or they are damaged or too short.
// What follows the last byte is not looked at.
func (z *lzwStrings) unpack(dst, src []byte) bool {
	next, width := lzwEnd+1, uint(9)
	from, pos := -1, 0 // of the string before, -1 where there is none, and of the next
	var acc uint64     // the next bits, from the highest on
	var have uint
	for pos < len(dst) {
		if have < width {
			if len(src) >= 4 {
				acc |= uint64(binary.BigEndian.Uint32(src)) << (32 - have)
				src, have = src[4:], have+32
			} else {
				for ; len(src) > 0 && have <= 56; src, have = src[1:], have+8 {
					acc |= uint64(src[0]) << (56 - have)
				}
				if have < width {
					return false
				}
			}
		}
		code := int(acc >> (64 - width))
		acc <<= width
		have -= width
		if code == lzwClear {
			next, width, from = lzwEnd+1, 9, -1
			continue
		}
		// A table that is full ends with a clear code; there are no strings of which one does not know the byte before.
		if code == lzwEnd || code > next || code == next && from < 0 || next+1 >= lzwCodes {
			return false
		}
		if from >= 0 {
			// The code that is read may be the one that is made here.
			z.start[next], z.length[next] = uint32(from), uint16(min(pos-from+1, 1<<16-1))
			next++
		}
		// Codes grow one code earlier than they need to.
		if next+1 >= 1<<width && width < 12 {
			width++
		}
		from = pos
		if code < lzwClear {
			dst[pos] = byte(code)
			pos++
			continue
		}
		n := min(int(z.length[code]), len(dst)-pos)
		at := int(z.start[code])
		if at+n <= pos && pos+n+8 <= len(dst) {
			for i := 0; i < n; i += 8 {
				binary.LittleEndian.PutUint64(dst[pos+i:], binary.LittleEndian.Uint64(dst[at+i:]))
			}
		} else {
			for i := range n {
				dst[pos+i] = dst[at+i]
			}
		}
		pos += n
	}
	return true
}
