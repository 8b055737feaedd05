package mq

import "slices"

// Encode codes decisions of both streams, as many of the one as of the other.
func (p *Pair) Encode(first, second []Symbol) {
	n := len(first)
	if !useAssembly || n == 0 || len(second) != n {
		p.encodeGo(first, second)
		return
	}
	p.First.room(n)
	p.Second.room(n)
	a, b := &p.First.out, &p.Second.out
	i, j := len(*a), len(*b)
	*a, *b = (*a)[:i+symbolBytes*n], (*b)[:j+symbolBytes*n]
	more, others := encodePairs(p, &first[0], &second[0], n, &(*a)[i-1], &(*b)[j-1])
	*a, *b = (*a)[:i+more], (*b)[:j+others]
}

// room makes room for the bytes of n decisions.
func (e *Encoder) room(n int) { e.out = slices.Grow(e.out, symbolBytes*n+symbolBytes) }

// encodePairs is encodeSymbols of n decisions of each of two streams, whose bytes written last are at firstTo and
// secondTo.
//
//go:noescape
func encodePairs(p *Pair, first, second *Symbol, n int, firstTo, secondTo *byte) (firstBytes, secondBytes int)
