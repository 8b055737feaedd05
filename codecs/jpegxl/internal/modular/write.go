package modular

import (
	mathbits "math/bits"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/entropy"
	"github.com/pelmill/pelmill/codecs/pool"
)

// Tokens returns the residuals of a stream's channels with the tree.
func (t Tree) Tokens(stream int, channels []*Channel) []entropy.Token {
	n := 0
	for _, c := range channels {
		n += len(c.Samples)
	}
	tokens := make([]entropy.Token, 0, n+2*len(channels))
	for i, c := range channels {
		if c.Width*c.Height == 0 {
			continue
		}
		tree := t.static(i, stream)
		if tree[0].Property < 0 && tree[0].Predictor == PredictZero {
			tokens = appendPlain(tokens, tree[0].Context, c)
			continue
		}
		p := newPredictor(tree, &standardWeights, channels, i)
		for y := range c.Height {
			row := c.Samples[y*c.Width : (y+1)*c.Width]
			if p.rows {
				p.weightedRow(y, func(x int, leaf *Node, guess int32) int32 {
					v := row[x]
					tokens = append(tokens, entropy.MakeToken(leaf.Context, bits.Unsigned(v-guess)))
					return v
				})
				continue
			}
			p.row(y)
			for x, v := range row {
				leaf, guess := p.predict(x)
				tokens = append(tokens, entropy.MakeToken(leaf.Context, bits.Unsigned(v-int32(guess))))
				p.update(x, v)
			}
		}
	}
	return tokens
}

// appendPlain appends the tokens of a channel that nothing predicts.
func appendPlain(tokens []entropy.Token, context int, c *Channel) []entropy.Token {
	if c.Samples != nil {
		for _, v := range c.Samples {
			tokens = append(tokens, entropy.MakeToken(context, bits.Unsigned(v)))
		}
		return tokens
	}
	for left := c.Width * c.Height; left > 0; {
		n := min(left, entropy.MaxValue)
		tokens = append(tokens, entropy.MakeToken(context, 0))
		if n > 1 {
			tokens = append(tokens, entropy.Repeat(n-1))
		}
		left -= n
	}
	return tokens
}

// WriteTree writes a tree whose leaves have no offset and no multiplier.
func (t Tree) Write(w *bits.Writer) {
	var tokens []entropy.Token
	for _, n := range t {
		tokens = append(tokens, entropy.MakeToken(contextProperty, uint32(n.Property+1)))
		if n.Property >= 0 {
			tokens = append(tokens, entropy.MakeToken(contextSplit, bits.Unsigned(n.Split)))
			continue
		}
		m := max(1, n.Multiplier)
		log := mathbits.TrailingZeros32(uint32(m))
		tokens = append(tokens,
			entropy.MakeToken(contextPredictor, uint32(n.Predictor)),
			entropy.MakeToken(contextOffset, bits.Unsigned(n.Offset)),
			entropy.MakeToken(contextMultiplierLog, uint32(log)),
			entropy.MakeToken(contextMultiplierBits, uint32(m>>log-1)))
	}
	code := entropy.NewCode(pool.Of(1), nil, treeContexts, tokens)
	code.WriteHeader(w)
	code.WriteTokens(w, tokens)
}

// WriteHeader writes what stands before a stream: it uses the global tree and the
// standard parameters.
func WriteHeader(w *bits.Writer) {
	w.Bool(true)
	w.Bool(true)
	w.U32(&bits.Count, 0)
}

// Write writes a stream with a tree and distributions of its own.
func Write(w *bits.Writer, t Tree, channels []*Channel) {
	w.Bool(false)
	w.Bool(true)
	w.U32(&bits.Count, 0)
	t.Write(w)
	tokens := t.Tokens(0, channels)
	code := entropy.NewCode(pool.Of(1), nil, t.Contexts(), tokens)
	code.WriteHeader(w)
	code.WriteTokens(w, tokens)
}

// Decision is a tree while it is built.
type Decision struct {
	Property     int
	Split        int32
	Above, Below *Decision // nil: a leaf
	Predictor    int       // of a leaf
}

// Tree lays a decision and all below it out breadth first.
func (d *Decision) Tree() Tree {
	var t Tree
	list := []*Decision{d}
	leaves := 0
	for i := 0; i < len(list); i++ {
		d := list[i]
		if d.Above == nil {
			t = append(t, Node{Property: -1, Predictor: d.Predictor, Multiplier: 1, Context: leaves})
			leaves++
			continue
		}
		t = append(t, Node{Property: d.Property, Split: d.Split, Child: len(list)})
		list = append(list, d.Above, d.Below)
	}
	return t
}
