package imageio

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// pngFile is what a walk over the chunks of a file finds.
type pngFile struct {
	depth, colour, interlace int

	transparent bool   // there is a tRNS chunk
	profile     []byte // of the iCCP chunk, compressed
	frames      uint32 // of an animation
	exif        pngEXIF

	palette pngPart // the PLTE chunk
	key     pngPart // the tRNS chunk
}

// pngPart is a chunk and its place: length, kind, body and checksum.
type pngPart struct {
	at    int
	chunk []byte
}

// scanPNG reads the chunks of the whole file (PNG specification, 5.6): metadata
// may also follow the samples. Samples are skipped, and checksums are left to
// the decoder.
func scanPNG(data []byte, p *opened, lim Limits) (*pngFile, error) {
	f := &pngFile{}
	first, samples := true, false
	err := pngChunks(data, func(kind string, at int, body []byte) error {
		if first && kind == "CgBI" {
			return unsupported("png", "Apple's variant of the format is not read")
		}
		if first != (kind == "IHDR") {
			return rejected("png", "its first chunk is not IHDR, or IHDR comes twice")
		}
		first = false
		switch kind {
		case "IHDR":
			return f.header(body, p, len(data), lim)
		case "IDAT":
			samples = true
		case "eXIf":
			f.exif.chunk(body)
		case "tEXt", "zTXt", "iTXt":
			f.exif.text(kind, body)
		case "PLTE", "tRNS", "iCCP", "acTL":
			if !samples {
				f.beforeSamples(kind, pngPart{at, data[at : at+12+len(body)]}, body)
			}
		case "IEND":
		default:
			// PNG specification, 5.4: a capital first letter marks a chunk that the image needs.
			if kind[0]&0x20 == 0 {
				return unsupported("png", "it needs chunks of the kind %q, which are not read", kind)
			}
		}
		return nil
	})
	return f, err
}

func (f *pngFile) header(body []byte, p *opened, encoded int, lim Limits) error {
	if len(body) != 13 {
		return rejected("png", "its IHDR chunk has %d bytes", len(body))
	}
	w, h := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
	f.depth, f.colour, f.interlace = int(body[8]), int(body[9]), int(body[12])
	p.Header = Header{Width: int(w), Height: int(h), Depth: 1, Channels: pngChannels(f.colour), Bits: max(f.depth, 8)}
	if p.Channels == 0 || f.depth < 1 || f.depth > 16 {
		return rejected("png", "colour type %d with %d bits is not defined", f.colour, f.depth)
	}
	return lim.check("png", &p.Header, encoded)
}

// beforeSamples notes a chunk that has no meaning behind the samples.
func (f *pngFile) beforeSamples(kind string, part pngPart, body []byte) {
	switch kind {
	case "PLTE":
		f.palette = part
	case "tRNS":
		f.transparent, f.key = true, part
	case "iCCP":
		if f.profile == nil {
			f.profile = body
		}
	case "acTL":
		if len(body) >= 4 {
			f.frames = binary.BigEndian.Uint32(body)
		}
	}
}

// reader returns the file as the standard decoder takes it. libpng reads two
// kinds of chunks without a word that the decoder refuses or takes otherwise: a
// palette with more colours than indices of the depth reach, and a transparent
// grey value with bits beyond the depth. What is too much is left out of both.
func (f *pngFile) reader(data []byte) io.Reader {
	part, body := pngPart{}, []byte(nil)
	switch most := 3 << f.depth; {
	case f.colour == pngPalette && f.palette.sound() && len(f.palette.body()) > most && len(f.palette.body()) <= 3*256 && len(f.palette.body())%3 == 0:
		part, body = f.palette, f.palette.body()[:most]
	case f.colour == pngGrey && f.depth < 8 && f.key.sound() && len(f.key.body()) == 2:
		part, body = f.key, []byte{0, f.key.body()[1] & (1<<f.depth - 1)}
	default:
		return bytes.NewReader(data)
	}
	var changed bytes.Buffer
	pngChunk(&changed, string(part.chunk[4:8]), body)
	return io.MultiReader(bytes.NewReader(data[:part.at]), &changed, bytes.NewReader(data[part.at+len(part.chunk):]))
}

func (c *pngPart) body() []byte { return c.chunk[8 : len(c.chunk)-4] }

// sound reports whether there is a chunk and its checksum is right.
func (c *pngPart) sound() bool {
	n := len(c.chunk)
	return n >= 12 && crc32.ChecksumIEEE(c.chunk[4:n-4]) == binary.BigEndian.Uint32(c.chunk[n-4:])
}

// pngChunks calls visit for every chunk up to and including IEND, with the place
// of the chunk and its body.
func pngChunks(data []byte, visit func(kind string, at int, body []byte) error) error {
	for at := 8; ; {
		rest := data[at:]
		if len(rest) < 8 {
			return cutShort("png")
		}
		n, kind := int64(binary.BigEndian.Uint32(rest)), string(rest[4:8])
		for _, c := range []byte(kind) {
			if c|0x20 < 'a' || c|0x20 > 'z' {
				return rejected("png", "a chunk has no name where one belongs")
			}
		}
		if n+12 > int64(len(rest)) {
			return cutShort("png")
		}
		if err := visit(kind, at, rest[8:8+n]); err != nil || kind == "IEND" {
			return err
		}
		at += int(n) + 12
	}
}
