package gif

import (
	"encoding/binary"
	"iter"

	"github.com/pelmill/pelmill/internal/container"
)

// Kinds of blocks (GIF89a specification, 18 to 27).
const (
	kindExtension = 0x21
	kindImage     = 0x2c
	kindTrailer   = 0x3b
)

// Labels of extensions (GIF89a specification, 23 to 26).
const (
	labelPlainText   = 0x01
	labelControl     = 0xf9
	labelComment     = 0xfe
	labelApplication = 0xff
)

// Block is an extension, the descriptor of a frame with its data, or the trailer.
type Block struct {
	Kind  byte   // first byte of the block
	At    int    // place in the file
	Whole []byte // shares the file's bytes, as Data does
	Data  []byte // sub-blocks, up to and including the empty one
}

// label is that of an extension.
func (b *Block) label() byte { return b.Whole[1] }

// Screen is the logical screen (GIF89a specification, 17 to 19).
type Screen struct {
	Width, Height int
	Colours       []byte // R, G, B of each global colour; nil where there are none
}

// screenLength is the signature and the descriptor of the screen.
const screenLength = 13

// ReadScreen reads the beginning of a file.
func ReadScreen(data []byte) (Screen, error) {
	switch {
	case len(data) < 6 || !Match(data):
		return Screen{}, container.Malformed("it does not begin with the signature of GIF")
	case len(data) < screenLength:
		return Screen{}, container.ErrCutShort
	}
	le := binary.LittleEndian
	s := Screen{Width: int(le.Uint16(data[6:])), Height: int(le.Uint16(data[8:]))}
	n := tableLength(data[10])
	if screenLength+n > len(data) {
		return Screen{}, container.ErrCutShort
	}
	if n > 0 {
		s.Colours = data[screenLength : screenLength+n]
	}
	return s, nil
}

// Match reports whether a file begins as a GIF file does.
func Match(data []byte) bool {
	return len(data) >= 6 && (string(data[:6]) == "GIF87a" || string(data[:6]) == "GIF89a")
}

// tableLength is the length of a table of colours in bytes, by the flags before it.
func tableLength(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 * 2 << (flags & 7)
}

// Blocks yields the blocks behind the screen and its colours, up to and including
// the trailer. Nothing is inflated. Where the file is damaged, the last pair has an
// error and no block.
func Blocks(data []byte) iter.Seq2[Block, error] {
	return func(yield func(Block, error) bool) {
		s, err := ReadScreen(data)
		if err != nil {
			yield(Block{}, err)
			return
		}
		for at := screenLength + len(s.Colours); ; {
			b, err := next(data, at)
			if !yield(b, err) || err != nil || b.Kind == kindTrailer {
				return
			}
			at += len(b.Whole)
		}
	}
}

// next reads the block at a place. Both kinds that are not the trailer have a head
// and sub-blocks behind it.
func next(data []byte, at int) (Block, error) {
	if at >= len(data) {
		return Block{}, container.ErrCutShort
	}
	var head int
	switch data[at] {
	case kindTrailer:
		return Block{Kind: kindTrailer, At: at, Whole: data[at : at+1]}, nil
	case kindExtension:
		head = 2
	case kindImage:
		if at+descriptorLength > len(data) {
			return Block{}, container.ErrCutShort
		}
		head = descriptorLength + tableLength(data[at+9]) + 1 // and the bits of an index
	default:
		return Block{}, container.Malformed("a block of the kind %#02x is not defined", data[at])
	}
	for i := at + head; i < len(data); {
		n := int(data[i])
		i += 1 + n
		if n == 0 {
			return Block{Kind: data[at], At: at, Whole: data[at:i:i], Data: data[at+head : i : i]}, nil
		}
	}
	return Block{}, container.ErrCutShort
}

// Application returns the sub-blocks of the first application extension with an
// identifier, which has 11 characters, and false where there is none before the end
// of the file or the first damage.
func Application(data []byte, identifier string) (blocks []byte, ok bool) {
	for b, err := range Blocks(data) {
		if err != nil {
			break
		}
		if rest, ok := b.application(identifier); ok {
			return rest, true
		}
	}
	return nil, false
}

// application returns what follows the identifier of an application extension.
func (b *Block) application(identifier string) (blocks []byte, ok bool) {
	const length = 11
	if b.Kind != kindExtension || b.label() != labelApplication || len(b.Data) < 1+length || b.Data[0] != length || string(b.Data[1:1+length]) != identifier {
		return nil, false
	}
	return b.Data[1+length:], true
}
