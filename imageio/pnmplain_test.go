package imageio

import (
	"math/rand/v2"
	"testing"
)

// What is read the short way is what number reads, and the scanner is at the same place behind it.
func TestPNMPlainNumbers(t *testing.T) {
	const bytes = "0123456789 \n\t#-a\x00\xff"
	rng := rand.New(rand.NewPCG(25, 26))
	taken := 0
	for range 300000 {
		data := make([]byte, rng.IntN(9))
		for i := range data {
			data[i] = bytes[rng.IntN(len(bytes))]
			if rng.IntN(2) == 0 {
				data[i] = bytes[rng.IntN(11)]
			}
		}
		short, long := pnmScanner{data: data, comments: true}, pnmScanner{data: data, comments: true}
		v, ok := short.plain()
		if !ok {
			if short.at != 0 {
				t.Fatalf("%q: it is at %d", data, short.at)
			}
			continue
		}
		taken++
		if want, err := long.number(); err != nil || v != want || short.at != long.at {
			t.Fatalf("%q: %d, now at %d, want %d at %d (%v)", data, v, short.at, want, long.at, err)
		}
	}
	if taken < 10000 {
		t.Errorf("%d numbers are short", taken)
	}
}
