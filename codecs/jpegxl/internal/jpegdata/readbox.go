package jpegdata

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/internal/container"
)

// ReadBox reads the content of the box jbrd. The file has no size, no coefficients, no
// values of quantisation and no segments of a kind other than [Other]: their bodies are
// zeros of the right length, which [File.Fill] replaces.
func ReadBox(data []byte) (*File, error) {
	r := &boxReader{r: bits.NewReader(data), f: &File{}}
	steps := []func() error{r.markers, r.segments, r.quant, r.components, r.huffman, r.scans, r.runs, r.rest}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
		if r.r.Err() != nil {
			return nil, container.ErrCutShort
		}
	}
	r.r.Pad()
	return r.f, r.content(r.r.Rest())
}

type boxReader struct {
	r *bits.Reader
	f *File

	dri     bool
	gaps    []int
	tail    int
	lengths int64 // of all that the Brotli stream holds
}

func (b *boxReader) markers() error {
	r, f := b.r, b.f
	if r.Bool() {
		f.Components = make([]Component, 1)
	} else {
		f.Components = make([]Component, 3)
	}
	for {
		m := byte(r.Read(6)) + 0xc0
		f.Markers = append(f.Markers, m)
		switch {
		case m == between:
			f.Between = append(f.Between, nil)
		case m == com:
			f.Comments = append(f.Comments, nil)
		case m >= app0 && m <= app0+15:
			f.Apps = append(f.Apps, nil)
		case m == sos:
			f.Scans = append(f.Scans, Scan{})
		case m == dri:
			b.dri = true
		case m == eoi:
			return nil
		}
		if len(f.Markers) > maxMarkers || r.Err() != nil {
			return malformed("it names more than %d segments", maxMarkers)
		}
	}
}

func (b *boxReader) segments() error {
	r, f := b.r, b.f
	f.Kinds = make([]Kind, len(f.Apps))
	segment := func() ([]byte, error) {
		n := int(r.Read(16)) + 1
		if n < 3 {
			return nil, malformed("a segment has %d bytes", n)
		}
		if r.Err() != nil {
			return nil, container.ErrCutShort
		}
		return make([]byte, n), nil
	}
	var err error
	for i := range f.Apps {
		k := r.U32(&kindField)
		if k > uint32(XMP) {
			return malformed("a segment is of the kind %d", k)
		}
		f.Kinds[i] = Kind(k)
		if f.Apps[i], err = segment(); err != nil {
			return err
		}
		if f.Kinds[i] == Other {
			b.lengths += int64(len(f.Apps[i]))
		}
	}
	for i := range f.Comments {
		if f.Comments[i], err = segment(); err != nil {
			return err
		}
		b.lengths += int64(len(f.Comments[i]))
	}
	return nil
}

func (b *boxReader) quant() error {
	r, f := b.r, b.f
	n := int(r.U32(&upTo4))
	if n > maxTables {
		return malformed("it has %d tables of quantisation", n)
	}
	f.Quant = make([]QuantTable, n)
	for i := range f.Quant {
		f.Quant[i] = QuantTable{Precision: uint8(r.Read(1)), Index: uint8(r.Read(2)), Last: r.Bool()}
	}
	return nil
}

func (b *boxReader) components() error {
	r, f := b.r, b.f
	ids := [][]byte{{1}, {1, 2, 3}, {'R', 'G', 'B'}, nil}[r.Read(2)]
	if ids == nil {
		n := int(r.U32(&upTo4))
		for range n {
			ids = append(ids, byte(r.Read(8)))
		}
	}
	if n := len(ids); n != 1 && n != 3 {
		return malformed("it has %d components", n)
	}
	f.Components = make([]Component, len(ids))
	for i, id := range ids {
		q := int(r.Read(2))
		if q >= len(f.Quant) {
			return malformed("a component has the table of quantisation %d of %d", q, len(f.Quant))
		}
		f.Components[i] = Component{ID: id, H: 1, V: 1, Quant: q}
	}
	return nil
}

func (b *boxReader) huffman() error {
	r, f := b.r, b.f
	f.Huffman = make([]HuffmanTable, r.U32(&huffmanTables))
	for i := range f.Huffman {
		t := &f.Huffman[i]
		t.AC, t.Index, t.Last = r.Bool(), uint8(r.Read(2)), r.Bool()
		n, space := 0, 1<<16
		for l := range t.Counts {
			t.Counts[l] = int(r.U32(&huffmanCounts))
			n += t.Counts[l]
			space -= t.Counts[l] << (16 - l)
		}
		if n == 0 {
			continue
		}
		if n > 257 || t.Counts[0] > 0 || space < 0 {
			return malformed("a table of Huffman codes is not valid")
		}
		var seen [257]bool
		for range n {
			s := r.U32(&huffmanSymbols)
			if s > sentinel || seen[s] {
				return malformed("a table of Huffman codes has the symbol %d twice", s)
			}
			seen[s] = true
			t.Symbols = append(t.Symbols, uint16(s))
		}
		if t.Symbols[n-1] != sentinel {
			return malformed("a table of Huffman codes uses the code of all ones")
		}
		if r.Err() != nil {
			return container.ErrCutShort
		}
	}
	return nil
}

