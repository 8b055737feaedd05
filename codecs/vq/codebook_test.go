package vq

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// What the coder does with a known decision is what it does with any.
func TestUpdatesOfKnownDecisions(t *testing.T) {
	for p := probMin; p <= 65536-probMin; p++ {
		for seen := range uint8(adaptLimit + 1) {
			start := bit{zero: uint16(p), seen: seen}
			zero, one, any := start, start, start
			zero.updateZero()
			if any.update(0); zero != any {
				t.Fatalf("%+v after 0: %+v, want %+v", start, zero, any)
			}
			one.updateOne()
			any = start
			if any.update(1); one != any {
				t.Fatalf("%+v after 1: %+v, want %+v", start, one, any)
			}
		}
	}
}

func TestDivide(t *testing.T) {
	for n := 1; n <= 64; n++ {
		for x := range mostDivided + 1 {
			if got := divide(x, reciprocal(n)); got != x/n {
				t.Fatalf("%d/%d is %d", x, n, got)
			}
		}
	}
}

// Numbers of all lengths, in one state after the other, are coded decision by decision.
func TestNumbers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	numbers := []int{0, 1, 2, 3, 1<<16 - 1, 1 << 15, 0}
	for range 20_000 {
		numbers = append(numbers, rnd.IntN(1<<rnd.IntN(17)))
	}
	for i := range 5_000 {
		numbers = append(numbers, i%2*(1<<16-1)) // estimates at their ends
	}
	m, plain := freshNumbers, freshNumbers
	e, each := newRangeEncoder(nil), newRangeEncoder(nil)
	for _, v := range numbers {
		m.encode(e, v)
		l := bits.Len(uint(v))
		for i := range min(l+1, 16) {
			decision := 0
			if i < l {
				decision = 1
			}
			each.encode(&plain.length[i], decision)
		}
		for i := l - 2; i >= 0; i-- {
			each.encode(&plain.below[l][i], v>>i&1)
		}
	}
	if m != plain {
		t.Error("the states differ")
	}
	coded := e.finish()
	if !bytes.Equal(coded, each.finish()) {
		t.Fatal("the bytes differ")
	}
	m = freshNumbers
	d := newRangeDecoder(coded)
	for i, v := range numbers {
		if got := m.decode(d); got != v {
			t.Fatalf("number %d is %d, want %d", i, got, v)
		}
	}
	if !d.exact() {
		t.Errorf("%d of %d bytes used", d.pos, len(coded))
	}
}

// A guess is what README.md says, by division, also where more is left than any codeword has.
func TestPredict(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for name, s := range shapes {
		w := make([]byte, s.k())
		positions := s.positions()
		for range 2_000 {
			for i := range w {
				w[i] = byte(rnd.Uint32())
			}
			for j := range s.k() - 1 {
				left, size := rnd.IntN(1<<rnd.IntN(31)), rnd.IntN(255*s.k()+1)
				rest := left / (s.k() - j)
				local := rest
				if r, c := j/s.q, j%s.q; r > 0 && c > 0 {
					a, b, x := int(w[j-1]), int(w[j-s.q]), int(w[j-s.q-1])
					local = min(max(a+b-x, min(a, b)), max(a, b))
				} else if c > 0 {
					local = int(w[j-1])
				} else if r > 0 {
					local = int(w[j-s.q])
				}
				guess, context := predict(w, s.q, j, &positions[j], left, size)
				if want, ctx := min((local+rest+1)>>1, 255), min(bits.Len(uint(size/(j+1))), bookContexts-1); guess != want || context != ctx {
					t.Fatalf("%s: sample %d, %d left, %d so far: %d in context %d, want %d in %d", name, j, left, size, guess, context, want, ctx)
				}
			}
		}
	}
}

// Numbers have the same bytes whether their decisions are worked out for a number at once or one by one.
func TestNumbersAtOnce(t *testing.T) {
	needsVectorRanks(t)
	r := rand.New(rand.NewPCG(1, 37))
	for _, most := range []int{0, 1, 2, 5, 9, 16} { // bits
		for _, contexts := range []int{1, 1 + bookContexts} {
			want, got := newRangeEncoder(nil), newRangeEncoder(nil)
			one, other := newBookModel(), newBookModel()
			room := make([]decision, maxBlock*mostOfNumber+16)
			for range 400 {
				numbers := make([]number, 1+r.IntN(maxBlock))
				for i := range numbers {
					numbers[i] = number(r.IntN(contexts)<<16 | r.IntN(1<<most)>>r.IntN(most+1))
				}
				one.encodeOneByOne(want, numbers)
				other.encode(got, numbers, room)
			}
			if !bytes.Equal(got.finish(), want.finish()) || *one != *other {
				t.Errorf("numbers of up to %d bits in %d contexts: other bytes, or another model, than one by one", most, contexts)
			}
		}
	}
}
