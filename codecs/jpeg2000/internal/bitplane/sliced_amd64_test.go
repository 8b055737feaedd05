package bitplane

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"
)

// The assembly that finds the decisions of passes finds those of the Go code.
func FuzzContexts(f *testing.F) {
	if !useAVX512 {
		f.Skip("this machine has no AVX-512")
	}
	r := rand.New(rand.NewPCG(9, 0))
	for range 100 {
		f.Add(r.Uint64(), uint8(r.Uint32()), uint16(r.Uint32()), uint8(r.Uint32()))
	}
	for _, side := range []uint8{0, 1, 15, 16, 31, 32, 47, 48, 63} {
		f.Add(r.Uint64(), side, uint16(63), side)
		f.Add(r.Uint64(), uint8(63), uint16(side), side+1)
		f.Add(r.Uint64(), side, uint16(1023), side+2)
	}
	f.Fuzz(func(t *testing.T, seed uint64, width uint8, height uint16, shape uint8) {
		w := int(width&63) + 1
		h := int(height)%min(1024, 4*(slicedWords/((w+15)/16))) + 1
		r := rand.New(rand.NewPCG(seed, 0))
		src := make([]int32, w*h)
		for i := range src {
			if shape>>2&3 != 0 || r.IntN(40) == 0 {
				src[i] = int32(r.Uint64N(1<<(shape>>4+1))) >> r.IntN(int(shape>>4)+1) * int32(1-2*r.IntN(2))
			}
		}
		var b sliced
		decisions := func(find func(p uint), p uint) []mq.Symbol {
			find(p)
			return writeGo(nil, b.groups)
		}
		for p := b.start(src, w, w, h, codestream.Orientation(shape&3)) - 1; p >= 0; p-- {
			if !bytes.Equal(decisions(b.propagation, uint(p)), decisions(b.propagationGo, uint(p))) {
				t.Fatalf("%dx%d, bit-plane %d: other decisions of the significance propagation", w, h, p)
			}
			if !bytes.Equal(decisions(b.cleanup, uint(p)), decisions(b.cleanupGo, uint(p))) {
				t.Fatalf("%dx%d, bit-plane %d: other decisions of the cleanup", w, h, p)
			}
			b.ended()
		}
	})
}
