package neuquant

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"math/bits"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/gif"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// Decode restores the images of indexed PNG files and of GIF files, of any program.
func (Codec) Decode(ctx context.Context, run codec.Run, files [][]byte, _ codec.Assets) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	if run.Device != nil {
		d := &deviceDecoder{ctx: ctx, run: run, cores: run.Cores(), files: files, out: out}
		d.decode()
		return out
	}
	run.Cores().Each(len(files), func(i int) {
		out[i] = decode(ctx, files[i], nil, run.Bytes)
	})
	return out
}

// decode decodes a file, with the rows of its image where a device has read them. alloc gives memory for the samples and
// for the indices of a PNG file.
func decode(ctx context.Context, data []byte, rows *png.Stream, alloc func(n int) []byte) (d codec.Decoded) {
	if err := ctx.Err(); err != nil {
		return codec.Decoded{Err: err}
	}
	f, err := open(data)
	if err != nil {
		return codec.Decoded{Err: err}
	}
	defer func() {
		if p := recover(); p != nil {
			d = codec.Decoded{Err: codec.Malformedf("neuquant: the decoder gave up: %v", p)}
		}
	}()
	if f.gif != nil {
		d.Image, d.Err = f.decodeGIF()
		return d
	}
	d.Image, d.Second, d.Err = f.decodePNG(rows, alloc)
	return d
}

// Bounds of what a file may ask for.
const (
	maxSamples = 1 << 30

	// A match of 258 bytes takes 2 bits in deflate, and a byte has up to 8 pixels; a code
	// of GIF takes 12 bits and has up to 4,096.
	pngRatio = 1032 * 8
	gifRatio = 4096 * 8 / 12
)

// file is what the blocks of a file say.
type file struct {
	bytes         int // of the whole file
	width, height int
	frames        int
	bits          int // of an index
	entries       int // of the palette; of a GIF file, of its largest
	clear         int // of these, not opaque; of a GIF file 1 where frames let see through
	mark          int // channels, 0 where the file does not say
	profile       container.Attribute
	exif          []byte
	png           *png.File // one of the two
	gif           *gif.File
}

// open reads the blocks of a file without its pixels. What it returns shares data.
func open(data []byte) (*file, error) {
	f := &file{frames: 1, bytes: len(data)}
	var err error
	switch {
	case bytes.HasPrefix(data, []byte(png.Signature)):
		err = f.openPNG(data)
	case gif.Match(data):
		err = f.openGIF(data)
	default:
		err = codec.Malformedf("neuquant: neither a PNG file nor a GIF file")
	}
	if err != nil {
		return nil, err
	}
	ratio := int64(pngRatio)
	if f.gif != nil {
		ratio = gifRatio
	}
	pixels := int64(f.width) * int64(f.height)
	switch {
	case min(f.width, f.height) < 1 || max(f.width, f.height, f.frames) > maxSide:
		return nil, codec.Malformedf("neuquant: %d x %d pixels and %d frames, want 1 to %d each", f.width, f.height, f.frames, maxSide)
	case pixels > maxSamples || pixels*int64(f.frames) > maxSamples:
		return nil, codec.Malformedf("neuquant: %d x %d x %d pixels are over the limit of %d samples", f.width, f.height, f.frames, maxSamples)
	case pixels*int64(f.frames) > ratio*int64(len(data)):
		return nil, codec.Malformedf("neuquant: %d x %d x %d pixels cannot be in %d bytes", f.width, f.height, f.frames, len(data))
	}
	return f, nil
}

// openPNG reads the chunks. Checksums are left to the decoder.
func (f *file) openPNG(data []byte) error {
	const subject = "neuquant: the PNG file"
	head, err := png.ReadHeader(data)
	switch {
	case err != nil:
		return codec.FromContainer(subject, err)
	case head.Colour != png.Palette:
		return codec.Unsupportedf("neuquant: the PNG file has no palette (colour type %d), so it is not one of this codec; compress takes it as a source", head.Colour)
	case head.Depth != 1 && head.Depth != 2 && head.Depth != 4 && head.Depth != 8:
		return codec.Malformedf("neuquant: indices of %d bits", head.Depth)
	}
	p, err := png.Open(data, container.Strict)
	switch {
	case err != nil:
		return codec.FromContainer(subject, err)
	case p.Frames > 1:
		return codec.Unsupportedf("neuquant: an animated PNG file; only single pictures are read from PNG")
	case p.Palette.Kind == "" || !p.HasSamples:
		return codec.Malformedf("neuquant: the PNG file has no palette or no pixels")
	}
	f.png = p
	f.width, f.height, f.bits = int(min(p.Width, maxSide+1)), int(min(p.Height, maxSide+1)), p.Depth
	f.entries = len(p.Palette.Body()) / 3
	for _, a := range p.Transparency.Body() {
		if a < 255 {
			f.clear++
		}
	}
	if c, ok := png.Find(data, channelsChunk); ok && len(c.Body()) == 1 {
		f.mark = int(c.Body()[0])
	}
	f.profile, f.exif = p.ICC, p.EXIF
	return nil
}

