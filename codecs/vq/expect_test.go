package vq

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// needsVectorRanks says that a machine expects nothing of files.
func needsVectorRanks(t *testing.T) {
	t.Helper()
	if !vectorRanks {
		t.Skip("NOT TESTED: this machine has not the vector instructions, and decodes every file as if nothing were expected of it")
	}
}

// A segment is what a decoder finds in it, and nothing else: neither with another index, nor with other bytes, nor cut or longer.
func TestExpectSegment(t *testing.T) {
	needsVectorRanks(t)
	for seed := range uint64(400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 31))
			s := newRandomStream(r)
			k := s.book.ranker(pool.New())
			whole := segment{0, s.blocks / s.cols}
			table := make([]uint16, s.blocks)
			if !decodeSegment(s.stream, table, s.cols, whole, k) {
				t.Fatal("the segment does not decode")
			}
			if !expectSegment(s.stream, table, s.cols, whole, k) {
				t.Fatalf("%v of %d codewords, %d x %d blocks: the segment is not what it decodes to", s.book.shape, s.book.n(), s.cols, whole.rows)
			}
			for range 8 {
				other := slices.Clone(table)
				other[r.IntN(len(other))] = uint16(r.IntN(s.book.n() + 1))
				if !slices.Equal(other, table) && expectSegment(s.stream, other, s.cols, whole, k) {
					t.Error("the segment is another one as well")
				}
			}
			for range 8 {
				d := s
				d.damage(r)
				got := make([]uint16, s.blocks)
				decodes := decodeSegment(d.stream, got, s.cols, whole, k) && slices.Equal(got, table)
				if expectSegment(d.stream, table, s.cols, whole, k) != decodes {
					t.Errorf("a segment that decodes to the table: %v, and the other way round with one that is expected", decodes)
				}
			}
		})
	}
}

// The place of a codeword is how many keys are less than its own, and the least is that of all: with and without a row above and a column
// to the left, and from any column on.
func TestPlaces(t *testing.T) {
	needsVectorRanks(t)
	r := rand.New(rand.NewPCG(1, 32))
	for _, s := range []shape{{2, 2}, {4, 2}, {4, 4}, {8, 8}} {
		for _, n := range []int{1, 2, 15, 16, 17, 31, 32, 33, 64, 255, 256, 257, 1000, 4095, 4096} {
			for _, kind := range []string{"mixed", "alike", "of both ends"} {
				words := testVectors(r, s.k(), n)
				for i := range words {
					switch kind {
					case "alike": // so that few sums come into question
						words[i] = byte(i/s.k()*255/n) + byte(r.IntN(3))
					case "of both ends": // so that mismatches are as great as can be
						words[i] = byte(-r.IntN(2))
					}
				}
				book := finished(&codebook{shape: s, words: words})
				n := book.n()
				k := newRanker(pool.New(), book, true)
				p, e := newPicker(n), new(expecting)
				for _, cols := range []int{1, 2, 9, 40} {
					table := make([]uint16, 2*cols)
					for i := range table {
						if table[i] = uint16(r.IntN(n)); i > 0 && r.IntN(2) == 0 { // near the one before
							table[i] = uint16(min(int(table[i-1])+r.IntN(3), n-1))
						}
					}
					whole := segment{0, 2}
					for row := range 2 {
						for from := range cols {
							if !e.rank(table, cols, whole, row, from, cols-from, k, p) {
								t.Fatalf("%v, %d codewords: an index of a codeword is none", s, n)
							}
							for i := range cols - from {
								up, left, activity := k.around(table, cols, 0, row, from+i)
								x := table[row*cols+from+i]
								least := p.fill(k, up, left)
								if want := belowGo(p.keys, p.keys[x]); int(e.places[i]) != want || e.leasts[i] != least || e.activities[i] != uint32(activity) {
									t.Fatalf("%v, %d codewords %s, beside %d and %d: codeword %d is in place %d, want %d; the least key is %#x, want %#x; activity %d, want %d",
										s, n, kind, up, left, x, e.places[i], want, e.leasts[i], least, e.activities[i], activity)
								}
							}
						}
					}
					table[len(table)-1] = uint16(n)
					if e.rank(table, cols, whole, 1, 0, cols, k, p) {
						t.Errorf("%v, %d codewords: an index of no codeword is one", s, n)
					}
				}
			}
		}
	}
}

