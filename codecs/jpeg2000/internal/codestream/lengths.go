package codestream

import (
	"encoding/binary"
	"slices"
)

// Lengths of tile-parts (TLM, A.7.1) and of packets (PLT, A.7.3).

const (
	// tlmSizes is Stlm of entries with the number of the tile in two bytes and the length of
	// the tile-part in four.
	tlmSizes = 0x60
	tlmEntry = 6
	tlmHead  = 2 + 2 + 2 // the marker, Ltlm, Ztlm and Stlm
	tlmMost  = (65535 - 4) / tlmEntry
)

// TileLengths is TLM in a codestream that is being written.
type TileLengths struct{ at int }

// AppendTLM appends TLM with room for n tile-parts, which [TileLengths.Set] fills in.
func AppendTLM(b []byte, n int) ([]byte, TileLengths) {
	at := TileLengths{len(b)}
	for index := byte(0); n > 0; index++ {
		some := min(n, tlmMost)
		b = appendSegment(b, TLM, func(b []byte) []byte { return append(append(b, index, tlmSizes), make([]byte, some*tlmEntry)...) })
		n -= some
	}
	return b, at
}

// Set says of tile-part i of the codestream b which tile it is of, and its length.
func (l TileLengths) Set(b []byte, i, tile, length int) {
	at := l.at + (i/tlmMost+1)*(tlmHead) + i*tlmEntry
	binary.BigEndian.PutUint16(b[at:], uint16(tile))
	binary.BigEndian.PutUint32(b[at+2:], uint32(length))
}

// pltMost are the bytes of lengths that a PLT has.
const pltMost = 65535 - 3

// AppendPLT appends PLT with the lengths of all packets of a tile-part. It appends none where
// they need more than the 256 marker segments that there can be.
func AppendPLT(b []byte, lengths []int) []byte {
	var segments [][]byte
	var body []byte
	for _, n := range lengths {
		var digits [10]byte // seven bits each, the highest first, all but the last marked
		at := len(digits) - 1
		digits[at] = byte(n & 127)
		for n >>= 7; n > 0; n >>= 7 {
			at--
			digits[at] = byte(n&127) | 128
		}
		if len(body)+len(digits)-at > pltMost {
			segments, body = append(segments, body), nil
		}
		body = append(body, digits[at:]...)
	}
	if segments = append(segments, body); len(segments) > 256 {
		return b
	}
	for i, s := range segments {
		b = appendSegment(b, PLT, func(b []byte) []byte { return append(append(b, byte(i)), s...) })
	}
	return b
}

// PacketLengths are the lengths of the packets of a tile, headers included, in the order of
// the codestream. It is nil where PLT does not have them all, and where they are not those of
// the tile-parts.
func (s *Stream) PacketLengths(t int) []int {
	parts := &s.tiles[t]
	if s.hasPPM {
		return nil
	}
	var all []int
	for i, body := range parts.bodies {
		var list packedHeaders
		for _, seg := range parts.markers[i] {
			if seg.marker == PPT || seg.marker == PLT && list.add(&seg) != nil {
				return nil
			}
		}
		lengths, ok := splitPLT(list.join(), len(body))
		if !ok {
			return nil
		}
		all = append(all, lengths...)
	}
	return all
}

// splitPLT reads lengths, which may go on in the next segment, of packets that have so many
// bytes together. A packet has a byte at least, as its header is in it.
func splitPLT(pieces [][]byte, bytes int) (lengths []int, ok bool) {
	n, open := 0, false
	for _, c := range slices.Concat(pieces...) {
		n, open = n<<7|int(c&127), c >= 128
		if n > bytes || n == 0 && !open {
			return nil, false
		}
		if !open {
			lengths = append(lengths, n)
			bytes -= n
			n = 0
		}
	}
	return lengths, bytes == 0 && !open
}
