package pcwt

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
)

// A bucket of a table has the token of its first slot, and the starts behind it lead to those of the others.
func TestBuckets(t *testing.T) {
	for _, fast := range []bool{false, true} {
		count := constants.TableCount
		if fast {
			count = constants.Contexts
		}
		for n := range 3 {
			s := constants.Format(n, fast)
			d := makeDeviceSet(s)
			for table := range count {
				starts := d.Starts[table*startStride:][:startStride]
				token, start := 0, 0
				for slot := range 1 << constants.Bits {
					for slot >= start+int(s.Tables[table][token]) {
						start += int(s.Tables[table][token])
						token++
					}
					bucket := table<<(constants.Bits-logBucketSlots) + slot>>logBucketSlots
					found := int(d.Firsts[bucket])
					if slot&(1<<logBucketSlots-1) == 0 && found != token {
						t.Fatalf("set %d, fast %t, table %d, slot %d: first token %d, not %d", n, fast, table, slot, found, token)
					}
					for slot >= int(starts[found+1]) {
						found++
					}
					if found != token || int(starts[found]) != start {
						t.Fatalf("set %d, fast %t, table %d, slot %d: token %d from %d, not %d from %d", n, fast, table, slot, found, starts[found], token, start)
					}
				}
			}
		}
	}
}
