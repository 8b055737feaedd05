package jpegdata

import (
	"bytes"
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container"
)

// Read takes a file apart. Errors are of package container. Limit bounds the memory for
// coefficients in bytes.
func Read(data []byte, limit int64) (*File, error) {
	r := &reader{data: data, file: &File{}, limit: limit}
	if len(data) < 4 || data[0] != 0xff || data[1] != soi {
		return nil, malformed("it does not begin with SOI")
	}
	r.at = 2
	for {
		marker, err := r.next()
		if err != nil {
			return nil, err
		}
		r.file.Markers = append(r.file.Markers, marker)
		if len(r.file.Markers) > maxMarkers {
			return nil, unsupported("it has more than %d segments", maxMarkers)
		}
		if marker == eoi {
			r.moveEnd()
			break
		}
		if err := r.segment(marker); err != nil {
			return nil, err
		}
	}
	return r.file, r.finish()
}

type reader struct {
	data  []byte
	at    int
	file  *File
	limit int64

	dc, ac  [4]*decoder
	hasDRI  bool
	padZero bool   // a padding bit is zero
	padding []byte // all padding bits
	frame   bool   // SOF was there

	dropped int // of file.Values: no block has them any more

	quant         [4]int   // place in File.Quant, plus one, of the table with an index that was read last
	latched       []int    // the same of each component at its first scan
	quantSegments [][]byte // segments DQT, their markers included
}

// known are the markers that the list of the format has.
func known(m byte) bool {
	switch {
	case m >= sof0 && m <= sof2, m == dht, m >= rst0 && m <= rst7, m >= eoi && m <= dqt, m == dri, m >= app0 && m <= app0+15, m == com:
		return true
	}
	return false
}

// next finds the next marker. What lies before it becomes bytes between segments.
func (r *reader) next() (byte, error) {
	at := r.at
	for at+1 < len(r.data) && (r.data[at] != 0xff || !known(r.data[at+1])) {
		if r.data[at] == 0xff {
			if err := refused(r.data[at+1]); err != nil && at == r.at {
				return 0, err
			}
		}
		at++
	}
	if at+1 >= len(r.data) {
		return 0, container.ErrCutShort
	}
	r.file.addBetween(r.data[r.at:at])
	r.at = at + 2
	return r.data[at+1], nil
}

// addBetween appends bytes that are no segment.
func (f *File) addBetween(gap []byte) {
	for len(gap) > 0 {
		n := min(len(gap), maxBetween)
		f.Between = append(f.Between, gap[:n:n])
		f.Markers = append(f.Markers, between)
		gap = gap[n:]
	}
}

// moveEnd takes a later EOI for the end where more bytes follow the first one than the
// format holds: those up to it become bytes between segments. Pictures with a film or
// with further pictures behind them are such files.
func (r *reader) moveEnd() {
	if len(r.data)-r.at <= maxTail {
		return
	}
	last := bytes.LastIndex(r.data[r.at:], []byte{0xff, eoi})
	if last < 0 {
		return
	}
	f := r.file
	f.Markers = f.Markers[:len(f.Markers)-1]
	f.addBetween(r.data[r.at-2 : r.at+last])
	f.Markers = append(f.Markers, eoi)
	r.at += last + 2
}

// refused says why files with a marker are not held.
func refused(marker byte) error {
	switch {
	case marker == 0xc3 || marker == 0xc7:
		return unsupported("it is coded without loss")
	case marker == 0xc5 || marker == 0xc6:
		return unsupported("its frames are hierarchical")
	case marker >= 0xc9 && marker <= 0xcf:
		return unsupported("its coding is arithmetic")
	}
	return nil
}

// body returns the parameters of a segment and moves behind it.
func (r *reader) body() ([]byte, error) {
	if r.at+2 > len(r.data) {
		return nil, container.ErrCutShort
	}
	n := int(binary.BigEndian.Uint16(r.data[r.at:]))
	if n < 2 {
		return nil, malformed("a segment has a length of %d", n)
	}
	if r.at+n > len(r.data) {
		return nil, container.ErrCutShort
	}
	b := r.data[r.at+2 : r.at+n : r.at+n]
	r.at += n
	return b, nil
}

