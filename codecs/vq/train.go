package vq

import (
	"bytes"
	"context"
	"sort"
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
func train(ctx context.Context, all source, s shape, n int, how start, passes int) (*codebook, error) {
	if book, err := distinct(all, s, n); book != nil || err != nil {
		return book, err
	}
	b, err := all.sample(n * trainBlocks)
	if err != nil {
		return nil, err
	}
	if b.m() < all.m() {
		if book, err := distinct(b, s, n); book != nil || err != nil {
			return book, err
		}
	}
	var book *codebook
	switch how {
	case startSplit:
		book, err = split(ctx, b, s, n)
	default:
		book, err = seed(b, s, n)
	}
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
func lloyd(ctx context.Context, b trainSet, book *codebook, passes int) error {
	last := make([]byte, len(book.words))
	shifted := passes * shiftShare / 8
	for pass := range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		copy(last, book.words)
		if err := b.search(book); err != nil {
			return err
		}
		t, err := b.gather(book.n())
		if err != nil {
			return err
		}
		centre(book, t)
		if pass < shifted {
			if err := shift(b, book, t, shifted+3*(shifted-1-pass), shifted); err != nil {
				return err
			}
		}
		if bytes.Equal(last, book.words) {
			break
		}
	}
	return nil
}

// shiftShare is the part of the passes, in eighths, after which cells are
// shifted; the passes that remain let the codewords settle.
const shiftShare = 6

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
func distinct(b source, s shape, n int) (*codebook, error) {
	seen := make(map[string]struct{}, n+1)
	book := &codebook{shape: s}
	k := s.k()
	// Most pictures show more than n contents in the first few thousand blocks.
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
	n := book.n()
	list := make([][]byte, n)
	for i := range list {
		list[i] = book.word(i)
	}
	sort.Slice(list, func(a, b int) bool { return before(list[a], list[b]) })
	out := &codebook{shape: book.shape, words: make([]byte, 0, len(book.words))}
	for i, w := range list {
		if i == 0 || !bytes.Equal(w, list[i-1]) {
			out.words = append(out.words, w...)
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
