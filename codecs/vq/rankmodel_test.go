package vq

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// The model codes the same bytes with vector instructions and without, and reads them
// back, for ranks of all lengths, for contexts that were never seen and for those in which
// every estimate and weight has come to its end.
func TestRankModel(t *testing.T) {
	if !vectorRanks {
		t.Log("this machine has not the vector instructions: one way only")
	}
	for _, n := range []int{1, 2, 3, 64, 255, 256, 257, 512, 4096} {
		for _, kind := range []string{"any", "lowest", "highest", "even lengths", "turning"} {
			t.Run(fmt.Sprintf("n=%d/%s", n, kind), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(n), 3))
				type block struct {
					rank, activity, mismatch, best int
					around                         [4]uint8
				}
				blocks := make([]block, 5000)
				for i := range blocks {
					b := &blocks[i]
					switch kind {
					case "any":
						b.rank = r.IntN(n)
					case "highest":
						b.rank = n - 1
					case "even lengths":
						b.rank = min(n-1, 1<<r.IntN(bits.Len(uint(n)))-1+r.IntN(2))
					case "turning":
						b.rank = i / 1000 % 2 * (n - 1)
					}
					if kind == "any" || kind == "even lengths" {
						b.activity, b.mismatch, b.best = r.IntN(activities), r.IntN(mismatches-1), r.IntN(min(n, bests))
						for j := range b.around {
							b.around[j] = uint8(r.IntN(indexBits + 1))
						}
					}
				}
				enter := func(m *rankModel, b block) {
					m.find(&m.contexts, b.activity, b.mismatch, b.best, b.around[0], b.around[1], b.around[2], b.around[3])
				}
				var coded [2][]byte
				for i := range coded {
					e, m := newRangeEncoder(nil), newRankModel(n)
					m.vectors = m.vectors && i == 0
					for _, b := range blocks {
						enter(m, b)
						m.encode(e, b.rank)
					}
					coded[i] = e.finish()
					rankModels.Put(m)
				}
				if !bytes.Equal(coded[0], coded[1]) {
					t.Fatalf("%d bytes with vector instructions differ from %d without", len(coded[0]), len(coded[1]))
				}
				for i := range coded {
					d, m := newRangeDecoder(coded[1-i]), newRankModel(n)
					m.vectors = m.vectors && i == 0
					for j, b := range blocks {
						enter(m, b)
						if got := m.decode(d); got != b.rank {
							t.Fatalf("rank %d is %d, want %d", j, got, b.rank)
						}
					}
					rankModels.Put(m)
					if !d.exact() {
						t.Errorf("%d bytes used of %d", d.pos, len(coded[0]))
					}
				}
			})
		}
	}
}

// A model that was used before is a new one in every context after resetAll.
func TestResetAll(t *testing.T) {
	for _, n := range []int{2, 64, 256, 257, 4096} {
		m := newRankModel(n)
		for c := range m.estimates {
			for g := range m.estimates[c] {
				m.estimates[c][g] = estimates{}
			}
		}
		m.resetAll()
		for c := range m.estimates {
			for g := range m.groups {
				if m.estimates[c][g] != firstEstimates {
					t.Fatalf("%d codewords, context %d: the estimates of group %d are those of before", n, c, g)
				}
			}
			if m.stamps[c] != m.stamp {
				t.Fatalf("%d codewords, context %d: it is not of this model", n, c)
			}
		}
		rankModels.Put(m)
	}
}
