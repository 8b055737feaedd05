package mq

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Encode leaves the same stream, registers and states as encodeGo, whatever runs the decisions come in.
func FuzzEncode(f *testing.F) {
	f.Add([]byte{}, uint64(1))
	f.Add([]byte{0, 1, 36, 37, 0xFF}, uint64(2))
	f.Add(bytes.Repeat([]byte{34}, 3000), uint64(3))
	f.Add(bytes.Repeat([]byte{35, 34}, 500), uint64(4))
	r := rand.New(rand.NewPCG(4, 0))
	for seed := range uint64(20) {
		symbols := make([]byte, r.IntN(20000))
		for i := range symbols {
			symbols[i] = byte(r.IntN(19)) << 1
			if r.IntN(int(seed)+1) == 0 {
				symbols[i] |= 1
			}
		}
		f.Add(symbols, seed)
	}
	f.Fuzz(func(t *testing.T, symbols []byte, seed uint64) {
		for i, s := range symbols {
			symbols[i] = s % (2 * (Uniform + 1))
		}
		r := rand.New(rand.NewPCG(seed, 0))
		var got, want Encoder
		got.Reset()
		want.Reset()
		for len(symbols) > 0 {
			n := 1 + r.IntN(len(symbols))
			got.Encode(symbols[:n])
			want.encodeGo(symbols[:n])
			symbols = symbols[n:]
			if got.a != want.a || got.c != want.c || got.ct != want.ct || got.Contexts != want.Contexts || !bytes.Equal(got.out, want.out) {
				t.Fatalf("%d decisions before the end of %d others it leaves another state", len(symbols), n)
			}
		}
		got.Flush()
		want.Flush()
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatal("other bytes")
		}
	})
}
