package decode

import (
	"bytes"
	"errors"
	"image"
	stdjpeg "image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// basis is the inverse transform of one row or column as a matrix, Q13: entry
// i, j is the share of coefficient j in sample i, sqrt(2)*cos((2i+1)j*pi/16) and 1
// for j = 0. Where the algorithm adds rounded constants, the sum is here.
var basis = [4][8]int64{
	{8192, 11363, 10703, 9633, 8192, 6437, 4433, 2260},
	{8192, 9633, 4433, -2259, -8192, -11362, -10704, -6436},
	{8192, 6437, -4433, -11362, -8192, 2261, 10704, 9633},
	{8192, 2260, -10703, -6436, 8192, 9633, -4433, -11363},
}

// reference1 transforms eight coefficients and rounds at bit shift. The lower
// half of the samples is the upper one with its odd coefficients turned over.
func reference1(in [8]int64, shift uint) (out [8]int64) {
	for i := range 4 {
		var even, odd int64
		for j := 0; j < 8; j += 2 {
			even += basis[i][j] * in[j]
			odd += basis[i][j+1] * in[j+1]
		}
		out[i] = (even + odd + 1<<(shift-1)) >> shift
		out[7-i] = (even - odd + 1<<(shift-1)) >> shift
	}
	return out
}

// unitSteps leaves coefficients as they are.
var unitSteps = func() *quantTable {
	q := new(quantTable)
	for k := range 64 {
		q.set(k, 1)
	}
	return q
}()

func reference(b *block) (out [64]byte) {
	var w [8][8]int64
	for x := range 8 {
		var in [8]int64
		for y := range in {
			in[y] = int64(b.coefficients[8*y+x])
		}
		for y, v := range reference1(in, 11) {
			w[y][x] = v
		}
	}
	for y := range 8 {
		for x, v := range reference1(w[y], 18) {
			out[8*y+x] = byte(min(max(v+128, 0), 255))
		}
	}
	return out
}

func TestBasis(t *testing.T) {
	for i, row := range basis {
		for j, v := range row {
			want := 8192 * math.Sqrt2 * math.Cos(float64((2*i+1)*j)*math.Pi/16)
			if j == 0 {
				want = 8192
			}
			if math.Abs(float64(v)-want) > 1.5 {
				t.Errorf("entry %d, %d is %d, want %.1f", i, j, v, want)
			}
		}
	}
}

// All three transforms give the samples of the reference where no sum overflows.
func TestInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 20000 {
		var b block
		for range n % 12 {
			b.put(rng.IntN(64)>>rng.IntN(6), int16(rng.IntN(900)-450)>>rng.IntN(8), unitSteps)
		}
		b.put(0, int16(rng.IntN(2048)-1024), unitSteps)
		if b.sum > narrow {
			t.Fatalf("a sum of %d", b.sum)
		}
		want := reference(&b)
		for name, f := range map[string]func(*block, []byte, int){"inverseNarrow": inverseNarrow, "inverseWide": inverseWide} {
			got := make([]byte, 64)
			f(&b, got, 8)
			if !bytes.Equal(got, want[:]) {
				t.Fatalf("%s of %v: %v, want %v", name, b.coefficients, got, want)
			}
		}
		if b.set == 1 {
			got := make([]byte, 64)
			flat(b.coefficients[0], got, 8)
			if !bytes.Equal(got, want[:]) {
				t.Fatalf("flat of %d: %v, want %v", b.coefficients[0], got, want)
			}
		}
	}
}

// At the bound of inverseNarrow no sum leaves the widths of inverseWide: the signs that
// make the largest sums give equal samples.
func TestNarrow(t *testing.T) {
	for y := range 8 {
		for x := range 8 {
			for _, v := range []int32{narrow, -narrow} {
				var b block
				b.put(0, 0, unitSteps)
				b.coefficients[8*y+x] = v
				b.set |= 1 << (8*y + x)
				got, want := make([]byte, 64), make([]byte, 64)
				inverseNarrow(&b, got, 8)
				inverseWide(&b, want, 8)
				if !bytes.Equal(got, want) {
					t.Errorf("coefficient %d, %d of %d: %v, want %v", x, y, v, got, want)
				}
			}
		}
	}
}

