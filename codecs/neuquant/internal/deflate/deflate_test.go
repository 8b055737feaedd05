package deflate

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unsafe"
)

// kinds of data that take different ways through the encoder.
var kinds = []string{"zeros", "noise", "photo", "drawing", "text", "period", "two", "late", "mixed"}

// dataOf makes n bytes of a kind.
func dataOf(rng *rand.Rand, kind string, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		switch kind {
		case "noise":
			out[i] = byte(rng.Uint32())
		case "photo":
			out[i] = byte(i/512) + byte(rng.IntN(7)*rng.IntN(7))
		case "drawing":
			if i%640 < 300 && i/640%40 > 20 {
				out[i] = byte(1 + (i%640*i/640)%5)
			}
		case "text":
			out[i] = "etaoin shrdlu"[rng.IntN(1+rng.IntN(13))]
		case "period":
			out[i] = byte(i % 259)
		case "two":
			out[i] = byte(rng.IntN(40) / 39)
		case "late": // what is repeated lies just within the window, or just outside
			if out[i] = byte(rng.Uint32()); i >= windowSize+i%3 {
				out[i] = out[i-windowSize-i%3/2]
			}
		case "mixed":
			if i/5000%3 == 0 {
				out[i] = byte(rng.Uint32())
			} else if i/5000%3 == 1 {
				out[i] = byte(i % 7)
			}
		}
	}
	return out
}

func inflated(stream []byte) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

var sizes = []int{
	0, 1, 2, 3, 4, 5, 7, 8, 9, 257, 258, 259, 260, 2047, 2049, 32767, 32768, 32769, 65535, 65536, 65537, 131071, 131073, 300000,
}

// Data come back, whatever the encoder has been used for before, and streams are hardly
// longer than the data.
func TestDataComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	used := new(Encoder)
	for _, kind := range kinds {
		for _, n := range sizes {
			data := dataOf(rng, kind, n)
			stream := used.Append([]byte("before"), data)
			if !bytes.HasPrefix(stream, []byte("before")) {
				t.Fatalf("%s, %d bytes: what was before the stream is gone", kind, n)
			}
			stream = stream[len("before"):]
			got, err := inflated(stream)
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%s, %d bytes: come back as %d bytes, %v", kind, n, len(got), err)
			}
			if fresh := new(Encoder).Append(nil, data); !bytes.Equal(fresh, stream) {
				t.Fatalf("%s, %d bytes: another stream from a new encoder", kind, n)
			}
			if most := n + n>>12 + 16; len(stream) > most {
				t.Errorf("%s, %d bytes: a stream of %d, want at most %d", kind, n, len(stream), most)
			}
		}
	}
}

