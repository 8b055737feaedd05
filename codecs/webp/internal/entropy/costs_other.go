//go:build !amd64

package entropy

import "github.com/pelmill/pelmill/codecs/webp/internal/bitstream"

var wide = false

func wideCosts([]uint32, []uint16) bool { return false }

func costsByLength(costs []uint16, lengths []uint8, by *[bitstream.MaxCodeLength + 1]uint16) {
	costsByLengthGo(costs, lengths, by)
}
