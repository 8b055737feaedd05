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

// encode codes the bits of contexts in one segment and marks each place in between.
func encode(contexts, bits []byte) (*mq.Encoder, []mq.Mark) {
	var e mq.Encoder
	e.Reset()
	marks := []mq.Mark{e.Mark()}
	for i, c := range contexts {
		e.Encode([]mq.Symbol{c<<1 | bits[i]})
		marks = append(marks, e.Mark())
	}
	e.Flush()
	return &e, marks
}

func TestEncoderAgreesWithFlowCharts(t *testing.T) {
	for n := range 200 {
		contexts, bits := decisions(rand.New(rand.NewPCG(2, uint64(n))), n*n/10)
		want := newRefEncoder()
		for i, c := range contexts {
			want.encode(int(c), int(bits[i]))
		}
		e, _ := encode(contexts, bits)
		if !bytes.Equal(e.Bytes(), want.flush()) {
			t.Fatalf("%d decisions: other bytes", len(bits))
		}
	}
}

// Truncate is the least number of bytes that decode, found by trying all.
func TestTruncate(t *testing.T) {
	longer, all := 0, 0
	for n := range 1000 {
		contexts, bits := decisions(rand.New(rand.NewPCG(3, uint64(n))), 10+3*(n%60))
		e, marks := encode(contexts, bits)
		for i, m := range marks {
			got, least := e.Truncate(m), 0
			for !bytes.Equal(decode(e.Bytes()[:least], contexts[:i]), bits[:i]) {
				least++
			}
			if got < least {
				t.Fatalf("%d decisions of %d: %d bytes do not decode them, %d do", i, len(bits), got, least)
			}
			all++
			if got > least {
				longer++
			}
		}
	}
	if longer > all/50 { // bytes of ones that end before the place are not looked for
		t.Errorf("%d of %d lengths are not the least", longer, all)
	}
}