// The contexts of ranks are those that an encoder finds, and the bit lengths of a row are those of its ranks.
func TestContexts(t *testing.T) {
	needsVectorRanks(t)
	r := rand.New(rand.NewPCG(1, 36))
	for _, cols := range []int{1, 2, 15, 16, 17, 127, expectBlocks, expectBlocks + 1, 3*expectBlocks + 7} {
		for _, n := range []int{2, 64, 256, 257, 4096} {
			m, a, e := newRankModel(n), newAround(cols), new(expecting)
			shift := bestShift(n)
			above, row := newLengths(cols), newLengths(cols)
			for range 4 {
				a.newRow()
				for from := 0; from < cols; from += expectBlocks {
					blocks := min(cols-from, expectBlocks)
					for i := range blocks {
						e.places[i] = uint16(r.IntN(n) >> r.IntN(indexBits))
						e.leasts[i] = r.Uint32()>>r.IntN(20)<<indexBits | uint32(r.IntN(n))
						e.activities[i] = r.Uint32N(511) >> r.IntN(9)
					}
					findContexts(e, above[from:], row[from:], shift, blocks)
					for i := range blocks {
						var want [mixed]uint32
						least := e.leasts[i]
						a.find(m, &want, from+i, bits.Len32(e.activities[i]), bits.Len32(least>>indexBits), int(least&(1<<indexBits-1))>>shift)
						a.leave(from+i, int(e.places[i]))
						for c := range want {
							if got := e.contexts[c][i]; got != want[c] {
								t.Fatalf("%d columns, %d codewords, column %d: context %d is %d, want %d", cols, n, from+i, c, got, want[c])
							}
						}
					}
				}
				row[cols+1] = noRank
				if !bytes.Equal(row[:cols+2], a.row) {
					t.Fatalf("%d columns: bit lengths %v, want %v", cols, row[:cols+2], a.row)
				}
				above, row = row, above
			}
			rankModels.Put(m)
		}
	}
}

// The decisions of ranks are those that an encoder codes, with the same probabilities.
func TestDecisions(t *testing.T) {
	needsVectorRanks(t)
	r := rand.New(rand.NewPCG(1, 35))
	for _, n := range []int{1, 2, 3, 4, 5, 8, 9, 16, 64, 128, 129, 255, 256, 257, 512, 1000, 2049, 4096} {
		for _, few := range []bool{false, true} {
			e, model, other := new(expecting), newRankModel(n), newRankModel(n)
			want, got := newRangeEncoder(nil), newRangeEncoder(nil)
			for _, blocks := range []int{1, 2, expectBlocks, expectBlocks - 1, 17, expectBlocks, expectBlocks} {
				for i := range blocks {
					rank, contexts := r.IntN(n), 3
					if few { // as most are: of few bits, in contexts that come again and again
						rank, contexts = rank>>r.IntN(indexBits), 1
					}
					e.places[i] = uint16(rank)
					var around [4]uint8
					for j := range around {
						around[j] = uint8(r.IntN(contexts))
					}
					a, l, best := r.IntN(contexts), r.IntN(contexts), r.IntN(min(n, contexts))
					var at [mixed]uint32
					model.find(&at, a, l, best, around[0], around[1], around[2], around[3])
					for c, context := range at {
						e.contexts[c][i] = context
					}
					other.find(&other.contexts, a, l, best, around[0], around[1], around[2], around[3])
					other.encode(want, rank)
				}
				for _, d := range e.decide(model, blocks) {
					zero, v := uint32(d&^expectOne), 0
					if d&expectOne != 0 {
						zero, v = 65536-zero, 1
					}
					got.put(zero, v)
				}
			}
			if !bytes.Equal(got.finish(), want.finish()) {
				t.Errorf("%d codewords: the decisions are not those of the encoder", n)
			}
			rankModels.Put(model)
			rankModels.Put(other)
		}
	}
}

