package vq

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
)

// searchKernels are the kernels of the search that this machine can run.
func searchKernels() []kernel {
	var ks []kernel
	for k := kernelGo; k <= bestKernel; k++ {
		ks = append(ks, k)
	}
	return ks
}

// testVectors are m blocks: noise, smooth, and the extremes 0 and 255.
func testVectors(r *rand.Rand, k, m int) []byte {
	out := make([]byte, m*k)
	for i := range m {
		base, width := r.IntN(256), 1+r.IntN(64)
		for j := range k {
			switch i % 4 {
			case 0:
				out[i*k+j] = byte(r.IntN(256))
			case 1:
				out[i*k+j] = clip(base + r.IntN(width))
			case 2:
				out[i*k+j] = byte(255 * r.IntN(2))
			case 3:
				out[i*k+j] = byte(255 * (i / 4 % 2))
			}
		}
	}
	return out
}

// Every kernel gives the key of Algorithm 1: for all block sizes, codebooks of one
// group more and less, doubled codewords, and numbers of blocks that are no multiple
// of what a kernel takes at a time.
func TestSearchIsExact(t *testing.T) {
	c := pool.New()
	for name, s := range shapes {
		for _, n := range []int{1, 2, 7, 8, 9, 15, 16, 17, 100, 256, 1023, 1024, 1025, 4096} {
			if testing.Short() && n > 1025 {
				continue
			}
			r := rand.New(rand.NewPCG(uint64(n), uint64(s.k())))
			book := &codebook{shape: s, words: testVectors(r, s.k(), n)}
			copy(book.word(n-1), book.word(r.IntN(n))) // a tie
			m := 1 + r.IntN(80)
			if n == 256 {
				m = 2*blocksAtOnce + 5
			}
			samples := testVectors(r, s.k(), m)
			copy(samples, book.word(n/2))
			want := refSearch(samples, book.words, s.k())
			b := newVectors(c, s.k(), samples)
			for _, use := range searchKernels() {
				got := make([]key, m)
				f := newFinder(book, use)
				c.Spans(m, blocksAtOnce, func(lo, hi int) { f.find(b.part(lo, hi), got[lo:hi]) })
				if !slices.Equal(got, want) {
					for i := range got {
						if got[i] != want[i] {
							t.Fatalf("block %s, n=%d, kernel %d: block %d is (%d, %d), want (%d, %d)", name, n, use, i, got[i].distance(), got[i].index(), want[i].distance(), want[i].index())
						}
					}
				}
			}
		}
	}
}

func FuzzSearch(f *testing.F) {
	f.Add([]byte("some samples that make up blocks and codewords"), uint8(3), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, n, which uint8) {
		s := []shape{{2, 2}, {4, 2}, {4, 4}, {8, 8}}[which%4]
		words := (1 + int(n)) * s.k()
		if len(data) < words+s.k() {
			return
		}
		book := &codebook{shape: s, words: data[:words]}
		rest := data[words:]
		samples := rest[:len(rest)/s.k()*s.k()]
		if len(samples) > blocksAtOnce*s.k() {
			samples = samples[:blocksAtOnce*s.k()]
		}
		want := refSearch(samples, book.words, s.k())
		b := newVectors(pool.New(), s.k(), samples)
		for _, use := range searchKernels() {
			got := make([]key, len(want))
			newFinder(book, use).find(b, got)
			if !slices.Equal(got, want) {
				t.Fatal(fmt.Sprint("kernel ", use, " differs from Algorithm 1"))
			}
		}
	})
}
