package deflate

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// The kernel and its twin find the same.
func TestKernelFindsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	with, without := new(Encoder), new(Encoder)
	for _, kind := range kinds {
		for _, n := range []int{1, 7, 8, 9, 15, 16, 100, chunkBytes - 1, chunkBytes, chunkBytes + 1, windowSize + 1, 2*windowSize + 9, 200000} {
			sameStream(t, with, without, dataOf(rng, kind, n))
		}
	}
}

// FuzzKernel holds the kernel against its twin.
func FuzzKernel(f *testing.F) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, kind := range kinds {
		f.Add(dataOf(rng, kind, 3000), uint16(3))
	}
	with, without := new(Encoder), new(Encoder)
	f.Fuzz(func(t *testing.T, data []byte, times uint16) {
		sameStream(t, with, without, bytes.Repeat(data, 1+int(times)%64))
	})
}

func sameStream(t *testing.T, with, without *Encoder, data []byte) {
	t.Helper()
	got := with.Append(nil, data)
	defer setVector(false)()
	if want := without.Append(nil, data); !bytes.Equal(got, want) {
		t.Fatalf("%d bytes: the kernel's stream has %d bytes, its twin's %d", len(data), len(got), len(want))
	}
}
