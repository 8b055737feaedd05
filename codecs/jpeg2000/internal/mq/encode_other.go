//go:build !amd64

package mq

// Encode codes the decisions in their order.
func (e *Encoder) Encode(symbols []Symbol) { e.encodeGo(symbols) }
