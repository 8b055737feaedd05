package mq_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// decode decodes the bits of contexts with the Decoder as loops do.
func decode(data []byte, contexts []byte) []byte {
	var m mq.Decoder
	var states mq.Contexts
	states.Reset()
	m.Init(data)
	bits := make([]byte, len(contexts))
	d := m.Load()
	for i, c := range contexts {
		s := &states[c]
		d -= s.Qe()
		bit := s.MPS()
		if d < 0 {
			d, bit = m.Exchange(d, s)
		}
		bits[i] = byte(bit)
	}
	return bits
}

// decisions returns n contexts and bits; context c is 1 in one of c+2 cases.
func decisions(r *rand.Rand, n int) (contexts, bits []byte) {
	for range n {
		c := r.IntN(19)
		contexts = append(contexts, byte(c))
		bit := byte(0)
		if r.IntN(c+2) == 0 {
			bit = 1
		}
		bits = append(bits, bit)
	}
	return contexts, bits
}

func TestDecoderAgreesWithFlowCharts(t *testing.T) {
	for n := range 300 {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		contexts, bits := decisions(r, n*n/10)
		e := newRefEncoder()
		for i, c := range contexts {
			e.encode(int(c), int(bits[i]))
		}
		if got := decode(e.flush(), contexts); !bytes.Equal(got, bits) {
			t.Fatalf("%d decisions come back changed", len(bits))
		}
	}
}

// Streams that no encoder makes are decoded as the flow charts say, with one exception:
// behind 0xFF a byte from 0x80 on carries into the bits before it, here at once and in
// the flow chart only when it is read.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte{}, uint64(1))
	f.Add([]byte{0xFF, 0x7F, 0xFF, 0xFF, 0x12}, uint64(2))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xFF}, uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		for i := range data {
			if i > 0 && data[i-1] == 0xFF && data[i] >= 0x80 && data[i] <= 0x8F {
				data[i] &= 0x7F
			}
		}
		contexts, _ := decisions(rand.New(rand.NewPCG(seed, 0)), 20*len(data)+100)
		d := newRefDecoder(data)
		for i, bit := range decode(data, contexts) {
			if want := d.decode(int(contexts[i])); int(bit) != want {
				t.Fatalf("decision %d: %d, want %d", i, bit, want)
			}
		}
	})
}
