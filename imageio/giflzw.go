package imageio

// gifLZW undoes the compression of GIF (GIF89a specification, appendix F). The
// decoder of the standard library takes no codes of 2 bits, and refuses frames with
// data behind the last pixel, which giflib and browsers skip.
type gifLZW struct {
	prefix [gifCodes]uint16 // of the string of a code, all but the last index
	length [gifCodes]uint16 // of that string
	first  [gifCodes]byte
	last   [gifCodes]byte
}

const (
	gifCodeBits = 12
	gifCodes    = 1 << gifCodeBits
)

// decode fills dst from the blocks of data, which start at an offset. size is the
// number of bits of an index, 1 to 8.
func (z *gifLZW) decode(dst, data []byte, at, size int) error {
	clearCode := 1 << size
	end := clearCode + 1
	for i := range clearCode {
		z.length[i], z.first[i], z.last[i] = 1, byte(i), byte(i)
	}
	next, width, previous := end+1, size+1, -1
	var bits uint32
	var have int
	block := 0 // bytes left of the block
	for pos := 0; pos < len(dst); {
		for have < width {
			if block == 0 {
				if at >= len(data) || data[at] == 0 {
					return cutShort("gif")
				}
				block = int(data[at])
				at++
			}
			if at >= len(data) {
				return cutShort("gif")
			}
			bits |= uint32(data[at]) << have
			have += 8
			at++
			block--
		}
		code := int(bits & (1<<width - 1))
		bits >>= width
		have -= width
		switch {
		case code == clearCode:
			next, width, previous = end+1, size+1, -1
			continue
		case code == end:
			return cutShort("gif")
		case code > next || code == next && (previous < 0 || next == gifCodes) || code > end && previous < 0:
			return rejected("gif", "its compressed data are damaged")
		}
		if previous >= 0 && next < gifCodes {
			// The code that is read may be the one that is made here.
			z.prefix[next], z.length[next], z.first[next] = uint16(previous), z.length[previous]+1, z.first[previous]
			z.last[next] = z.first[previous]
			if code < next {
				z.last[next] = z.first[code]
			}
			next++
		}
		if next == 1<<width && width < gifCodeBits {
			width++
		}
		pos = z.write(dst, pos, code)
		previous = code
	}
	return nil
}

// write puts the string of a code at pos, as far as it fits, and returns where it
// ends.
func (z *gifLZW) write(dst []byte, pos, code int) int {
	n := int(z.length[code])
	for i := pos + n - 1; i >= pos; i-- {
		if i < len(dst) {
			dst[i] = z.last[code]
		}
		code = int(z.prefix[code])
	}
	return min(pos+n, len(dst))
}
