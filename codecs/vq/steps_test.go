package vq

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// The steps are compared with slow versions at sizes around the blocks'.
var stepSizes = [][2]int{{1, 1}, {1, 7}, {7, 1}, {3, 4}, {4, 4}, {5, 5}, {7, 9}, {8, 8}, {16, 15}, {17, 33}, {70, 67}}

func noise(seed uint64, w, h, channels int) *raster.Image {
	r := rand.New(rand.NewPCG(seed, uint64(w)))
	m := raster.New(w, h, 1, channels, 8)
	for i := range m.Pix {
		m.Pix[i] = byte(r.IntN(256))
	}
	return m
}

func TestPlanes(t *testing.T) {
	c := pool.New()
	for _, size := range stepSizes {
		m := noise(1, size[0], size[1], 3)
		for _, half := range []bool{false, true} {
			ps := planes(c, m, half)
			for y := range m.Height {
				for x := range m.Width {
					i := 3 * (y*m.Width + x)
					r, g, b := int(m.Pix[i]), int(m.Pix[i+1]), int(m.Pix[i+2])
					co := r - b
					tt := b + co>>1
					cg := g - tt
					if want := tt + cg>>1; int(ps[0].pix[y*m.Width+x]) != want {
						t.Fatalf("%v: Y of (%d,%d) is %d, want %d", size, x, y, ps[0].pix[y*m.Width+x], want)
					}
					if half {
						continue
					}
					if a, b := int(ps[1].pix[y*m.Width+x]), int(ps[2].pix[y*m.Width+x]); a != (co+256)>>1 || b != (cg+256)>>1 {
						t.Fatalf("%v: Co, Cg of (%d,%d) are %d, %d, want %d, %d", size, x, y, a, b, (co+256)>>1, (cg+256)>>1)
					}
				}
			}
			if half {
				full := planes(c, m, false)
				for i := 1; i < 3; i++ {
					for y := range ps[i].h {
						for x := range ps[i].w {
							s := 2
							for _, d := range [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
								s += int(full[i].pix[min(2*y+d[0], m.Height-1)*m.Width+min(2*x+d[1], m.Width-1)])
							}
							if got := int(ps[i].pix[y*ps[i].w+x]); got != s>>2 {
								t.Fatalf("%v: half plane %d at (%d,%d) is %d, want %d", size, i, x, y, got, s>>2)
							}
						}
					}
				}
			}
		}
	}
}

// Colours go through the planes and back with an error of at most one step of the
// ninth bit of Co and Cg; grey is exact.
func TestImageInvertsPlanes(t *testing.T) {
	c := pool.New()
	m := noise(2, 64, 64, 3)
	for i := 0; i < 3*64; i += 3 {
		m.Pix[i+1], m.Pix[i+2] = m.Pix[i], m.Pix[i]
	}
	got := raster.New(64, 64, 1, 3, 8)
	merge(c, got, planes(c, m, false), false)
	for i, v := range m.Pix {
		d := int(v) - int(got.Pix[i])
		if i < 3*64 && d != 0 || d > 1 || d < -1 {
			t.Fatalf("sample %d is %d, want %d", i, got.Pix[i], v)
		}
	}
}

func TestBlocksAndExpand(t *testing.T) {
	c := pool.New()
	for name, s := range shapes {
		for _, size := range stepSizes {
			w, h := size[0], size[1]
			m := noise(3, w, h, 1)
			g := s.grid(w, h)
			out := make([]byte, g.blocks()*s.k())
			blocks(c, plane{w, h, m.Pix}, s, out)
			for i, v := range out {
				b, j := i/s.k(), i%s.k()
				y, x := b/g.cols*s.p+j/s.q, b%g.cols*s.q+j%s.q
				if want := m.Pix[min(y, h-1)*w+min(x, w-1)]; v != want {
					t.Fatalf("%s, %v: sample %d of block %d is %d, want %d", name, size, j, b, v, want)
				}
			}
			table := make([]uint16, g.blocks())
			for i := range table {
				table[i] = uint16(i)
			}
			back := newPlane(w, h)
			expand(c, table, &codebook{shape: s, words: out}, back)
			if !bytes.Equal(back.pix, m.Pix) {
				t.Fatalf("%s, %v: expand does not undo blocks", name, size)
			}
		}
	}
}

