package mq

// Pair is two encoders whose decisions are coded side by side: each decision waits for the one before it in its
// stream, and a processor has time for another stream meanwhile. Its zero value is not ready, see [NewPair].
type Pair struct {
	First, Second Encoder
	next          [512]State // a copy at a known distance
}

// NewPair returns two encoders, each of which needs a call of Reset.
func NewPair() *Pair { return &Pair{next: next} }

// encodeGo is Encode.
func (p *Pair) encodeGo(first, second []Symbol) {
	p.First.Encode(first)
	p.Second.Encode(second)
}
