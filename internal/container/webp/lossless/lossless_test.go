package lossless

import (
	"bytes"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/vp8l"
)

// bothWays runs a test with the vector code, also for literals of images that are too small for it, and without.
func bothWays(t *testing.T, f func(t *testing.T)) {
	t.Run("go", func(t *testing.T) {
		defer setVector(false)()
		f(t)
	})
	if vector {
		t.Run("vector", func(t *testing.T) {
			defer setLeastPixels(0)()
			f(t)
		})
	}
}

// setLeastPixels returns what sets it as before.
func setLeastPixels(n int) func() {
	before := leastPixels
	leastPixels = n
	return func() { leastPixels = before }
}

// check holds Decode against golang.org/x/image, and returns which of both took the bitstream.
func check(t *testing.T, stream []byte) (ours, theirs bool) {
	t.Helper()
	m, err := vp8l.Decode(bytes.NewReader(stream))
	pix, w, h, ok := Decode(stream)
	if !ok {
		if _, _, _, ok := DecodeRGB(stream, nil); ok {
			t.Fatal("it is read without alpha only")
		}
		return false, err == nil
	}
	if err != nil {
		t.Fatalf("it is read, and golang.org/x/image says %v", err)
	}
	want := m.(*image.NRGBA)
	if w != want.Rect.Dx() || h != want.Rect.Dy() || !bytes.Equal(pix, want.Pix) {
		t.Fatalf("%d x %d pixels are others than golang.org/x/image reads", w, h)
	}
	packGo(pix, pix, false)
	var given []byte
	dirty := func(n int) []byte {
		given = bytes.Repeat([]byte{0xa5}, n+8)
		return given[:n:n]
	}
	for _, alloc := range []func(n int) []byte{nil, dirty} {
		rgb, w, h, ok := DecodeRGB(stream, alloc)
		if !ok || w != want.Rect.Dx() || h != want.Rect.Dy() || !bytes.Equal(rgb, pix[:3*w*h]) {
			t.Fatalf("%d x %d pixels without alpha are others (%v)", w, h, ok)
		}
	}
	if behind := given[len(given)-8:]; !bytes.Equal(behind, bytes.Repeat([]byte{0xa5}, 8)) {
		t.Fatal("it is written beside memory that was given")
	}
	return true, true
}

// writer writes bits, the first in the lowest place.
type writer struct {
	out     []byte
	free    uint
	literal bool // codes have nothing but literals
}

func (w *writer) put(v uint32, n uint) {
	for i := range n {
		if w.free == 0 {
			w.out, w.free = append(w.out, 0), 8
		}
		w.out[len(w.out)-1] |= byte(v>>i&1) << (8 - w.free)
		w.free--
	}
}

