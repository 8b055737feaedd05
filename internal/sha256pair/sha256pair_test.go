package sha256pair

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"math/rand/v2"
	"testing"
)

// kernels are those that this machine has.
func kernels(t testing.TB) (list []kernel) {
	for k := kernelSHANI; k <= bestKernel; k++ {
		list = append(list, k)
	}
	if bestKernel < kernelAVX512 {
		t.Logf("NOT TESTED: this machine has kernels up to %d of %d", bestKernel, kernelAVX512)
	}
	return list
}

func random(n int, seed uint64) []byte {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	data := make([]byte, n)
	rand.NewChaCha8(key).Read(data)
	return data
}

// compare writes p and q behind headP and headQ with a kernel, and with the standard
// library.
func compare(t *testing.T, k kernel, headP, p, headQ, q []byte) {
	t.Helper()
	a, b := sha256.New(), sha256.New()
	a.Write(headP)
	b.Write(headQ)
	restP, restQ := k.write(a, b, p, q)
	if len(restP) >= 2*sha256.BlockSize && len(restQ) >= 2*sha256.BlockSize {
		t.Fatalf("kernel %d leaves %d and %d bytes", k, len(restP), len(restQ))
	}
	a.Write(restP)
	b.Write(restQ)
	for i, m := range []struct {
		head, body []byte
		got        hash.Hash
	}{{headP, p, a}, {headQ, q, b}} {
		if want := sha256.Sum256(append(bytes.Clone(m.head), m.body...)); !bytes.Equal(m.got.Sum(nil), want[:]) {
			t.Fatalf("kernel %d: message %d of %d+%d and %d+%d bytes: %x, want %x", k, i+1, len(headP), len(p), len(headQ), len(q), m.got.Sum(nil), want)
		}
	}
}

func TestLengths(t *testing.T) {
	p, q := random(300, 1), random(300, 2)
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, k := range kernels(t) {
		for n := range len(p) + 1 {
			for m := 0; m <= len(q); m += step {
				compare(t, k, nil, p[:n], nil, q[:m])
			}
		}
	}
}

func TestHeads(t *testing.T) {
	p, q := random(700, 3), random(700, 4)
	for _, k := range kernels(t) {
		for n := range 130 {
			for m := 0; m < 130; m += 3 {
				compare(t, k, p[:n], p[n:], q[:m], q[m:])
			}
		}
	}
}

func TestLong(t *testing.T) {
	p, q := random(1<<20, 5), random(1<<20, 6)
	r := rand.New(rand.NewPCG(7, 8))
	for _, k := range kernels(t) {
		for range 50 {
			part := func(data []byte) (head, body []byte) {
				i, h, n := r.IntN(64), r.IntN(100), r.IntN(1<<r.IntN(20))
				return data[i : i+h], data[i+h : min(i+h+n, len(data))]
			}
			headP, bodyP := part(p)
			headQ, bodyQ := part(q)
			compare(t, k, headP, bodyP, headQ, bodyQ)
		}
	}
}

// The same memory may be both messages.
func TestWrite(t *testing.T) {
	data := random(1<<16, 9)
	for _, n := range []int{0, 1, 1000, leastBlocks*sha256.BlockSize - 1, leastBlocks * sha256.BlockSize, len(data)} {
		a, b := sha256.New(), sha256.New()
		p, q := data, data[len(data)-n:]
		Write(a, b, p, q)
		sumP, sumQ := sha256.Sum256(p), sha256.Sum256(q)
		if !bytes.Equal(a.Sum(nil), sumP[:]) || !bytes.Equal(b.Sum(nil), sumQ[:]) {
			t.Errorf("%d bytes beside %d: %x and %x", n, len(p), a.Sum(nil), b.Sum(nil))
		}
	}
}

// Write is two writes also for hashes whose states have another form.
func TestOtherHashes(t *testing.T) {
	data := random(1<<12, 10)
	type opaque struct{ hash.Hash }
	for _, k := range kernels(t) {
		for i, made := range []func() hash.Hash{sha256.New224, func() hash.Hash { return opaque{sha256.New()} }} {
			a, b, want := sha256.New(), made(), made()
			a.Write(data[:10])
			restP, restQ := k.write(a, b, data[10:], data)
			a.Write(restP)
			b.Write(restQ)
			want.Write(data)
			if sum := sha256.Sum256(data); !bytes.Equal(a.Sum(nil), sum[:]) || !bytes.Equal(b.Sum(nil), want.Sum(nil)) {
				t.Errorf("kernel %d, hash %d: %x and %x", k, i, a.Sum(nil), b.Sum(nil))
			}
		}
	}
}

func FuzzWrite(f *testing.F) {
	f.Add([]byte("abc"), uint16(1), uint16(2), uint16(3))
	f.Add(random(1000, 11), uint16(500), uint16(70), uint16(130))
	f.Fuzz(func(t *testing.T, data []byte, cut, headP, headQ uint16) {
		p, q := data[:min(int(cut), len(data))], data[min(int(cut), len(data)):]
		h, i := min(int(headP), len(p)), min(int(headQ), len(q))
		for _, k := range kernels(t) {
			compare(t, k, p[:h], p[h:], q[:i], q[i:])
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 14, 1 << 20} {
		p, q := random(size, 12), random(size, 13)
		run := func(name string, sum func()) {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(p) + len(q)))
				for b.Loop() {
					sum()
				}
			})
		}
		run("alone", func() {
			sha256.Sum256(p)
			sha256.Sum256(q)
		})
		for _, k := range kernels(b) {
			run(fmt.Sprintf("kernel%d", k), func() {
				x, y := sha256.New(), sha256.New()
				restP, restQ := k.write(x, y, p, q)
				x.Write(restP)
				y.Write(restQ)
				x.Sum(nil)
				y.Sum(nil)
			})
		}
	}
}
