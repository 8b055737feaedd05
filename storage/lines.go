package storage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Lines builds an object of JSON lines in zstd frames. Each frame can be read
// by itself with [GetRange] and [DecodeLines]; the whole object decodes as the
// concatenation. The zero value is ready; it is not safe for concurrent use.
type Lines struct {
	buf []byte
	raw []byte
}

// Frame appends one frame that holds the given lines and returns where it lies.
func Frame[T any](l *Lines, lines []T) (offset, length int64, err error) {
	l.raw = l.raw[:0]
	for i := range lines {
		b, err := json.Marshal(&lines[i])
		if err != nil {
			return 0, 0, fmt.Errorf("storage: line %d: %w", i, err)
		}
		l.raw = append(append(l.raw, b...), '\n')
	}
	offset = int64(len(l.buf))
	if l.buf, err = AppendFrame(l.buf, l.raw); err != nil {
		return 0, 0, err
	}
	return offset, int64(len(l.buf)) - offset, nil
}

const (
	// linesWindow is how far back the encoder looks, in bytes. The records of a thousand objects are about as long, and are as small
	// as with the encoder's own 8 MiB.
	linesWindow = 1 << 20

	// linesAtOnce is how many frames are encoded at once, at most. For each the encoder keeps 1.7 MB, and twice the window where frames are
	// longer than a block.
	linesAtOnce = 4
)

// linesEncoder is one for the process: a new one takes twenty times as long for the records of a chunk, all of it for its tables.
var linesEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(min(linesAtOnce, runtime.GOMAXPROCS(0))), zstd.WithWindowSize(linesWindow))
})

// AppendFrame appends to dst a frame that holds lines, each of which ends in a line feed. Several can be made at once.
func AppendFrame(dst, lines []byte) ([]byte, error) {
	enc, err := linesEncoder()
	if err != nil {
		return dst, fmt.Errorf("storage: zstd encoder: %w", err)
	}
	return enc.EncodeAll(lines, dst), nil
}

// Len is the size of the object so far in bytes.
func (l *Lines) Len() int { return len(l.buf) }

// Bytes is the object so far; it is valid until the next call of [Frame] or
// Reset.
func (l *Lines) Bytes() []byte { return l.buf }

// Reset starts a new object.
func (l *Lines) Reset() { l.buf = l.buf[:0] }

// What hostile or damaged objects may make a reader hold: a line, and the window of a zstd frame, of which ours have
// 8 MiB at most. Frames are inflated piece by piece, so that their whole size does not matter to memory.
const (
	longestLine = 8 << 20
	zstdWindow  = 16 << 20
	maxLines    = 1 << 30 // that DecodeLines inflates in one call, in bytes
)

// EachLine inflates zstd frames and calls fn with each line that is not empty, valid until the next. An error of fn ends
// it and is returned as it is.
func EachLine(r io.Reader, fn func(line []byte) error) error { return eachLine(r, math.MaxInt64, fn) }

func eachLine(r io.Reader, most int64, fn func(line []byte) error) error {
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return fmt.Errorf("storage: zstd decoder: %w", err)
	}
	defer dec.Close()
	within := io.LimitedReader{R: dec, N: most}
	lines := bufio.NewScanner(&within)
	lines.Buffer(make([]byte, 16<<10), longestLine)
	n := 0
	for ; lines.Scan(); n++ {
		if line := lines.Bytes(); len(line) > 0 {
			if err := fn(line); err != nil {
				return err
			}
		}
	}
	err = lines.Err()
	if err == nil && within.N == 0 {
		if more, _ := dec.Read(make([]byte, 1)); more > 0 {
			err = fmt.Errorf("more than %d bytes of lines", most)
		}
	}
	if err != nil {
		return fmt.Errorf("storage: line %d: %w", n+1, err)
	}
	return nil
}

// DecodeLines inflates one or more frames and calls fn for each line. A line
// that is not valid JSON for T, or an error of fn, ends it.
func DecodeLines[T any](data []byte, fn func(T) error) error {
	return DecodeLinesWithin(data, maxLines, fn)
}

// DecodeLinesWithin is [DecodeLines] for frames that hold at most so many bytes of
// lines; more is an error before memory is taken for it.
func DecodeLinesWithin[T any](data []byte, most int64, fn func(T) error) error {
	n := 0
	return eachLine(bytes.NewReader(data), most, func(line []byte) error {
		n++
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return fmt.Errorf("storage: line %d: %w", n, err)
		}
		return fn(v)
	})
}