// made is a bitstream of random parts that keep the rules: transforms, codes, and noise for pixels. Only a backward
// reference may reach too far.
func made(rng *rand.Rand, width, height int) []byte {
	w := &writer{literal: rng.IntN(3) == 0}
	w.put(0x2f, 8)
	w.put(uint32(width-1), 14)
	w.put(uint32(height-1), 14)
	w.put(rng.Uint32()&1, 1)
	w.put(0, 3)
	across := width
	for _, kind := range rng.Perm(4)[:rng.IntN(5)] {
		w.put(1, 1)
		w.put(uint32(kind), 2)
		switch kind {
		case predictor, crossColour:
			bits := uint(rng.IntN(4))
			w.put(uint32(bits), 3)
			n := tiles(across, bits+2) * tiles(height, bits+2)
			w.put(0, 1)
			if kind == predictor {
				w.two(rng.Uint32()%predictors, rng.Uint32()%predictors)
				w.one(7)
				w.one(200)
				w.one(1)
				w.one(0)
				w.noise(rng, n)
				continue
			}
			for range 3 {
				w.two(rng.Uint32()&255, rng.Uint32()&255)
			}
			w.one(1)
			w.one(0)
			w.noise(rng, 3*n)
		case colourIndexing:
			n := []int{1, 2, 3, 4, 11, 16, 17, 100, 256}[rng.IntN(9)]
			w.put(uint32(n-1), 8)
			w.put(0, 1)
			w.two(1, 200)
			w.two(1, 200)
			w.two(1, 255)
			w.two(255, 254)
			w.two(0, 1)
			w.noise(rng, 4*n)
			switch {
			case n <= 2:
				across = tiles(across, 3)
			case n <= 4:
				across = tiles(across, 2)
			case n <= 16:
				across = tiles(across, 1)
			}
		}
	}
	w.put(0, 1)
	cache := uint(rng.IntN(12))
	if cache == 0 {
		w.put(0, 1)
	} else {
		w.put(1, 1)
		w.put(uint32(cache), 4)
	}
	groups := 1
	if bits := uint(rng.IntN(3)); rng.IntN(2) == 0 && tiles(across, bits+2)*tiles(height, bits+2) >= 2 {
		w.put(1, 1)
		w.put(uint32(bits), 3)
		w.put(0, 1)
		w.two(0, 1)
		w.one(0)
		w.one(0)
		w.one(0)
		w.one(0)
		n := tiles(across, bits+2) * tiles(height, bits+2)
		w.put(1, 1)
		for range n - 1 {
			w.put(rng.Uint32(), 1)
		}
		groups = 2
	} else {
		w.put(0, 1)
	}
	for range groups {
		w.codes(rng, cache, []int{3, 30, 256}[rng.IntN(3)])
	}
	w.noise(rng, 64*across*height)
	return w.out
}

// one and two write codes of one symbol and of two.
func (w *writer) one(s uint32) {
	w.put(1, 1)
	w.put(0, 1)
	w.put(1, 1)
	w.put(s, 8)
}

func (w *writer) two(a, b uint32) {
	w.put(1, 1)
	w.put(1, 1)
	w.put(1, 1)
	w.put(a, 8)
	w.put(b, 8)
}

func (w *writer) noise(rng *rand.Rand, bits int) {
	for ; bits > 0; bits -= 16 {
		w.put(rng.Uint32(), uint(min(bits, 16)))
	}
}

// codes writes the five codes of a group, with many symbols among the literals.
func (w *writer) codes(rng *rand.Rand, cache uint, symbols int) {
	for i := range 5 {
		alphabet := literals
		switch i {
		case 0:
			alphabet += lengths
			if cache > 0 {
				alphabet += 1 << cache
			}
		case 4:
			alphabet = distances
		}
		if i == 3 && rng.IntN(3) > 0 || rng.IntN(20) == 0 {
			w.one(rng.Uint32() % uint32(min(alphabet, 256)))
			continue
		}
		all := make([]byte, alphabet)
		var n []byte
		for n = []byte{1, 1}; len(n) < min(symbols, alphabet, literals); {
			j := rng.IntN(len(n))
			if rng.IntN(3) == 0 {
				j = len(n) - 1
			}
			if n[j] < longest {
				n[j]++
				n = append(n, n[j])
			} else if rng.IntN(50) == 0 {
				break
			}
		}
		used := alphabet
		if w.literal {
			used = min(used, literals)
		}
		for j, s := range rng.Perm(used)[:len(n)] {
			all[s] = n[j]
		}
		// Sixteen lengths of four bits each, so that any of them is written in four bits.
		w.put(0, 1)
		w.put(15, 4)
		for _, s := range order {
			if s < 16 {
				w.put(4, 3)
			} else {
				w.put(0, 3)
			}
		}
		w.put(0, 1)
		for _, v := range all {
			for bit := range 4 {
				w.put(uint32(v)>>(3-bit), 1)
			}
		}
	}
}

