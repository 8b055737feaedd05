package tile

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
)

// randomBands are coefficients of a level, and the level: small, large, and such that do not fit in 16 bits.
func randomBands(r *rand.Rand, w, h, kind int) (*Bands, *model.Level) {
	l := model.NewLevel(w, h)
	for i := range l.LL {
		l.LL[i] = int16(r.IntN(256))
	}
	q := wavelet.Quarter(wavelet.NewPlane[int32](w, h), 0, 0)
	bands := &Bands{q.HL, q.LH, q.HH}
	for b := range bands {
		for y := range bands[b].Height {
			row := bands[b].Row(y)
			for x := range row {
				switch kind {
				case 0:
					row[x] = int32(r.NormFloat64() * 3)
				case 1:
					row[x] = int32(r.NormFloat64()*200) >> r.IntN(8)
				case 2:
					row[x] = int32(r.Uint32()) >> (8 + r.IntN(24))
				}
				l.Bands[b].C[y*l.Bands[b].W+x] = model.Saturate(row[x])
			}
		}
	}
	return bands, l
}

// TestKernels compares files and coefficients of the kernels with those of Go: all numbers of lanes, sides and widths.
func TestKernels(t *testing.T) {
	if !hasVectors {
		t.Skip("no AVX2")
	}
	defer func() { hasVectors = true }()
	r := rand.New(rand.NewPCG(5, 6))
	rounds := 60
	if testing.Short() {
		rounds = 24
	}
	for round := range rounds {
		side := 64 << (round / 8 % 3)
		w, h := 2+r.IntN(2*side), 2+r.IntN(100)
		if round%5 == 0 {
			w = 2 * side
		}
		p := &Params{Tables: FormatTables(0, round%3 == 1), Lanes: 1 << (round % 6), Qmin: uint(max(0, r.IntN(6)-3))}
		for i := range p.Offsets {
			p.Offsets[i] = int8(r.IntN(9) - 4)
		}
		level := 1 + r.IntN(4)
		indices, own := randomBands(r, w, h, round%4)
		if p.Qmin > 0 {
			for b, plane := range indices {
				for y := range plane.Height {
					for x, v := range plane.Row(y) {
						own.Bands[b].C[y*plane.Width+x] = model.Saturate(Dequantize(v>>p.Qmin, p.Qmin))
						plane.Row(y)[x] = v >> p.Qmin
					}
				}
			}
		}
		n := &model.Neighbours{Own: own}
		k := NewCoder(side)
		hasVectors = false
		body, length := k.Encode(p, n, 0, 0, level, indices)
		want := slices.Clone(body)
		residuals := slices.Clone(own.Bands[0].E)
		hasVectors = true
		k = NewCoder(side)
		got, gotLength := k.Encode(p, n, 0, 0, level, indices)
		if !slices.Equal(got, want) || length != gotLength || !slices.Equal(own.Bands[0].E, residuals) {
			t.Fatalf("round %d: %dx%d, %d lanes: kernels write %d words, Go %d", round, w, h, p.Lanes, len(got), len(want))
		}
		for _, vectors := range []bool{false, true} {
			hasVectors = vectors
			back, level2 := randomBands(r, w, h, 3)
			level2.LL = own.LL
			k := NewCoder(side)
			data := make([]byte, 2*len(want))
			for i, v := range want {
				data[2*i], data[2*i+1] = byte(v), byte(v>>8)
			}
			if whole, _ := k.Decode(p, k.Words(data), length&1 != 0, &model.Neighbours{Own: level2}, 0, 0, level, back); !whole {
				t.Fatalf("round %d: kernels %t: a whole tile is refused", round, vectors)
			}
			for b := range back {
				for y := range back[b].Height {
					for x, v := range back[b].Row(y) {
						if x < side && y < side && v != Dequantize(indices[b].Row(y)[x], p.Qmin) {
							t.Fatalf("round %d: kernels %t: %dx%d, %d lanes: band %d has %d at %d,%d, want %d", round, vectors, w, h, p.Lanes, b, v, x, y, indices[b].Row(y)[x])
						}
					}
				}
			}
			// Damage is found both ways, and without reading or writing elsewhere.
			if length > 0 && length&1 == 0 {
				words := k.Words(data)
				words[r.IntN(len(words))] ^= 1 << r.IntN(16)
				if whole, _ := k.Decode(p, words, false, &model.Neighbours{Own: level2}, 0, 0, level, back); whole {
					t.Logf("round %d: kernels %t: a damaged tile ends as it should", round, vectors)
				}
				if whole, _ := k.Decode(p, k.Words(data[:2*(len(want)-len(want)/3)]), false, &model.Neighbours{Own: level2}, 0, 0, level, back); whole {
					t.Errorf("round %d: kernels %t: a tile that is cut short is whole", round, vectors)
				}
			}
		}
	}
}

// coded are the symbols of a half row whose tokens all come from one table.
func coded(tokens []uint8, table int) *symbols {
	s := newSymbols(64)
	for i, token := range tokens {
		s.entries[i] = uint32(table*constants.Tokens) + uint32(token)
	}
	s.n = len(tokens)
	s.halves = append(s.halves, halfSymbols{count: s.n})
	return s
}

