package pcwt

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
)

// A bucket of a table has the first three tokens from a slot on, with what rANS needs of them.
func TestBuckets(t *testing.T) {
	for _, fast := range []bool{false, true} {
		logSlots, count := logBucketSlots, constants.TableCount
		if fast {
			logSlots, count = fastSlots, constants.Contexts
		}
		for n := range 3 {
			s := constants.Format(n, fast)
			d := makeDeviceSet(s)
			for table := range count {
				token, start := 0, 0
				for slot := range 1 << constants.Bits {
					for slot >= start+int(s.Tables[table][token]) {
						start += int(s.Tables[table][token])
						token++
					}
					bucket := table<<(constants.Bits-logSlots) + slot>>logSlots
					low, high := d.Buckets[2*bucket], d.Buckets[2*bucket+1]
					first, at := int(low>>28|high>>24&0x70), int(low&16383)
					for _, f := range []uint32{low >> 14 & 16383, high & 16383, high >> 14 & 16383} {
						if slot < at+int(f) {
							break
						}
						first, at = first+1, at+int(f)
					}
					if first < token && token < int(low>>28|high>>24&0x70)+3 || first > token || first == token && at != start {
						t.Fatalf("set %d, fast %t, table %d, slot %d: token %d from %d, not %d from %d", n, fast, table, slot, first, at, token, start)
					}
				}
			}
		}
	}
}
