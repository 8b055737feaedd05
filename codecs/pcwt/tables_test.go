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
					starts, first := d.Tables[8*bucket:][:8], int(d.Tables[8*bucketCount+bucket])
					found, at := first, 0
					for k := range 3 {
						if from := int(little.Uint16(starts[2*k:])); k == 0 || slot >= from {
							found, at = first+k, from
						}
					}
					if slot >= int(little.Uint16(starts[6:])) {
						if found >= token {
							t.Fatalf("set %d, fast %t, table %d, slot %d: not token %d", n, fast, table, slot, token)
						}
					} else if found != token || at != start {
						t.Fatalf("set %d, fast %t, table %d, slot %d: token %d from %d, not %d from %d", n, fast, table, slot, found, at, token, start)
					}
				}
			}
		}
	}
}
