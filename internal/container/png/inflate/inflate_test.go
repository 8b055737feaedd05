package inflate

import (
	"bytes"
	"compress/zlib"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"testing"
)

// bothWays runs a test with the vector code and without.
func bothWays(t *testing.T, f func(t *testing.T)) {
	t.Run("go", func(t *testing.T) {
		defer setVector(false)()
		f(t)
	})
	if vector {
		t.Run("vector", f)
	}
}

// pieces hands a stream out in pieces of the sizes in turn, some of which may be 0.
func pieces(stream []byte, sizes ...int) func() ([]byte, bool) {
	i := 0
	return func() ([]byte, bool) {
		if len(stream) == 0 {
			return nil, false
		}
		n := min(sizes[i%len(sizes)], len(stream))
		i++
		p := stream[:n:n]
		stream = stream[n:]
		return p, true
	}
}

// read inflates a stream of size bytes, row by row.
func read(next func() ([]byte, bool), size, row int) ([]byte, error) {
	r := New(next, int64(size), row)
	out := make([]byte, 0, size)
	for len(out) < size {
		b, err := r.Next(min(row, size-len(out)))
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, r.End()
}

func compress(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// contents are data of several kinds: noise, residuals, repetitions at every small distance, text.
func contents(size int) map[string][]byte {
	rng := rand.New(rand.NewPCG(1, uint64(size)))
	made := map[string][]byte{}
	put := func(name string, at func(i int) byte) {
		b := make([]byte, size)
		for i := range b {
			b[i] = at(i)
		}
		made[name] = b
	}
	put("zeros", func(int) byte { return 0 })
	put("noise", func(int) byte { return byte(rng.Uint32()) })
	put("residuals", func(int) byte { return byte(int8(rng.NormFloat64() * 5)) })
	put("skewed", func(int) byte { return byte(min(255, rng.ExpFloat64()*8)) ^ byte(rng.Uint32()>>31*3) })
	put("two values", func(int) byte { return byte(rng.Uint32() >> 31) })
	repeats := make([]byte, 0, size+600)
	for len(repeats) < size {
		if n := 1 + rng.IntN(300); rng.IntN(3) == 0 || len(repeats) == 0 {
			for range n {
				repeats = append(repeats, byte(rng.Uint32()))
			}
		} else {
			most := len(repeats)
			if rng.IntN(2) == 0 {
				most = min(most, 20)
			}
			for d := 1 + rng.IntN(min(most, window)); n > 0; n-- {
				repeats = append(repeats, repeats[len(repeats)-d])
			}
		}
	}
	made["repeats"] = repeats[:size]
	return made
}

// Streams of the standard encoder come back, in pieces and rows of any size.
func TestInflatesWhatWasDeflated(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, size := range []int{0, 1, 2, 31, 257, 5000, 70_000, 300_001} {
			levels := []int{zlib.NoCompression, zlib.BestSpeed, zlib.DefaultCompression, zlib.BestCompression, zlib.HuffmanOnly}
			if size > 70_000 {
				levels = []int{zlib.NoCompression, zlib.DefaultCompression}
			}
			for name, data := range contents(size) {
				for _, level := range levels {
					stream := compress(t, data, level)
					for _, sizes := range [][]int{{1 << 30}, {8192}, {1}, {0, 7, 40}} {
						if sizes[0] < 8192 && size > 5000 && testing.Short() {
							continue
						}
						for _, row := range []int{1021, 200_000} {
							got, err := read(pieces(stream, sizes...), size, row)
							if err != nil || !bytes.Equal(got, data) {
								t.Fatalf("%s of %d bytes at level %d in pieces of %v: %v", name, size, level, sizes, err)
							}
						}
					}
				}
			}
		}
	})
}

// A byte that is wrong, too much or too little is never taken for a sound stream with other bytes.
func TestDamagedStreams(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for name, data := range contents(3000) {
			for _, level := range []int{0, 1, 9} {
				stream := compress(t, data, level)
				if _, err := read(pieces(stream, 100), len(data)-1, 100); err == nil {
					t.Errorf("%s: a byte too much is taken", name)
				}
				if _, err := read(pieces(stream, 100), len(data)+1, 100); err == nil {
					t.Errorf("%s: a byte too little is taken", name)
				}
				if _, err := read(pieces(append(bytes.Clone(stream), 0), 100), len(data), 100); err == nil {
					t.Errorf("%s: a byte behind the end is taken", name)
				}
				for range 300 {
					cut := stream[:rng.IntN(len(stream))]
					if _, err := read(pieces(cut, 100), len(data), 100); err == nil {
						t.Errorf("%s: %d of %d bytes are taken", name, len(cut), len(stream))
					}
					changed := bytes.Clone(stream)
					changed[rng.IntN(len(changed))] ^= 1 << rng.IntN(8)
					agree(t, changed, len(data), 100)
				}
			}
		}
	})
}

