package vq

import (
	"bytes"
	"cmp"
	"context"
	"slices"
)

// train makes a codebook of at most n codewords for the blocks b. The same blocks
// give the same codebook on every machine: all arithmetic is on integers, chance
// comes from a fixed generator, and ties go to the lowest index.
//
// Blocks of at most n different contents are their own codebook. Otherwise a
// start codebook (see seed and split) is improved by passes of Lloyd's algorithm,
// as in LBG: every block to its nearest codeword, every codeword to the mean of
// its blocks. Between passes cells are shifted as in ELBG (Patane and Russo,
// 2001): see shift.
func train(ctx context.Context, all *cpuBlocks, s shape, n int, how start, passes int) (*codebook, error) {
	if book, err := distinct(all, s, n); book != nil || err != nil {
		return book, err
	}
	b := all.keep(n * trainBlocks)
	if b.m() < all.m() {
		if book, err := distinct(b, s, n); book != nil || err != nil {
			return book, err
		}
	}
	begin := seed
	if how == startSplit {
		begin = split
	}
	book, err := begin(ctx, b, s, n)
	if err != nil {
		return nil, err
	}
	if err := lloyd(ctx, b, book, passes); err != nil {
		return nil, err
	}
	return finished(book), nil
}

// lloyd improves book in place by at most the given number of passes, fewer when
// one changes nothing.
func lloyd(ctx context.Context, b *cpuBlocks, book *codebook, passes int) error {
	last := make([]byte, len(book.words))
	shifted := shiftedPasses(passes)
	for pass := range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		copy(last, book.words)
		b.search(book)
		t := b.gather(book.n())
		centre(book, t)
		if pass < shifted {
			shift(b, book, t, boldness(pass, shifted), shifted)
		}
		if bytes.Equal(last, book.words) {
			break
		}
	}
	return nil
}

// shiftedPasses is after how many of the passes cells are shifted: six eighths of
// them; those that remain let the codewords settle.
func shiftedPasses(passes int) int { return passes * 6 / 8 }

// boldness is bold of shift, for over = shifted: from 4 times as much down to as much.
func boldness(pass, shifted int) int { return shifted + 3*(shifted-1-pass) }

// centre moves every codeword to the mean of its blocks, each sample rounded to
// the nearest integer and halves up. The codeword of an empty cell stays.
func centre(book *codebook, t *cells) {
	k := book.k()
	for i, n := range t.count {
		if n == 0 {
			continue
		}
		w := book.word(i)
		for j, s := range t.sum[i*k:][:k] {
			w[j] = mean(s, n)
		}
	}
}

func mean(sum uint64, n uint32) byte {
	return byte((2*sum + uint64(n)) / (2 * uint64(n)))
}

// distinct returns the finished codebook of all different blocks if there are at
// most n, and nil otherwise.
func distinct(b reader, s shape, n int) (*codebook, error) {
	seen := make(map[string]struct{}, n+1)
	book := &codebook{shape: s}
	k := s.k()
	// Most images show more than n contents in the first few thousand blocks.
	for lo, size := 0, 4*n; lo < b.m(); size *= 2 {
		hi := min(b.m(), lo+size)
		samples, err := b.read(lo, hi)
		if err != nil {
			return nil, err
		}
		for ; len(samples) > 0; samples = samples[k:] {
			x := samples[:k]
			if _, ok := seen[string(x)]; ok {
				continue
			}
			if len(seen) == n {
				return nil, nil
			}
			seen[string(x)] = struct{}{}
			book.words = append(book.words, x...)
		}
		lo = hi
	}
	return finished(book), nil
}

// finished brings a codebook into the order of files, without doubles.
func finished(book *codebook) *codebook {
	type word struct {
		sum     int32
		samples []byte
	}
	list := make([]word, book.n())
	for i := range list {
		list[i] = word{sum(book.word(i)), book.word(i)}
	}
	slices.SortFunc(list, func(a, b word) int {
		return cmp.Or(cmp.Compare(a.sum, b.sum), bytes.Compare(a.samples, b.samples))
	})
	out := &codebook{shape: book.shape, words: make([]byte, 0, len(book.words))}
	for i, w := range list {
		if i == 0 || !bytes.Equal(w.samples, list[i-1].samples) {
			out.words = append(out.words, w.samples...)
		}
	}
	return out
}

// before is the order of the codewords of a finished codebook.
func before(a, b []byte) bool {
	if s, t := sum(a), sum(b); s != t {
		return s < t
	}
	return bytes.Compare(a, b) < 0
}

// used drops the codewords that no block chose and says where the others went.
func used(book *codebook, count []uint32) (out *codebook, to []uint16) {
	out = &codebook{shape: book.shape, words: make([]byte, 0, len(book.words))}
	to = make([]uint16, len(count))
	for i, c := range count {
		if c > 0 {
			to[i] = uint16(out.n())
			out.words = append(out.words, book.word(i)...)
		}
	}
	return out, to
}
