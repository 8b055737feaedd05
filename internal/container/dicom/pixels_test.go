package dicom

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Samples of any depth are looked at one by one, and the words of eight bytes give the same answer, also for the
// least change beyond what BitsStored has room for and at every place.
func TestExtendedLooksAtEverySample(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, allocated := range []int{8, 16} {
		for stored := 1; stored <= allocated; stored++ {
			for _, signed := range []bool{false, true} {
				m := Image{Allocated: allocated, Stored: stored, Signed: signed}
				size, free := allocated/8, allocated-stored
				for range 200 {
					pix := make([]byte, size*(1+rng.IntN(13)))
					want := true
					for i := 0; i < len(pix); i += size {
						v := int16(rng.Uint32()) << (16 - stored)
						if v >>= 16 - stored; !signed {
							v = int16(uint16(v) & (1<<stored - 1))
						}
						if rng.IntN(8) == 0 {
							v ^= 1 << rng.IntN(allocated)
						}
						if size == 1 {
							pix[i] = byte(v)
							want = want && (signed && int8(pix[i])<<free>>free == int8(pix[i]) || !signed && pix[i]<<free>>free == pix[i])
							continue
						}
						binary.LittleEndian.PutUint16(pix[i:], uint16(v))
						want = want && (signed && v<<free>>free == v || !signed && uint16(v)<<free>>free == uint16(v))
					}
					if got := m.extended(pix); got != want {
						t.Fatalf("%d of %d bits, signed %t, %x: %t", stored, allocated, signed, pix, got)
					}
				}
			}
		}
	}
}