// decodePNG returns the image, and whether the standard library made the same pixels.
func (f *file) decodePNG(rows *png.Stream, alloc func(n int) []byte) (*raster.Image, codec.Second, error) {
	var src image.Image
	read := false
	if rows != nil {
		src, read = f.png.Indexed(rows.Samples())
	}
	if !read {
		var err error
		if src, err = f.png.DecodeWith(alloc); err != nil {
			return nil, codec.SecondNone, codec.FromContainer("neuquant: the PNG file", err)
		}
	}
	p, ok := src.(*image.Paletted)
	if !ok || p.Rect.Dx() != f.width || p.Rect.Dy() != f.height || p.Stride != f.width {
		return nil, codec.SecondNone, codec.Malformedf("neuquant: the PNG file holds a %T of %v for %d x %d pixels", src, src.Bounds(), f.width, f.height)
	}
	table := entriesOf(p.Palette)
	second := codec.SecondLeftOut
	if standard(p.Pix) {
		second = codec.SecondAgreed
		if err := f.compare(p, &table); err != nil {
			return nil, codec.SecondNone, err
		}
	}
	c := kindsOf(p.Pix, &table)
	n, err := f.channels(&c)
	if err != nil {
		return nil, codec.SecondNone, err
	}
	m := &raster.Image{Shape: raster.Shape{Width: f.width, Height: f.height, Depth: 1, Channels: n, Bits: 8}}
	m.Pix = alloc(m.Size())
	if n == 3 {
		expand(m.Pix, p.Pix, &table)
	} else {
		put(m.Pix, m.Channels, func(i int) uint32 { return table[p.Pix[i]] })
	}
	turn := exif.Orientation(f.exif)
	// A profile that does not inflate is dropped, as other readers do: it is not part of
	// the image.
	icc, _ := f.profile.Bytes(maxProfile)
	return exif.Attach(m, raster.Meta{ICC: icc, EXIF: f.exif, Orientation: turn}), second, nil
}

// standardShare says that one PNG file of so many is decoded by the standard library as well, and both results are
// compared: the decoder in internal/container/png shares no code with the encoder, but its authors.
const standardShare = 64

// standard chooses these files by their indices, so that a file is treated alike whenever it is decoded.
func standard(indices []byte) bool { return crc32.ChecksumIEEE(indices)%standardShare == 0 }

// compare decodes the file with the standard library and says whether that has other pixels.
func (f *file) compare(m *image.Paletted, table *[256]uint32) error {
	src, err := f.png.DecodeStandard()
	if err != nil {
		return codec.FromContainer("neuquant: the PNG file", err)
	}
	if p, ok := src.(*image.Paletted); !ok || !bytes.Equal(p.Pix, m.Pix) || entriesOf(p.Palette) != *table {
		return codec.Malformedf("neuquant: the standard library decodes the PNG file to another picture")
	}
	return nil
}

// kindsAtOnce is how many pixels kindsOf looks at before it looks at their colours.
const kindsAtOnce = 1 << 12

// kindsOf is what the colours of indices are. Once it is what all entries together are, nothing can
// be added, so that of most images only the first pixels are looked at.
func kindsOf(indices []byte, table *[256]uint32) (c channelKinds) {
	var all channelKinds
	for _, v := range table {
		all.add(v)
	}
	var used [256]bool
	for len(indices) > 0 && c != all {
		n := min(len(indices), kindsAtOnce)
		for _, v := range indices[:n] {
			used[v] = true
		}
		indices = indices[n:]
		for v, is := range used {
			if is {
				c.add(table[v])
			}
		}
	}
	return c
}

