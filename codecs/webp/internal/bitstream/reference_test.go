package bitstream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
)

// slowCodeLengths is CodeLengths with one list of all trees that are left, of which it joins
// the two lightest: of equal weights leaves first, by their symbols, and then nodes by age.
func slowCodeLengths(counts []uint32, most int) []uint8 {
	type tree struct {
		weight uint64
		age    int // symbols, then nodes
		leaves []int
	}
	lengths := make([]uint8, len(counts))
	var left []tree
	var sorted []uint64
	for s, c := range counts {
		if c > 0 {
			left = append(left, tree{uint64(c), s, []int{s}})
			sorted = append(sorted, uint64(c)<<12|uint64(s))
		}
	}
	if len(left) == 1 {
		lengths[left[0].age] = 1
	}
	for age := len(counts); len(left) > 1; age++ {
		slices.SortFunc(left, func(a, b tree) int {
			if a.weight != b.weight {
				return int(int64(a.weight) - int64(b.weight))
			}
			return a.age - b.age
		})
		joined := tree{left[0].weight + left[1].weight, age, slices.Concat(left[0].leaves, left[1].leaves)}
		for _, s := range joined.leaves {
			lengths[s]++
		}
		left = append(left[2:], joined)
	}
	if len(sorted) > 1 && int(slices.Max(lengths)) > most {
		slices.Sort(sorted)
		clear(lengths)
		limitedLengths(sorted, most, lengths)
	}
	return lengths
}

func TestCodeLengthsAreThoseOfTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for _, n := range []int{1, 2, 3, 7, 8, 9, 19, 23, 24, 25, 40, 256, 280} {
		for range codectest.Rounds(15) {
			counts := testCounts(r, n)
			for _, most := range []int{9, MaxCodeLength} {
				got, want := make([]uint8, n), slowCodeLengths(counts, most)
				for i := range got {
					got[i] = 77
				}
				shape := SetCodeLengths(got, counts, most)
				if !slices.Equal(got, want) {
					t.Fatalf("counts %v: lengths %v, want %v", counts, got, want)
				}
				wantShape := CodeShape{Longest: slices.Max(want)}
				for _, c := range counts {
					if wantShape.Sum += uint64(c); c > 0 {
						wantShape.Used++
					}
				}
				if shape != wantShape {
					t.Fatalf("counts %v: %+v, want %+v", counts, shape, wantShape)
				}
			}
		}
	}
}

// slowDescription is what describe chooses, by runs that are made for each try. It returns
// these and the bits.
func slowDescription(lengths []uint8) (best []run, bits int) {
	end := len(lengths)
	for end > 0 && lengths[end-1] == 0 {
		end--
	}
	try := func(list []run, n int) (meta [19]uint8) {
		var all tally
		for _, v := range list {
			all.add(v.symbol, 1)
		}
		var d description
		new(codeMemory).code(&d, &all, n < len(lengths))
		if best == nil || d.Bits < bits {
			best, bits = list, d.Bits
		}
		return d.meta
	}
	var plain []run
	for _, l := range lengths[:end] {
		plain = append(plain, run{symbol: l})
	}
	single := try(plain, end)
	for _, n := range []int{len(lengths), end} {
		for _, meta := range [][19]uint8{startLengths, single} {
			for range 2 {
				next := try(runs(nil, neighbours(make([]same, n), lengths[:n]), &meta), n)
				if next == meta {
					break
				}
				meta = next
			}
		}
		if end == len(lengths) {
			break
		}
	}
	return best, bits
}

func TestDescriptionsAreThoseOfTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 44))
	for _, n := range []int{19, 40, 256, 280, 280 + 2, 280 + 2048} {
		for range codectest.Rounds(300) {
			lengths := CodeLengths(testCounts(r, n), MaxCodeLength)
			d := describe(lengths)
			if d.simple > 0 {
				continue
			}
			want, bits := slowDescription(lengths)
			if got := d.list(new(codeMemory)); d.Bits != bits || d.runs != len(want) || !slices.Equal(got, want) {
				t.Fatalf("%v: %d bits by %v, want %d by %v", lengths, d.Bits, got, bits, want)
			}
		}
	}
}
