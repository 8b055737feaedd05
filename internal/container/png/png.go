// Package png walks the chunks of PNG files (W3C PNG specification, third
// edition) and decodes their samples.
//
//	h, err := png.ReadHeader(data)              // the shape, from the first chunk
//	f, err := png.Open(data, container.Lenient) // what the chunks say, no samples
//	m, ok := f.Samples()                        // the samples of a file without a fault
//	m, err := f.Decode()                        // those of any file, or what is wrong with it
//
// Of an animation, these return the image that viewers without animation show; Animation and
// OpenFrame read its frames.
//
// # Two decoders
//
// Samples is made for speed: it inflates in a window and unfilters with vectors, row by row, into the image. It takes files
// that keep every rule, and of others only says that they are not for it. Decode leaves these to image/png,
// whose verdict and whose sentence count; what libpng takes and that decoder does
// not is mended before it sees the file, unless the mode is strict. So the fast decoder changes
// neither which files are taken nor what is said about those that are not.
//
// [File.Attributes] yields the ICC profile (iCCP), the EXIF block (eXIf or a raw
// profile), the XMP packet (iTXt), the density (pHYs) and the texts (tEXt, zTXt,
// iTXt). [Append] writes chunks.
package png

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"io"
	"iter"

	"github.com/pelmill/pelmill/internal/container"
)

// Colour types (PNG specification, 11.2.1).
const (
	Grey      = 0
	RGB       = 2
	Palette   = 3
	GreyAlpha = 4
	RGBA      = 6
)

// Header is the IHDR chunk.
type Header struct {
	Width, Height uint32
	Depth         int // bits of a sample, or of an index
	Colour        int // colour type
	Interlaced    bool
}

// Channels is the number of channels that the colour type has, three for a palette
// and 0 for a type that is not defined. Transparency of a tRNS chunk adds one.
func (h *Header) Channels() int {
	switch h.Colour {
	case Grey:
		return 1
	case GreyAlpha:
		return 2
	case RGB, Palette:
		return 3
	case RGBA:
		return 4
	}
	return 0
}

// ReadHeader reads the first chunk of a file.
func ReadHeader(data []byte) (Header, error) {
	for c, err := range Chunks(data) {
		if err != nil {
			return Header{}, err
		}
		return header(&c)
	}
	return Header{}, container.ErrCutShort
}

func header(first *Chunk) (Header, error) {
	body := first.Body()
	switch {
	case first.Kind == "CgBI":
		return Header{}, container.Unsupported("Apple's variant of the format is not read")
	case first.Kind != "IHDR":
		return Header{}, errFirst
	case len(body) != 13:
		return Header{}, container.Malformed("its IHDR chunk has %d bytes", len(body))
	}
	h := Header{
		Width: binary.BigEndian.Uint32(body), Height: binary.BigEndian.Uint32(body[4:]),
		Depth: int(body[8]), Colour: int(body[9]), Interlaced: body[12] != 0,
	}
	if h.Channels() == 0 || h.Depth < 1 || h.Depth > 16 {
		return Header{}, container.Malformed("colour type %d with %d bits is not defined", h.Colour, h.Depth)
	}
	return h, nil
}

var errFirst = container.Malformed("its first chunk is not IHDR, or IHDR comes twice")

// File is what the chunks of a file say. A chunk that the file does not have is
// the zero value.
type File struct {
	Header
	Palette      Chunk  // PLTE
	Transparency Chunk  // tRNS
	Frames       uint32 // of an animation, 0 where the file does not say
	HasSamples   bool   // there is an IDAT chunk

	ICC  container.Attribute // of the first iCCP chunk, zipped
	EXIF []byte              // of the first eXIf chunk, or else of a raw profile

	data []byte
	mode container.Mode
}

