package gif

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container"
)

// lzw undoes the compression of GIF (GIF89a specification, appendix F). The decoder
// of the standard library takes no indices of 1 bit.
//
// A new code stands for the string of the code before it and one index more, and
// both follow one another in what is decoded: the string of each code is kept as
// its place there.
type lzw struct {
	start  [maxCodes]uint32 // of the string of a code, above the end code
	length [maxCodes]uint16 // of that string
}

const (
	maxCodeBits = 12
	maxCodes    = 1 << maxCodeBits
)

var errDamaged = container.Malformed("its compressed data are damaged")

// decode fills dst from sub-blocks, which end with an empty one. size is the number
// of bits of an index, 1 to 8. giflib and browsers skip what follows the last pixel,
// and a strict decoder takes only what may follow it: the end, said or not.
func (z *lzw) decode(dst, blocks []byte, size int, mode container.Mode) error {
	clearCode := 1 << size
	end := clearCode + 1
	next, width := end+1, size+1
	r := bitReader{rest: blocks}
	from, pos := -1, 0 // of the string before, -1 where there is none, and of the next
	for pos < len(dst) {
		code, ok := r.read(width)
		switch {
		case !ok || code == end:
			return container.ErrCutShort
		case code == clearCode:
			next, width, from = end+1, size+1, -1
			continue
		case code > next || code == next && (from < 0 || next == maxCodes):
			return errDamaged
		}
		if from >= 0 && next < maxCodes {
			// The code that is read may be the one that is made here.
			z.start[next], z.length[next] = uint32(from), uint16(pos-from+1)
			next++
		}
		if next == 1<<width && width < maxCodeBits {
			width++
		}
		from = pos
		if code < clearCode {
			dst[pos] = byte(code)
			pos++
			continue
		}
		n := int(z.length[code])
		if n > len(dst)-pos {
			if mode == container.Strict {
				return errBehind
			}
			n = len(dst) - pos
		}
		repeat(dst, pos, int(z.start[code]), n)
		pos += n
	}
	if mode == container.Strict {
		return r.ends(width, size)
	}
	return nil
}

// repeat puts the n bytes from a place in dst at pos. Those of the last code that
// was made end with the first byte that is put there.
func repeat(dst []byte, pos, from, n int) {
	const short = 16 // bytes that a loop moves sooner than a call
	if from+n <= pos {
		if n > short || pos+short > len(dst) {
			copy(dst[pos:pos+n], dst[from:])
			return
		}
		// What is written behind the string is written over later.
		a, b := binary.LittleEndian.Uint64(dst[from:]), binary.LittleEndian.Uint64(dst[from+8:])
		binary.LittleEndian.PutUint64(dst[pos:], a)
		binary.LittleEndian.PutUint64(dst[pos+8:], b)
		return
	}
	src, to := dst[from:from+n], dst[pos:pos+n]
	for i := range to {
		to[i] = src[i]
	}
}

// ends reports what follows the last pixel: nothing, or the end code, before which
// there may be a clear code.
func (r *bitReader) ends(width, size int) error {
	clearCode := 1 << size
	code, ok := r.read(width)
	if ok && code == clearCode {
		code, ok = r.read(size + 1)
	}
	if ok && code != clearCode+1 {
		return errBehind
	}
	return nil
}

var errBehind = container.Malformed("a frame has data behind its last pixel")

// bitReader reads numbers from sub-blocks, the lowest bit first.
type bitReader struct {
	rest  []byte // behind the sub-block at hand
	block []byte // the rest of the sub-block at hand
	bits  uint64
	have  int
}

// read returns the next number of up to 12 bits, and false at the end of the
// sub-blocks.
func (r *bitReader) read(width int) (int, bool) {
	for r.have < width {
		if len(r.block) == 0 {
			n := int(r.rest[0])
			if n == 0 {
				return 0, false
			}
			r.block, r.rest = r.rest[1:1+n], r.rest[1+n:]
		}
		if len(r.block) >= 4 {
			r.bits |= uint64(binary.LittleEndian.Uint32(r.block)) << r.have
			r.have += 32
			r.block = r.block[4:]
			continue
		}
		r.bits |= uint64(r.block[0]) << r.have
		r.have += 8
		r.block = r.block[1:]
	}
	code := int(r.bits & (1<<width - 1))
	r.bits >>= width
	r.have -= width
	return code, true
}
