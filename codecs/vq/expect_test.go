package vq

import (
	"bytes"
	"context"
	"fmt"
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
func TestEdgePlaces(t *testing.T) {
	needsVectorRanks(t)
	r := rand.New(rand.NewPCG(1, 32))
	for _, s := range []shape{{2, 2}, {4, 2}, {4, 4}, {8, 8}} {
		for _, n := range []int{1, 2, 15, 16, 17, 31, 32, 33, 64, 255, 256, 257, 1000, 4095, 4096} {
			book := finished(&codebook{shape: s, words: testVectors(r, s.k(), n)})
			n := book.n()
			k := newRanker(pool.New(), book, true)
			p := newPicker(n)
			for _, cols := range []int{1, 2, 9} {
				row, over := make([]uint16, cols), make([]uint16, cols)
				for c := range row {
					row[c], over[c] = uint16(r.IntN(n)), uint16(r.IntN(n))
				}
				for _, above := range [][]uint16{nil, over} {
					for from := range cols {
						places, leasts := make([]uint16, cols-from), make([]uint32, cols-from)
						k.vectors.places(n, row, above, from, places, leasts)
						for i, x := range row[from:] {
							up, left := -1, -1
							if above != nil {
								up = int(above[from+i])
							}
							if from+i > 0 {
								left = int(row[from+i-1])
							}
							least := p.fill(k, up, left)
							if want := belowGo(p.keys, p.keys[x]); int(places[i]) != want || leasts[i] != least {
								t.Fatalf("%v, %d codewords, beside %d and %d: codeword %d is in place %d, want %d; the least key is %#x, want %#x", s, n, up, left, x, places[i], want, leasts[i], least)
							}
						}
					}
				}
			}
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
					model.find(&e.contexts[i], a, l, best, around[0], around[1], around[2], around[3])
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
