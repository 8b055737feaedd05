package png

import (
	"encoding/binary"
	"image"
	"image/color"
	"sync"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/png/inflate"
	"github.com/pelmill/pelmill/raster"
)

// Samples decodes the samples of a file that keeps every rule, and returns false for any other: Decode then says
// what is wrong with it, or reads it all the same. What Samples reads, Decode reads too, with the same samples.
//
// Rows are taken from the window of the inflater, and where the file has the samples of the image they
// are unfiltered into it directly. A palette becomes RGB, or RGBA where the file has a tRNS chunk, which adds alpha to
// grey and RGB also; grey of less than 8 bits is scaled to 8 bits, and samples of 16 bits become
// little-endian. Callers have held the shape against their limits; besides the image it takes [SamplesOverhead] and
// two rows.
func (f *File) Samples() (*raster.Image, bool) { return f.samples(unfilled) }

// unfilled returns new memory of any content.
func unfilled(s raster.Shape) []byte { return raster.Unfilled(s).Pix }

// samples is Samples with the memory that alloc returns.
func (f *File) samples(alloc func(s raster.Shape) []byte) (*raster.Image, bool) {
	s, ok := f.open()
	if !ok {
		return nil, false
	}
	m := &raster.Image{Shape: raster.Shape{Width: s.width, Height: s.height, Depth: 1, Channels: f.Channels(), Bits: max(f.Depth, 8)}}
	if f.Transparency.Kind != "" {
		m.Channels++
	}
	m.Pix = alloc(m.Shape)
	size := m.Channels * m.Bits / 8
	s.convert = f.converter()
	if !s.read(m.Pix, size) {
		return nil, false
	}
	return m, true
}

// SamplesOverhead is what Samples takes besides the image, in bytes, but for three rows.
const SamplesOverhead = inflate.Overhead + 4<<10

// indices decodes the indices of a palette, as Samples decodes samples, to the image that the standard
// decoder makes of them. alloc is that of DecodeWith.
func (f *File) indices(alloc func(n int) []byte) (image.Image, bool) {
	s, ok := f.open()
	if !ok {
		return nil, false
	}
	m := &image.Paletted{Stride: s.width, Rect: image.Rect(0, 0, s.width, s.height)}
	if alloc != nil {
		m.Pix = alloc(s.width * s.height)
	} else {
		m.Pix = unfilled(raster.Shape{Width: s.width, Height: s.height, Depth: 1, Channels: 1, Bits: 8})
	}
	s.convert = nil
	if f.Depth < 8 {
		s.convert = func(dst, row []byte, step int) { spread(dst, row, step, f.Depth, 1) }
	}
	if !s.read(m.Pix, 1) {
		return nil, false
	}
	f.nameEntries(m)
	return m, true
}

// nameEntries gives an image of indices its palette, which is as long as an entry of it is named by a colour, an alpha or an
// index.
func (f *File) nameEntries(m *image.Paletted) {
	table := f.entries()
	n := max(len(f.Palette.Body())/3, len(f.Transparency.Body()))
	if n < len(table) {
		for _, v := range m.Pix {
			n = max(n, int(v)+1)
		}
	}
	alphas := len(f.Transparency.Body())
	m.Palette = make(color.Palette, n)
	for i := range m.Palette {
		e := table[i]
		if i < alphas {
			m.Palette[i] = color.NRGBA{R: e[0], G: e[1], B: e[2], A: e[3]}
		} else {
			m.Palette[i] = color.RGBA{R: e[0], G: e[1], B: e[2], A: e[3]}
		}
	}
}

// entries is the palette. What it lacks is opaque black.
func (f *File) entries() (table [256][4]byte) {
	for i := range table {
		table[i][3] = 255
	}
	colours := f.Palette.Body()
	for i := range len(colours) / 3 {
		copy(table[i][:3], colours[3*i:])
	}
	for i, a := range f.Transparency.Body() {
		table[i][3] = a
	}
	return table
}

// scan is the decoding of the samples of one file.
type scan struct {
	width, height int
	bits          int // of a pixel in the file
	interlaced    bool
	data          []byte
	at            int // place of the next chunk of samples

	// convert writes a row of the file as pixels, of which one begins every step bytes. Nil: the file has them as
	// the image wants them.
	convert func(dst, row []byte, step int)
}

