package imageio

import (
	"encoding/binary"
	"math/bits"
	"path"
	"strings"

	"github.com/pelmill/pelmill/raster"
)

// pnmHead is the header of one image of a PNM file, netpbm's manual pages
// pbm(5), pgm(5), ppm(5), pam(5).
type pnmHead struct {
	kind                    byte // the digit of the magic, '1' to '7'
	width, height, channels int
	maxval                  int
	bits                    int // of the decoded image
	start                   int // of the samples
}

func (h *pnmHead) ascii() bool  { return h.kind <= '3' }
func (h *pnmHead) bitmap() bool { return h.kind == '1' || h.kind == '4' }

// bytes is the number of bytes that the samples of a binary image take.
func (h *pnmHead) bytes() int64 {
	if h.kind == '4' {
		return int64((h.width+7)/8) * int64(h.height)
	}
	n := int64(h.width) * int64(h.height) * int64(h.channels)
	if h.maxval > 255 {
		n *= 2
	}
	return n
}

func matchPNM(data []byte) bool {
	return len(data) >= 2 && data[0] == 'P' && data[1] >= '1' && data[1] <= '7' && (len(data) == 2 || pnmSpace(data[2]) || data[2] == '#')
}

func pnmSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// Adopts reports whether the name is one of files whose samples [Decode] uses where they are, if they have 8 bits and one picture: those
// of PNM.
func Adopts(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".pnm", ".pgm", ".ppm", ".pam":
		return true
	}
	return false
}

