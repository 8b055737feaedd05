package bitstream

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
)

// Bits that are appended to bits are as if they were written there.
func TestBitsAppend(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range codectest.Rounds(200) {
		var all, a, b bitWriter
		for i := range r.IntN(100) {
			n := uint(r.IntN(33))
			v := r.Uint64() & (1<<n - 1)
			all.put(v, n)
			if i < 30 {
				a.put(v, n)
			} else {
				b.put(v, n)
			}
		}
		a.append(&b)
		if a.len() != all.len() || !bytes.Equal(a.bytes(), all.bytes()) {
			t.Fatal("other bits")
		}
	}
}