// open walks all chunks and holds them to the rules that the standard decoder holds them to, or stricter ones. It checks
// the checksums of all chunks but those with samples, which are checked as they are inflated.
func (f *File) open() (*scan, bool) {
	s := &scan{width: int(f.Width), height: int(f.Height), bits: f.Depth, interlaced: f.Interlaced, data: f.data}
	n := f.Channels()
	if f.Colour == Palette {
		n = 1
	}
	s.bits *= n
	const (
		head = iota
		palette
		transparency
		samples
		behind
	)
	stage := head
	for c, err := range Chunks(f.data) {
		if err != nil {
			return nil, false
		}
		body := c.Body()
		switch c.Kind {
		case "IHDR":
			// The sides, checked by the walker's callers, and zero for the only methods that there are.
			if body[10] != 0 || body[11] != 0 || body[12] > 1 || !depthOf(f.Colour, f.Depth) {
				return nil, false
			}
		case "PLTE":
			if stage != head || f.Colour == Grey || f.Colour == GreyAlpha || len(body) == 0 || len(body)%3 != 0 || len(body)/3 > min(256, 1<<f.Depth) {
				return nil, false
			}
			stage = palette
		case "tRNS":
			sound := false
			switch f.Colour {
			case Grey:
				sound = len(body) == 2 && stage == head
			case RGB:
				sound = len(body) == 6 && stage <= palette
			case Palette:
				sound = len(body) <= 256 && stage == palette
			}
			if !sound {
				return nil, false
			}
			stage = transparency
		case "IDAT":
			if stage == behind || stage == head && f.Colour == Palette {
				return nil, false
			}
			if stage != samples {
				s.at = c.At
			}
			stage = samples
			continue
		case "IEND":
			if len(body) != 0 || stage < samples {
				return nil, false
			}
			stage = behind
		default:
			if stage == samples {
				stage = behind
			}
		}
		if !c.Sound() {
			return nil, false
		}
	}
	return s, s.width > 0 && s.height > 0 && max(s.width, s.height) <= 1<<31-1
}

// depthOf reports whether a colour type may have samples of so many bits (PNG specification, 11.2.1).
func depthOf(colour, depth int) bool {
	switch depth {
	case 1, 2, 4:
		return colour == Grey || colour == Palette
	case 8:
		return true
	case 16:
		return colour != Palette
	}
	return false
}

// next returns the samples of the next chunk, if its checksum is right.
func (s *scan) next() ([]byte, bool) {
	c, err := next(s.data, s.at)
	if err != nil || c.Kind != "IDAT" {
		return nil, false
	}
	s.at += len(c.Whole)
	if !c.Sound() {
		s.at = len(s.data)
		return nil, false
	}
	return c.Body(), true
}

// pass is one of the images of which an interlaced image is put together (PNG specification, 8.2).
type pass struct{ x, y, stepX, stepY int }

