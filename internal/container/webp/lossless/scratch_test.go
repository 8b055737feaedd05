package lossless

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Memory that was used before makes no difference, whatever it holds, also for bitstreams that are cut.
func TestScratch(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(15, 16))
		m, compared := &scratch{}, 0
		for range 400 {
			stream := made(rng, 1+rng.IntN(90), 1+rng.IntN(40))
			if rng.IntN(3) == 0 {
				stream = stream[:rng.IntN(len(stream))]
			}
			want, _, _, sound := Decode(stream)
			for i := range m.bytes {
				m.bytes[i] = byte(rng.Uint32())
			}
			for i := range m.tables[:cap(m.tables)] {
				m.tables[:cap(m.tables)][i] = rng.Uint32()
			}
			for i := range m.literals {
				m.literals[i].coded, m.literals[i].greens[5] = 1, 77
			}
			s, ok := open(stream, m)
			var got []byte
			if ok {
				got, ok = s.RGB()
			}
			if ok != sound {
				t.Fatalf("it is read: %v, with new memory: %v", ok, sound)
			}
			if ok {
				compared++
				packGo(want, want, false)
				if !bytes.Equal(got, want[:len(got)]) {
					t.Fatal("pixels differ")
				}
			}
			m.release(&s.decoder)
		}
		if compared < 80 || len(m.bytes) == 0 || m.tables == nil {
			t.Errorf("%d bitstreams are compared, with %d bytes", compared, len(m.bytes))
		}
	})
}
