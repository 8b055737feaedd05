package allocated

import "testing"

var sink []byte

func TestMoreThan(t *testing.T) {
	for _, most := range []uint64{10 << 10, 1 << 20, 4 << 20} {
		for _, size := range []int{8, 100, 1000, 10_000} {
			for _, test := range []struct {
				bytes uint64
				more  bool
				runs  int
			}{
				{most / 8, false, 1},
				{most - most/4, false, 2},
				{most + most/8 + 10_000, true, 2},
				{3 * most, true, 2},
			} {
				runs := 0
				took, more := MoreThan(most, func() {
					runs++
					for n := uint64(0); n+uint64(size) <= test.bytes; n += uint64(size) {
						sink = make([]byte, size)
					}
				})
				if more != test.more || runs > test.runs {
					t.Errorf("bound %d: %d bytes by %d: more %v, %d counted in %d runs", most, test.bytes, size, more, took, runs)
				}
			}
		}
	}
}
