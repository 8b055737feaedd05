package decode

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// bothWays runs f with the kernels and with their twins, and compares what it returns.
func bothWays(t *testing.T, what string, f func() []byte) {
	t.Helper()
	restore := setVector(false)
	want := f()
	restore()
	if got := f(); !bytes.Equal(got, want) {
		t.Fatalf("%s: the kernels give %v, want %v", what, got, want)
	}
}

// Blocks of all kinds, with coefficients and steps up to the ends of 16 bits, give the same samples.
func TestInverseKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := range 40000 {
		var from [64]int16
		q := new(quantTable)
		for k := range 64 {
			q.set(k, uint16(1+rng.IntN(65535)>>rng.IntN(16)))
		}
		most := 64
		if n%3 == 0 {
			most = 8 // the first row only
		}
		for range n % 20 {
			from[rng.IntN(most)>>rng.IntN(6)] = int16(rng.IntN(1<<16)-1<<15) >> rng.IntN(16)
		}
		bothWays(t, "a block", func() []byte {
			to := make([]byte, 8*13)
			inverse(&from, q, to, 13)
			return to
		})
	}
}

// Rows of all lengths around the kernels' steps, with nothing written behind their ends.
func TestRowKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const guard = 7
	for n := 3; n < 120; n++ {
		var lines [4][]byte
		for i := range lines {
			lines[i] = make([]byte, n)
			for k := range lines[i] {
				// The ends of the range are frequent.
				lines[i][k] = byte(min(max(rng.IntN(400)-72, 0), 255))
			}
		}
		run := func(what string, size int, f func(to []byte)) {
			bothWays(t, what, func() []byte {
				to := bytes.Repeat([]byte{0xa5}, size+guard)
				f(to[:size])
				return to
			})
		}
		run("width", 2*n, func(to []byte) { doubleWidth(to, lines[0]) })
		run("upper row", n, func(to []byte) { doubleHeight(to, lines[0], lines[1], 0) })
		run("lower row", n, func(to []byte) { doubleHeight(to, lines[0], lines[1], 1) })
		run("both", 2*n, func(to []byte) { doubleBoth(to, lines[0], lines[1]) })
		run("colour", 3*n, func(to []byte) { yCbCr(to, &lines) })
	}
}

// All 2^16 pairs of chroma with some luma give the colours of the twin.
func TestColourKernel(t *testing.T) {
	cb, cr := make([]byte, 1<<16), make([]byte, 1<<16)
	for i := range cb {
		cb[i], cr[i] = byte(i), byte(i>>8)
	}
	for _, y := range []byte{0, 1, 77, 128, 200, 254, 255} {
		lines := [4][]byte{bytes.Repeat([]byte{y}, 1<<16), cb, cr}
		bothWays(t, "colours", func() []byte {
			to := make([]byte, 3<<16)
			yCbCr(to, &lines)
			return to
		})
	}
}

// Whole files, sound and damaged, give the same samples and errors.
func FuzzKernels(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(data)
		if err != nil || h.Width*h.Height > 1<<20 || h.Memory > 1<<24 || CountScans(data, 100) == 100 {
			return
		}
		before := byte(0x5a) // what the samples are at first; each of them is written
		bothWays(t, "a file", func() []byte {
			before = ^before
			pix := bytes.Repeat([]byte{before}, h.Width*h.Height*min(h.Components, 3))
			if err := Decode(data, h, pix); err != nil {
				return []byte(err.Error())
			}
			return pix
		})
	})
}