// Beyond the odds that bound those of vector instructions, a probability is at its limit.
func TestMostOdds(t *testing.T) {
	for x := -2047; x <= 2047; x++ {
		if got, want := squashed[max(-mostOdds, min(x, mostOdds))+2048], squashed[x+2048]; got != want {
			t.Errorf("odds of %d: probability %d, want %d", x, got, want)
		}
	}
}

// What an encoder expects of its files changes neither images nor errors, be it right, of another file, or of no file at all.
func TestExpectationsChangeNothing(t *testing.T) {
	ctx, r := context.Background(), rand.New(rand.NewPCG(1, 34))
	for _, text := range [][]string{nil, {"n=16"}, {"n=1000", "block=2x2"}, {"n=4096"}, {"block=8x8", "chroma=444"}, {"index=raw"}} {
		o, err := Codec{}.Options(text)
		if err != nil {
			t.Fatal(err)
		}
		var images []*raster.Image
		for i, size := range [][2]int{{1, 1}, {7, 5}, {64, 33}, {200, 129}} {
			for channels := 1; channels <= 3; channels += 2 {
				m := raster.New(size[0], size[1], 1, channels, 8)
				for j := range m.Pix {
					m.Pix[j] = byte(j/channels%size[0]*(2+i) + int(r.Uint32()%16))
				}
				images = append(images, m)
			}
		}
		encoded := Codec{}.Encode(ctx, codec.Run{}, codec.Items(images...), o)
		var files [][]byte
		var expect []any
		for _, e := range encoded {
			if e.Err != nil {
				t.Fatal(e.Err)
			}
			if _, ok := e.Expect.(expected); !ok {
				t.Fatalf("the encoder expects %T of its file", e.Expect)
			}
			files, expect = append(files, e.Data), append(expect, e.Expect)
		}
		for i, f := range files { // and damaged ones
			f = slices.Clone(f)
			f[len(f)-1-i] ^= 1
			files, expect = append(files, f), append(expect, expect[i])
		}
		want := Codec{}.Decode(ctx, codec.Run{}, files, nil)
		others := append(slices.Clone(expect[1:]), expect[0])
		for name, e := range map[string][]any{"right": expect, "of another file": others, "for some": expect[:2], "of no file": {1, "", nil, expected{}, expected{{}, {}}}} {
			for i, got := range (Codec{}).Decode(ctx, codec.Run{Expect: e}, files, nil) {
				if (got.Err == nil) != (want[i].Err == nil) || got.Err != nil && got.Err.Error() != want[i].Err.Error() {
					t.Errorf("%v, %s: file %d: %v, want %v", text, name, i, got.Err, want[i].Err)
				} else if got.Err == nil && got.Image.Hash() != want[i].Image.Hash() {
					t.Errorf("%v, %s: file %d is another image", text, name, i)
				}
			}
		}
	}
}

// Of some files nothing is expected, and always of the same ones.
func TestSomeFilesAreDecodedPlainly(t *testing.T) {
	r, plain := rand.New(rand.NewPCG(1, 33)), 0
	for range 64 * plainShare {
		index := make([]byte, 8)
		for i := range index {
			index[i] = byte(r.Uint32())
		}
		if unexpected(index) {
			plain++
		}
	}
	if plain < 32 || plain > 128 {
		t.Errorf("%d of %d files, want about 64", plain, 64*plainShare)
	}
}
