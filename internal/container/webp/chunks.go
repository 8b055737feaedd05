package webp

import (
	"encoding/binary"
	"iter"

	"github.com/pelmill/pelmill/internal/container"
)

// The container (RFC 9649, 2.3 and 2.4). Chunks are padded to an even length; size
// counts the bytes of a body, and that of RIFF the bytes behind it:
//
//	| RIFF | size | WEBP | kind | size | body ... | kind | size | body ...
const (
	riffHeader  = 12
	chunkHeader = 8
)

// MaxFile is the most that a file may have: the size of RIFF is at most 2^32 - 10,
// and 8 bytes stand before what it counts (RFC 9649, 2.4).
const MaxFile = 1<<32 - 2

// Chunk is one chunk of a file. Body shares the file's bytes.
type Chunk struct {
	Kind string
	At   int // place in the file
	Body []byte
}

// Match reports whether a file begins as a WebP file does.
func Match(data []byte) bool {
	return len(data) >= riffHeader && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// Chunks yields the chunks of a file up to the end that RIFF says. The padding of
// the last one may be missing. Where the file is damaged, the last pair has an error
// and no chunk.
func Chunks(data []byte) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if !Match(data) {
			yield(Chunk{}, container.Malformed("it does not begin with the signature of WebP"))
			return
		}
		end := int64(binary.LittleEndian.Uint32(data[4:])) + 8
		switch {
		case end > int64(len(data)):
			yield(Chunk{}, container.ErrCutShort)
			return
		case end < riffHeader:
			yield(Chunk{}, container.Malformed("its container has %d bytes", end))
			return
		}
		for at := riffHeader; at < int(end); {
			c, err := next(data[:end], at)
			if !yield(c, err) || err != nil {
				return
			}
			n := len(c.Body)
			at += chunkHeader + n + n&1
		}
	}
}

// errStray is the error for bytes that are too few for a chunk.
var errStray = container.Malformed("bytes that are no chunk follow its last chunk")

// next reads the chunk at a place.
func next(data []byte, at int) (Chunk, error) {
	rest := data[at:]
	if len(rest) < chunkHeader {
		return Chunk{}, errStray
	}
	n := int64(binary.LittleEndian.Uint32(rest[4:]))
	if n > int64(len(rest)-chunkHeader) {
		return Chunk{}, container.ErrCutShort
	}
	return Chunk{Kind: string(rest[:4]), At: at, Body: rest[chunkHeader : chunkHeader+n : chunkHeader+n]}, nil
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

// Begin returns the beginning of a file, in memory as far as that has room, to which
// [Append] and [AppendBy] add chunks until [Finish].
func Begin(memory []byte) []byte {
	return append(memory[:0], "RIFF\x00\x00\x00\x00WEBP"...)
}

// Append appends a chunk with its padding to a file.
func Append(file []byte, kind string, body []byte) []byte {
	return AppendBy(file, kind, func(file []byte) []byte { return append(file, body...) })
}

// AppendBy is [Append] for a body that body appends to what it is given.
func AppendBy(file []byte, kind string, body func(file []byte) []byte) []byte {
	file = append(append(file, kind...), 0, 0, 0, 0)
	first := len(file)
	file = body(file)
	n := len(file) - first
	binary.LittleEndian.PutUint32(file[first-4:], uint32(n))
	return append(file, make([]byte, n&1)...)
}

// Finish writes the size of a file, which has at most [MaxFile] bytes, into its
// beginning.
func Finish(file []byte) []byte {
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	return file
}
