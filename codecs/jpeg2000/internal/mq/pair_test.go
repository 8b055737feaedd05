package mq

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// symbolsOf are decisions of contexts that exist, one in rare of them of the rare kind.
func symbolsOf(r *rand.Rand, n, rare int) []Symbol {
	symbols := make([]Symbol, n)
	for i := range symbols {
		symbols[i] = Symbol(r.IntN(Uniform+1)) << 1
		if r.IntN(rare) == 0 {
			symbols[i] |= 1
		}
	}
	return symbols
}

// A pair leaves what two encoders leave that code one after the other, whatever runs the decisions come in.
func FuzzPair(f *testing.F) {
	f.Add([]byte{0, 1, 36, 37, 0xFF}, []byte{3, 3, 3, 0, 1}, uint64(2))
	f.Add(bytes.Repeat([]byte{34}, 3000), bytes.Repeat([]byte{35, 34}, 1500), uint64(3))
	r := rand.New(rand.NewPCG(5, 0))
	for seed := range uint64(20) {
		f.Add(symbolsOf(r, 9000, int(seed)+1), symbolsOf(r, 9000, 20-int(seed)), seed)
	}
	f.Fuzz(func(t *testing.T, first, second []byte, seed uint64) {
		n := min(len(first), len(second))
		first, second = first[:n], second[:n]
		for i := range n {
			first[i] %= 2 * (Uniform + 1)
			second[i] %= 2 * (Uniform + 1)
		}
		r := rand.New(rand.NewPCG(seed, 0))
		p := NewPair()
		var want [2]Encoder
		p.First.Reset()
		p.Second.Reset()
		want[0].Reset()
		want[1].Reset()
		same := func(got, want *Encoder) bool {
			return got.a == want.a && got.c == want.c && got.ct == want.ct && got.Contexts == want.Contexts && bytes.Equal(got.out, want.out)
		}
		for len(first) > 0 {
			n := 1 + r.IntN(len(first))
			p.Encode(first[:n], second[:n])
			want[0].encodeGo(first[:n])
			want[1].encodeGo(second[:n])
			first, second = first[n:], second[n:]
			if !same(&p.First, &want[0]) || !same(&p.Second, &want[1]) {
				t.Fatalf("%d decisions before the end of %d others it leaves another state", len(first), n)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	r := rand.New(rand.NewPCG(6, 0))
	first, second := symbolsOf(r, 8000, 5), symbolsOf(r, 8000, 5)
	b.Run("two", func(b *testing.B) {
		p := NewPair()
		for b.Loop() {
			p.First.Reset()
			p.Second.Reset()
			p.First.Encode(first)
			p.Second.Encode(second)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*16000), "ns/decision")
	})
	b.Run("pair", func(b *testing.B) {
		p := NewPair()
		for b.Loop() {
			p.First.Reset()
			p.Second.Reset()
			p.Encode(first, second)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*16000), "ns/decision")
	})
}
