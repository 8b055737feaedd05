package scheduler

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestSortGivesPairsInOrderAndEqualKeysAsAdded(t *testing.T) {
	for _, n := range []int{0, 1, 2, 999, 20_000} {
		for _, memory := range []int{1, 2000, 1 << 20} {
			if memory == 1 && n > 999 {
				continue // a run a pair: the cascade is tested with 999 already
			}
			t.Run(fmt.Sprintf("%d pairs in %d bytes", n, memory), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(uint64(n), 1))
				s := sorter{memory: memory}
				defer s.close()
				for i := range n {
					key := fmt.Appendf(nil, "key %d", rnd.IntN(n/2+1))
					if err := s.add(key, binary.BigEndian.AppendUint32(nil, uint32(i))); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 { // as often as asked
					in, err := s.sorted()
					if err != nil {
						t.Fatal(err)
					}
					last, lastValue, count := "", uint32(0), 0
					for {
						p, ok, err := in.next()
						if err != nil {
							t.Fatal(err)
						}
						if !ok {
							break
						}
						v := binary.BigEndian.Uint32(p.value)
						if string(p.key) < last || string(p.key) == last && count > 0 && v <= lastValue {
							t.Fatalf("%q %d after %q %d", p.key, v, last, lastValue)
						}
						last, lastValue = string(p.key), v
						count++
					}
					if count != n {
						t.Fatalf("%d pairs, want %d", count, n)
					}
				}
			})
		}
	}
}
