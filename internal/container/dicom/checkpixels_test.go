package dicom

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// mainHeader is what tests vary of a codestream: one component of 12 bits, 300 x 200.
type mainHeader struct {
	width, height, tile            uint32
	ssiz, subsampling              byte
	order, mct, levels, style, dwt byte
	cap, tlm                       bool
	front, back                    []byte
}

func (h mainHeader) bytes() []byte {
	b := append(bytes.Clone(h.front), 0xff, 0x4f, 0xff, 0x51, 0, 41, 0, 0)
	for _, v := range []uint32{h.width, h.height, 0, 0, h.tile, h.tile, 0, 0} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	b = append(b, 0, 1, h.ssiz, h.subsampling, 1)
	if h.cap {
		b = append(b, 0xff, 0x50, 0, 8, 0, 2, 0, 0, 0, 0)
	}
	b = append(b, 0xff, 0x52, 0, 12, 0, h.order, 0, 1, h.mct, h.levels, 4, 4, h.style, h.dwt)
	if h.tlm {
		b = append(b, 0xff, 0x55, 0, 4, 0, 0x40)
	}
	return append(append(b, 0xff, 0x90, 0, 10, 1, 2, 0xff, 0xd9), h.back...)
}

// A codestream that is not what the data set and the transfer syntax say is noticed by its main header.
func TestCodestreams(t *testing.T) {
	part1 := mainHeader{width: 300, height: 200, tile: 300, ssiz: 11, subsampling: 1, levels: 5, dwt: 1}
	ht := part1
	ht.cap, ht.tlm, ht.order, ht.style, ht.levels = true, true, 2, 0x40, 2
	for name, c := range map[string]struct {
		syntax string
		from   mainHeader
		change func(h *mainHeader)
		ok     bool
	}{
		"part 1":                 {JPEG2000, part1, func(h *mainHeader) {}, true},
		"padded":                 {JPEG2000, part1, func(h *mainHeader) { h.back = []byte{0} }, true},
		"high throughput":        {HTJ2KRPCL, ht, func(h *mainHeader) {}, true},
		"boxes":                  {JPEG2000, part1, func(h *mainHeader) { h.front = []byte("\x00\x00\x00\x0cjP  \r\n\x87\n") }, false},
		"no end":                 {JPEG2000, part1, func(h *mainHeader) { h.back = []byte{1} }, false},
		"width":                  {JPEG2000, part1, func(h *mainHeader) { h.width-- }, false},
		"height":                 {JPEG2000, part1, func(h *mainHeader) { h.height++ }, false},
		"tiles":                  {JPEG2000, part1, func(h *mainHeader) { h.tile = 256 }, false},
		"precision":              {JPEG2000, part1, func(h *mainHeader) { h.ssiz = 15 }, false},
		"sign":                   {JPEG2000, part1, func(h *mainHeader) { h.ssiz |= 0x80 }, false},
		"subsampling":            {JPEG2000, part1, func(h *mainHeader) { h.subsampling = 2 }, false},
		"9/7":                    {JPEG2000, part1, func(h *mainHeader) { h.dwt = 0 }, false},
		"colour transform":       {JPEG2000, part1, func(h *mainHeader) { h.mct = 1 }, false},
		"HT for part 1":          {JPEG2000, ht, func(h *mainHeader) {}, false},
		"part 1 for HT":          {HTJ2KRPCL, part1, func(h *mainHeader) {}, false},
		"HT, no CAP":             {HTJ2KRPCL, ht, func(h *mainHeader) { h.cap = false }, false},
		"HT, no TLM":             {HTJ2KRPCL, ht, func(h *mainHeader) { h.tlm = false }, false},
		"HT, LRCP":               {HTJ2KRPCL, ht, func(h *mainHeader) { h.order = 0 }, false},
		"HT, too few levels":     {HTJ2KRPCL, ht, func(h *mainHeader) { h.levels = 1 }, false},
		"HT, bypass of Part 1":   {HTJ2KRPCL, ht, func(h *mainHeader) { h.style = 1 }, false},
		"HT, more levels":        {HTJ2KRPCL, ht, func(h *mainHeader) { h.levels = 5 }, true},
		"HT, a side of 64 is ok": {HTJ2KRPCL, ht, func(h *mainHeader) { h.levels = 2 }, true},
	} {
		h := c.from
		c.change(&h)
		p := &Proof{Frames: [][]byte{h.bytes()}, expected: &Expected{Syntax: c.syntax, Photometric: "MONOCHROME2"}, image: pixelHead{rows: 200, columns: 300, samples: 1, allocated: 16, stored: 12}}
		if err := p.Codestreams(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := ht.bytes()
	for n := range len(whole) - 2 {
		if _, err := readCodestream(append(bytes.Clone(whole[:n]), 0xff, 0xd9)); err == nil && n < len(whole)-8 {
			t.Errorf("cut to %d bytes it is read", n)
		}
	}
}

// The samples of the source are found where they stand in its file, whatever their order of bytes and planes are.
func TestSourceHas(t *testing.T) {
	colour := pixelHead{rows: 1, columns: 2, samples: 3, planar: 1, allocated: 8}
	for name, c := range map[string]struct {
		proof Proof
		z     int
		pix   string
		want  bool
	}{
		"fragments":         {Proof{image: colour}, 0, "anything", true},
		"planes":            {Proof{image: colour, source: []byte("adbecf")}, 0, "abcdef", true},
		"other planes":      {Proof{image: colour, source: []byte("abcdef")}, 0, "abcdef", false},
		"second frame":      {Proof{image: pixelHead{rows: 1, columns: 3, samples: 1, allocated: 8}, source: []byte("abcdef")}, 1, "def", true},
		"no such frame":     {Proof{image: pixelHead{rows: 1, columns: 3, samples: 1, allocated: 8}, source: []byte("abcde")}, 1, "def", false},
		"16 bits":           {Proof{image: pixelHead{rows: 1, columns: 2, samples: 1, allocated: 16}, source: []byte("abcd"), words: true}, 0, "badc", true},
		"8 bits in words":   {Proof{image: pixelHead{rows: 1, columns: 3, samples: 1, allocated: 8}, source: []byte("ba\x00c"), words: true}, 0, "abc", true},
		"another sample":    {Proof{image: pixelHead{rows: 1, columns: 2, samples: 1, allocated: 16}, source: []byte("abcd"), words: true}, 0, "bacc", false},
		"too few samples":   {Proof{image: colour, source: []byte("adbecf")}, 0, "abcde", false},
		"planes, 16, words": {Proof{image: pixelHead{rows: 1, columns: 1, samples: 3, planar: 1, allocated: 16}, source: []byte("badcfe"), words: true}, 0, "abcdef", true},
	} {
		if got := c.proof.SourceHas(c.z, []byte(c.pix)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// FuzzVerify: the checking parser and the check do not panic, whatever the two files are, and a file passes as its own
// result only where it is native in the syntax that is asked for.
func FuzzVerify(f *testing.F) {
	file := wrap(ExplicitLittle, small().bytes())
	f.Add(file, file)
	f.Add(wrap("1.2.840.10008.1.2", transcribed(small().bytes(), true, binary.LittleEndian)), file)
	f.Add(wrap("1.2.840.10008.1.2.2", transcribed(small().bytes(), false, binary.BigEndian)), file)
	f.Fuzz(func(t *testing.T, source, result []byte) {
		for _, x := range []Expected{{Syntax: JPEG2000, Photometric: "MONOCHROME2", Samples: 1, Frames: 1}, {Syntax: ExplicitLittle, Photometric: "RGB", Samples: 3, Native: 12}} {
			if p, err := Verify(source, result, &x); err == nil {
				_ = p.Codestreams()
				_ = p.SourceHas(0, make([]byte, 12))
			}
		}
	})
}