// zlib itself reads every stream.
func TestZlibReadsStreams(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT TESTED: python3, whose zlib reads the streams, is not installed")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var all []byte
	e := new(Encoder)
	for _, kind := range kinds {
		for _, n := range append(sizes, rng.IntN(1000), rng.IntN(200000)) {
			data := dataOf(rng, kind, n)
			stream := e.Append(nil, data)
			for _, part := range [][]byte{data, stream} {
				all = binary.LittleEndian.AppendUint32(all, uint32(len(part)))
				all = append(all, part...)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "streams")
	if err := os.WriteFile(file, all, 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `
import sys, zlib
b, at, parts = open(sys.argv[1], 'rb').read(), 0, []
while at < len(b):
    n = int.from_bytes(b[at:at+4], 'little')
    parts.append(b[at+4:at+4+n])
    at += 4 + n
for i in range(0, len(parts), 2):
    if zlib.decompress(parts[i+1]) != parts[i]:
        sys.exit('stream %d is of other data' % (i // 2))
`
	if out, err := exec.Command("python3", "-c", script, file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Each type of block is written where it is the shortest.
func TestBlocksAreTheShortest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		kind string
		n    int
		want byte
	}{{"noise", 5000, stored}, {"text", 5, fixed}, {"zeros", 0, fixed}, {"text", 5000, dynamic}} {
		stream := new(Encoder).Append(nil, dataOf(rng, c.kind, c.n))
		if got := stream[2] >> 1 & 3; got != c.want {
			t.Errorf("%s, %d bytes: a block of type %d, want %d", c.kind, c.n, got, c.want)
		}
	}
}

// A block ends where the data change: both halves together cost about what they cost alone.
func TestBlocksEndWhereDataChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	a, b := dataOf(rng, "text", 60000), dataOf(rng, "photo", 60000)
	one, other := len(new(Encoder).Append(nil, a)), len(new(Encoder).Append(nil, b))
	both := len(new(Encoder).Append(nil, slices.Concat(a, b)))
	if both > (one+other)*1005/1000 {
		t.Errorf("%d bytes together, %d and %d alone", both, one, other)
	}
}

// No data take long: strings that have nearly as much in common as one wants are the worst
// for a search.
func TestWorstCasesEnd(t *testing.T) {
	const n = 1 << 18
	rng := rand.New(rand.NewPCG(9, 10))
	for name, of := range map[string]func(i int) byte{
		"near": func(i int) byte { // equal strings of 60 bytes, with one byte of noise between
			if i%61 == 60 {
				return byte(rng.Uint32())
			}
			return byte(i % 61)
		},
		"short":    func(i int) byte { return byte(i % 5 * (rng.IntN(30) / 29)) },
		"runs":     func(i int) byte { return byte(i / 300) },
		"halfruns": func(i int) byte { return byte(rng.IntN(300) / 299) },
		"binary":   func(i int) byte { return byte(rng.IntN(2)) },
	} {
		data := make([]byte, n)
		for i := range data {
			data[i] = of(i)
		}
		start := time.Now()
		new(Encoder).Append(nil, data)
		// A quiet machine takes a hundredth of it.
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: %d bytes took %v", name, n, took)
		}
	}
}

func TestMemoryIsWhatAnEncoderHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	e := new(Encoder)
	for _, kind := range kinds {
		e.Append(nil, dataOf(rng, kind, 500000))
	}
	held := int(unsafe.Sizeof(*e)) + int(unsafe.Sizeof(*e.tables)) + 4*(cap(e.tokens)+cap(e.blocks.leaves)) +
		cap(e.list)*int(unsafe.Sizeof(segment{})) + 8*cap(e.blocks.sums) + 2*cap(e.blocks.ops) + 8*maxBits*2*symbols
	if held > Memory {
		t.Errorf("%d bytes held, want %d at most", held, Memory)
	}
	if e.data != nil || e.scan.data != nil || e.blocks.out != nil {
		t.Error("the encoder keeps data or stream")
	}
}

// Lengths of codes are the best there are, also where they are limited, and make a whole
// code.
func TestCodesAreTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	var c code
	for range 300 {
		counts := make([]uint32, 2+rng.IntN(5))
		for i := range counts {
			counts[i] = 1 + rng.Uint32N(1<<rng.IntN(12))
		}
		limit := 3 + rng.IntN(3)
		out := make([]uint8, len(counts))
		c.lengths(out, counts, limit)
		cost, room := 0, 1<<limit
		for i, l := range out {
			cost += int(l) * int(counts[i])
			room -= 1 << (limit - int(l))
		}
		if want := refLengthCost(counts, limit); cost != want || room != 0 {
			t.Fatalf("%v in at most %d bits: lengths %v cost %d, want %d; %d of the code left", counts, limit, out, cost, want, room)
		}
	}
}

