package pcwt

import (
	"context"
	"errors"
	"hash/crc32"
	"image"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/tile"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/wavelettree"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// Decode restores the images of files.
func (Codec) Decode(ctx context.Context, run codec.Run, files [][]byte, _ codec.Assets) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	cores := run.Cores()
	if run.Device != nil {
		d := deviceDecoder{ctx: ctx, run: run, cores: cores, files: files, out: out}
		d.decode()
		return out
	}
	cores.Each(len(files), func(i int) {
		out[i].Image, out[i].Err = decode(ctx, cores, files[i])
	})
	return out
}

func decode(ctx context.Context, cores *pool.Pool, file []byte) (*raster.Image, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, err := readHeader(file)
	if err != nil {
		return nil, err
	}
	if len(file) != h.size {
		return nil, codec.Malformedf("pcwt: %d bytes of a file of %d", len(file), h.size)
	}
	m, err := decodeSamples(ctx, cores, h, file)
	if err != nil {
		return nil, err
	}
	if h.checksumOf(cores, m.Pix, file) != h.checksum {
		return nil, codec.Malformedf("pcwt: the checksum of the samples is wrong")
	}
	m.Meta = h.meta
	return m, nil
}

// decodeSamples decodes the sections of a file.
func decodeSamples(ctx context.Context, cores *pool.Pool, h *header, file []byte) (*raster.Image, error) {
	return decodePart(ctx, cores, h, file, 0, image.Rect(0, 0, h.shape.Width, h.shape.Height))
}

// decodePart decodes rectangle r of the image at 1/2^reduce.
func decodePart(ctx context.Context, cores *pool.Pool, h *header, file []byte, reduce int, r image.Rectangle) (*raster.Image, error) {
	s := h.shape
	s.Width, s.Height = r.Dx(), r.Dy()
	d := &decoder{ctx: ctx, cores: cores, header: h, file: file, reduce: reduce, region: r, image: raster.Make(s)}
	return d.image, d.decode()
}

// decoder decodes a view of a file.
type decoder struct {
	ctx     context.Context
	cores   *pool.Pool
	header  *header
	file    []byte
	reduce  int
	region  image.Rectangle // of the image at 1/2^reduce
	image   *raster.Image   // that region
	windows []windows       // by class of slices
	coders  *coders
}

// decode decodes all slices.
func (d *decoder) decode() error {
	h := d.header
	depth := h.shape.Depth
	errs := make([]error, depth)
	var stored [][]wavelet.Plane[int32]
	if h.zLevels > 0 {
		stored = make([][]wavelet.Plane[int32], depth)
	}
	d.coders = &coders{side: h.side()}
	narrow := h.narrow() && d.reduce == 0 && d.image.Same(h.shape)
	if h.profile == 1 && !h.stored() {
		for class := range h.zLevels + 1 {
			d.windows = append(d.windows, h.windows(class, d.reduce, d.region))
		}
	}
	for first := 0; first < depth && d.ctx.Err() == nil; first += together {
		d.cores.Each(min(together, depth-first), func(i int) {
			z := first + i
			if h.stored() {
				errs[z] = d.unpack(z)
				return
			}
			if narrow {
				if done, err := d.narrowSlice(z); done {
					errs[z] = err
					return
				}
			}
			planes, err := d.planes(z)
			if errs[z] = err; err != nil {
				return
			}
			if stored != nil {
				stored[z] = planes
				return
			}
			errs[z] = d.storePlanes(z, planes)
		})
		if err := errors.Join(errs[first:min(first+together, depth)]...); err != nil {
			return firstError(errs)
		}
	}
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if stored != nil {
		d.join(stored, errs)
	}
	return firstError(errs)
}