// Four rows of blocks at once are those row by row, of planes of all widths and heights.
func TestExpandFour(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	c, s := pool.Of(1), shape{4, 4}
	for _, n := range []int{1, 7, 300} {
		book := &codebook{shape: s, words: testVectors(r, s.k(), n)}
		for w := 1; w < 40; w++ {
			for h := 1; h < 14; h++ {
				g := s.grid(w, h)
				table := make([]uint16, g.blocks())
				for i := range table {
					table[i] = uint16(r.IntN(n))
				}
				want, got := newPlane(w, h), newPlane(w, h)
				for y := range h {
					expandRow(want.pix[y*w:][:w], table[y/4*g.cols:][:g.cols], book.words[y%4*4:], s.k(), 4)
				}
				if expand(c, table, book, got); !bytes.Equal(got.pix, want.pix) {
					t.Fatalf("%d x %d, %d codewords: four rows at once differ", w, h, n)
				}
			}
		}
	}
}

// Images that are expanded in bands are those of whole planes.
func TestExpandInBands(t *testing.T) {
	c := cpuSteps{pool.New()}
	r := rand.New(rand.NewPCG(19, 20))
	for name, s := range shapes {
		for _, size := range [][3]int{{1, 1, 1}, {5, 3, 2}, {33, 2*8*s.p + 1, 2}, {17, 8 * s.p, 1}, {40, 3*8*s.p - 1, 3}} {
			for _, flags := range []byte{0, flagColour, flagColour | flagHalf} {
				h := &header{flags: flags, block: s, w: size[0], h: size[1], d: size[2]}
				books := &bookPair{luma: &codebook{shape: s, words: testVectors(r, s.k(), 20)}}
				if h.colour() {
					books.chroma = &codebook{shape: s, words: testVectors(r, s.k(), 10)}
				}
				var table [2][]uint16
				want := raster.New(h.w, h.h, h.d, h.channels(), 8)
				for z := range h.d {
					var ps []plane
					for i, size := range h.planeSizes() {
						book, p := min(i, 1), newPlane(size[0], size[1])
						own := make([]uint16, s.grid(p.w, p.h).blocks())
						for j := range own {
							own[j] = uint16(r.IntN(books.list()[book].n()))
						}
						expand(c.pool, own, books.list()[book], p)
						table[book], ps = append(table[book], own...), append(ps, p)
					}
					if slice := want.Slice(z); h.colour() {
						merge(c.pool, slice, ps, h.half())
					} else {
						copy(slice.Pix, ps[0].pix)
					}
				}
				got := raster.New(h.w, h.h, h.d, h.channels(), 8)
				if err := c.expand(context.Background(), h, books, table[:], got); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Pix, want.Pix) {
					t.Fatalf("%s, %v, flags %d: bands differ from whole planes", name, size, flags)
				}
			}
		}
	}
}

func TestGather(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, k := range []int{4, 8, 16, 64} {
		for _, m := range []int{1, 2, 3000} {
			for _, cores := range []int{1, 3} {
				c := pool.Of(cores)
				b := newVectors(c, k, testVectors(r, k, m))
				keys := make([]key, b.m())
				for i := range keys {
					keys[i] = makeKey(r.Uint32N(1<<22), r.IntN(7))
				}
				got := gather(c, b, keys, 8)
				want := newCells(8, k)
				for i, x := range keys {
					want.count[x.index()]++
					for j, v := range b.at(i) {
						want.sum[k*x.index()+j] += uint64(v)
					}
				}
				if !slices.Equal(got.count, want.count) || !slices.Equal(got.sum, want.sum) {
					t.Errorf("gather of %d blocks of %d samples differs from one plain loop", m, k)
				}
			}
		}
	}
}

// Sums of more blocks than surely fit into 32 bits are moved in time.
func TestPartialCells(t *testing.T) {
	s := &partialCells{count: make([]uint32, 2), sum: []uint32{1 << 31, 5, 0, 1<<32 - 1}}
	s.count[1], s.blocks = 7, maxPartial
	total := newCells(2, 2)
	total.take(s)
	total.take(s)
	if !slices.Equal(total.sum, []uint64{1 << 31, 5, 0, 1<<32 - 1}) || !slices.Equal(total.count, []uint32{0, 7}) || s.blocks != 0 {
		t.Errorf("%v, then %v", total, s)
	}
	if maxPartial > (1<<32-1)/255 {
		t.Error("sums of maxPartial blocks of samples of 255 do not fit into 32 bits")
	}
}