func TestUpsampling(t *testing.T) {
	line := func(v ...byte) []byte { return v }
	out := make([]byte, 8)
	for _, c := range []struct {
		name string
		f    func()
		want []byte
	}{
		{"width", func() { doubleWidth(out, line(10, 20, 40, 41)) }, line(10, 13, 17, 25, 35, 40, 41, 41)},
		{"upper row", func() { doubleHeight(out, line(10, 20, 40, 41), line(0, 21, 0, 255), 0) }, line(7, 20, 30, 94)},
		{"lower row", func() { doubleHeight(out, line(10, 20, 40, 41), line(0, 21, 0, 255), 1) }, line(8, 20, 30, 95)},
		{"both", func() { doubleBoth(out, line(10, 20, 40, 41), line(10, 20, 40, 41)) }, line(10, 12, 18, 25, 35, 40, 41, 41)},
	} {
		if c.f(); !bytes.Equal(out[:len(c.want)], c.want) {
			t.Errorf("%s: %v, want %v", c.name, out[:len(c.want)], c.want)
		}
	}
}

// The tables that files leave out are those that image/jpeg writes.
func TestStandardTables(t *testing.T) {
	var b bytes.Buffer
	if err := stdjpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	d := &decoder{data: b.Bytes()}
	if _, err := d.segments(); err != nil {
		t.Fatal(err)
	}
	own := &decoder{}
	own.standardTables()
	for class := range 2 {
		for id := range 2 {
			if *d.huffman[class][id] != *own.huffman[class][id] {
				t.Errorf("table %d of class %d differs", id, class)
			}
		}
	}
}

// Every code of a table is found, whether a number behind it is in the table or
// not.
func TestCodes(t *testing.T) {
	d := &decoder{}
	d.standardTables()
	table := d.huffman[1][0]
	if err := table.prepare(false); err != nil {
		t.Fatal(err)
	}
	code, k := uint64(0), 0
	for length := 1; length <= 16; length++ {
		for range table.counts[length-1] {
			r := &bitReader{acc: code<<(64-length) | 1<<(63-length), n: 64}
			if s := table.symbol(r); s != int32(table.symbols[k]) || r.n != 64-length {
				t.Errorf("code %0*b is symbol %02x with %d bits, want %02x", length, code, s, 64-r.n, table.symbols[k])
			}
			code++
			k++
		}
		code <<= 1
	}
	if s := table.symbol(&bitReader{acc: math.MaxUint64, n: 64}); s >= 0 {
		t.Errorf("ones are symbol %02x", s)
	}
}

func TestBits(t *testing.T) {
	data := []byte{0x12, 0xff, 0x00, 0x34, 0xff, 0xff, 0x00, 0x56, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xff, 0xff, 0xd3}
	r := &bitReader{data: data}
	for i, want := range []int32{0x12, 0xff, 0x34, 0xff, 0x56, 1, 2, 3, 4, 5, 6, 7, 8, 9} {
		r.fill()
		if v := r.take(8); v != want || r.overrun() {
			t.Errorf("byte %d is %02x, want %02x; overrun %v", i, v, want, r.overrun())
		}
	}
	if r.fill(); r.take(1) != 0 || !r.overrun() {
		t.Error("no overrun behind the end")
	}
	if err := r.restart(2); err == nil {
		t.Error("RST3 is taken for RST2")
	}
	if err := r.restart(3); err != nil || r.pos != len(data) {
		t.Errorf("at %d of %d, error %v", r.pos, len(data), err)
	}
}

func seeds(t testing.TB) [][]byte {
	var all [][]byte
	for _, pattern := range []string{"../../../../imageio/testdata/good/*.jpg", "../../../../imageio/testdata/bad/*.jpg"} {
		names, err := filepath.Glob(pattern)
		if err != nil || names == nil {
			t.Fatalf("%s: %d files, error %v", pattern, len(names), err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, data)
		}
	}
	return all
}

func FuzzJPEG(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(data)
		if err != nil {
			ofOurKinds(t, err)
			return
		}
		if h.Width*h.Height > 1<<20 || h.Memory > 1<<24 || CountScans(data, 100) == 100 {
			return
		}
		pix := make([]byte, h.Width*h.Height*min(h.Components, 3))
		if err := Decode(data, h, pix); err != nil {
			ofOurKinds(t, err)
		}
	})
}

func ofOurKinds(t *testing.T, err error) {
	var f FormatError
	var u UnsupportedError
	if !errors.As(err, &f) && !errors.As(err, &u) {
		t.Fatalf("error %v is of type %T", err, err)
	}
}

// A scan of fewer components behind the only scan of a frame is refused: nothing is kept that it could go on with.
func TestScanBehindTheOnlyOne(t *testing.T) {
	var b bytes.Buffer
	if err := stdjpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 20, 20)), nil); err != nil {
		t.Fatal(err)
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte{0xff, 0xd9})
	data = append(data, "\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x00\x00\xff\xd9"...)
	h, err := ReadHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	err = Decode(data, h, make([]byte, 3*20*20))
	if err == nil || !strings.Contains(err.Error(), "only scan") {
		t.Errorf("error %v", err)
	}
}
