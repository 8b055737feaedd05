package scheduler

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/storage"
)

// A file of merged records ends with an index of its frames, in a skippable frame of zstd (RFC 8878, 3.1.2), which
// decoders pass over:
//
//	magic number 0x184D2A5B, length of what follows       2 x 4 bytes
//	for each frame: its length, length of key, first key  uvarint, uvarint, bytes
//	last key of the file                                  uvarint, bytes
//	CRC-32 (IEEE) of the frames and the last key          4 bytes
//	length of the frames and the last key                 4 bytes
//	"pmix"                                                4 bytes
//
// Numbers of 4 bytes are little-endian. Files of earlier versions have none and are read whole. The key of a medical image is
// a zero byte, which is in no other key, and its sealed form, see package sitekey.
const (
	indexMagic   = 0x184D2A5B
	indexName    = "pmix"
	indexTrailer = 12
	indexTail    = 64 << 10 // bytes at the end of a file in which its index is looked for first
	largestIndex = 64 << 20
)

// recordIndex says which keys the frames of a file of records hold.
type recordIndex struct {
	frames []recordFrame
	last   string // key of the file; empty: there is no index
	size   int64  // of the file in bytes

	lastSealed bool // last is the key of a medical image
}

type recordFrame struct {
	offset int64
	length int64
	first  string // key
	sealed bool   // it is that of a medical image
}

// bytes is about the memory that an index takes.
func (x *recordIndex) bytes() int {
	n := 64 + len(x.last)
	for i := range x.frames {
		n += 32 + len(x.frames[i].first)
	}
	return n
}

// add adds a frame of lines, which begin where the one before it ended.
func (x *recordIndex) add(lines []byte, offset, length int64, names *sitekey.Reader) error {
	first, err := names.Line(lines[:bytes.IndexByte(lines, '\n')])
	if err != nil {
		return err
	}
	trimmed := bytes.TrimSuffix(lines, []byte("\n"))
	last, err := names.Line(trimmed[bytes.LastIndexByte(trimmed, '\n')+1:])
	if err != nil {
		return err
	}
	f := recordFrame{offset: offset, length: length}
	if f.first, _, err = lineKey(first); err != nil {
		return err
	}
	if x.last, _, err = lineKey(last); err != nil {
		return err
	}
	f.sealed, x.lastSealed = bytes.Contains(first, sealedKey), bytes.Contains(last, sealedKey)
	x.frames = append(x.frames, f)
	return nil
}

// sealedKey is in a line that was sealed.
var sealedKey = []byte(`,"key_hash":"`)

// appendTo appends the index as a frame to a file.
func (x *recordIndex) appendTo(file []byte, names *sitekey.Reader) ([]byte, error) {
	var body []byte
	text := func(key string, sealed bool) (err error) {
		if key, err = sealedText(key, sealed, names); err == nil {
			body = append(binary.AppendUvarint(body, uint64(len(key))), key...)
		}
		return err
	}
	for _, f := range x.frames {
		body = binary.AppendUvarint(body, uint64(f.length))
		if err := text(f.first, f.sealed); err != nil {
			return nil, err
		}
	}
	if err := text(x.last, x.lastSealed); err != nil {
		return nil, err
	}
	file = binary.LittleEndian.AppendUint32(file, indexMagic)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(body)+indexTrailer))
	file = append(file, body...)
	file = binary.LittleEndian.AppendUint32(file, crc32.ChecksumIEEE(body))
	file = binary.LittleEndian.AppendUint32(file, uint32(len(body)))
	return append(file, indexName...), nil
}

// sealedMark begins a key that is sealed, where keys stand by themselves. No key of an object has a zero byte.
const sealedMark = "\x00"

// sealedText is a key as it stands in an index or a cursor.
func sealedText(key string, seal bool, names *sitekey.Reader) (string, error) {
	if !seal {
		return key, nil
	}
	sealed, err := names.Seal(key)
	return sealedMark + sealed, err
}

// openedText is the inverse of [sealedText].
func openedText(text string, names *sitekey.Reader) (key string, sealed bool, err error) {
	if text, sealed = strings.CutPrefix(text, sealedMark); !sealed {
		return text, false, nil
	}
	key, err = names.Unseal(text)
	return key, true, err
}