// storePlanes stores a slice. At full resolution and with all bits of coefficients no samples are out of their range.
func (d *decoder) storePlanes(z int, planes []wavelet.Plane[int32]) error {
	h := d.header
	if !storePlanes(d.cores, d.image, z, h.near, h.rct(), planes) && h.qmin == 0 && d.reduce == 0 {
		return codec.Malformedf("pcwt: samples out of their range")
	}
	return nil
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// join undoes the levels along z and stores the samples.
func (d *decoder) join(stored [][]wavelet.Plane[int32], errs []error) {
	h := d.header
	for c := range h.shape.Channels {
		column := make([]wavelet.Plane[int32], len(stored))
		for z := range column {
			column[z] = stored[z][c]
		}
		for z, p := range joinSlices(d.cores, column, h.zLevels) {
			stored[z][c] = p
		}
	}
	d.cores.Each(len(stored), func(z int) {
		errs[z] = d.storePlanes(z, stored[z])
	})
}

// unpack reads the region of a stored slice.
func (d *decoder) unpack(z int) error {
	data, err := d.header.sectionBytes(d.file, z)
	if err != nil {
		return err
	}
	s := &d.header.shape
	if len(data) != (s.Width*s.Height*s.Channels*s.Bits+7)/8 {
		return codec.Malformedf("pcwt: %d bytes for %s", len(data), s)
	}
	m := d.image.Slice(z)
	r := bitUnpacker{data: data}
	i := 0
	for y := range m.Height {
		r.at = ((d.region.Min.Y+y)*s.Width + d.region.Min.X) * s.Channels * s.Bits
		for range m.Width * m.Channels {
			v := r.take(m.Bits)
			if m.Signed {
				v = uint32(int32(v<<(32-m.Bits)) >> (32 - m.Bits))
			}
			m.Pix[i*m.BytesPerSample()] = byte(v)
			if m.Bits > 8 {
				m.Pix[2*i+1] = byte(v >> 8)
			}
			i++
		}
	}
	if d.image.Same(d.header.shape) && !r.whole() {
		return codec.Malformedf("pcwt: bits after the samples")
	}
	return nil
}

// bitUnpacker reads what bitPacker wrote. After the end it reads zeros.
type bitUnpacker struct {
	data []byte
	at   int // in bits
}

func (r *bitUnpacker) take(n int) uint32 {
	v := uint64(0)
	first, last := r.at>>3, (r.at+n+7)>>3
	for i := first; i < last; i++ {
		v <<= 8
		if i < len(r.data) {
			v |= uint64(r.data[i])
		}
	}
	r.at += n
	return uint32(v >> (8*last - r.at) & (1<<n - 1))
}

// align goes on to a full byte, if the bits up to there are zero.
func (r *bitUnpacker) align() bool { return r.at&7 == 0 || r.take(8-r.at&7) == 0 }

// whole reports whether nothing is left but zero bits of the last byte.
func (r *bitUnpacker) whole() bool { return r.align() && r.at == 8*len(r.data) }

// planes decodes the region of the planes of stored slice z.
func (d *decoder) planes(z int) ([]wavelet.Plane[int32], error) {
	h := d.header
	if h.profile == 0 {
		data, err := h.sectionBytes(d.file, h.section(0, z))
		if err != nil {
			return nil, err
		}
		return d.trees(data)
	}
	lows, err := d.lows(z)
	if err != nil {
		return nil, err
	}
	pyramids := make([]*pyramid, len(lows))
	for i, p := range lows {
		pyramids[i] = &pyramid{levels: make([]*model.Level, h.levels), last: p, at: image.Rect(0, 0, p.Width, p.Height)}
	}
	for level := h.levels; level > d.reduce; level-- {
		data, err := h.sectionBytes(d.file, h.section(level, z))
		if err != nil {
			return nil, err
		}
		if err := d.level(z, level, pyramids, data); err != nil {
			return nil, err
		}
	}
	out := make([]wavelet.Plane[int32], len(pyramids))
	for i, p := range pyramids {
		out[i] = d.crop(p.last, p.at)
	}
	return out, nil
}

// lows are the last LL of a stored slice.
func (d *decoder) lows(z int) ([]wavelet.Plane[int32], error) {
	h := d.header
	data, err := h.sectionBytes(d.file, h.section(0, z))
	if err != nil {
		return nil, err
	}
	return readLows(data, h.shape.Channels, reduced(h.shape.Width, h.levels), reduced(h.shape.Height, h.levels))
}

// crop is the region of a plane of which the rectangle at is here, without gaps.
func (d *decoder) crop(p wavelet.Plane[int32], at image.Rectangle) wavelet.Plane[int32] {
	if at == d.region {
		return p
	}
	out := wavelet.NewPlane[int32](d.region.Dx(), d.region.Dy())
	from := partOf(p, at, d.region)
	for y := range out.Height {
		copy(out.Row(y), from.Row(y))
	}
	return out
}

// treeStream is a section of profile 0 without its checksum, which it checks.
func treeStream(data []byte) ([]byte, error) {
	n := len(data) - 4
	if n < 0 || crc32.Checksum(data[:n], castagnoli) != little.Uint32(data[n:]) {
		return nil, codec.Malformedf("pcwt: the checksum of a slice is wrong")
	}
	return data[:n], nil
}

// trees decodes a slice of profile 0.
func (d *decoder) trees(data []byte) ([]wavelet.Plane[int32], error) {
	data, err := treeStream(data)
	if err != nil {
		return nil, err
	}
	s := &d.header.shape
	planes := make([]wavelet.Plane[int32], s.Channels)
	all := image.Rect(0, 0, reduced(s.Width, d.reduce), reduced(s.Height, d.reduce))
	for i := range planes {
		planes[i] = wavelet.NewPlane[int32](all.Dx(), all.Dy())
	}
	if err := wavelettree.Decode(d.cores, data, s.Width, s.Height, planes, d.reduce); err != nil {
		return nil, codec.Malformedf("pcwt: %v", err)
	}
	for i, p := range planes {
		planes[i] = d.crop(p, all)
	}
	return planes, nil
}

// readLows reads the last LL of all planes, of w x h samples each.
func readLows(data []byte, planes, w, h int) ([]wavelet.Plane[int32], error) {
	out := make([]wavelet.Plane[int32], planes)
	for i := range out {
		if len(data) < 5 || data[0] > 32 {
			return nil, codec.Malformedf("pcwt: LL is damaged")
		}
		n, least := int(data[0]), int32(little.Uint32(data[1:]))
		data = data[5:]
		size := (w*h*n + 7) / 8
		if len(data) < size {
			return nil, codec.Malformedf("pcwt: LL is cut short")
		}
		r := bitUnpacker{data: data[:size]}
		p := wavelet.NewPlane[int32](w, h)
		for k := range p.Samples {
			p.Samples[k] = least + int32(r.take(n))
		}
		if !r.whole() {
			return nil, codec.Malformedf("pcwt: bits after LL")
		}
		data = data[size:]
		out[i] = p
	}
	if len(data) > 0 {
		return nil, codec.Malformedf("pcwt: %d bytes after LL", len(data))
	}
	return out, nil
}

// tileBody is where a tile is in its section.
type tileBody struct {
	at, words int
	raw       bool
}

// level decodes a level of all planes of a slice, so that their last LL is that of the next one.
func (d *decoder) level(z, level int, pyramids []*pyramid, data []byte) error {
	h := d.header
	columns, rows := h.tiles(level)
	bodies, err := readLengths(data, len(pyramids)*columns*rows)
	if err != nil {
		return err
	}
	w, l := reduced(h.shape.Width, level-1), reduced(h.shape.Height, level-1)
	for i, p := range pyramids {
		params := h.params(z, i)
		window := d.windows[h.class(z)][i][level-1]
		own := model.NewWindow(w, l, window, p.at)
		p.levels[level-1] = own
		saturate(d.cores, own.LL, p.last)
		n := neighbours(p, earlierOf(pyramids, i, params.earlier), level-1)
		samples := doubled(window, w, l)
		quarters := wavelet.Quarter(wavelet.NewPlane[int32](samples.Dx(), samples.Dy()), 0, 0)
		bands := tile.Bands{quarters.HL, quarters.LH, quarters.HH}
		if _, err := d.tiles(h.tileParams(params), n, level, &bands, data, bodies[i*columns*rows:][:columns*rows]); err != nil {
			return err
		}
		p.last = inverse(d.cores, &bands, partOf(p.last, p.at, window), samples.Dx(), samples.Dy(), params.wavelet)
		p.at = samples
	}
	return nil
}

// tiles decodes the tiles of a window of a level of a plane, also into bands if these are not nil. bodies are those of all tiles of the
// level. fits says whether all coefficients fit in 16 bits.
func (d *decoder) tiles(p *tile.Params, n *model.Neighbours, level int, bands *tile.Bands, data []byte, bodies []tileBody) (fits bool, err error) {
	side := d.coders.side
	across, _ := d.header.tiles(level)
	columns, rows := n.Own.Tiles(side)
	errs := make([]error, columns*rows)
	var wide atomic.Bool
	d.cores.Each(len(errs), func(i int) {
		if errs[i] = d.ctx.Err(); errs[i] != nil {
			return
		}
		number := (n.Own.Y/side+i/columns)*across + n.Own.X/side + i%columns
		b := bodies[number]
		c := d.coders.take()
		defer d.coders.give(c)
		if uint64(b.words) > c.MaxLength() {
			errs[i] = codec.Malformedf("pcwt: a tile of %d words", b.words)
			return
		}
		words := c.Words(data[b.at:][:2*b.words])
		whole, exceeds := c.Decode(p, words, b.raw, n, i%columns, i/columns, level, bands)
		if exceeds {
			wide.Store(true)
		}
		if !whole {
			errs[i] = codec.Malformedf("pcwt: tile %d of level %d is damaged", number, level)
		}
	})
	return !wide.Load(), firstError(errs)
}

// readLengths reads where the bodies of tiles are.
func readLengths(data []byte, count int) ([]tileBody, error) {
	out := make([]tileBody, count)
	at := 0
	for i := range out {
		v, n := readLEB(data[at:])
		if n == 0 || v > uint64(len(data)) || v == 1 {
			return nil, codec.Malformedf("pcwt: the length of a tile is damaged")
		}
		out[i].words, out[i].raw = int(v/2), v&1 != 0
		at += n
	}
	for i := range out {
		out[i].at = at
		at += 2 * out[i].words
	}
	if at != len(data) {
		return nil, codec.Malformedf("pcwt: tiles end at %d of %d bytes", at, len(data))
	}
	return out, nil
}