// Bitstreams of random parts are read as golang.org/x/image reads them, and none is left to it.
func TestRandomBitstreams(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		taken, byRow, tiled := 0, 0, 0
		for range 1500 {
			stream := made(rng, 1+rng.IntN(90), 1+rng.IntN(40))
			ours, theirs := check(t, stream)
			if ours != theirs {
				t.Fatal("golang.org/x/image takes a bitstream that is not taken")
			}
			if ours {
				taken++
				if s, _ := Open(stream); s.rowByRow() {
					byRow++
					tiled += min(len(s.Numbers), 1)
				}
			}
		}
		if taken < 300 || byRow < 100 || tiled < 30 {
			t.Errorf("only %d bitstreams were sound, %d of these without backward references, of which %d have tiles", taken, byRow, tiled)
		}
	})
}

// files are the lossless bitstreams of libwebp in the tests of imageio.
func files(t testing.TB) (streams [][]byte) {
	names, err := filepath.Glob("../../../../imageio/testdata/good/lossless*.webp")
	if err != nil || len(names) < 2 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if i := bytes.Index(data, []byte("VP8L")); i > 0 {
			streams = append(streams, data[i+8:])
		}
	}
	return streams
}

// Bitstreams of libwebp are taken; those that are cut are refused.
func TestFiles(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for i, stream := range files(t) {
			if ours, _ := check(t, stream); !ours {
				t.Errorf("bitstream %d is not taken", i)
			}
			for n := range len(stream) / 2 {
				if _, _, _, ok := Decode(stream[:n]); ok {
					t.Fatalf("%d of %d bytes are taken", n, len(stream))
				}
			}
		}
	})
}

// The kernels are their twins, for rows of any length.
func TestKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32()) >> (rng.Uint32() & 7)
		}
		return b
	}
	for pixels := 1; pixels < 70; pixels++ {
		for mode := range predictors {
			row, up := noise(4+4*pixels+8), noise(4*pixels+8)
			want := bytes.Clone(row)
			predict(mode, row[4:4+4*pixels], row, up)
			predictGo(mode, want[4:4+4*pixels], want, up)
			if !bytes.Equal(row, want) {
				t.Fatalf("predictor %d differs over %d pixels", mode, pixels)
			}
		}
		row := noise(4 * pixels)
		want := bytes.Clone(row)
		addGreen(row)
		addGreenGo(want)
		if !bytes.Equal(row, want) {
			t.Fatalf("green differs over %d pixels", pixels)
		}
		for _, green := range []bool{false, true} {
			out, packed := noise(3*pixels+5), make([]byte, 3*pixels)
			copied, behind := bytes.Clone(row), bytes.Clone(out[3*pixels:])
			packGo(packed, row, green)
			pack(out[:3*pixels], row, green)
			pack(copied, copied, green)
			if !bytes.Equal(out[:3*pixels], packed) || !bytes.Equal(out[3*pixels:], behind) || !bytes.Equal(copied[:3*pixels], packed) {
				t.Fatalf("%d packed pixels differ", pixels)
			}
		}
		for range 20 {
			multipliers := noise(4)
			addColours(row, multipliers, 1, len(row))
			addColoursGo(want, multipliers, 1, len(row))
			if !bytes.Equal(row, want) {
				t.Fatalf("colours differ over %d pixels by %d", pixels, multipliers)
			}
		}
		tiles := 1 + rng.IntN(6)
		row, multipliers := noise(tiles*4*pixels), noise(4*tiles)
		want = bytes.Clone(row)
		addColours(row, multipliers, tiles, 4*pixels)
		addColoursGo(want, multipliers, tiles, 4*pixels)
		if !bytes.Equal(row, want) {
			t.Fatalf("colours differ over %d tiles of %d pixels", tiles, pixels)
		}
	}
}

