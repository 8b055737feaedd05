package vardct

import (
	"cmp"
	mathbits "math/bits"
	"slices"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/entropy"
	"github.com/pelmill/pelmill/codecs/pool"
)

// fewBlocks is the number of blocks of a plane below which the order of the standard
// stays: another one costs some 40 bytes.
const fewBlocks = 1 << 10

// chooseOrders chooses the order of coefficients of each plane: those come first that are
// most often not zero, so that blocks end early.
func (e *encoder) chooseOrders() {
	e.order = standardOrders()
	for c := range e.planes {
		p := &e.planes[c]
		if p.Component == nil || p.Wide*p.High < fewBlocks {
			continue
		}
		counts := p.usedCoefficients(e)
		v := e.moves(c)
		slices.SortStableFunc(v[1:], func(a, b uint8) int {
			return cmp.Compare(counts[transposed[b]], counts[transposed[a]])
		})
		for i := range v {
			e.order[c][i] = transposed[v[i]]
		}
		e.custom = true
	}
}

// usedCoefficients counts in some of the blocks of a plane how often each coefficient is
// not zero, in steps of 1/256 of the blocks: smaller differences are not worth an exchange.
func (p *plane) usedCoefficients(e *encoder) (counts [64]int) {
	blocks := 0
	for i := 0; i < len(p.Blocks); i += 3 {
		for m := p.Blocks[i].Mask; m != 0; m &= m - 1 {
			counts[mathbits.TrailingZeros64(m)]++
		}
		blocks++
	}
	for k := range counts {
		counts[k] = counts[k] * 256 / blocks
	}
	return counts
}

// moves is the order of a plane as a permutation of that of the standard.
func (e *encoder) moves(c int) (v [64]uint8) {
	for i, place := range e.order[c] {
		v[i] = uint8(slices.Index(transposed[:], place))
	}
	return v
}

// writeOrders writes the orders of 8 x 8 blocks where one is not that of the standard.
func (e *encoder) writeOrders(w *bits.Writer) {
	if !e.custom {
		w.U32(&orderField, 0)
		return
	}
	w.U32(&orderField, 1)
	var tokens []entropy.Token
	for c := range e.planes {
		v := e.moves(c)
		tokens = appendPermutation(tokens, v[:], 1)
	}
	code := entropy.NewCode(pool.Of(1), nil, permutationContexts, tokens)
	code.WriteHeader(w)
	code.WriteTokens(w, tokens)
}

// appendPermutation is the inverse of readPermutation (F.3.2).
func appendPermutation(tokens []entropy.Token, v []uint8, skip int) []entropy.Token {
	code := make([]uint32, len(v))
	end := skip
	for i := range v {
		for _, later := range v[i+1:] {
			if later < v[i] {
				code[i]++
			}
		}
		if code[i] > 0 {
			end = i + 1
		}
	}
	tokens = append(tokens, entropy.MakeToken(permutationContext(uint32(len(v))), uint32(end-skip)))
	last := uint32(0)
	for _, n := range code[skip:end] {
		tokens = append(tokens, entropy.MakeToken(permutationContext(last), n))
		last = n
	}
	return tokens
}
