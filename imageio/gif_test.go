package imageio

import (
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// gifPart is a frame of a GIF file for tests.
type gifPart struct {
	x, y, w, h  int
	indices     []byte
	own         []byte // colours of its own
	disposal    byte
	transparent int // index; 0 for none, as index 0 is never the transparent one here
	interlaced  bool
	size        int    // of codes; 0 for 2
	data        []byte // compressed, instead of indices
}

// gifBlocks divides data into blocks, up to the empty one.
func gifBlocks(data []byte) []byte {
	var b []byte
	for block := range slices.Chunk(data, 255) {
		b = append(append(b, byte(len(block))), block...)
	}
	return append(b, 0)
}

func gifCompressed(indices []byte, size int) []byte {
	var b bytes.Buffer
	z := lzw.NewWriter(&b, lzw.LSB, size)
	z.Write(indices)
	z.Close()
	return b.Bytes()
}

var gifColours = []byte{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120}

// gifFile has the four colours of gifColours, unless it is to have none.
func gifFile(width, height int, colours []byte, parts ...gifPart) []byte {
	le := binary.LittleEndian
	b := []byte("GIF89a")
	b = le.AppendUint16(b, uint16(width))
	b = le.AppendUint16(b, uint16(height))
	flags := byte(0)
	if len(colours) > 0 {
		flags = 0x81
	}
	b = append(append(b, flags, 0, 0), colours...)
	for _, p := range parts {
		control := p.disposal << 2
		if p.transparent > 0 {
			control |= 1
		}
		b = append(b, 0x21, 0xf9, 4, control, 0, 0, byte(p.transparent), 0, 0x2c)
		for _, v := range []int{p.x, p.y, p.w, p.h} {
			b = le.AppendUint16(b, uint16(v))
		}
		flags := byte(0)
		if p.interlaced {
			flags |= 0x40
		}
		if p.own != nil {
			flags |= 0x81
		}
		size := max(p.size, 2)
		if p.size == 1 {
			size = 1
		}
		b = append(append(append(b, flags), p.own...), byte(size))
		data := p.data
		if data == nil {
			data = gifCompressed(p.indices, size)
		}
		b = append(b, gifBlocks(data)...)
	}
	return append(b, 0x3b)
}

// codes packs codes of a width, the lowest bit first.
func codes(width int, values ...int) []byte {
	var acc, have int
	var b []byte
	for _, v := range values {
		acc |= v << have
		for have += width; have >= 8; have -= 8 {
			b = append(b, byte(acc))
			acc >>= 8
		}
	}
	return append(b, byte(acc))
}

// gifShown are files that giflib and browsers take, with the indices of the last
// slice; -1 is transparent, and 4 and above are those of own.
func gifShown() map[string]struct {
	data          []byte
	width, height int
	want          []int
} {
	own := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13}
	whole := gifPart{w: 3, h: 2, indices: []byte{0, 1, 2, 3, 0, 1}}
	plain := gifFile(3, 2, gifColours, whole)
	with := func(change func(*gifPart)) []byte {
		p := whole
		change(&p)
		return gifFile(3, 2, gifColours, p)
	}
	before := func(extension ...byte) []byte { return slices.Concat(plain[:25], extension, plain[25:]) }
	over := func(p gifPart) []byte { return gifFile(3, 2, gifColours, whole, p) }
	six := []int{0, 1, 2, 3, 0, 1}
	type shown = struct {
		data          []byte
		width, height int
		want          []int
	}
	return map[string]shown{
		"plain":                          {plain, 3, 2, six},
		"bytes behind the end":           {append(bytes.Clone(plain), "tail"...), 3, 2, six},
		"interlaced":                     {gifFile(1, 6, gifColours, gifPart{w: 1, h: 6, indices: []byte{0, 1, 2, 3, 0, 1}, interlaced: true}), 1, 6, []int{0, 3, 2, 0, 1, 1}},
		"colours of its own":             {with(func(p *gifPart) { p.own = own }), 3, 2, []int{4, 5, 6, 7, 4, 5}},
		"no global colours":              {gifFile(3, 2, nil, gifPart{w: 3, h: 2, indices: whole.indices, own: own}), 3, 2, []int{4, 5, 6, 7, 4, 5}},
		"a transparent index":            {with(func(p *gifPart) { p.transparent = 1 }), 3, 2, []int{0, -1, 2, 3, 0, -1}},
		"a transparent index beyond":     {with(func(p *gifPart) { p.transparent = 200 }), 3, 2, six},
		"an index beyond the colours":    {with(func(p *gifPart) { p.size = 3; p.indices = []byte{0, 1, 7, 3, 4, 1} }), 3, 2, []int{0, 1, -1, 3, -1, 1}},
		"codes of 8 bits":                {with(func(p *gifPart) { p.size = 8 }), 3, 2, six},
		"data behind the last pixel":     {with(func(p *gifPart) { p.data = gifCompressed([]byte{0, 1, 2, 3, 0, 1, 2, 2, 2, 2}, 2) }), 3, 2, six},
		"blocks behind the last pixel":   {with(func(p *gifPart) { p.data = append(gifCompressed(whole.indices, 2), make([]byte, 600)...) }), 3, 2, six},
		"no end of information":          {with(func(p *gifPart) { p.data = codes(3, 4, 0, 1, 2)[:2]; p.w, p.h = 3, 1 }), 3, 2, []int{0, 1, 2, -1, -1, -1}},
		"no clear code at the start":     {gifFile(2, 1, gifColours, gifPart{w: 2, h: 1, data: codes(3, 3, 1, 5)}), 2, 1, []int{3, 1}},
		"indices of one bit":             {gifFile(3, 1, gifColours, gifPart{w: 3, h: 1, size: 1, data: []byte{0b0_001_01_10, 0b011_00}}), 3, 1, []int{1, 1, 0}},
		"an unknown extension":           {before(0x21, 0x42, 3, 'a', 'b', 'c', 0), 3, 2, six},
		"an application's extension":     {before(0x21, 0xff, 4, 'a', 'b', 'c', 'd', 1, 'x', 0), 3, 2, six},
		"a frame that leaves the canvas": {over(gifPart{x: 2, y: 1, w: 2, h: 2, indices: []byte{2, 2, 2, 2}}), 3, 2, []int{0, 1, 2, 3, 0, 2}},
		"a frame beside the canvas":      {over(gifPart{x: 5, y: 5, w: 1, h: 1, indices: []byte{2}}), 3, 2, six},
		"a canvas of no size":            {gifFile(0, 0, gifColours, whole), 3, 2, six},
		"a canvas that is too small":     {gifFile(2, 2, gifColours, whole), 3, 2, six},
		"disposal 2 outside of the canvas": {gifFile(3, 2, gifColours, whole, gifPart{x: 2, y: 1, w: 2, h: 2, indices: []byte{2, 2, 2, 2}, disposal: 2},
			gifPart{w: 1, h: 1, indices: []byte{3}}), 3, 2, []int{3, 1, 2, 3, 0, -1}},
		"disposal 3": {gifFile(3, 2, gifColours, whole, gifPart{w: 2, h: 2, indices: []byte{2, 2, 2, 2}, disposal: 3}, gifPart{w: 1, h: 1, indices: []byte{3}}), 3, 2, []int{3, 1, 2, 3, 0, 1}},
		"disposal 4": {gifFile(3, 2, gifColours, whole, gifPart{w: 2, h: 2, indices: []byte{2, 2, 2, 2}, disposal: 4}, gifPart{w: 1, h: 1, indices: []byte{3}}), 3, 2, []int{3, 1, 2, 3, 0, 1}},
	}
}