// parseIndex reads the index at the end of a file of so many bytes, of which tail is the end. more is how many bytes of
// the end it takes, where tail is too short. Without an index, or with a damaged one, ok is false.
func parseIndex(tail []byte, size int64, names *sitekey.Reader) (x recordIndex, more int64, ok bool) {
	x.size = size
	at := len(tail) - indexTrailer
	if at < 0 || string(tail[at+8:]) != indexName {
		return x, 0, false
	}
	length := int64(binary.LittleEndian.Uint32(tail[at+4:]))
	whole := 8 + length + indexTrailer
	if whole > min(size, largestIndex) {
		return x, 0, false
	}
	if whole > int64(len(tail)) {
		return x, whole, false
	}
	body := tail[int64(at)-length : at]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(tail[at:]) {
		return x, 0, false
	}
	text := func() (key string, sealed, ok bool) {
		n, used := binary.Uvarint(body)
		if used <= 0 || n > uint64(len(body)-used) {
			return "", false, false
		}
		key, sealed, err := openedText(string(body[used:used+int(n)]), names)
		body = body[used+int(n):]
		return key, sealed, err == nil
	}
	records, offset := size-whole, int64(0)
	for offset < records {
		n, used := binary.Uvarint(body)
		if used <= 0 || n == 0 || n > uint64(records-offset) {
			return x, 0, false
		}
		body = body[used:]
		first, sealed, ok := text()
		if !ok || len(x.frames) > 0 && first < x.frames[len(x.frames)-1].first {
			return x, 0, false
		}
		x.frames = append(x.frames, recordFrame{offset, int64(n), first, sealed})
		offset += int64(n)
	}
	last, sealed, ok := text()
	if !ok || len(body) > 0 || len(x.frames) == 0 || last < x.frames[len(x.frames)-1].first {
		return x, 0, false
	}
	x.last, x.lastSealed = last, sealed
	return x, 0, true
}

// readIndex reads the index of a file of records. One without an index has no frames.
func readIndex(ctx context.Context, b *storage.Bucket, key string) (*recordIndex, error) {
	o, _, err := storage.Stat(ctx, b, key)
	if err != nil {
		return nil, err
	}
	tail, err := storage.GetRange(ctx, b, key, max(0, o.Size-indexTail), min(indexTail, o.Size))
	if err != nil {
		return nil, err
	}
	names := sitekey.NewReader(ctx, b)
	x, more, _ := parseIndex(tail, o.Size, names)
	if more > 0 {
		if tail, err = storage.GetRange(ctx, b, key, o.Size-more, more); err != nil {
			return nil, err
		}
		x, _, _ = parseIndex(tail, o.Size, names)
	}
	return &x, nil
}

// nearFrames is how many bytes between two frames are read with them in one request.
const nearFrames = 128 << 10

// spans gives the parts of the file, as offsets, that can hold keys of the ranges.
func (x *recordIndex) spans(want *keyRanges) (spans [][2]int64) {
	if x.last == "" {
		return [][2]int64{{0, x.size}}
	}
	for i, f := range x.frames {
		last := x.last
		if i+1 < len(x.frames) {
			last = x.frames[i+1].first
		}
		if !want.meets(f.first, last) {
			continue
		}
		end := f.offset + f.length
		if n := len(spans); n > 0 && f.offset-spans[n-1][1] <= nearFrames {
			spans[n-1][1] = end
		} else {
			spans = append(spans, [2]int64{f.offset, end})
		}
	}
	return spans
}

// linesWithin gives the lines of a file of merged records whose keys are in the ranges.
func linesWithin(ctx context.Context, b *storage.Bucket, key string, x *recordIndex, want *keyRanges, fn func(line []byte) error) error {
	fn = opened(sitekey.NewReader(ctx, b), within(want, fn))
	for _, s := range x.spans(want) {
		r := &rangeReader{ctx: ctx, b: b, key: key, at: s[0], size: s[1]}
		if err := storage.EachLine(r, fn); err != nil {
			return fmt.Errorf("scheduler: read %s: %s: %w", b.URL, key, err)
		}
	}
	return nil
}

// within passes on those lines of records whose keys are in the ranges. Most others are not parsed.
func within(want *keyRanges, fn func(line []byte) error) func(line []byte) error {
	if want == nil {
		return fn
	}
	return func(line []byte) error {
		key, ok, err := lineKey(line)
		if err != nil || ok && !want.has(key) {
			return err
		}
		return fn(line)
	}
}

// lineKey gives the key of a record, without parsing more than that where it is written as [jobs.Result] is. A line
// without a key, such as the head of a shard, is not ok.
func lineKey(line []byte) (key string, ok bool, err error) {
	const start = `{"key":"`
	if rest, found := bytes.CutPrefix(line, []byte(start)); found {
		if end := bytes.IndexByte(rest, '"'); end >= 0 && bytes.IndexByte(rest[:end], '\\') < 0 {
			return string(rest[:end]), true, nil
		}
	}
	var v struct {
		Key string `json:"key"`
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return "", false, fmt.Errorf("scheduler: records of an earlier job: %w", err)
	}
	return v.Key, v.Key != "", nil
}
