package mq

import (
	"slices"

	"golang.org/x/sys/cpu"
)

// useAssembly says whether the machine has what the assembly takes. LZCNT came with BMI1.
var useAssembly = cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// Encode codes the decisions in their order.
func (e *Encoder) Encode(symbols []Symbol) {
	if !useAssembly || len(symbols) == 0 {
		e.encodeGo(symbols)
		return
	}
	n := len(e.out)
	e.out = slices.Grow(e.out, symbolBytes*len(symbols)+symbolBytes)
	e.out = e.out[:n+encodeSymbols(e, symbols, &e.out[n-1], &next)]
}

// encodeSymbols codes decisions with no branch that depends on one, as those cannot be predicted, but
// for that which asks whether a byte is complete. last is the byte of the stream before what it writes, whose
// length it returns; behind it there must be room for symbolBytes for each decision.
//
//go:noescape
func encodeSymbols(e *Encoder, symbols []Symbol, last *byte, next *[512]State) (n int)
