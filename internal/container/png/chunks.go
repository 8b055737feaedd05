package png

import (
	"encoding/binary"
	"hash/crc32"
	"iter"

	"github.com/pelmill/pelmill/internal/container"
)

// Signature opens every file (PNG specification, 5.2).
const Signature = "\x89PNG\r\n\x1a\n"

// MaxChunk is the most that the body of a chunk may have (PNG specification, 5.3).
const MaxChunk = 1<<31 - 1

// chunkFrame is the length, the kind and the checksum around a body, 4 bytes each.
const chunkFrame = 12

// Chunk is one chunk of a file (PNG specification, 5.3):
//
//	| length | kind | body ... | checksum |
//	|------------- Whole ----------------|
type Chunk struct {
	Kind  string
	At    int    // place in the file
	Whole []byte // shares the file's bytes, as Body does
}

// Body is what the chunk holds.
func (c *Chunk) Body() []byte {
	if len(c.Whole) < chunkFrame {
		return nil
	}
	n := len(c.Whole) - 4
	return c.Whole[8:n:n]
}

// Sound reports whether the checksum is that of the kind and the body.
func (c *Chunk) Sound() bool {
	n := len(c.Whole)
	return n >= chunkFrame && crc32.ChecksumIEEE(c.Whole[4:n-4]) == binary.BigEndian.Uint32(c.Whole[n-4:])
}

// critical reports whether an image cannot be shown without the chunk (PNG
// specification, 5.4: the first letter is a capital).
func (c *Chunk) critical() bool { return c.Kind[0]&0x20 == 0 }

// Chunks yields the chunks of a file up to and including IEND. Checksums are not
// looked at. Where the file is damaged, the last pair has an error and no chunk.
func Chunks(data []byte) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if len(data) < len(Signature) || string(data[:len(Signature)]) != Signature {
			yield(Chunk{}, container.Malformed("it does not begin with the signature of PNG"))
			return
		}
		for at := len(Signature); ; {
			c, err := next(data, at)
			if !yield(c, err) || err != nil || c.Kind == "IEND" {
				return
			}
			at += len(c.Whole)
		}
	}
}

// next reads the chunk at a place.
func next(data []byte, at int) (Chunk, error) {
	rest := data[at:]
	if len(rest) < 8 {
		return Chunk{}, container.ErrCutShort
	}
	for _, c := range rest[4:8] {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			return Chunk{}, container.Malformed("a chunk has no name where one belongs")
		}
	}
	whole := chunkFrame + int64(binary.BigEndian.Uint32(rest))
	if whole > int64(len(rest)) {
		return Chunk{}, container.ErrCutShort
	}
	return Chunk{Kind: string(rest[4:8]), At: at, Whole: rest[:whole:whole]}, nil
}

// Find returns the first chunk of a kind, and false where there is none before the
// end of the file or the first damage.
func Find(data []byte, kind string) (Chunk, bool) {
	for c, err := range Chunks(data) {
		if err != nil {
			break
		}
		if c.Kind == kind {
			return c, true
		}
	}
	return Chunk{}, false
}

// Append appends a chunk to a file. Body has at most [MaxChunk] bytes.
func Append(file []byte, kind string, body []byte) []byte {
	file = binary.BigEndian.AppendUint32(file, uint32(len(body)))
	from := len(file)
	file = append(append(file, kind...), body...)
	return binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(file[from:]))
}