var (
	whole = []pass{{0, 0, 1, 1}}
	adam7 = []pass{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
)

// size is that of a pass of an image.
func (p pass) size(width, height int) (int, int) {
	return (width - p.x + p.stepX - 1) / p.stepX, (height - p.y + p.stepY - 1) / p.stepY
}

// rowBytes is the length of a row in the file, without the byte for its filter.
func (s *scan) rowBytes(width int) int { return int((int64(width)*int64(s.bits) + 7) / 8) }

// readers are used again, because the tables of one are 36 KB, many times a small image.
var readers = sync.Pool{New: func() any { return new(inflate.Reader) }}

// read inflates and unfilters all rows to pixels of size bytes.
func (s *scan) read(pix []byte, size int) bool {
	passes := whole
	if s.interlaced {
		passes = adam7
	}
	var total int64
	for _, p := range passes {
		if w, h := p.size(s.width, s.height); w > 0 && h > 0 {
			total += int64(h) * int64(1+s.rowBytes(w))
		}
	}
	z := readers.Get().(*inflate.Reader)
	z.Reset(s.next, total, min(4*(1+s.rowBytes(s.width)), 64<<10))
	defer func() {
		z.Reset(nil, 0, 0) // lets go of the file
		readers.Put(z)
	}()
	for _, p := range passes {
		w, h := p.size(s.width, s.height)
		if w < 1 || h < 1 {
			continue
		}
		direct := s.convert == nil && !s.interlaced
		if direct && !s.rows(z, pix, h) || !direct && !s.converted(z, pix, size, p, w, h) {
			return false
		}
	}
	return z.End() == nil
}

// rows reads an image that the file has as it shall be.
func (s *scan) rows(z *inflate.Reader, pix []byte, height int) bool {
	const most = 4 // rows at once
	n, back := s.rowBytes(s.width), max(s.bits/8, 1)
	up := make([]byte, n)
	for height > 0 {
		rows, err := z.Next(min(most, height) * (1 + n))
		if err != nil {
			return false
		}
		for len(rows) > 0 {
			did := unfilterRows(pix, rows, up, n, back)
			if did == 0 {
				if !unfilter(pix[:n:n], rows[1:1+n], up, rows[0], back) {
					return false
				}
				did = 1
			}
			height -= did
			up, pix, rows = pix[(did-1)*n:did*n:did*n], pix[did*n:], rows[did*(1+n):]
		}
	}
	return true
}

// converted reads a pass row by row and converts its pixels to their places in the image.
func (s *scan) converted(z *inflate.Reader, pix []byte, size int, p pass, width, height int) bool {
	n, back := s.rowBytes(width), max(s.bits/8, 1)
	up, cur := make([]byte, n), make([]byte, n)
	convert := s.convert
	if convert == nil {
		convert = func(dst, row []byte, step int) { place(dst, row, step, size) }
	}
	for y := range height {
		row, err := z.Next(1 + n)
		if err != nil || !unfilter(cur, row[1:], up, row[0], back) {
			return false
		}
		line := (p.y + y*p.stepY) * s.width
		from, to := (line+p.x)*size, (line+p.x+(width-1)*p.stepX+1)*size
		convert(pix[from:to:to], cur, p.stepX*size)
		up, cur = cur, up
	}
	return true
}

// place puts pixels of size bytes, that follow one another, at every step bytes.
func place(dst, row []byte, step, size int) {
	for i := 0; len(row) > 0; i += step {
		copy(dst[i:i+size], row)
		row = row[size:]
	}
}

// spread puts values of less than 8 bits, times factor, at every step bytes. The first one is in the highest bits.
func spread(dst, row []byte, step, bits, factor int) {
	mask := byte(1)<<bits - 1
	shift := 8 - bits
	j := 0
	for i := 0; i < len(dst); i += step {
		dst[i] = row[j] >> shift & mask * byte(factor)
		if shift -= bits; shift < 0 {
			shift = 8 - bits
			j++
		}
	}
}

// converter says how rows become the pixels that Samples returns.
func (f *File) converter() func(dst, row []byte, step int) {
	key := f.key()
	switch {
	case f.Colour == Palette:
		return f.lookUp()
	case f.Depth == 16:
		return func(dst, row []byte, step int) { turned(dst, row, step, f.Channels(), key) }
	case f.Depth < 8:
		factor := 255 / (1<<f.Depth - 1)
		if key == nil {
			return func(dst, row []byte, step int) { spread(dst, row, step, f.Depth, factor) }
		}
		clear := key[1] * byte(factor)
		return func(dst, row []byte, step int) {
			spread(dst, row, step, f.Depth, factor)
			for i := 0; i < len(dst); i += step {
				if dst[i+1] = 255; dst[i] == clear {
					dst[i+1] = 0
				}
			}
		}
	case key != nil:
		channels := f.Channels()
		// Of a key for samples of 8 bits the upper halves are not looked at.
		var clear [3]byte
		for c := range channels {
			clear[c] = key[2*c+1]
		}
		return func(dst, row []byte, step int) {
			for i := 0; len(row) > 0; i += step {
				copy(dst[i:], row[:channels])
				if dst[i+channels] = 255; string(row[:channels]) == string(clear[:channels]) {
					dst[i+channels] = 0
				}
				row = row[channels:]
			}
		}
	}
	return nil
}

// key is the grey value or the colour that is transparent, nil where there is none. As Decode does, a lenient reader leaves
// bits out that are beyond the depth.
func (f *File) key() []byte {
	if f.Transparency.Kind == "" || f.Colour == Palette {
		return nil
	}
	key := f.Transparency.Body()
	if f.Colour == Grey && f.Depth < 8 && f.mode != container.Strict {
		return []byte{0, key[1] & (1<<f.Depth - 1)}
	}
	return key
}

// lookUp converts indices to colours.
func (f *File) lookUp() func(dst, row []byte, step int) {
	table := f.entries()
	size := 3
	if f.Transparency.Kind != "" {
		size = 4
	}
	var spreaded []byte
	return func(dst, row []byte, step int) {
		n := (len(dst) + step - 1) / step
		if f.Depth < 8 {
			if spreaded == nil {
				spreaded = make([]byte, f.Width)
			}
			spread(spreaded[:n], row, 1, f.Depth, 1)
			row = spreaded[:n]
		}
		if size == 4 {
			for i, v := range row {
				*(*[4]byte)(dst[i*step:]) = table[v]
			}
			return
		}
		for i, v := range row {
			e := &table[v]
			d := dst[i*step : i*step+3 : i*step+3]
			d[0], d[1], d[2] = e[0], e[1], e[2]
		}
	}
}

// turned writes big-endian samples of 16 bits as little-endian ones, and alpha behind them where there is a key.
func turned(dst, row []byte, step, channels int, key []byte) {
	if key == nil && step == 2*channels {
		for ; len(row) >= 8; dst, row = dst[8:], row[8:] {
			v := binary.LittleEndian.Uint64(row)
			const low = 0x00ff00ff00ff00ff
			binary.LittleEndian.PutUint64(dst, v>>8&low|v&low<<8)
		}
		for ; len(row) >= 2; dst, row = dst[2:], row[2:] {
			dst[0], dst[1] = row[1], row[0]
		}
		return
	}
	for i := 0; len(row) > 0; i += step {
		for c := range channels {
			dst[i+2*c], dst[i+2*c+1] = row[2*c+1], row[2*c]
		}
		if key != nil {
			var alpha byte
			if string(row[:2*channels]) != string(key) {
				alpha = 255
			}
			dst[i+2*channels], dst[i+2*channels+1] = alpha, alpha
		}
		row = row[2*channels:]
	}
}
