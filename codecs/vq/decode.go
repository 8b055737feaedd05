package vq

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// Decode restores the images of files. Files with a shared codebook ask assets
// for it.
func (Codec) Decode(ctx context.Context, run codec.Run, files [][]byte, assets codec.Assets) []codec.Decoded {
	d := &fileDecoder{
		ctx: ctx, run: run, cores: run.Cores(), out: make([]codec.Decoded, len(files)), opened: make([]*openedFile, len(files)),
		shared: &sharedBooks{assets: assets, known: make(map[string]*bookPair)},
	}
	d.decode(files)
	return d.out
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

// openedFile is a file whose index section has not been decoded.
type openedFile struct {
	*header
	books *bookPair
	index []byte   // the section
	want  expected // of the index tables; nil: nothing
}

// open reads a file up to its index section. want is what is expected of it.
func open(ctx context.Context, data []byte, want any, shared *sharedBooks) (*openedFile, error) {
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
	f := &openedFile{header: h, books: books, index: index}
	if tables, ok := want.(expected); ok && !unexpected(index) && tables.fit(h) {
		f.want = tables
	}
	return f, nil
}

// image is the image of a file, whose samples are to be written to pix.
func (h *header) image(pix []byte) *raster.Image {
	m := &raster.Image{Shape: raster.Shape{Width: h.w, Height: h.h, Depth: h.d, Channels: h.channels(), Bits: 8, Frames: h.flags&flagFrames != 0}, Pix: pix}
	m.Meta.Spacing = h.spacing
	return m
}

// size is the bytes of the samples.
func (h *header) size() int { return h.w * h.h * h.d * h.channels() }

// decode is the image of the file, made on the CPU. alloc gives memory for its samples.
func (f *openedFile) decode(ctx context.Context, c *pool.Pool, alloc func(n int) []byte) (*raster.Image, error) {
	table, err := decodeTables(ctx, c, f.header, f.books, f.index, f.want)
	if err != nil {
		return nil, err
	}
	m := f.image(alloc(f.size()))
	if err := (cpuSteps{c}).expand(ctx, f.header, f.books, table, m); err != nil {
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

// decodeTables reads the index section into the tables of luma and of chroma, of which want is expected.
func decodeTables(ctx context.Context, c *pool.Pool, h *header, books *bookPair, in []byte, want expected) ([][]uint16, error) {
	var table [][]uint16
	for _, n := range h.tableSizes() {
		table = append(table, make([]uint16, n))
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
	coded, err := segmentStreams(in, len(list))
	if err != nil {
		return nil, err
	}
	book, wanted := books.list(), []piece[uint16](nil)
	if want != nil {
		wanted = pieces(h, want)
	}
	var damaged atomic.Bool
	c.Each(len(list), func(i int) {
		p := list[i]
		if ctx.Err() != nil || damaged.Load() {
			return
		}
		k := book[p.book].ranker(c)
		if wanted != nil && expectSegment(coded[i], wanted[i].table, p.grid.cols, p.segment, k) {
			from, to := p.first*p.grid.cols, (p.first+p.rows)*p.grid.cols
			copy(p.table[from:to], wanted[i].table[from:to])
		} else if !decodeSegment(coded[i], p.table, p.grid.cols, p.segment, k) {
			damaged.Store(true)
		}
	})
	if damaged.Load() {
		return nil, codec.Malformedf("vq: the index table is damaged")
	}
	return table, ctx.Err()
}

// tableSizes are the entries of the tables of luma and, where there is colour, of chroma, of all slices.
func (h *header) tableSizes() (sizes []int) {
	for i, s := range h.planeSizes() {
		if n := h.block.grid(s[0], s[1]).blocks() * h.d; i < 2 {
			sizes = append(sizes, (1+i)*n)
		}
	}
	return sizes
}

// segmentStreams are the streams of n segments of a coded index section.
func segmentStreams(in []byte, n int) ([][]byte, error) {
	streams, body := make([][]byte, n), in[4*n:]
	for i := range streams {
		size := binary.LittleEndian.Uint32(in[4*i:])
		if size < rangeTail || uint64(size) > uint64(len(body)) {
			return nil, codec.Malformedf("vq: segment %d of %d bytes", i, size)
		}
		streams[i], body = body[:size:size], body[size:]
	}
	if len(body) > 0 {
		return nil, codec.Malformedf("vq: %d bytes after the index table", len(body))
	}
	return streams, nil
}