// What giflib and browsers take is read as they show it.
func TestGIFShown(t *testing.T) {
	dir := t.TempDir()
	need(t, "gifbuild")
	colours := append(bytes.Clone(gifColours), 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13)
	for name, c := range gifShown() {
		t.Run(name, func(t *testing.T) {
			writeFile(t, filepath.Join(dir, "in.gif"), c.data)
			cmd := exec.Command("gifbuild", "-d", "in.gif")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("giflib refuses the file: %v\n%s", err, out)
			}
			m := decodeFile(t, filepath.Join(dir, "in.gif"))
			if m.Width != c.width || m.Height != c.height {
				t.Fatalf("%s, want %d x %d", m.Shape, c.width, c.height)
			}
			last := m.Slice(m.Depth - 1)
			for i, want := range c.want {
				got := -1
				if v := colourAt(last, i); v[3] != 0 {
					got = bytes.IndexByte(colours, byte(v[0]/257)) / 3
				}
				if got != want {
					t.Errorf("pixel %d is colour %d, want %d", i, got, want)
				}
			}
			h, err := ReadHeader(c.data, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n := allocated(func() { _, _ = Decode(c.data, nil) }); n > h.DecodedBytes {
				t.Errorf("%d bytes were taken, the header says %d", n, h.DecodedBytes)
			}
		})
	}
}

// A frame may claim no more than an image may, though little of it lies on the
// canvas.
func TestGIFFrameWithinLimits(t *testing.T) {
	data := gifFile(3, 2, gifColours, gifPart{w: 3, h: 2, indices: make([]byte, 6)}, gifPart{w: 65535, h: 65535, indices: make([]byte, 6)})
	var err error
	if n := allocated(func() { _, err = Decode(data, nil) }); n > 1<<20 || !overLimitError(err) {
		t.Errorf("%d bytes were taken, error %v", n, err)
	}
}
