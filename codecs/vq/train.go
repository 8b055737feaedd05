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
func train(ctx context.Context, c *crew, b vectors, s shape, n int, how start, passes int) (*codebook, error) {
	if book := distinct(b, s, n); book != nil {
		return book, nil
	}
	b = sample(b, n*trainBlocks)
	if book := distinct(b, s, n); book != nil {
		return book, nil
	}
	var book *codebook
	switch how {
	case startSplit:
		var err error
		if book, err = split(ctx, c, b, s, n); err != nil {
			return nil, err
		}
	default:
		book = seed(c, b, s, n)
	}
	if err := lloyd(ctx, c, b, book, passes); err != nil {
		return nil, err
	}
	return finished(book), nil
}

// lloyd improves book in place by at most the given number of passes, fewer when
// one changes nothing.
func lloyd(ctx context.Context, c *crew, b vectors, book *codebook, passes int) error {
	keys := make([]key, b.m())
	last := make([]byte, len(book.words))
	shifted := passes * shiftShare / 8
	for pass := range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		copy(last, book.words)
		search(c, b, book, keys)
		t := gather(c, b, keys, book.n())
		centre(book, t)
		if pass < shifted {
			shift(c, b, keys, book, t, shifted+3*(shifted-1-pass), shifted)
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
func distinct(b vectors, s shape, n int) *codebook {
	seen := make(map[string]struct{}, n+1)
	book := &codebook{shape: s}
	for i := range b.m() {
		x := b.at(i)
		if _, ok := seen[string(x)]; ok {
			continue
		}
		if len(seen) == n {
			return nil
		}
		seen[string(x)] = struct{}{}
		book.words = append(book.words, x...)
	}
	return finished(book)
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

// used drops the codewords that no key refers to and renumbers the keys.
func used(book *codebook, keys []key) *codebook {
	n := book.n()
	count := make([]int, n)
	for _, k := range keys {
		count[k.index()]++
	}
	out := &codebook{shape: book.shape, words: make([]byte, 0, len(book.words))}
	at := make([]int, n)
	for i, c := range count {
		if c > 0 {
			at[i] = out.n()
			out.words = append(out.words, book.word(i)...)
		}
	}
	if out.n() < n {
		for i, k := range keys {
			keys[i] = makeKey(k.distance(), at[k.index()])
		}
	}
	return out
}