func (r *reader) segment(marker byte) error {
	if marker >= rst0 && marker <= rst7 {
		return nil
	}
	start := r.at - 1
	b, err := r.body()
	if err != nil {
		return err
	}
	f := r.file
	switch marker {
	case sof0, sof1, sof2:
		f.Progressive = marker == sof2
		return r.sof(b)
	case dht:
		return r.dht(b)
	case dqt:
		return r.dqt(b)
	case dri:
		switch {
		case len(b) != 2:
			return malformed("a segment DRI has %d bytes", len(b))
		case r.hasDRI && f.Restart != int(binary.BigEndian.Uint16(b)):
			return unsupported("its restart interval is defined twice")
		case r.hasDRI:
			f.Markers = f.Markers[:len(f.Markers)-1]
			f.addBetween(r.data[start-1 : r.at])
			return nil
		}
		r.hasDRI = true
		f.Restart = int(binary.BigEndian.Uint16(b))
	case sos:
		return r.scan(b)
	case com:
		f.Comments = append(f.Comments, r.data[start:r.at:r.at])
	default:
		f.Apps = append(f.Apps, r.data[start:r.at:r.at])
	}
	return nil
}

func (r *reader) sof(b []byte) error {
	f := r.file
	if r.frame {
		return unsupported("it has more than one frame")
	}
	if len(b) < 6 || len(b) != 6+3*int(b[5]) {
		return malformed("a segment SOF has %d bytes", len(b))
	}
	r.frame = true
	f.Height, f.Width = int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))
	switch {
	case b[0] != 8:
		return unsupported("its samples have %d bits", b[0])
	case f.Height == 0:
		return unsupported("its height is told behind the first scan (DNL)")
	case f.Width == 0:
		return malformed("its width is 0")
	case b[5] != 1 && b[5] != 3:
		return unsupported("it has %d components, as CMYK and YCCK have: the format holds 1 or 3", b[5])
	}
	for i := range int(b[5]) {
		p := b[6+3*i:]
		c := Component{ID: p[0], H: int(p[1] >> 4), V: int(p[1] & 15), Quant: int(p[2])}
		if c.H == 0 || c.V == 0 || c.H > 4 || c.V > 4 {
			return malformed("sampling factors of %d x %d", c.H, c.V)
		}
		for _, o := range f.Components {
			if o.ID == c.ID {
				return unsupported("two components have the number %d", c.ID)
			}
		}
		f.Components = append(f.Components, c)
	}
	if err := f.checkSampling(); err != nil {
		return err
	}
	r.latched = make([]int, len(f.Components))
	f.SetBlocks()
	if err := f.Allocate(r.limit); err != nil {
		return err
	}
	f.reserve(len(r.data))
	return nil
}

// checkSampling refuses factors that the format has no numbers for. A lone component may
// have any: its blocks are the same.
func (f *File) checkSampling() error {
	h, v := f.sampling()
	for _, c := range f.Components {
		if c.H > 2 || c.V > 2 {
			return unsupported("a component has sampling factors of %d x %d: the format holds 1 and 2", c.H, c.V)
		}
		if h%c.H != 0 || v%c.V != 0 {
			return unsupported("its sampling factors are not multiples")
		}
	}
	return nil
}

// Allocate takes memory for the blocks. A file whose blocks would take more than limit
// bytes, were no coefficient zero, is malformed.
func (f *File) Allocate(limit int64) error {
	var n int64
	for _, c := range f.Components {
		n += int64(c.Wide) * int64(c.High) * 128
	}
	if n > limit {
		return malformed("%d x %d samples are more than fits in it", f.Width, f.Height)
	}
	for i := range f.Components {
		c := &f.Components[i]
		c.Blocks = make([]Block, c.Wide*c.High)
	}
	return nil
}

// reserve takes memory for the coefficients of a file of size bytes, as far as that can be
// foretold: most take 5 bits or more.
func (f *File) reserve(size int) {
	most := 0
	for _, c := range f.Components {
		most += 63 * len(c.Blocks)
	}
	f.Values = make([]int16, 0, min(most, size+size/2))
}