func TestMeanRoundsHalvesUp(t *testing.T) {
	for _, c := range []struct {
		sum  uint64
		n    uint32
		want byte
	}{{0, 1, 0}, {1, 2, 1}, {1, 3, 0}, {2, 3, 1}, {3, 2, 2}, {255 * 9, 9, 255}, {5, 4, 1}, {6, 4, 2}} {
		if got := mean(c.sum, c.n); got != c.want {
			t.Errorf("mean of %d over %d is %d, want %d", c.sum, c.n, got, c.want)
		}
	}
}

// The place of every codeword beside every pair of neighbours, with doubles.
func TestRanks(t *testing.T) {
	c := pool.New()
	for name, s := range shapes {
		r := rand.New(rand.NewPCG(7, uint64(s.k())))
		book := &codebook{shape: s, words: testVectors(r, s.k(), 40)}
		var words [][]byte
		for i := range 40 {
			words = append(words, book.word(i))
		}
		rankers := []*ranker{newRanker(c, book, false)}
		if vectorRanks {
			rankers = append(rankers, newRanker(c, book, true))
		} else {
			t.Log("this machine has not the vector instructions: tables only")
		}
		p := newPicker(40)
		table := make([]uint16, 4)
		for round := range codectest.Rounds(400) {
			k := rankers[round%len(rankers)]
			table[1], table[2] = uint16(r.IntN(40)), uint16(r.IntN(40))
			where := [][4]int{{1, 1, int(table[1]), int(table[2])}, {0, 0, -1, -1}, {0, 1, -1, int(table[0])}, {1, 0, int(table[0]), -1}}[r.IntN(4)]
			above, left, _ := k.around(table, 2, 0, where[0], where[1])
			order, least := refSides(words, s.p, s.q, where[2], where[3])
			side := p.fill(k, above, left)
			if int(side>>indexBits) != least || int(side&(1<<indexBits-1)) != order[0] {
				t.Fatalf("%s %v: least side key is (%d, %d), want (%d, %d)", name, where, side>>indexBits, side&(1<<indexBits-1), least, order[0])
			}
			for place, x := range order {
				if got, l := k.place(p, above, left, x); got != place || l != side {
					t.Fatalf("%s %v: codeword %d has place %d, want %d", name, where, x, got, place)
				}
				if got := int(p.nth(place) & (1<<indexBits - 1)); got != x {
					t.Fatalf("%s %v: place %d has codeword %d, want %d", name, where, place, got, x)
				}
			}
		}
	}
}

// Side keys from the edges are those from the tables, for all numbers of codewords around groups of
// sixteen, all neighbours and samples up to the greatest; and so are the least of sixteen parts.
func TestEdgeKeys(t *testing.T) {
	c := pool.New()
	for name, s := range shapes {
		r := rand.New(rand.NewPCG(7, uint64(s.k())))
		for _, n := range []int{1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 100, 255, 256, 257} {
			book := &codebook{shape: s, words: make([]byte, n*s.k())}
			for i := range book.words {
				book.words[i] = []byte{0, 255, byte(r.IntN(256)), byte(r.IntN(256))}[r.IntN(4)]
			}
			tables, v := newRanker(c, book, false), newEdgeVectors(book)
			for range 20 {
				above, left := r.IntN(n+1)-1, r.IntN(n+1)-1
				base, lower, right, half, over := v.beside(above, left)
				want := make([]uint32, rankerRow(n))
				u, l := tables.rows(above, left)
				var parts [sortedKeys]uint32
				for i := range parts {
					parts[i] = ^uint32(0)
				}
				for x := range want {
					if want[x] = ^uint32(0); x < n {
						want[x] = u[x] + l[x] + over
					}
					parts[x%16] = min(parts[x%16], want[x])
				}
				for way, f := range map[string]func([]uint32, []byte, []uint32, int, int, uint64, uint64, uint32, *[sortedKeys]uint32) uint32{
					"Go": edgeKeysGo, "vectors": edgeKeys,
				} {
					if way == "vectors" && !vectorRanks {
						continue
					}
					got, minima := make([]uint32, len(want)), [sortedKeys]uint32{}
					least := f(got, v.words, base, n, v.quads, lower, right, half, &minima)
					if !slices.Equal(got, want) || minima != parts || least != slices.Min(want) {
						t.Fatalf("%s, %d codewords beside %d and %d, %s: keys %d, want %d; least %d, of parts %d, want %d", name, n, above, left, way, got, want, least, minima, parts)
					}
				}
			}
		}
	}
}

