package bitplane

import (
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// Pair encodes two code-blocks at a time, see [mq.Pair], in less time than one after the other. Bytes are the same. Its
// zero value is not ready, see [NewPair].
type Pair struct {
	First, Second Encoder
	mq            *mq.Pair
}

// NewPair returns the working memory for two code-blocks.
func NewPair() *Pair {
	p := &Pair{mq: mq.NewPair()}
	p.First.mq, p.Second.mq = &p.mq.First, &p.mq.Second
	return p
}

// Block is a code-block that is to be encoded, see [Encoder.Encode].
type Block struct {
	Samples       []int32
	Stride        int
	Width, Height int
	Orientation   codestream.Orientation
}

// Encode encodes two blocks.
func (p *Pair) Encode(first, second Block, style codestream.BlockStyle) (Coded, Coded) {
	a := p.First.begin(first.Samples, first.Stride, 0, first.Width, first.Height, 1, first.Orientation, style)
	b := p.Second.begin(second.Samples, second.Stride, 0, second.Width, second.Height, 1, second.Orientation, style)
	// Raw bits do not wait for each other.
	for style&codestream.Bypass == 0 && a.more() && b.more() {
		n := min(len(a.rest), len(b.rest))
		p.mq.Encode(a.rest[:n], b.rest[:n])
		a.rest, b.rest = a.rest[n:], b.rest[n:]
	}
	a.finish()
	b.finish()
	return a.coded(), b.coded()
}
