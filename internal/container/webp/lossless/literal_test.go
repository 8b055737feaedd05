package lossless

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// literalScan is the start of an image of noise whose tiles have two groups of random codes, among them groups
// whose literals have no code for alpha, or only one for green.
func literalScan(rng *rand.Rand, noise []byte) (s *scan, numbers []byte, size uint, cache uint) {
	cache = uint(rng.IntN(4))
	w := &writer{}
	for range 2 {
		w.codes(rng, cache, []int{3, 30, 100, 256}[rng.IntN(4)])
	}
	width, height := 1+rng.IntN(90), 1+rng.IntN(20)
	size = uint(2 + rng.IntN(3))
	d := &decoder{data: w.out, most: 1 << 20}
	all := make([]group, 2)
	for i := range all {
		one, _, _, _ := d.groups(width, height, false, cache)
		all[i] = one[0]
		if g := &all[i]; rng.IntN(4) == 0 {
			only := uint32(len(d.tables))
			d.tables = append(d.tables, rng.Uint32()&255<<8)
			g.red, g.blue, g.alpha = code{at: only}, code{at: only}, code{at: only}
			g.flat, g.fixed = true, d.tables[only]>>8*0x1010001
		}
	}
	numbers = make([]byte, 4*tiles(width, size)*tiles(height, size))
	for i := 1; i < len(numbers); i += 4 {
		numbers[i] = byte(rng.IntN(2))
	}
	d = &decoder{data: noise, tables: d.tables}
	s = &scan{decoder: d, pix: make([]byte, 4*width*height), width: width, height: height, cache: cache, all: all, side: 4 << size}
	if cache > 0 {
		s.colours = make([]uint32, 1<<cache)
	}
	return s, numbers, size, cache
}

// The kernels decode what the code in Go decodes, and stand where it stands.
func TestLiterals(t *testing.T) {
	if !vector {
		t.Skip("this machine has no kernels")
	}
	defer setLeastPixels(0)()
	rng := rand.New(rand.NewPCG(11, 12))
	rows, greens, whole := 0, 0, 0
	for round := range 6000 {
		noise := make([]byte, rng.IntN(4000))
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		s, numbers, size, _ := literalScan(rng, noise)
		s.refill()
		k := rng.IntN(2)
		for i := 1; i < len(numbers) && rng.IntN(3) == 0; i += 4 {
			numbers[i] = byte(k)
		}
		twin, state := *s, *s.decoder
		twin.decoder, twin.pix = &state, bytes.Clone(s.pix)
		if s.tabled = s.literalTables(); s.tabled == nil {
			t.Fatal("there are no tables")
		}
		x := rng.IntN(s.width)
		s.at, twin.at = 4*x, 4*x
		n, to := s.width-x, s.at
		if s.pos+inputSlack <= len(s.data) {
			if g := &s.all[k]; g.flat && rng.IntN(2) == 0 {
				numbers = bytes.Repeat([]byte{0, byte(k), 0, 0}, len(numbers)/4)
				s.greens(&s.tabled[k], g.fixed, n)
				greens += s.at - to
			} else {
				tile := x >> size
				s.follow(numbers[:4*tiles(s.width, size)])
				s.literals(&s.tabled[numbers[4*tile+1]], s.next[tile:], (tile+1)<<size-x, n)
				rows += s.at - to
			}
		}
		if s.at < to || s.at > 4*s.width {
			t.Fatalf("round %d: %d bytes are decoded, of a row of %d", round, s.at, 4*s.width)
		}
		if s.at == 4*s.width {
			whole++
		}
		for twin.at < s.at {
			from := twin.at
			if !twin.run(int(numbers[4*(from/4>>size)+1]), from+4) || twin.at != from+4 {
				t.Fatalf("round %d: the pixel at %d is no literal", round, from)
			}
		}
		at := func(d *decoder) int { return 8*d.pos - int(d.count) }
		if at(s.decoder) != at(&state) || !bytes.Equal(s.pix, twin.pix) {
			t.Fatalf("round %d: %d bytes of pixels differ, or the bits behind them", round, s.at-to)
		}
	}
	if rows < 100_000 || greens < 10_000 || whole < 500 {
		t.Errorf("%d and %d bytes of pixels, %d whole rows: that is little to compare", rows, greens, whole)
	}
}

// The budget of tables counts what they take.
func TestTableBytes(t *testing.T) {
	if n := int(unsafe.Sizeof(literalTable{})); n != tableBytes {
		t.Errorf("a table has %d bytes", n)
	}
}

// Images whose tables would take more than Decode says have none.
func TestLiteralTablesHaveALimit(t *testing.T) {
	defer setLeastPixels(0)()
	s := &scan{decoder: &decoder{}, width: 10, height: 10, all: make([]group, 100)}
	if s.literalTables() != nil {
		t.Error("100 pixels have 100 tables")
	}
}
