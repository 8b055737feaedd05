package deflate

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Data that are parsed first become the same stream.
func TestParsedDataAreTheSameStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	e, other := new(Encoder), new(Encoder)
	for _, kind := range kinds {
		for _, n := range []int{1, 2, 3, 7, 8, 1000, 2*maxTokens + 5} {
			data := dataOf(rng, kind, n)
			p := e.Parse(data)
			if len(p.Segments) > SegmentsOf(len(data)) {
				t.Errorf("%d bytes make %d segments, and %d at most are foreseen", len(data), len(p.Segments), SegmentsOf(len(data)))
			}
			got, ok := e.AppendParsed([]byte("before"), data, p)
			if want := other.Append([]byte("before"), data); !ok || !bytes.Equal(got, want) {
				t.Errorf("%d bytes: %d in the stream, want %d", len(data), len(got), len(want))
			}
		}
	}
}

// Tokens and counts that a device got wrong make a wrong stream or none, and never a panic.
func TestWrongTokensDoNoHarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	var laid Laid
	e, refused := new(Encoder), 0
	for i := range 400 {
		data := dataOf(rng, kinds[i%len(kinds)], 1+rng.IntN(30000))
		p := e.Parse(data)
		for range 1 + rng.IntN(3) {
			s := &p.Segments[rng.IntN(len(p.Segments))]
			bit := uint32(1) << rng.IntN(32)
			switch rng.IntN(6) {
			case 0:
				p.Tokens[rng.IntN(len(p.Tokens))] ^= bit
			case 1:
				clear(p.Tokens)
			case 2:
				s.Distances[rng.IntN(distances)] ^= bit
			case 3: // the sum stays
				a, b := &s.Symbols[rng.IntN(symbols)], &s.Symbols[rng.IntN(symbols)]
				*a, *b = *b, *a
			case 4:
				for j := range p.Tokens {
					p.Tokens[j] = rng.Uint32()
				}
			default:
				switch rng.IntN(4) {
				case 0:
					s.Bytes ^= bit
				case 1:
					s.Tokens ^= bit
				case 2:
					s.Ends ^= 1
				default:
					s.Symbols[rng.IntN(symbols)] ^= bit
				}
			}
		}
		if _, ok := e.AppendParsed(nil, data, p); !ok {
			refused++
		}
		if e.Lay(&laid, data, p.Segments) {
			for _, b := range laid.Blocks {
				if int(b.Bit)+int(b.Bits) > 8*len(laid.Stream) {
					t.Fatalf("%d bits from bit %d on of %d bytes", b.Bits, b.Bit, len(laid.Stream))
				}
			}
		}
	}
	if refused == 0 {
		t.Error("none was refused")
	}
}