// The kernel of whole tiles predicts each of them by its mode, and writes nothing else.
func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for round := range 3000 {
		side := 16 << rng.IntN(4)
		tiles := 1 + rng.IntN(6)
		modes := make([]byte, 4*tiles)
		for i := range modes {
			modes[i] = byte(rng.IntN(predictors) | rng.IntN(16)<<4)
			if round < predictors {
				modes[i] = byte(round)
			}
		}
		row, up := make([]byte, 4+tiles*side+16), make([]byte, tiles*side+8)
		for _, b := range [][]byte{row, up} {
			small := rng.Uint32() & 7
			for i := range b {
				b[i] = byte(rng.Uint32()) >> small
			}
		}
		want := bytes.Clone(row)
		predictTiles(row, up, modes, tiles, side)
		for i := range tiles {
			at := i * side
			predictGo(int(modes[4*i]&15), want[4+at:4+at+side], want[at:], up[at:])
		}
		if !bytes.Equal(row, want) {
			t.Fatalf("%d tiles of %d bytes differ, modes %v", tiles, side, modes)
		}
	}
}

// Predictions are those of RFC 9649, 3.5.1, channel by channel.
func TestPredictors(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	channel := func(v uint32, c int) int { return int(v >> (8 * c) & 255) }
	for range 20_000 {
		l, u, tl := rng.Uint32(), rng.Uint32(), rng.Uint32()
		if rng.IntN(2) == 0 {
			u, tl = l+rng.Uint32()&0x03030303, l-rng.Uint32()&0x03030303
		}
		toL, toT := 0, 0
		for c := range 4 {
			estimate := channel(l, c) + channel(u, c) - channel(tl, c)
			toL += max(estimate-channel(l, c), channel(l, c)-estimate)
			toT += max(estimate-channel(u, c), channel(u, c)-estimate)
			if got, want := channel(full(l, u, tl), c), min(max(estimate, 0), 255); got != want {
				t.Fatalf("full: %d, want %d", got, want)
			}
			mean := (channel(l, c) + channel(u, c)) / 2
			if got := channel(average(l, u), c); got != mean {
				t.Fatalf("average: %d, want %d", got, mean)
			}
			if got, want := channel(half(average(l, u), tl), c), min(max(mean+(mean-channel(tl, c))/2, 0), 255); got != want {
				t.Fatalf("half: %d, want %d", got, want)
			}
			if got, want := channel(add(l, u), c), (channel(l, c)+channel(u, c))&255; got != want {
				t.Fatalf("add: %d, want %d", got, want)
			}
		}
		want := u
		if toL < toT {
			want = l
		}
		if got := selected(l, u, tl); got != want {
			t.Fatalf("select: %08x, want %08x", got, want)
		}
	}
}

// A size that is only claimed costs no more than its pixels, and codes that need large tables are left to the other
// decoder.
func TestClaims(t *testing.T) {
	w := &writer{}
	w.put(0x2f, 8)
	w.put(16383, 14)
	w.put(16383, 14)
	if _, _, _, ok := Decode(w.out); ok {
		t.Error("a header alone is taken")
	}
	d := &decoder{most: 100}
	if _, ok := d.of(bytes.Repeat([]byte{8}, 256)); ok {
		t.Error("a table is larger than the limit")
	}
}

// FuzzDecode holds the decoder against golang.org/x/image, with the vector code and without.
func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, stream := range files(f) {
		f.Add(stream)
	}
	for range 40 {
		f.Add(made(rng, 1+rng.IntN(20), 1+rng.IntN(10)))
	}
	defer setLeastPixels(0)()
	f.Fuzz(func(t *testing.T, stream []byte) {
		if c, err := vp8l.DecodeConfig(bytes.NewReader(stream)); err != nil || c.Width*c.Height > 1<<14 {
			return
		}
		ours, _ := check(t, stream)
		if vector {
			defer setVector(false)()
			if slow, _ := check(t, stream); slow != ours {
				t.Error("the vector code takes other bitstreams than the code in Go")
			}
		}
	})
}