// What runs on vector instructions gives what Go gives, for all lengths around their groups
// of eight or sixteen and keys up to the greatest.
func TestRankKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for n := 1; n < 300; n += 1 + n/70*37 {
		up, left := make([]uint32, n), make([]uint32, n)
		for range 50 {
			scale := uint32(1) << (4 + r.IntN(16))
			for i := range n {
				up[i], left[i] = r.Uint32N(scale)<<indexBits|uint32(i), r.Uint32N(scale)<<indexBits
			}
			x := r.IntN(n)
			place, least := rank(up, left, x)
			if p, l := rankGo(up, left, up[x]+left[x]); place != p || least != l {
				t.Fatalf("n=%d: rank is (%d, %d), want (%d, %d)", n, place, least, p, l)
			}
			got, want := make([]uint32, n), make([]uint32, n)
			if a, b := sideKeys(up, left, got, new([sortedKeys]uint32)), sideKeysGo(up, left, want); a != b || !slices.Equal(got, want) {
				t.Fatalf("n=%d: side keys %v with least %d, want %v with %d", n, got, a, want, b)
			}
			from := want[r.IntN(n)]
			for _, from := range []uint32{0, from, from + 1, from - 1, 1 << 31, 1<<32 - 1} {
				if a, b := next(want, from), nextGo(want, from); a != b {
					t.Fatalf("n=%d: next from %d is %d, want %d", n, from, a, b)
				}
			}
			for _, t0 := range []uint32{0, from, from + 1, 1 << 31, 1<<32 - 1} {
				if a, b := belowIn(want, t0), belowGo(want, t0); a != b {
					t.Fatalf("n=%d: %d keys below %d, want %d", n, a, t0, b)
				}
				if a, b := keysIn(nil, want, from, t0-from), keysInGo(nil, want, from, t0-from); !slices.Equal(a, b) {
					t.Fatalf("n=%d: keys %d from %d up to %d, want %d", n, a, from, t0, b)
				}
			}
			slices.Sort(want)
			p := newPicker(n)
			row := [2][]uint32{slices.Clone(up), slices.Clone(left)}
			for range rankerRow(n) - n {
				row[0], row[1] = append(row[0], ^uint32(0)), append(row[1], 0)
			}
			p.fillRows(row[0], row[1])
			for _, x := range []int{x, r.IntN(n), 0, n - 1} {
				if a := p.nth(x); a != want[x] {
					t.Fatalf("n=%d: key %d in order is %d, want %d", n, x, a, want[x])
				}
			}
		}
	}
}

// Rows of pixels and of edges come out the same with vector instructions and without, with
// sums of colours far beyond 0 and 255.
func TestRowKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	noise := func(n int) []byte {
		out := make([]byte, n)
		for i := range out {
			out[i] = byte(r.Uint32()) | byte(-r.IntN(2)) // one in two is 255
		}
		return out
	}
	for w := 1; w < 100; w++ {
		for shift := range 2 {
			c := (w + shift) >> shift
			luma, co, cg := noise(w), noise(c), noise(c)
			got, want := make([]byte, 3*w), make([]byte, 3*w)
			mergeRow(got, luma, co, cg, shift)
			mergeRowGo(want, luma, co, cg, shift)
			if !bytes.Equal(got, want) {
				t.Fatalf("%d pixels, chroma of 1/%d: %v, want %v", w, 1<<shift, got, want)
			}
		}
	}
	for row := 16; row <= 64; row += 16 {
		for n := 1; n <= 4; n *= 2 {
			pairs, edge, base := make([]uint32, n*row), make([]uint32, n), make([]uint32, row)
			for _, list := range [][]uint32{pairs, edge} {
				for i := range list {
					list[i] = pair(noise(1)[0], noise(1)[0])
				}
			}
			for i := range base {
				base[i] = r.Uint32N(maxCodewords)
			}
			got, want := make([]uint32, row), make([]uint32, row)
			differences(got, base, pairs, edge)
			differencesGo(want, base, pairs, edge)
			if !slices.Equal(got, want) {
				t.Fatalf("%d codewords, %d pairs: %v, want %v", row, n, got, want)
			}
		}
	}
}

