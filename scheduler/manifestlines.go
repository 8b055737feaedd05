package scheduler

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Bounds of a line or row of a user's manifest, in bytes. A key has a few kilobytes
// at most; the longest rows of an S3 Inventory hold a list of grants, and a line of
// JSON all parts of a series.
const (
	longestRecord = 256 << 10
	longestJSON   = 8 << 20
)

// recordReader reads a manifest by lines, or by rows of a CSV file, in memory of one
// record.
type recordReader struct {
	r      *bufio.Reader // of longest bytes
	most   int           // bytes of a record
	quotes bool          // rows: a quoted field may hold line breaks
	line   int           // of the record that next gave last, from 1
	lines  int           // that were read
}

func newRecordReader(r io.Reader, most int, quotes bool) *recordReader {
	return &recordReader{r: bufio.NewReaderSize(r, most), most: most, quotes: quotes}
}

// next gives a record with its line end, valid until the next call. whole is
// false where there is no end of it within the bound: then the record is the
// beginning of its first line, and what follows that line is read as usual, so
// that one stray quotation mark takes no other line along.
func (s *recordReader) next() (record []byte, whole bool, err error) {
	s.line = s.lines + 1
	for want := max(1, s.r.Buffered()); ; want = min(max(2*want, s.r.Buffered()), s.most) {
		data, err := s.r.Peek(want)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, false, err
		}
		if len(data) == 0 {
			return nil, false, io.EOF
		}
		end := s.end(data)
		if end < 0 && err != nil && !s.open(data) {
			end = len(data) // the last line need not end in a line break
		}
		if end >= 0 {
			s.lines += max(1, bytes.Count(data[:end], newline))
			s.r.Discard(end)
			return data[:end], true, nil
		}
		if err != nil || want == s.most {
			return s.firstLine(data)
		}
	}
}

var newline = []byte{'\n'}

// end is the index behind the first record in data, -1 where it is not all there.
func (s *recordReader) end(data []byte) int {
	if !s.quotes {
		n := bytes.IndexByte(data, '\n')
		if n < 0 {
			return -1
		}
		return n + 1
	}
	quoted := false
	for i, c := range data {
		switch c {
		case '"':
			quoted = !quoted
		case '\n':
			if !quoted {
				return i + 1
			}
		}
	}
	return -1
}

// open reports whether data ends within quotation marks.
func (s *recordReader) open(data []byte) bool {
	return s.quotes && bytes.Count(data, []byte{'"'})%2 == 1
}

// firstLine gives the beginning of a line and reads the rest of it.
func (s *recordReader) firstLine(data []byte) ([]byte, bool, error) {
	s.lines++
	if n := bytes.IndexByte(data, '\n'); n >= 0 {
		s.r.Discard(n + 1)
		return data[:n+1], false, nil
	}
	start := bytes.Clone(data[:min(len(data), shownRecord)])
	for {
		_, err := s.r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil || errors.Is(err, io.EOF):
			return start, false, nil
		default:
			return nil, false, err
		}
	}
}

// shownRecord is how much of a record is quoted in what is said of it.
const shownRecord = 60