// openPNM reads the header of the first image, and of those that follow it in
// a binary file: netpbm's files may hold several.
func openPNM(data []byte, lim Limits) (*opened, error) {
	first, err := readPNMHead(data, 0)
	if err != nil {
		return nil, err
	}
	p := &opened{Header: Header{Shape: raster.Shape{Width: first.width, Height: first.height, Depth: 1, Channels: first.channels, Bits: first.bits}}}
	if err := lim.check("pnm", &p.Header, len(data)); err != nil {
		return nil, err
	}
	heads := []pnmHead{first}
	if !first.ascii() {
		heads, err = pnmSeries(data, first, lim)
		if err != nil {
			return nil, err
		}
		p.Depth = len(heads)
		p.Frames = p.Depth > 1
		if err := lim.check("pnm", &p.Header, len(data)); err != nil {
			return nil, err
		}
	} else if int64(len(data)-first.start) < int64(p.Pixels())*int64(p.Channels) {
		return nil, cutShort("pnm")
	}
	if len(heads) == 1 && first.maxval == 255 && !first.ascii() {
		p.DecodedBytes = overhead
		p.decode = func() (*raster.Image, error) { // whose samples are those of the file
			return adopt(p.Width, p.Height, p.Channels, p.Bits, data[first.start:]), nil
		}
		return p, nil
	}
	p.DecodedBytes = int64(p.Size()) + overhead
	p.decode = func() (*raster.Image, error) {
		m := raster.Unfilled(p.Shape)
		for z := range heads {
			if err := readPNMSamples(m.Slice(z), data, &heads[z]); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return p, nil
}

// pnmSeries reads the headers of all images of a binary file, which must be of
// one shape.
func pnmSeries(data []byte, first pnmHead, lim Limits) ([]pnmHead, error) {
	heads := []pnmHead{first}
	for at := first; ; {
		end := int64(at.start) + at.bytes()
		if end > int64(len(data)) {
			return nil, cutShort("pnm")
		}
		next := int(end)
		for next < len(data) && pnmSpace(data[next]) {
			next++
		}
		if next == len(data) {
			return heads, nil
		}
		if !matchPNM(data[next:]) {
			return nil, rejected("pnm", "%d bytes follow the picture and are none", len(data)-next)
		}
		h, err := readPNMHead(data, next)
		if err != nil {
			return nil, err
		}
		if h.kind != first.kind || h.width != first.width || h.height != first.height || h.channels != first.channels || h.maxval != first.maxval {
			return nil, unsupported("pnm", "picture %d differs in shape from the first", len(heads)+1)
		}
		if len(heads) == lim.Frames {
			return nil, overLimit("pnm", "more than %d frames are over the limit", lim.Frames)
		}
		heads = append(heads, h)
		at = h
	}
}

func readPNMHead(data []byte, at int) (pnmHead, error) {
	h := pnmHead{kind: data[at+1], channels: 1, maxval: 1}
	s := pnmScanner{data: data, at: at + 2, comments: true}
	if h.kind == '7' {
		if err := h.readPAM(&s); err != nil {
			return h, err
		}
	} else {
		fields := []*int{&h.width, &h.height, &h.maxval}
		if h.bitmap() {
			fields = fields[:2]
		}
		for _, f := range fields {
			v, err := s.number()
			if err != nil {
				return h, err
			}
			*f = v
		}
		if h.kind == '3' || h.kind == '6' {
			h.channels = 3
		}
		// One byte of white space ends the header; what follows are samples. A comment
		// may stand before it, as netpbm reads it.
		if s.at < len(data) && data[s.at] == '#' {
			s.comment()
		}
		if s.at == len(data) {
			return h, cutShort("pnm")
		}
		if !pnmSpace(data[s.at]) {
			return h, rejected("pnm", "no white space ends its header")
		}
		s.at++
	}
	if h.maxval < 1 || h.maxval > 65535 {
		return h, rejected("pnm", "a maxval of %d is not between 1 and 65,535", h.maxval)
	}
	h.bits = bits.Len(uint(h.maxval))
	if h.bitmap() {
		h.bits = 8
	}
	h.start = s.at
	return h, nil
}

// readPAM reads the lines of a P7 header.
func (h *pnmHead) readPAM(s *pnmScanner) error {
	h.width, h.height, h.channels, h.maxval = 0, 0, 0, 0
	tuple := ""
	for {
		line, err := s.line()
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		var to *int
		switch name {
		case "":
			continue
		case "TUPLTYPE":
			tuple = strings.TrimSpace(tuple + " " + strings.TrimSpace(value))
			continue
		case "ENDHDR":
			if h.channels > 4 {
				return unsupported("pnm", "%d channels are not read", h.channels)
			}
			if h.width == 0 || h.height == 0 || h.channels == 0 {
				return rejected("pnm", "its header lacks a side or the number of channels")
			}
			return h.checkTuple(tuple)
		case "WIDTH":
			to = &h.width
		case "HEIGHT":
			to = &h.height
		case "DEPTH":
			to = &h.channels
		case "MAXVAL":
			to = &h.maxval
		default:
			if strings.HasPrefix(name, "#") {
				continue
			}
			if name == "332" && tuple == "" && h.width == 0 {
				return unsupported("pnm", "a thumbnail of xv, which begins like PAM, is not read")
			}
			return rejected("pnm", "its header has a line %.20q", name)
		}
		n := pnmScanner{data: []byte(strings.TrimSpace(value) + " ")}
		if *to, err = n.number(); err != nil {
			return err
		}
	}
}

// checkTuple refuses samples that are not the colours and alpha that their number
// suggests, such as those of CMYK. One sample is grey under any name, and a file
// that names nothing is taken by the number.
func (h *pnmHead) checkTuple(tuple string) error {
	colours, alpha := strings.CutSuffix(tuple, "_ALPHA")
	namesColours := colours == "RGB" && h.channels >= 3 || (colours == "GRAYSCALE" || colours == "BLACKANDWHITE") && h.channels <= 2
	if tuple == "" || h.channels == 1 || namesColours && alpha == (h.channels%2 == 0) {
		return nil
	}
	return unsupported("pnm", "%d channels of the type %.20q are not read", h.channels, tuple)
}

// readPNMSamples fills m, one slice, with the samples of h.
func readPNMSamples(m *raster.Image, data []byte, h *pnmHead) error {
	if h.ascii() {
		return readPNMText(m, data, h)
	}
	src := data[h.start:]
	switch {
	case h.kind == '4':
		stride := (m.Width + 7) / 8
		for y := range m.Height {
			row, dst := src[y*stride:(y+1)*stride], m.Pix[y*m.Width:(y+1)*m.Width]
			for x := range dst {
				dst[x] = row[x>>3]>>(7-x&7)&1 - 1 // 1 is black
			}
		}
	case h.maxval > 255:
		// Samples below a power of two have no higher bit together.
		if int(raster.SwapBytes(m.Pix, src)) <= h.maxval {
			return nil
		}
		for i := range m.Samples() {
			if v := int(binary.LittleEndian.Uint16(m.Pix[2*i:])); v > h.maxval {
				return overMaxval(v, h)
			}
		}
	default:
		copy(m.Pix, src)
		if h.maxval < 255 {
			for _, v := range m.Pix {
				if int(v) > h.maxval {
					return overMaxval(int(v), h)
				}
			}
		}
	}
	return nil
}

func overMaxval(v int, h *pnmHead) error {
	return rejected("pnm", "a sample of %d is above the maxval of %d", v, h.maxval)
}

func readPNMText(m *raster.Image, data []byte, h *pnmHead) error {
	s := pnmScanner{data: data, at: h.start, comments: true}
	wide := m.Bits > 8
	for i := range m.Samples() {
		if h.kind == '1' {
			// Bits need no space between them.
			bit, err := s.bit()
			if err != nil {
				return err
			}
			m.Pix[i] = bit - 1
			continue
		}
		v, ok := s.plain()
		if !ok {
			var err error
			if v, err = s.number(); err != nil {
				return err
			}
		}
		if v > h.maxval {
			return overMaxval(v, h)
		}
		if wide {
			m.Pix[2*i], m.Pix[2*i+1] = byte(v), byte(v>>8)
		} else {
			m.Pix[i] = byte(v)
		}
	}
	return nil
}

// pnmScanner reads the text of headers and of plain files.
type pnmScanner struct {
	data     []byte
	at       int
	comments bool // '#' starts a comment that goes to the end of its line
}

// skip moves to the next byte that is neither white space nor comment.
func (s *pnmScanner) skip() error {
	for s.at < len(s.data) {
		c := s.data[s.at]
		switch {
		case pnmSpace(c):
			s.at++
		case c == '#' && s.comments:
			s.comment()
		default:
			return nil
		}
	}
	return cutShort("pnm")
}

// comment moves to the end of the line.
func (s *pnmScanner) comment() {
	for s.at < len(s.data) && s.data[s.at] != '\n' && s.data[s.at] != '\r' {
		s.at++
	}
}

// plain is number for one of at most three digits behind at most one space, with a byte behind it. It moves only if it
// finds that.
func (s *pnmScanner) plain() (v int, ok bool) {
	if len(s.data)-s.at < 5 {
		return 0, false
	}
	p := (*[5]byte)(s.data[s.at:])
	at := 0
	if pnmSpace(p[0]) {
		at = 1
	}
	d := p[at] - '0'
	if d > 9 {
		return 0, false
	}
	v = int(d)
	at++
	if d = p[at] - '0'; d <= 9 {
		v = v*10 + int(d)
		at++
		if d = p[at] - '0'; d <= 9 {
			v = v*10 + int(d)
			at++
			if p[at]-'0' <= 9 {
				return 0, false
			}
		}
	}
	s.at += at
	return v, true
}

func (s *pnmScanner) number() (int, error) {
	if err := s.skip(); err != nil {
		return 0, err
	}
	v, start := 0, s.at
	for s.at < len(s.data) {
		c := s.data[s.at]
		if c < '0' || c > '9' {
			break
		}
		v = v*10 + int(c-'0')
		if v > 1<<31 {
			return 0, rejected("pnm", "a number in its text is too large")
		}
		s.at++
	}
	if s.at == start {
		return 0, rejected("pnm", "byte %q stands where a number belongs", s.data[s.at])
	}
	return v, nil
}

func (s *pnmScanner) bit() (byte, error) {
	if err := s.skip(); err != nil {
		return 0, err
	}
	c := s.data[s.at]
	if c != '0' && c != '1' {
		return 0, rejected("pnm", "byte %q stands where a bit belongs", c)
	}
	s.at++
	return c - '0', nil
}

// line returns the text up to the next line feed and moves behind it.
func (s *pnmScanner) line() (string, error) {
	const longest = 4096
	for i := s.at; i < len(s.data) && i < s.at+longest; i++ {
		if s.data[i] == '\n' {
			line := string(s.data[s.at:i])
			s.at = i + 1
			return line, nil
		}
	}
	if len(s.data)-s.at < longest {
		return "", cutShort("pnm")
	}
	return "", rejected("pnm", "its header has a line without end")
}