// Streams give their tokens back and end with all states at the least and no word left: also tokens of the least
// frequency, one that has all of the others', and so many of one that it takes next to nothing.
func TestRANS(t *testing.T) {
	set := *constants.Format(0, true)
	// Table 0 is as uneven as can be: token 0 has all but one slot of each other.
	for i := range set.Tables[0] {
		set.Tables[0][i] = 1
	}
	set.Tables[0][0] = 1<<constants.Bits - constants.Tokens + 1
	tables := NewTables(&set)
	r := rand.New(rand.NewPCG(1, 1))
	const direct = lastDirect + 1
	kinds := map[string]func(i int) uint8{
		"one symbol": func(int) uint8 { return 0 },
		"rarest":     func(i int) uint8 { return uint8(1 + i%(direct-1)) },
		"random":     func(int) uint8 { return uint8(r.IntN(direct)) },
		"rare":       func(int) uint8 { return uint8(max(0, r.IntN(40)-39) * r.IntN(direct)) },
	}
	defer func(v bool) { hasVectors = v }(hasVectors)
	vectors := []bool{false, hasVectors}
	for name, token := range kinds {
		for _, lanes := range []int{1, 2, 4, 8, 16, 32} {
			for _, n := range []int{1, 7, 8, 9, 31, 32, 128} {
				for _, hasVectors = range vectors {
					tokens := make([]uint8, n)
					for i := range tokens {
						tokens[i] = token(i)
					}
					var e encoder
					words := make([]uint16, 3*n+2*maxLanes)
					e.start(words)
					s := coded(tokens, 0)
					e.tile(s, lanes, tables.encode())
					body := make([]uint16, 2*lanes, 2*lanes+len(words)-e.at+wordsAfter(n))
					for i, x := range e.states[:lanes] {
						body[2*i], body[2*i+1] = uint16(x), uint16(x>>16)
					}
					body = append(body, words[e.at:]...)
					var d decoder
					if !d.start(body, lanes) {
						t.Fatal("no states")
					}
					zeros := func() []int32 { return make([]int32, n+model.Beyond) }
					m := &model.Tile{Predictions: zeros(), Fractions: zeros(), Contexts: zeros()}
					cells := make([]int16, n+model.Beyond)
					h := decodedHalf{count: n, values: zeros(), c: cells, e: cells, m: cells}
					d.half(&h, m, 0, lanes, tables.decode())
					for i, token := range tokens {
						if want := model.Residual(token, 0, 0, 0); h.values[i] != want {
							t.Fatalf("%s, %d lanes, %d symbols, kernels %t: symbol %d is %d, want %d", name, lanes, n, hasVectors, i, h.values[i], want)
						}
					}
					if !d.whole(lanes) {
						t.Fatalf("%s, %d lanes, %d symbols, kernels %t: the stream does not end as it began", name, lanes, n, hasVectors)
					}
					if name == "one symbol" && len(body) > 2*lanes+1+n/16 {
						t.Errorf("%d lanes: %d symbols that are nearly certain take %d words", lanes, n, len(body)-2*lanes)
					}
					for _, wrong := range [][]uint16{body[: len(body)-1 : cap(body)], append(slices.Clone(body), 0)} {
						var d decoder
						if d.start(wrong, lanes) {
							d.half(&h, m, 0, lanes, tables.decode())
							if d.whole(lanes) {
								t.Errorf("%s, %d lanes: a stream of another length is whole", name, lanes)
							}
						}
					}
				}
			}
		}
	}
}

// Random words in place of a body: kernels and Go find the same in them, also with states that no encoder writes, with many raw bits, and at
// the end of the words.
func TestRandomWords(t *testing.T) {
	if !hasVectors {
		t.Skip("no AVX2")
	}
	defer func() { hasVectors = true }()
	r := rand.New(rand.NewPCG(7, 8))
	tables := FormatTables(0, false).decode()
	for round := range 3000 {
		n, lanes := 1+r.IntN(128), 1<<r.IntN(6)
		numbers := func(f func() int) []int32 {
			out := make([]int32, n+model.Beyond)
			for i := range out {
				out[i] = int32(f())
			}
			return out
		}
		largest := []int{44, 60, 100}[round%3]
		contexts := numbers(func() int { return r.IntN(largest) })
		fractions := numbers(func() int { return r.IntN(4096) - 2048 })
		predictions := numbers(func() int { return r.IntN(2*model.MaxPrediction) - model.MaxPrediction })
		words := make([]uint16, 2*lanes+r.IntN(4*n), 2*lanes+5*n+1)
		for i := range words {
			if words[i] = uint16(r.Uint32()); round%4 == 0 && r.IntN(3) == 0 {
				words[i] = 0
			}
		}
		offset := int32(r.IntN(33) - 16)
		type result struct {
			values  []int32
			c, e, m []int16
			wide    bool
			states  [maxLanes]uint32
			at      int
		}
		var results [2]result
		for i, vectors := range []bool{false, true} {
			hasVectors = vectors
			var d decoder
			d.start(words, lanes)
			cells := func() []int16 { return make([]int16, n+model.Beyond) }
			h := decodedHalf{count: n, values: make([]int32, n+model.Beyond), c: cells(), e: cells(), m: cells()}
			m := &model.Tile{Predictions: predictions, Fractions: fractions, Contexts: slices.Clone(contexts)}
			d.half(&h, m, offset, lanes, tables)
			results[i] = result{h.values[:n], h.c[:n], h.e[:n], h.m[:n], h.wide != 0, d.states, d.at}
		}
		if got, want := results[1], results[0]; !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d, %d coefficients, %d lanes: kernels find\n%v, Go\n%v", round, n, lanes, got, want)
		}
	}
}