// Counts that rise as Fibonacci's numbers make the longest codes.
func TestLongCodesAreLimited(t *testing.T) {
	counts := make([]uint32, symbols)
	a, b := uint32(1), uint32(1)
	for i := range 24 {
		counts[i*11] = a
		a, b = b, a+b
	}
	var c code
	out := make([]uint8, symbols)
	for _, limit := range []int{maxBits, 7} {
		c.lengths(out, counts, limit)
		room := 1 << limit
		for i, l := range out {
			if (l > 0) != (counts[i] > 0) || int(l) > limit {
				t.Fatalf("symbol %d, %d times: %d bits", i, counts[i], l)
			}
			if l > 0 {
				room -= 1 << (limit - int(l))
			}
		}
		if room != 0 {
			t.Errorf("at most %d bits: %d of the code left", limit, room)
		}
	}
}

// Leaves are in order, however many there are and however often they occur.
func TestLeavesAreInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	var c code
	for n := range symbols + 1 {
		for _, shift := range []int{9, 15, 20, 24, 31} {
			c.leaves = c.leaves[:0]
			for i := range n {
				c.leaves = append(c.leaves, rng.Uint32()>>shift<<9|uint32(i))
			}
			want := slices.Sorted(slices.Values(c.leaves))
			if c.sort(); !slices.Equal(c.leaves, want) {
				t.Fatalf("%d leaves with counts of %d bits are not in order", n, 32-shift)
			}
		}
	}
}

func TestTablesAreTheSpecifications(t *testing.T) {
	for d := 1; d <= windowSize; d++ {
		if got, want := distanceSymbol(d), refDistanceSymbol(d); got != want {
			t.Fatalf("distance %d: symbol %d, want %d", d, got, want)
		}
	}
	for l := minMatch; l <= maxMatch; l++ {
		s := lengthSymbol[l-minMatch]
		if rest := l - int(lengthBase[s]); rest < 0 || rest >= 1<<lengthExtra[s] {
			t.Fatalf("length %d: symbol %d from %d on", l, s, lengthBase[s])
		}
	}
	for n := uint32(1); n < 1<<20; n += 1 + n/100 {
		if got, want := float64(log2(n))/256, math.Log2(float64(n)); got > want || got < want-0.011 {
			t.Fatalf("logarithm of %d: %f, want %f", n, got, want)
		}
	}
}

// Logarithms, and what follows from them, are those of integers.
func TestLogarithms(t *testing.T) {
	check := func(n uint32) {
		if n == 0 {
			return
		}
		if got, want := log2(n), refLog2(n); got != want {
			t.Fatalf("logarithm of %d: %d, want %d", n, got, want)
		}
	}
	for n := range uint32(1 << 18) {
		check(n)
	}
	rng := rand.New(rand.NewPCG(19, 20))
	for k := range 32 {
		check(1<<k - 1)
		check(1 << k)
		check(1<<k + 1)
		for range 1000 {
			check(rng.Uint32() >> k)
		}
	}
	check(1<<32 - 1)
	counts := make([]uint32, symbols)
	for range 200 {
		for i := range counts {
			counts[i] = rng.Uint32() >> (15 + rng.IntN(18))
		}
		if got, want := entropy(counts), refEntropy(counts); got != want {
			t.Fatalf("entropy %d, want %d", got, want)
		}
	}
	if got := entropy(make([]uint32, 9)); got != 0 {
		t.Errorf("nothing takes %d", got)
	}
}

func FuzzAppend(f *testing.F) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, kind := range kinds {
		f.Add(dataOf(rng, kind, 3000), uint16(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, times uint16) {
		data = bytes.Repeat(data, 1+int(times)%16)
		stream := new(Encoder).Append(nil, data)
		got, err := inflated(stream)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes come back as %d, %v", len(data), len(got), err)
		}
		if most := len(data) + len(data)>>12 + 16; len(stream) > most {
			t.Errorf("%d bytes: a stream of %d, want at most %d", len(data), len(stream), most)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, kind := range []string{"photo", "drawing", "text", "noise"} {
		data := dataOf(rand.New(rand.NewPCG(17, 18)), kind, 1<<20)
		b.Run(kind, func(b *testing.B) {
			e := new(Encoder)
			var out []byte
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				out = e.Append(out[:0], data)
			}
			b.ReportMetric(float64(len(out)), "bytes")
		})
	}
}