// expandGo writes the colours of indices as three channels.
func expandGo(pix, indices []byte, table *[256]uint32) {
	var rgb [256]uint64
	for v, c := range table {
		rgb[v] = uint64(c & 0xffffff)
	}
	// Eight pixels are three whole words.
	for ; len(indices) >= 8; pix, indices = pix[24:], indices[8:] {
		v, to := indices[:8:8], pix[:24:24]
		c, f := rgb[v[2]], rgb[v[5]]
		binary.LittleEndian.PutUint64(to, rgb[v[0]]|rgb[v[1]]<<24|c<<48)
		binary.LittleEndian.PutUint64(to[8:], c>>16|rgb[v[3]]<<8|rgb[v[4]]<<32|f<<56)
		binary.LittleEndian.PutUint64(to[16:], f>>8|rgb[v[6]]<<16|rgb[v[7]]<<40)
	}
	for i, v := range indices {
		c := rgb[v]
		pix[3*i], pix[3*i+1], pix[3*i+2] = byte(c), byte(c>>8), byte(c>>16)
	}
}

// channels is the number of channels for the colours, within the limit of samples.
func (f *file) channels(c *channelKinds) (int, error) {
	n := c.marked(f.mark)
	if int64(f.width)*int64(f.height)*int64(f.frames)*int64(n) > maxSamples {
		return 0, codec.Malformedf("neuquant: %d x %d x %d pixels with %d channels are over the limit of %d samples", f.width, f.height, f.frames, n, maxSamples)
	}
	return n, nil
}

// put writes colours as samples.
func put(pix []byte, channels int, colour func(i int) uint32) {
	for i := 0; len(pix) > 0; i, pix = i+1, pix[channels:] {
		v := colour(i)
		switch channels {
		case 1:
			pix[0] = byte(v)
		case 2:
			pix[0], pix[1] = byte(v), byte(v>>24)
		case 3:
			pix[0], pix[1], pix[2] = byte(v), byte(v>>8), byte(v>>16)
		case 4:
			binary.LittleEndian.PutUint32(pix, v)
		}
	}
}

// entriesOf returns a palette without premultiplication. Entries that it lacks are black.
func entriesOf(p color.Palette) (table [256]uint32) {
	for i := range table {
		table[i] = opaque
	}
	for i, c := range p {
		n := color.NRGBAModel.Convert(c).(color.NRGBA)
		table[i] = uint32(n.R) | uint32(n.G)<<8 | uint32(n.B)<<16 | uint32(n.A)<<24
	}
	return table
}

// maxProfile bounds an inflated profile; real ones stay below 4 MiB.
const maxProfile = 16 << 20

// openGIF reads the blocks, without inflating any.
func (f *file) openGIF(data []byte) error {
	const subject = "neuquant: the GIF file"
	g, err := gif.Open(data, maxSide, container.Strict)
	if err != nil {
		return codec.FromContainer(subject, err)
	}
	f.gif = g
	f.width, f.height, f.frames = g.Width, g.Height, len(g.Frames)
	f.entries = len(g.Colours) / 3
	for i := range g.Frames {
		frame := &g.Frames[i]
		f.entries = max(f.entries, len(frame.Colours)/3)
		// Later frames of opaque images are transparent where nothing changes.
		if i == 0 && frame.Transparent >= 0 || frame.Disposal >= gif.ToBackground {
			f.clear = 1
		}
	}
	f.bits = bits.Len(uint(max(f.entries, 2) - 1))
	if mark, ok := gif.Application(data, channelsIdentifier); ok && len(mark) > 1 && mark[0] == 1 {
		f.mark = int(mark[1])
	}
	return nil
}

// decodeGIF takes a slice of each frame as it is drawn, and packs the samples of all
// when it is known which channels their colours need.
func (f *file) decodeGIF() (*raster.Image, error) {
	m := raster.New(f.width, f.height, f.frames, 4, 8)
	m.Frames = f.frames > 1
	var c channelKinds
	z := 0
	for canvas, err := range f.gif.Slices() {
		if err != nil {
			return nil, codec.FromContainer("neuquant: the GIF file", err)
		}
		last := ^binary.LittleEndian.Uint32(canvas)
		for i := 0; i < len(canvas); i += 4 {
			if v := binary.LittleEndian.Uint32(canvas[i:]); v != last {
				c.add(v)
				last = v
			}
		}
		copy(m.Slice(z).Pix, canvas)
		z++
	}
	if m.Frames {
		m.Meta.Animation.Plays = f.gif.Plays
		for i := range f.gif.Frames {
			m.Meta.Animation.Delays = append(m.Meta.Animation.Delays, time.Duration(f.gif.Frames[i].Delay)*10*time.Millisecond)
		}
	}
	n, err := f.channels(&c)
	if err != nil {
		return nil, err
	}
	if n < 4 {
		// What is written lies before what is read next.
		rgba := m.Pix
		m.Channels = n
		m.Pix = rgba[:m.Size():m.Size()]
		put(m.Pix, n, func(i int) uint32 { return binary.LittleEndian.Uint32(rgba[4*i:]) })
	}
	return m, nil
}