func (r *reader) dqt(b []byte) error {
	f := r.file
	if len(b) == 0 {
		return unsupported("a segment DQT is empty")
	}
	r.quantSegments = append(r.quantSegments, r.data[r.at-len(b)-4:r.at])
	for len(b) > 0 {
		t := QuantTable{Precision: b[0] >> 4, Index: b[0] & 15}
		size := 64 * (1 + int(t.Precision))
		if t.Precision > 1 || t.Index > 3 || len(b) < 1+size {
			return malformed("a segment DQT is not valid")
		}
		for i := range t.Values {
			if t.Precision == 1 {
				t.Values[i] = binary.BigEndian.Uint16(b[1+2*i:])
			} else {
				t.Values[i] = uint16(b[1+i])
			}
			if t.Values[i] == 0 {
				return unsupported("a step of quantisation is 0")
			}
		}
		b = b[1+size:]
		t.Last = len(b) == 0
		r.quant[t.Index] = len(f.Quant) + 1
		f.Quant = append(f.Quant, t)
	}
	return nil
}

func (r *reader) dht(b []byte) error {
	f := r.file
	if len(b) == 0 {
		return unsupported("a segment DHT is empty")
	}
	for len(b) > 0 {
		if len(b) < 17 || b[0]&15 > 3 || b[0]>>4 > 1 {
			return malformed("a segment DHT is not valid")
		}
		t := HuffmanTable{AC: b[0]>>4 == 1, Index: b[0] & 15}
		n, space, longest := 0, 1<<16, 1
		for i := 1; i <= 16; i++ {
			t.Counts[i] = int(b[i])
			n += int(b[i])
			space -= int(b[i]) << (16 - i)
			if b[i] > 0 {
				longest = i
			}
		}
		if n > 256 || len(b) < 17+n || space < 1<<(16-longest) {
			return malformed("a table of Huffman codes is not valid")
		}
		var seen [256]bool
		for _, s := range b[17 : 17+n] {
			if seen[s] || !t.AC && s > 11 {
				return unsupported("a table of Huffman codes has the symbol %d, twice or for DC", s)
			}
			seen[s] = true
			t.Symbols = append(t.Symbols, uint16(s))
		}
		if t.Counts[longest]++; t.Counts[longest] > 255 {
			return unsupported("a table of Huffman codes has 255 codes of %d bits", longest)
		}
		t.Symbols = append(t.Symbols, sentinel)
		b = b[17+n:]
		t.Last = len(b) == 0
		if len(f.Huffman) == maxHuffman {
			return unsupported("it has more than %d tables of Huffman codes", maxHuffman)
		}
		f.Huffman = append(f.Huffman, t)
		if t.AC {
			r.ac[t.Index] = newDecoder(&t)
		} else {
			r.dc[t.Index] = newDecoder(&t)
		}
	}
	return nil
}

// finish checks what only the whole file tells.
func (r *reader) finish() error {
	f := r.file
	switch {
	case !r.frame:
		return malformed("it holds no frame")
	case len(f.Markers) > maxMarkers:
		return unsupported("it has more than %d segments", maxMarkers)
	case len(r.data)-r.at > maxTail:
		return unsupported("%d bytes follow its end, and the format holds %d", len(r.data)-r.at, maxTail)
	}
	if r.at < len(r.data) {
		f.Tail = r.data[r.at:]
	}
	for len(f.Huffman) < 2 { // the least that the list holds; no segment DHT has it
		f.Huffman = append(f.Huffman, HuffmanTable{Last: true, Counts: [17]int{1: 2}, Symbols: []uint16{0, sentinel}})
	}
	if r.padZero {
		if len(r.padding) > maxPadding {
			return unsupported("it has %d padding bits, and the format holds %d", len(r.padding), maxPadding)
		}
		// libjxl's decoder counts one interval for each scan: it does not know yet how many there are.
		if len(r.padding) > 7*len(f.Scans) {
			return unsupported("it has %d padding bits, some of them 0, between restart markers: decoders take 7 of each scan", len(r.padding))
		}
		f.Padding = r.padding
	}
	f.Kinds = make([]Kind, len(f.Apps))
	return r.resolveTables()
}

// Body returns what a segment of Apps holds behind its length.
func Body(segment []byte) []byte { return segment[3:] }

// Prefixed returns the body of a segment of the given marker behind a prefix.
func Prefixed(segment []byte, marker byte, prefix string) ([]byte, bool) {
	if segment[0] != marker {
		return nil, false
	}
	return bytes.CutPrefix(Body(segment), []byte(prefix))
}
