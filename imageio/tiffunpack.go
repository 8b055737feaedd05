package imageio

import (
	"encoding/binary"
	"io"
	"math/bits"

	"github.com/pelmill/pelmill/raster"
)

// unpackBits undoes PackBits (TIFF 6.0, section 9): a byte n of 0 to 127 is
// followed by n+1 bytes as they are, one of -127 to -1 by a byte to repeat 1-n
// times.
func unpackBits(dst, src []byte) error {
	const short = 16 // bytes that are moved sooner than a call moves them
	for pos, at := 0, 0; pos < len(dst); {
		if len(src)-at < 2 {
			return io.ErrUnexpectedEOF
		}
		n := int(int8(src[at]))
		at++
		switch {
		case n >= 0:
			n = min(n+1, len(dst)-pos)
			if n > len(src)-at {
				return io.ErrUnexpectedEOF
			}
			if n <= short && len(dst)-pos >= short && len(src)-at >= short {
				// What is written behind the bytes is written over later.
				*(*[short]byte)(dst[pos:]) = *(*[short]byte)(src[at:])
			} else {
				copy(dst[pos:pos+n], src[at:])
			}
			pos, at = pos+n, at+n
		case n != -128:
			n = min(1-n, len(dst)-pos)
			run := uint64(src[at]) * 0x0101010101010101
			at++
			if len(dst)-pos >= n+8 {
				for i := pos; i < pos+n; i += 8 {
					binary.LittleEndian.PutUint64(dst[i:], run)
				}
			} else {
				for i := range dst[pos : pos+n] {
					dst[pos+i] = byte(run)
				}
			}
			pos += n
		}
	}
	return nil
}

// reverseBits turns the bits of every byte.
func reverseBits(p []byte) {
	for ; len(p) >= 8; p = p[8:] {
		const one, two, four = 0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f
		v := binary.LittleEndian.Uint64(p)
		v = v>>1&one | v&one<<1
		v = v>>2&two | v&two<<2
		binary.LittleEndian.PutUint64(p, v>>4&four|v&four<<4)
	}
	for i, v := range p {
		p[i] = bits.Reverse8(v)
	}
}

// addLeft undoes horizontal differencing (TIFF 6.0, section 14).
func (t *tiffPage) addLeft(block []byte) {
	n := t.perBlock()
	stride := t.rowBytes()
	if t.swaps() {
		raster.SwapBytes(block, block)
		defer raster.SwapBytes(block, block)
	}
	for ; len(block) >= stride; block = block[stride:] {
		row := block[:stride]
		if t.bits == 8 {
			addBytes(row, n)
			continue
		}
		if n == 3 || n == 4 {
			row = addWords(row, n)
		}
		for i := 2 * n; i+1 < len(row); i += 2 {
			binary.LittleEndian.PutUint16(row[i:], binary.LittleEndian.Uint16(row[i:])+binary.LittleEndian.Uint16(row[i-2*n:]))
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
