package vq

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Decode restores the images of files. Files with a shared codebook ask assets
// for it.
func (Codec) Decode(ctx context.Context, run codec.Run, files [][]byte, assets codec.Assets) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	workers := run.Cores()
	shared := &sharedBooks{assets: assets, known: make(map[string]*bookPair)}
	workers.Each(len(files), func(i int) {
		out[i].Image, out[i].Err = decode(ctx, run.Device, workers, files[i], shared)
	})
	return out
}

// sharedBooks are the shared codebooks of a batch, each read once.
type sharedBooks struct {
	assets codec.Assets

	mu    sync.Mutex
	known map[string]*bookPair
}

func (s *sharedBooks) get(ctx context.Context, hash string) (*bookPair, error) {
	if s.assets == nil {
		return nil, fmt.Errorf("vq: the file needs the shared codebook sha256:%s", hash)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.known[hash]; b != nil {
		return b, nil
	}
	data, err := s.assets(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("vq: shared codebook sha256:%s: %w", hash, err)
	}
	if got := assetHash(data); got != hash {
		return nil, fmt.Errorf("vq: shared codebook: has sha256 %s, want %s", got, hash)
	}
	b, err := parseAsset(data)
	if err != nil {
		return nil, err
	}
	s.known[hash] = b
	return b, nil
}

func decode(ctx context.Context, dev *gpu.Device, c *pool.Pool, data []byte, shared *sharedBooks) (*raster.Image, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	section, index, err := h.sections(data)
	if err != nil {
		return nil, err
	}
	books, err := h.books(ctx, section, shared)
	if err != nil {
		return nil, err
	}
	table, err := decodeTables(ctx, c, h, books, index)
	if err != nil {
		return nil, err
	}
	m := raster.New(h.w, h.h, h.d, h.channels(), 8)
	m.Frames = h.flags&flagFrames != 0
	m.Meta.Spacing = h.spacing
	err = onOne(ctx, dev, c, func(s steps) error { return s.expand(ctx, h, books, table, m) })
	if err != nil {
		return nil, err
	}
	return m, nil
}

// sections checks and returns the codebook and the index section.
func (h *header) sections(data []byte) (book, index []byte, err error) {
	book = data[h.sectionsStart:][:h.bookSize]
	rest := data[h.sectionsStart+h.bookSize:]
	if binary.LittleEndian.Uint32(rest) != checksum(book) {
		return nil, nil, codec.Malformedf("vq: the codebook's checksum is wrong")
	}
	index = rest[4:][:h.tableSize]
	if binary.LittleEndian.Uint32(rest[4+h.tableSize:]) != checksum(index) {
		return nil, nil, codec.Malformedf("vq: the index table's checksum is wrong")
	}
	return book, index, nil
}

// books reads the file's codebooks or gets the shared ones.
func (h *header) books(ctx context.Context, section []byte, shared *sharedBooks) (*bookPair, error) {
	if !h.shared() {
		return decodeBooks(section, h.block, h.n, h.chroma)
	}
	b, err := shared.get(ctx, h.codebook)
	if err != nil {
		return nil, err
	}
	if !h.colour() {
		b = &bookPair{luma: b.luma}
	}
	if b.luma.shape != h.block || b.luma.n() != h.n || h.colour() && (b.chroma == nil || b.chroma.n() != h.chroma) {
		return nil, codec.Malformedf("vq: the shared codebook does not fit the file's header")
	}
	return b, nil
}

// decodeTables reads the index section into the tables of luma and of chroma.
func decodeTables(ctx context.Context, c *pool.Pool, h *header, books *bookPair, in []byte) ([][]uint16, error) {
	var table [][]uint16
	for i, s := range h.planeSizes() {
		n := h.block.grid(s[0], s[1]).blocks() * h.d
		switch i {
		case 0:
			table = append(table, make([]uint16, n))
		case 1:
			table = append(table, make([]uint16, 2*n))
		}
	}
	list := pieces(h, table)
	if h.raw() {
		for _, p := range list {
			if p.first > 0 {
				continue
			}
			n := h.codewords(p.book)
			size := rawSize(p.grid, n)
			if int64(len(in)) < size || !readRaw(in[:size], p.table, n) {
				return nil, codec.Malformedf("vq: an entry of the index table is out of range")
			}
			in = in[size:]
		}
		if len(in) > 0 {
			return nil, codec.Malformedf("vq: %d bytes after the index table", len(in))
		}
		return table, nil
	}
	coded := make([][]byte, len(list))
	body := in[4*len(list):]
	for i := range list {
		size := binary.LittleEndian.Uint32(in[4*i:])
		if size < rangeTail || uint64(size) > uint64(len(body)) {
			return nil, codec.Malformedf("vq: segment %d of %d bytes", i, size)
		}
		coded[i], body = body[:size:size], body[size:]
	}
	if len(body) > 0 {
		return nil, codec.Malformedf("vq: %d bytes after the index table", len(body))
	}
	book := books.list()
	var damaged atomic.Bool
	c.Each(len(list), func(i int) {
		p := list[i]
		if ctx.Err() != nil || damaged.Load() {
			return
		}
		if !decodeSegment(coded[i], p.table, p.grid.cols, p.segment, book[p.book].ranker(c)) {
			damaged.Store(true)
		}
	})
	if damaged.Load() {
		return nil, codec.Malformedf("vq: the index table is damaged")
	}
	return table, ctx.Err()
}
