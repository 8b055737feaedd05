package neuquant

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"math/bits"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// Decode restores the images of indexed PNG files and of GIF files, of any program, on
// the CPU.
func (Codec) Decode(ctx context.Context, run codec.Run, files [][]byte, _ codec.Assets) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	run.Cores().Each(len(files), func(i int) {
		out[i].Image, out[i].Err = decode(ctx, files[i])
	})
	return out
}

func decode(ctx context.Context, data []byte) (m *raster.Image, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := open(data)
	if err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, codec.Malformedf("neuquant: the decoder gave up: %v", p)
		}
	}()
	if f.gif {
		return f.decodeGIF(data)
	}
	return f.decodePNG()
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
	gif           bool
	width, height int
	frames        int
	bits          int // of an index
	entries       int // of the palette; of a GIF file, of its largest
	clear         int // of these, not opaque; of a GIF file 1 where frames let see through
	mark          int // channels, 0 where the file does not say
	profile       container.Attribute
	exif          []byte
	png           *png.File // nil of a GIF file
	disposal      []byte    // of each frame
}

// open reads the blocks of a file without its pixels. What it returns shares data.
func open(data []byte) (*file, error) {
	f := &file{frames: 1, bytes: len(data)}
	var err error
	switch {
	case bytes.HasPrefix(data, []byte(png.Signature)):
		err = f.openPNG(data)
	case len(data) > 6 && (string(data[:6]) == "GIF87a" || string(data[:6]) == "GIF89a"):
		f.gif = true
		err = f.openGIF(data)
	default:
		err = codec.Malformedf("neuquant: neither a PNG file nor a GIF file")
	}
	if err != nil {
		return nil, err
	}
	ratio := int64(pngRatio)
	if f.gif {
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

func (f *file) decodePNG() (*raster.Image, error) {
	src, err := f.png.Decode()
	if err != nil {
		return nil, codec.FromContainer("neuquant: the PNG file", err)
	}
	p, ok := src.(*image.Paletted)
	if !ok || p.Rect.Dx() != f.width || p.Rect.Dy() != f.height || p.Stride != f.width {
		return nil, codec.Malformedf("neuquant: the PNG file holds a %T of %v for %d x %d pixels", src, src.Bounds(), f.width, f.height)
	}
	table := entriesOf(p.Palette)
	var used [256]bool
	for _, v := range p.Pix {
		used[v] = true
	}
	var c hues
	for v, is := range used {
		if is {
			c.add(table[v])
		}
	}
	m, err := f.blank(&c)
	if err != nil {
		return nil, err
	}
	put(m.Pix, m.Channels, func(i int) uint32 { return table[p.Pix[i]] })
	turn, _ := raster.EXIFOrientation(f.exif)
	// A profile that does not inflate is dropped, as other readers do: it is not part of
	// the image.
	icc, _ := f.profile.Bytes(maxProfile)
	return raster.Upright(m, raster.Meta{ICC: icc, EXIF: f.exif, Orientation: turn}), nil
}

// blank is an image for the colours.
func (f *file) blank(c *hues) (*raster.Image, error) {
	n := c.marked(f.mark)
	if int64(f.width)*int64(f.height)*int64(f.frames)*int64(n) > maxSamples {
		return nil, codec.Malformedf("neuquant: %d x %d x %d pixels with %d channels are over the limit of %d samples", f.width, f.height, f.frames, n, maxSamples)
	}
	m := raster.New(f.width, f.height, f.frames, n, 8)
	m.Frames = f.frames > 1
	return m, nil
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

// openGIF walks the blocks of a file (GIF89a, 17 to 26).
func (f *file) openGIF(data []byte) error {
	short := func() error { return codec.Malformedf("neuquant: the GIF file is cut short") }
	if len(data) < 13 {
		return short()
	}
	le := binary.LittleEndian
	f.width, f.height, f.frames = int(le.Uint16(data[6:])), int(le.Uint16(data[8:])), 0
	table := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		n := 2 << (flags & 7)
		f.entries = max(f.entries, n)
		return 3 * n
	}
	const graphicControl = 0xf9
	var dispose byte
	for i := 13 + table(data[10]); ; {
		if i >= len(data) {
			return short()
		}
		switch data[i] {
		case 0x21: // extension
			if i+4 > len(data) {
				return short()
			}
			if data[i+1] == graphicControl {
				dispose = data[i+3] >> 2 & 7
				// Later frames of opaque images are transparent where nothing changes.
				if f.frames == 0 && data[i+3]&1 != 0 || dispose >= gif.DisposalBackground {
					f.clear = 1
				}
			}
			if rest := data[i:]; bytes.HasPrefix(rest, []byte(channelsExtension)) && len(rest) > len(channelsExtension)+1 && rest[len(channelsExtension)] == 1 {
				f.mark = int(rest[len(channelsExtension)+1])
			}
			i += 2
		case 0x2c: // image descriptor
			if i+10 > len(data) {
				return short()
			}
			x, y := int(le.Uint16(data[i+1:])), int(le.Uint16(data[i+3:]))
			w, h := int(le.Uint16(data[i+5:])), int(le.Uint16(data[i+7:]))
			if x+w > f.width || y+h > f.height {
				return codec.Malformedf("neuquant: frame %d of the GIF file lies outside of its canvas", f.frames+1)
			}
			f.frames++
			f.disposal = append(f.disposal, dispose)
			dispose = 0
			i += 10 + table(data[i+9]) + 1 // and the size of the first code
		case gifTrailer:
			if f.frames == 0 {
				return codec.Malformedf("neuquant: the GIF file holds no frame")
			}
			f.bits = bits.Len(uint(max(f.entries, 2) - 1))
			return nil
		default:
			return codec.Malformedf("neuquant: a block of the kind %#02x in a GIF file", data[i])
		}
		// Both are followed by blocks of data up to an empty one.
		for {
			if i >= len(data) {
				return short()
			}
			n := int(data[i])
			i += 1 + n
			if n == 0 {
				break
			}
		}
	}
}

// decodeGIF draws the frames one after the other on a canvas that is transparent at
// first, and takes a slice after each. What a frame disposes of becomes transparent, as
// in every browser; the background colour is not used.
func (f *file) decodeGIF(data []byte) (*raster.Image, error) {
	g, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		return nil, codec.Malformedf("neuquant: %v", err)
	}
	if len(g.Image) != f.frames || g.Config.Width != f.width || g.Config.Height != f.height {
		return nil, codec.Malformedf("neuquant: %d frames were found in the GIF file and %d decoded", f.frames, len(g.Image))
	}
	var c hues
	f.draw(g, func(_ int, canvas []uint32) {
		last := ^canvas[0]
		for _, v := range canvas {
			if v != last {
				c.add(v)
				last = v
			}
		}
	})
	m, err := f.blank(&c)
	if err != nil {
		return nil, err
	}
	f.draw(g, func(z int, canvas []uint32) {
		put(m.Slice(z).Pix, m.Channels, func(i int) uint32 { return canvas[i] })
	})
	return m, nil
}

// draw calls see with the canvas after each frame.
func (f *file) draw(g *gif.GIF, see func(z int, canvas []uint32)) {
	canvas := make([]uint32, f.width*f.height)
	var saved []uint32
	for z, frame := range g.Image {
		if f.disposal[z] == gif.DisposalPrevious {
			saved = append(saved[:0], canvas...)
		}
		table := entriesOf(frame.Palette)
		r := frame.Rect
		for y := r.Min.Y; y < r.Max.Y; y++ {
			line := canvas[y*f.width+r.Min.X:][:r.Dx()]
			for x, v := range frame.Pix[(y-r.Min.Y)*frame.Stride:][:r.Dx()] {
				if e := table[v]; e >= opaque {
					line[x] = e
				}
			}
		}
		see(z, canvas)
		switch f.disposal[z] {
		case gif.DisposalPrevious:
			copy(canvas, saved)
		case gif.DisposalBackground:
			for y := r.Min.Y; y < r.Max.Y; y++ {
				clear(canvas[y*f.width+r.Min.X:][:r.Dx()])
			}
		}
	}
}
