package entropy

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/pool"
)

// streams are tokens of several kinds of distributions.
func streams(seed uint64, contexts, n int) [][]Token {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([][]Token, 1+r.IntN(3))
	for i := range out {
		for range r.IntN(n + 1) {
			ctx := r.IntN(contexts)
			var v uint32
			switch ctx % 5 {
			case 0:
				v = uint32(r.IntN(3))
			case 1:
				v = uint32(r.ExpFloat64() * 20)
			case 2:
				v = 7
			case 3:
				v = r.Uint32N(1 << r.IntN(18))
			case 4:
				if r.IntN(2000) == 0 {
					v = 5 + uint32(r.IntN(40))
				}
			}
			out[i] = append(out[i], MakeToken(ctx, min(v, MaxValue)))
		}
	}
	return out
}

// repeated is a stream with repetitions in place of equal tokens that follow each other.
func repeated(tokens []Token) []Token {
	var out []Token
	for i := 0; i < len(tokens); {
		n := 1
		for i+n < len(tokens) && tokens[i+n] == tokens[i] {
			n++
		}
		if out = append(out, tokens[i]); n > 1 {
			out = append(out, Repeat(n-1))
		}
		i += n
	}
	return out
}

func TestRepetitions(t *testing.T) {
	for seed := range uint64(30) {
		list := streams(seed, 3, 3000)
		runs := make([][]Token, len(list))
		for i := range list {
			list[i] = append(list[i], slices.Repeat([]Token{MakeToken(2, 7)}, int(seed)*10)...)
			runs[i] = repeated(list[i])
		}
		var want, got bits.Writer
		for w, streams := range map[*bits.Writer][][]Token{&want: list, &got: runs} {
			code := NewCode(pool.Of(1), nil, 3, streams...)
			code.WriteHeader(w)
			for _, s := range streams {
				code.WriteTokens(w, s)
			}
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("seed %d: repetitions change the stream", seed)
		}
	}
}

func TestTokensComeBack(t *testing.T) {
	for seed := range uint64(60) {
		contexts := []int{1, 2, 7, 40, 600}[seed%5]
		list := streams(seed, contexts, []int{0, 3, 100, 5000}[seed%4])
		code := NewCode(pool.Of(1), nil, contexts, list...)
		w := &bits.Writer{}
		code.WriteHeader(w)
		for _, s := range list {
			code.WriteTokens(w, s)
		}
		r := bits.NewReader(w.Bytes())
		got, err := ReadCode(r, contexts)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, s := range list {
			d := got.Decoder(r, 0)
			for j, want := range s {
				if v := d.Read(want.context()); v != want.value() {
					t.Fatalf("seed %d: stream %d: token %d is %d, want %d", seed, i, j, v, want.value())
				}
			}
			if err := d.End(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// A split into two symbols of half each, and more, has a form for the logarithms.
func TestTwoHalves(t *testing.T) {
	for _, counts := range [][]uint32{{500, 500, 1}, {1, 500, 500}, {1000, 999, 1, 0, 0, 0, 0, 0, 0, 0, 3}, {1, 1 << 20, 1 << 20}} {
		h := newHistogram(counts)
		d := chooseFreqs(&h)
		w := &bits.Writer{}
		d.write(w)
		got, err := readFreqs(bits.NewReader(w.Bytes()))
		if err != nil {
			t.Fatalf("%v: %v", counts, err)
		}
		for s, f := range d.freqs {
			if got[s] != f || (f == 0) != (counts[s] == 0) {
				t.Errorf("%v: symbol %d has %d, want %d", counts, s, got[s], f)
			}
		}
	}
}

func FuzzReadCode(f *testing.F) {
	for seed := range uint64(8) {
		list := streams(seed, 9, 200)
		code := NewCode(pool.Of(1), nil, 9, list...)
		w := &bits.Writer{}
		code.WriteHeader(w)
		code.WriteTokens(w, list[0])
		f.Add(w.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bits.NewReader(data)
		code, err := ReadCode(r, 9)
		if err != nil {
			return
		}
		d := code.Decoder(r, 3)
		for i := range 1000 {
			d.Read(i % 9)
		}
		d.End()
	})
}

func TestLog2(t *testing.T) {
	for _, n := range []uint32{1, 2, 3, 5, 1000, 4095, 4096, 5793, 1 << 20, 1<<31 + 12345, 1<<32 - 1} {
		if got, want := float64(log2(n))/bit, math.Log2(float64(n)); math.Abs(got-want) > 2./bit {
			t.Errorf("log2(%d) is %f, want %f", n, got, want)
		}
	}
}
