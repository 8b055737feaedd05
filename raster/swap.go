package raster

import "encoding/binary"

// SwapBytes fills to with words of from, which is as long or longer, with their two bytes exchanged, and returns all
// words one over the other by OR. Both may be the same memory. A byte that is left over stays as it is.
func SwapBytes(to, from []byte) (all uint16) {
	from = from[:len(to)]
	done, all := swapBytes(to, from)
	to, from = to[done:], from[done:]
	var words uint64
	for ; len(from) >= 8; to, from = to[8:], from[8:] {
		const low = 0x00ff00ff00ff00ff
		v := binary.LittleEndian.Uint64(from)
		v = v>>8&low | v&low<<8
		words |= v
		binary.LittleEndian.PutUint64(to, v)
	}
	words |= words >> 32
	all |= uint16(words | words>>16)
	for i := 0; i+1 < len(from); i += 2 {
		v := binary.BigEndian.Uint16(from[i:])
		all |= v
		binary.LittleEndian.PutUint16(to[i:], v)
	}
	return all
}
