package pcwt

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
)

// The CRC of parts that goroutines compute is that of the whole.
func TestCRC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 5*crcSpan+9)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for _, n := range []int{0, 1, 2*crcSpan - 1, 2 * crcSpan, 2*crcSpan + 1, 3*crcSpan - 1, len(data)} {
		if got, want := crc(pool.Of(3), data[:n]), crc32.Checksum(data[:n], castagnoli); got != want {
			t.Errorf("%d bytes: %08x, want %08x", n, got, want)
		}
	}
}