// Open reads all chunks: metadata may also follow the samples. Samples are skipped,
// and checksums are left to Decode. Besides the raw profile of an EXIF block, no
// memory is taken in proportion to the file.
func Open(data []byte, mode container.Mode) (*File, error) {
	f := &File{data: data, mode: mode}
	var exif exifBlocks
	first := true
	for c, err := range Chunks(data) {
		if err != nil {
			return nil, err
		}
		if first {
			if f.Header, err = header(&c); err != nil {
				return nil, err
			}
			first = false
			continue
		}
		switch c.Kind {
		case "IHDR":
			return nil, errFirst
		case "IDAT":
			f.HasSamples = true
		case "eXIf":
			exif.chunk(c.Body())
		case "tEXt", "zTXt", "iTXt":
			exif.text(&c)
		case "PLTE", "tRNS", "iCCP", "acTL":
			if !f.HasSamples {
				f.beforeSamples(c)
			}
		case "IEND":
		default:
			if c.critical() {
				return nil, container.Unsupported("it needs chunks of the kind %q, which are not read", c.Kind)
			}
		}
	}
	f.EXIF = exif.block()
	return f, nil
}

// beforeSamples notes a chunk that has no meaning behind the samples.
func (f *File) beforeSamples(c Chunk) {
	switch c.Kind {
	case "PLTE":
		f.Palette = c
	case "tRNS":
		f.Transparency = c
	case "iCCP":
		if f.ICC.Data == nil {
			f.ICC, _ = profile(c.Body())
		}
	case "acTL":
		if body := c.Body(); len(body) >= 4 {
			f.Frames = binary.BigEndian.Uint32(body)
		}
	}
}

// Attributes yields the attributes of the file, in no order that is promised, the
// ICC profile and the EXIF block of File among them.
func (f *File) Attributes() iter.Seq[container.Attribute] {
	return func(yield func(container.Attribute) bool) {
		if f.ICC.Data != nil && !yield(f.ICC) {
			return
		}
		if f.EXIF != nil && !yield(container.Attribute{Kind: container.EXIF, Data: f.EXIF}) {
			return
		}
		for c, err := range Chunks(f.data) {
			if err != nil {
				return
			}
			var a container.Attribute
			var ok bool
			switch c.Kind {
			case "pHYs":
				a, ok = density(c.Body())
			case "tEXt", "zTXt", "iTXt":
				a, ok = text(&c)
			}
			if ok && !yield(a) {
				return
			}
		}
	}
}

// Decode decodes the samples: an image of one of the types that [png.Decode]
// returns. Callers have held the shape against their limits.
func (f *File) Decode() (image.Image, error) { return f.DecodeWith(nil) }

// DecodeWith is Decode with memory that alloc returns, of any content, for the indices of a palette; nil: new memory. The
// image may lie in other memory.
func (f *File) DecodeWith(alloc func(n int) []byte) (image.Image, error) {
	if f.Colour == Palette {
		if m, ok := f.indices(alloc); ok {
			return m, nil
		}
	}
	return f.DecodeStandard()
}

// DecodeStandard is Decode by the standard library's decoder alone.
func (f *File) DecodeStandard() (image.Image, error) {
	m, err := png.Decode(f.reader())
	var unsupported png.UnsupportedError
	if errors.As(err, &unsupported) {
		return nil, container.Unsupported("it uses %s", string(unsupported))
	}
	return m, err
}

// reader returns the file as the standard decoder takes it. libpng reads two
// kinds of chunks without a word that the decoder refuses or takes otherwise: a
// palette with more colours than indices of the depth reach, and a transparent
// grey value with bits beyond the depth. What is too much is left out of both.
func (f *File) reader() io.Reader {
	colours, key := f.Palette.Body(), f.Transparency.Body()
	var c Chunk
	var body []byte
	switch most := 3 << f.Depth; {
	case f.mode == container.Strict:
		return bytes.NewReader(f.data)
	case f.Colour == Palette && len(colours) > most && len(colours) <= 3*256 && len(colours)%3 == 0 && f.Palette.Sound():
		c, body = f.Palette, colours[:most]
	case f.Colour == Grey && f.Depth < 8 && len(key) == 2 && f.Transparency.Sound():
		c, body = f.Transparency, []byte{0, key[1] & (1<<f.Depth - 1)}
	default:
		return bytes.NewReader(f.data)
	}
	changed := Append(nil, c.Kind, body)
	return io.MultiReader(bytes.NewReader(f.data[:c.At]), bytes.NewReader(changed), bytes.NewReader(f.data[c.At+len(c.Whole):]))
}