// agree checks that what is read of a stream is what the standard library reads.
func agree(t *testing.T, stream []byte, size, piece int) {
	t.Helper()
	got, err := read(pieces(stream, piece), size, 77)
	if err != nil {
		return
	}
	src := bytes.NewReader(stream)
	z, err := zlib.NewReader(src)
	if err != nil {
		t.Fatalf("read, and the standard library says %v", err)
	}
	want, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(got, want) || src.Len() > 0 {
		t.Fatalf("%d bytes, and the standard library reads %d bytes and %v, with %d behind the end", len(got), len(want), err, src.Len())
	}
}

func FuzzInflate(f *testing.F) {
	for _, data := range contents(700) {
		for _, level := range []int{0, 1, 9} {
			f.Add(compress(f, data, level), uint32(len(data)), uint16(90))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint32, piece uint16) {
		n := int(size % (1 << 18))
		agree(t, stream, n, int(piece)+1)
		// The stream as a coder without a checksum would find it: with the one that is right.
		z, err := zlib.NewReader(bytes.NewReader(stream))
		if err != nil {
			return
		}
		want, err := io.ReadAll(io.LimitReader(z, 1<<18))
		if err == nil && len(want) < 1<<18 {
			got, err := read(pieces(stream, int(piece)+1), len(want), 77)
			if err == nil && !bytes.Equal(got, want) {
				t.Fatal("other bytes than the standard library's")
			}
		}
		if vector {
			got, err := read(pieces(stream, int(piece)+1), n, 77)
			defer setVector(false)()
			slow, slowErr := read(pieces(stream, int(piece)+1), n, 77)
			if (err == nil) != (slowErr == nil) || !bytes.Equal(got, slow) {
				t.Fatalf("vectors: %d bytes, %v; Go: %d bytes, %v", len(got), err, len(slow), slowErr)
			}
		}
	})
}

// The kernels of checksum and tables are their twins.
func TestKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	data := make([]byte, 20_000)
	for round := range 300 {
		p := data[:rng.IntN(len(data))]
		for i := range p {
			p[i] = byte(rng.Uint32()) | byte(round%2*255)
		}
		sum := adler32.Checksum(p[:len(p)/3])
		if got, want := adler(sum, p[len(p)/3:]), adler32.Checksum(p); got != want {
			t.Fatalf("Adler-32 of %d bytes is %08x, want %08x", len(p), got, want)
		}
		if got, want := adlerGo(sum, p[len(p)/3:]), adler32.Checksum(p); got != want {
			t.Fatalf("Adler-32 of %d bytes is %08x in Go, want %08x", len(p), got, want)
		}
	}
	const most = (adlerModulus-1)<<16 | (adlerModulus - 1)
	ones := bytes.Repeat([]byte{255}, 3*adlerMost)
	if got, want := adler(most, ones), adlerGo(most, ones); got != want {
		t.Errorf("the largest Adler-32 is %08x, want %08x", got, want)
	}
	var fast, slow [litEntries]uint32
	for range 200 {
		lengths := randomCode(rng, maxLits)
		if !build(fast[:], litBits, litSymbols[:], lengths) {
			t.Fatal("a complete code is refused")
		}
		slow = fast
		pairs(fast[:])
		pairsGo(slow[:])
		if fast != slow {
			t.Fatal("pairs differ")
		}
	}
}

// randomCode is the lengths of a complete code for up to n symbols.
func randomCode(rng *rand.Rand, n int) []byte {
	lengths := []byte{1, 1}
	for want := 2 + rng.IntN(n-2); len(lengths) < want; {
		i := rng.IntN(len(lengths))
		if rng.IntN(2) == 0 {
			i = len(lengths) - 1
		}
		if lengths[i] < maxCode {
			lengths[i]++
			lengths = append(lengths, lengths[i])
		}
	}
	rng.Shuffle(len(lengths), func(i, j int) { lengths[i], lengths[j] = lengths[j], lengths[i] })
	return append(lengths, make([]byte, n-len(lengths))...)
}

// A table answers every string of bits as the code does, code by code.
func TestTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var table [litEntries]uint32
	for range 50 {
		lengths := randomCode(rng, maxLits)
		if !build(table[:], litBits, litSymbols[:], lengths) {
			t.Fatal("a complete code is refused")
		}
		code, count := 0, 0
		for n := byte(1); n <= maxCode; n++ {
			code = (code + count) << 1
			count = 0
			for s, m := range lengths {
				if m != n {
					continue
				}
				var reversed uint64
				for i := range int(n) {
					reversed |= uint64((code+count)>>(int(n)-1-i)&1) << i
				}
				count++
				word := reversed | rng.Uint64()<<n
				e := table[word&litMask]
				if e&(flagOther|flagSpecial) == flagOther|flagSpecial && e&kindMask == kindLonger {
					e = table[uint64(e>>16)+word>>litBits&litSecondMask]
				}
				if want := withCode(litSymbols[s], int(n)); e != want {
					t.Fatalf("symbol %d of %d bits has entry %#x, want %#x", s, n, e, want)
				}
			}
		}
	}
	for name, lengths := range map[string][]byte{"too many": {1, 1, 1}, "too few": {2, 2, 2}, "one of two bits": {2}} {
		if build(table[:], litBits, litSymbols[:], lengths) {
			t.Errorf("%s codes are taken", name)
		}
	}
}
