package storage

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Lines builds an object of JSON lines in zstd frames. Each frame can be read
// by itself with [GetRange] and [DecodeLines]; the whole object decodes as the
// concatenation. The zero value is ready; it is not safe for concurrent use.
type Lines struct {
	buf bytes.Buffer
	enc *zstd.Encoder
	raw []byte
}

// Frame appends one frame that holds the given lines and returns where it lies.
func Frame[T any](l *Lines, lines []T) (offset, length int64, err error) {
	if l.enc == nil {
		if l.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
			return 0, 0, fmt.Errorf("storage: zstd encoder: %w", err)
		}
	}
	l.raw = l.raw[:0]
	for i := range lines {
		b, err := json.Marshal(&lines[i])
		if err != nil {
			return 0, 0, fmt.Errorf("storage: line %d: %w", i, err)
		}
		l.raw = append(append(l.raw, b...), '\n')
	}
	offset = int64(l.buf.Len())
	l.buf.Write(l.enc.EncodeAll(l.raw, nil))
	return offset, int64(l.buf.Len()) - offset, nil
}

// Len is the size of the object so far in bytes.
func (l *Lines) Len() int { return l.buf.Len() }

// Bytes is the object so far; it is valid until the next call of [Frame] or
// Reset.
func (l *Lines) Bytes() []byte { return l.buf.Bytes() }

// Reset starts a new object.
func (l *Lines) Reset() { l.buf.Reset() }

// maxLines bounds what [DecodeLines] inflates in one call, against damaged or
// hostile objects.
const maxLines = 1 << 30

// DecodeLines inflates one or more frames and calls fn for each line. A line
// that is not valid JSON for T, or an error of fn, ends it.
func DecodeLines[T any](data []byte, fn func(T) error) error {
	return DecodeLinesWithin(data, maxLines, fn)
}

// DecodeLinesWithin is [DecodeLines] for frames that hold at most so many bytes of
// lines; more is an error before memory is taken for it.
func DecodeLinesWithin[T any](data []byte, most int64, fn func(T) error) error {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(most)))
	if err != nil {
		return fmt.Errorf("storage: zstd decoder: %w", err)
	}
	defer dec.Close()
	raw, err := dec.DecodeAll(data, nil)
	if err != nil {
		return fmt.Errorf("storage: inflate %d bytes of lines: %w", len(data), err)
	}
	for n := 1; len(raw) > 0; n++ {
		line, rest, _ := bytes.Cut(raw, []byte{'\n'})
		raw = rest
		if len(line) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return fmt.Errorf("storage: line %d: %w", n, err)
		}
		if err := fn(v); err != nil {
			return err
		}
	}
	return nil
}
