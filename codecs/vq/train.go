package vq

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
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
	d := newDifferent(s, n)
	// Most images show more than n contents in the first few thousand blocks.
	for lo, size := 0, 4*n; lo < b.m(); size *= 2 {
		hi := min(b.m(), lo+size)
		samples, err := b.read(lo, hi)
		if err != nil {
			return nil, err
		}
		if !d.add(samples) {
			return nil, nil
		}
		lo = hi
	}
	return d.book(), nil
}

// distinctOf is distinct for luma and for chroma of an image whose blocks are elsewhere:
// it makes the blocks of as many rows as it needs.
func distinctOf(c *pool.Pool, m *raster.Image, h *header, o *Options) (books [2]*codebook) {
	list := []*different{newDifferent(h.block, o.codewords(0))}
	if h.colour() {
		list = append(list, newDifferent(h.block, o.codewords(1)))
	}
	unit := h.block.p // rows of whole blocks of all planes
	if h.half() {
		unit *= 2
	}
	line := h.w * h.channels()
	rows := max(1, 4*o.codewords(0)*h.block.k()/(h.w*unit)) * unit
	var samples []byte
	for row, step := 0, rows; row < h.d*h.h; step *= 2 {
		// Within a slice, since blocks are.
		n := min(step, h.h-row%h.h)
		part := raster.Shape{Width: h.w, Height: n, Depth: 1, Channels: h.channels(), Bits: 8}
		ps := planes(c, &raster.Image{Shape: part, Pix: m.Pix[row*line : (row+n)*line]}, h.half())
		row += n
		few := false
		for i, p := range ps {
			samples = slices.Grow(samples[:0], h.block.grid(p.w, p.h).blocks()*h.block.k())[:h.block.grid(p.w, p.h).blocks()*h.block.k()]
			d := list[min(i, 1)]
			if !d.many {
				blocks(c, p, h.block, samples)
				d.add(samples)
			}
			few = few || !d.many
		}
		if !few {
			return books
		}
	}
	for i, d := range list {
		if !d.many {
			books[i] = d.book()
		}
	}
	return books
}

// different is the different blocks among those that it has seen.
type different struct {
	shape shape
	n     int // how many it keeps
	seen  map[string]struct{}
	words []byte
	many  bool // there are more
}

func newDifferent(s shape, n int) *different {
	return &different{shape: s, n: n, seen: make(map[string]struct{}, n+1)}
}

// add says whether there are at most n different blocks with those of samples.
func (d *different) add(samples []byte) bool {
	k := d.shape.k()
	for ; len(samples) > 0 && !d.many; samples = samples[k:] {
		x := samples[:k]
		if _, ok := d.seen[string(x)]; ok {
			continue
		}
		if len(d.seen) == d.n {
			d.many = true
			break
		}
		d.seen[string(x)] = struct{}{}
		d.words = append(d.words, x...)
	}
	return !d.many
}

// book is the finished codebook of the blocks.
func (d *different) book() *codebook { return finished(&codebook{shape: d.shape, words: d.words}) }

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