func (b *boxReader) scans() error {
	r, f := b.r, b.f
	for i := range f.Scans {
		s := &f.Scans[i]
		n := int(r.U32(&upTo4))
		if n > len(f.Components) {
			return malformed("a scan has %d components", n)
		}
		s.First, s.Last, s.Low, s.High = int(r.Read(6)), int(r.Read(6)), int(r.Read(4)), int(r.Read(4))
		for range n {
			c := ScanComponent{Index: int(r.Read(2)), AC: uint8(r.Read(2)), DC: uint8(r.Read(2))}
			if c.Index >= len(f.Components) {
				return malformed("a scan names component %d", c.Index)
			}
			s.Components = append(s.Components, c)
		}
		r.U32(&lastPass)
	}
	if b.dri {
		f.Restart = int(r.Read(16))
	}
	return nil
}

func (b *boxReader) runs() error {
	r, f := b.r, b.f
	const most = 3 << 26 // blocks
	for i := range f.Scans {
		s := &f.Scans[i]
		last := -1
		for range r.U32(&runCounts) {
			last += int(r.U32(&blockSteps)) + 1
			if last > most || r.Err() != nil {
				return malformed("a scan has a block %d", last)
			}
			s.Resets = append(s.Resets, last)
		}
		last = -1
		for range r.U32(&runCounts) {
			runs := int(r.U32(&needlessRuns))
			last += int(r.U32(&blockSteps)) + 1
			if last > most || runs > 4 || r.Err() != nil {
				return malformed("a scan has a block %d with %d needless runs", last, runs)
			}
			s.ZeroRuns = append(s.ZeroRuns, ZeroRun{last, runs})
		}
	}
	return nil
}

func (b *boxReader) rest() error {
	r, f := b.r, b.f
	for range f.Between {
		n := int(r.Read(16))
		b.gaps = append(b.gaps, n)
		b.lengths += int64(n)
	}
	b.tail = int(r.U32(&tailLengths))
	b.lengths += int64(b.tail)
	if r.Bool() {
		n := int(r.Read(24))
		f.Padding = []byte{}
		for range n {
			f.Padding = append(f.Padding, byte(r.Read(1)))
			if r.Err() != nil {
				return container.ErrCutShort
			}
		}
	}
	return nil
}

// content takes what the Brotli stream holds.
func (b *boxReader) content(stream []byte) error {
	data, err := Decompress(stream, b.lengths)
	if err != nil {
		return err
	}
	if int64(len(data)) != b.lengths {
		return malformed("its segments have %d bytes and should have %d", len(data), b.lengths)
	}
	take := func(n int) []byte {
		part := data[:n:n]
		data = data[n:]
		return part
	}
	f := b.f
	for i := range f.Apps {
		if f.Kinds[i] == Other {
			f.Apps[i] = take(len(f.Apps[i]))
		}
	}
	for i := range f.Comments {
		f.Comments[i] = take(len(f.Comments[i]))
	}
	for i, n := range b.gaps {
		f.Between[i] = take(n)
	}
	f.Tail = take(b.tail)
	return nil
}

// Prefixes of the bodies of segments, by their kind.
const (
	iccPrefix  = "ICC_PROFILE\x00"
	exifPrefix = "Exif\x00\x00"
	xmpPrefix  = "http://ns.adobe.com/xap/1.0/\x00"
)

// Classify sets the kinds of segments: an ICC profile whose segments are in order, and
// the first EXIF block and XMP packet. It returns them, nil where there is none.
func (f *File) Classify() (icc, exif, xmp []byte) {
	var parts []int
	for i, a := range f.Apps {
		f.Kinds[i] = Other
		if b, ok := Prefixed(a, app1, exifPrefix); ok && exif == nil {
			f.Kinds[i], exif = Exif, b
		} else if b, ok := Prefixed(a, app1, xmpPrefix); ok && xmp == nil {
			f.Kinds[i], xmp = XMP, b
		} else if b, ok := Prefixed(a, app2, iccPrefix); ok && len(b) >= 2 {
			parts = append(parts, i)
		}
	}
	for n, i := range parts {
		b := f.Apps[i][3+len(iccPrefix):]
		if int(b[0]) != n+1 || int(b[1]) != len(parts) {
			return nil, exif, xmp
		}
		icc = append(icc, b[2:]...)
	}
	return icc, exif, xmp
}

// MarkICC says that the segments of the ICC profile are not needed in the box.
func (f *File) MarkICC() {
	for i, a := range f.Apps {
		if b, ok := Prefixed(a, app2, iccPrefix); ok && len(b) >= 2 {
			f.Kinds[i] = ICC
		}
	}
}

// Fill puts the ICC profile, the EXIF block and the XMP packet into their segments.
func (f *File) Fill(icc, exif, xmp []byte) error {
	parts := 0
	for _, k := range f.Kinds {
		if k == ICC {
			parts++
		}
	}
	part := 0
	for i, a := range f.Apps {
		var marker byte
		var body []byte
		switch f.Kinds[i] {
		case Other:
			continue
		case ICC:
			n := len(a) - 3 - len(iccPrefix) - 2
			if n < 0 || n > len(icc) {
				return malformed("its ICC profile has too few bytes")
			}
			part++
			marker = app2
			body = append([]byte(iccPrefix), byte(part), byte(parts))
			body = append(body, icc[:n]...)
			icc = icc[n:]
		case Exif:
			marker, body = app1, append([]byte(exifPrefix), exif...)
		case XMP:
			marker, body = app1, append([]byte(xmpPrefix), xmp...)
		}
		if len(body) != len(a)-3 {
			return malformed("its metadata has %d bytes in a segment and %d in a box", len(a)-3, len(body))
		}
		a[0] = marker
		binary.BigEndian.PutUint16(a[1:], uint16(len(a)-1))
		copy(a[3:], body)
	}
	if parts > 0 && len(icc) > 0 {
		return malformed("its ICC profile has too many bytes")
	}
	return nil
}