func TestSumBeyond(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	c := pool.New()
	for _, k := range []int{4, 8, 16, 64} {
		b := newVectors(c, k, testVectors(r, k, 300))
		way := make([]int16, k)
		for trial := range codectest.Rounds(300) {
			for i := range way {
				way[i] = int16(2 * (r.IntN(511) - 255))
			}
			members := make([]int32, r.IntN(20))
			for i := range members {
				members[i] = int32(r.IntN(300))
			}
			limit := int32(r.IntN(100000) - 50000)
			if len(members) > 0 && trial%2 == 0 {
				limit = dot(b.at(int(members[0])), way) // exactly there is not beyond
			}
			got, want := make([]uint32, k), make([]uint32, k)
			got[0], want[0] = 7, 7
			n, m := sumBeyond(b, members, way, limit, got), sumBeyondGo(b, members, way, limit, want)
			if n != m || !slices.Equal(got, want) {
				t.Fatalf("k=%d: %d blocks with sums %v, want %d with %v", k, n, got, m, want)
			}
		}
	}
}

func TestRawTable(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{1, 2, 3, 128, 200, 256, 257, 4096} {
		for _, count := range []int{1, 2, 7, 8, 9, 100} {
			table := make([]uint16, count)
			for i := range table {
				table[i] = uint16(r.IntN(n))
			}
			out := appendRaw(nil, table, n)
			if size := rawSize(grid{1, count}, n); int64(len(out)) != size {
				t.Fatalf("n=%d: %d entries take %d bytes, want %d", n, count, len(out), size)
			}
			got := make([]uint16, count)
			if !readRaw(out, got, n) || !slices.Equal(got, table) {
				t.Fatalf("n=%d: %d entries come back as %v, want %v", n, count, got, table)
			}
		}
	}
	if readRaw([]byte{0xff}, make([]uint16, 1), 200) {
		t.Error("entry 255 of 200 is taken")
	}
	if readRaw([]byte{0x01}, make([]uint16, 1), 2) {
		t.Error("filling that is not zero is taken")
	}
}

// An image of few different blocks gives the codebook that its blocks give, wherever they
// lie, and one of many none.
func TestDistinctOfAnImage(t *testing.T) {
	c := cpuSteps{pool.New()}
	r := rand.New(rand.NewPCG(7, 9))
	found := 0
	for range 400 {
		m := raster.New(1+r.IntN(60), 1+r.IntN(60), 1+r.IntN(3), 1+2*r.IntN(2), 8)
		for i := range m.Pix {
			m.Pix[i] = byte(60 * (i * r.IntN(2) * r.IntN(2) / (1 + len(m.Pix)/4)))
		}
		o := &Options{block: []shape{{2, 2}, {4, 2}, {4, 4}, {8, 8}}[r.IntN(4)], half: r.IntN(2) == 0, n: 2 + r.IntN(40), chroma: 2 + r.IntN(40)}
		h := newHeader(m, o)
		got := distinctOf(c.pool, m, h, o)
		for i, b := range c.blocks(h, m) {
			want, err := distinct(b, o.block, o.codewords(i))
			if err != nil {
				t.Fatal(err)
			}
			if (got[i] == nil) != (want == nil) || want != nil && !bytes.Equal(got[i].words, want.words) {
				t.Fatalf("%s, blocks of %s, half %v, codebook %d: %v, want %v", m.Shape, o.block, h.half(), i, got[i], want)
			}
			if want != nil {
				found++
			}
		}
	}
	if found < 50 || found > 500 {
		t.Errorf("%d codebooks of different blocks: the images are of one kind", found)
	}
}
