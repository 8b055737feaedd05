//go:build !amd64

package mq

// Encode codes decisions of both streams, as many of the one as of the other.
func (p *Pair) Encode(first, second []Symbol) { p.encodeGo(first, second) }
