package jpegdata

import (
	"bytes"
	"errors"
	"io"
	mathbits "math/bits"

	"github.com/andybalholm/brotli"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/internal/container"
)

// The fields of the box that have four distributions.
var (
	kindField      = bits.U32{bits.Value(0), bits.Value(1), bits.Plus(1, 2), bits.Plus(2, 4)}
	upTo4          = bits.U32{bits.Value(1), bits.Value(2), bits.Value(3), bits.Value(4)}
	huffmanTables  = bits.U32{bits.Value(4), bits.Plus(3, 2), bits.Plus(4, 10), bits.Plus(6, 26)}
	huffmanCounts  = bits.U32{bits.Value(0), bits.Value(1), bits.Plus(3, 2), bits.Plus(8, 0)}
	huffmanSymbols = bits.U32{bits.Plus(2, 0), bits.Plus(2, 4), bits.Plus(4, 8), bits.Plus(8, 1)}
	lastPass       = bits.U32{bits.Value(0), bits.Value(1), bits.Value(2), bits.Plus(3, 3)}
	runCounts      = bits.U32{bits.Value(0), bits.Plus(2, 1), bits.Plus(4, 4), bits.Plus(16, 20)}
	blockSteps     = bits.U32{bits.Value(0), bits.Plus(3, 1), bits.Plus(5, 9), bits.Plus(28, 41)}
	needlessRuns   = bits.U32{bits.Value(1), bits.Plus(2, 2), bits.Plus(4, 5), bits.Plus(8, 20)}
	tailLengths    = bits.U32{bits.Value(0), bits.Plus(8, 1), bits.Plus(16, 257), bits.Plus(22, 65793)}
)

// Types of components (their numbers).
const (
	numberedGrey = iota
	numberedYCbCr
	numberedRGB
	numberedFreely
)

// numbering is the type that the components' numbers have.
func (f *File) numbering() int {
	var ids []byte
	for _, c := range f.Components {
		ids = append(ids, c.ID)
	}
	switch string(ids) {
	case "\x01":
		return numberedGrey
	case "\x01\x02\x03":
		return numberedYCbCr
	case "RGB":
		return numberedRGB
	}
	return numberedFreely
}

// AppendBox appends the content of the box jbrd.
func (f *File) AppendBox(out []byte) ([]byte, error) {
	w := &bits.Writer{}
	w.Bool(len(f.Components) == 1)
	var content []byte
	for _, m := range f.Markers {
		w.Write(uint64(m-0xc0), 6)
	}
	for i, a := range f.Apps {
		w.U32(&kindField, uint32(f.Kinds[i]))
		w.Write(uint64(len(a)-1), 16)
		if f.Kinds[i] == Other {
			content = append(content, a...)
		}
	}
	for _, c := range f.Comments {
		w.Write(uint64(len(c)-1), 16)
		content = append(content, c...)
	}
	f.writeTables(w)
	for i := range f.Scans {
		f.Scans[i].write(w)
	}
	if bytes.IndexByte(f.Markers, dri) >= 0 {
		w.Write(uint64(f.Restart), 16)
	}
	for i := range f.Scans {
		if err := f.Scans[i].writeRuns(w); err != nil {
			return nil, err
		}
	}
	for _, b := range f.Between {
		w.Write(uint64(len(b)), 16)
		content = append(content, b...)
	}
	w.U32(&tailLengths, uint32(len(f.Tail)))
	content = append(content, f.Tail...)
	w.Bool(f.Padding != nil)
	if f.Padding != nil {
		w.Write(uint64(len(f.Padding)), 24)
		for _, b := range f.Padding {
			w.Write(uint64(b), 1)
		}
	}
	return append(append(out, w.Bytes()...), Compress(content)...), nil
}

// writeTables writes what is known of tables and components.
func (f *File) writeTables(w *bits.Writer) {
	w.U32(&upTo4, uint32(len(f.Quant)))
	for _, t := range f.Quant {
		w.Write(uint64(t.Precision), 1)
		w.Write(uint64(t.Index), 2)
		w.Bool(t.Last)
	}
	n := f.numbering()
	w.Write(uint64(n), 2)
	if n == numberedFreely {
		w.U32(&upTo4, uint32(len(f.Components)))
		for _, c := range f.Components {
			w.Write(uint64(c.ID), 8)
		}
	}
	for _, c := range f.Components {
		w.Write(uint64(c.Quant), 2)
	}
	w.U32(&huffmanTables, uint32(len(f.Huffman)))
	for _, t := range f.Huffman {
		w.Bool(t.AC)
		w.Write(uint64(t.Index), 2)
		w.Bool(t.Last)
		for _, c := range t.Counts {
			w.U32(&huffmanCounts, uint32(c))
		}
		for _, s := range t.Symbols {
			w.U32(&huffmanSymbols, uint32(s))
		}
	}
}

func (s *Scan) write(w *bits.Writer) {
	w.U32(&upTo4, uint32(len(s.Components)))
	w.Write(uint64(s.First), 6)
	w.Write(uint64(s.Last), 6)
	w.Write(uint64(s.Low), 4)
	w.Write(uint64(s.High), 4)
	for _, c := range s.Components {
		w.Write(uint64(c.Index), 2)
		w.Write(uint64(c.AC), 2)
		w.Write(uint64(c.DC), 2)
	}
	w.U32(&lastPass, 0)
}

// writeRuns writes what the coefficients do not tell of a scan.
func (s *Scan) writeRuns(w *bits.Writer) error {
	if len(s.Resets) > maxRuns || len(s.ZeroRuns) > maxRuns {
		return unsupported("a scan has more than %d irregular ends of blocks", maxRuns)
	}
	w.U32(&runCounts, uint32(len(s.Resets)))
	last := -1
	for _, b := range s.Resets {
		w.U32(&blockSteps, uint32(b-last-1))
		last = b
	}
	w.U32(&runCounts, uint32(len(s.ZeroRuns)))
	last = -1
	for _, z := range s.ZeroRuns {
		w.U32(&needlessRuns, uint32(z.Runs))
		w.U32(&blockSteps, uint32(z.Block-last-1))
		last = z.Block
	}
	return nil
}

// Compress returns data as a Brotli stream (RFC 7932). The strongest setting is kept for
// what is small, which is the rule.
func Compress(data []byte) []byte {
	quality := 11
	if len(data) > 1<<15 {
		quality = 9
	}
	var b bytes.Buffer
	// A window beyond the data gains nothing, and its tables take memory.
	window := max(10, min(mathbits.Len(uint(len(data)))+1, 22))
	z := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: quality, LGWin: window})
	z.Write(data) // to memory: no errors
	z.Close()
	return b.Bytes()
}

// Decompress is the inverse of [Compress], for at most limit bytes.
func Decompress(data []byte, limit int64) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(brotli.NewReader(bytes.NewReader(data)), limit+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, container.ErrCutShort
	case err != nil:
		return nil, malformed("a Brotli stream: %v", err)
	case int64(len(out)) > limit:
		return nil, container.OverLimit("a Brotli stream holds more than %d bytes", limit)
	}
	return out, nil
}
