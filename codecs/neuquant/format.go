package neuquant

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"slices"
	"sync"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// indexed is an image as indices into palettes.
type indexed struct {
	width, height int
	frames        [][]uint8
	palettes      [][]uint32 // R, G, B, A from the lowest byte up, not premultiplied; one, or one per frame
	channels      int        // of the source
	meta          raster.Meta
	timing        raster.Animation // of the frames
	counts        [][]int          // see census; nil where that was not asked for
}

// opaque is the alpha of a palette entry that hides what is behind it.
const opaque = 0xff << 24

// census is the number of pixels of each entry of palette i. Palettes and frames stay as they are
// after the first call for it.
func (p *indexed) census(i int) []int {
	if p.counts == nil {
		p.counts = make([][]int, len(p.palettes))
	}
	if p.counts[i] == nil {
		p.counts[i] = p.count(i)
	}
	return p.counts[i]
}

func (p *indexed) count(i int) []int {
	n := make([]int, 256)
	for z, frame := range p.frames {
		if z == i || len(p.palettes) == 1 {
			var odd [256]int // adding to one counter again and again waits for memory
			for at := 1; at < len(frame); at += 2 {
				n[frame[at-1]]++
				odd[frame[at]]++
			}
			if len(frame)&1 != 0 {
				n[frame[len(frame)-1]]++
			}
			for v, k := range odd {
				n[v] += k
			}
		}
	}
	return n[:len(p.palettes[i])]
}

// mark is the count of channels that the file must say, because its colours do not; 0
// where they do.
func (p *indexed) mark() int {
	c := channelKinds{}
	for i, palette := range p.palettes {
		for v, n := range p.census(i) {
			if n > 0 {
				c.add(palette[v])
			}
		}
	}
	if c.channels() == p.channels {
		return 0
	}
	return p.channels
}

// channelKinds is what a decoder learns of an image's colours.
type channelKinds struct{ chromatic, clear bool }

func (c *channelKinds) add(v uint32) {
	c.chromatic = c.chromatic || byte(v) != byte(v>>8) || byte(v) != byte(v>>16)
	c.clear = c.clear || v < opaque
}

// channels is the least count that holds the colours.
func (c *channelKinds) channels() int {
	n := 1
	if c.chromatic {
		n = 3
	}
	if c.clear {
		n++
	}
	return n
}

// marked is the count of channels by the colours and the file's mark.
func (c *channelKinds) marked(mark int) int {
	n := c.channels()
	if mark > n && mark <= 4 && !(c.clear && mark == 3) {
		return mark
	}
	return n
}

// sorted returns the entries that are in use, those that are not opaque first, so that
// tRNS is short, and of the others those of most pixels, so that the description of a prefix
// code of indices is short.
func sorted(palette []uint32, use []int) []uint8 {
	var list []uint8
	for i, n := range use {
		if n > 0 {
			list = append(list, uint8(i))
		}
	}
	luma := func(v uint32) int { return 299*int(v&255) + 587*int(v>>8&255) + 114*int(v>>16&255) }
	slices.SortFunc(list, func(i, j uint8) int {
		a, b := palette[i], palette[j]
		if a>>24 == 255 != (b>>24 == 255) {
			return cmp.Compare(a>>24, b>>24)
		}
		return cmp.Or(cmp.Compare(use[j], use[i]), cmp.Compare(luma(a), luma(b)), cmp.Compare(a, b), cmp.Compare(i, j))
	})
	return list
}

// Names of PNG chunks beside those of the specification. The letters' cases make it
// ancillary, private and safe to copy (PNG specification, 5.4).
const channelsChunk = "chNs"

// depth is the least count of bits for n values, of those that PNG has.
func depth(n int) int {
	switch {
	case n <= 2:
		return 1
	case n <= 4:
		return 2
	case n <= 16:
		return 4
	}
	return 8
}

// rows returns the indices as PNG has them, behind the filter of each row, for a palette
// of the entries of list.
func (p *indexed) rows(list []uint8) []byte {
	var to [256]uint8
	for i, v := range list {
		to[v] = uint8(i)
	}
	bits := depth(len(list))
	stride := 1 + (p.width*bits+7)/8
	out := make([]byte, stride*p.height)
	for y := range p.height {
		row, line := p.frames[0][y*p.width:][:p.width], out[y*stride+1:][:stride-1]
		switch bits {
		case 8:
			renumber(line, row, &to)
		default:
			for x, v := range row {
				line[x*bits>>3] |= to[v] << (8 - bits - x*bits&7)
			}
		}
	}
	return out
}

// renumberGo writes to[v] for each index v.
func renumberGo(out, indices []byte, to *[256]uint8) {
	out = out[:len(indices)]
	for i, v := range indices {
		out[i] = to[v]
	}
}

// encoders are of pictures before, so that their tables are used again.
var encoders = sync.Pool{New: func() any { return new(deflate.Encoder) }}

// compress returns data as a zlib stream.
func compress(data []byte) []byte {
	e := encoders.Get().(*deflate.Encoder)
	defer encoders.Put(e)
	return e.Append(nil, data)
}

// assemble returns the file of deflated rows, for a palette of the entries of list.
func (p *indexed) assemble(list []uint8, rows []byte) ([]byte, error) {
	if len(p.meta.ICC) > maxProfile {
		return nil, codec.Unsupportedf("neuquant: an ICC profile of %d bytes; readers take at most %d: -o metadata=strip leaves it out", len(p.meta.ICC), maxProfile)
	}
	if len(p.meta.EXIF) > png.MaxChunk {
		return nil, codec.Unsupportedf("neuquant: %d bytes of metadata; a PNG chunk takes at most 2 GiB: -o metadata=strip leaves them out", len(p.meta.ICC)+len(p.meta.EXIF))
	}
	var head [13]byte
	binary.BigEndian.PutUint32(head[0:], uint32(p.width))
	binary.BigEndian.PutUint32(head[4:], uint32(p.height))
	head[8], head[9] = byte(depth(len(list))), png.Palette
	var plte, trns []byte
	for _, i := range list {
		v := p.palettes[0][i]
		plte = append(plte, byte(v), byte(v>>8), byte(v>>16))
		if v < opaque {
			trns = append(trns, byte(v>>24))
		}
	}

	out := append(make([]byte, 0, len(rows)+len(p.meta.ICC)+len(p.meta.EXIF)+2048), png.Signature...)
	out = png.Append(out, "IHDR", head[:])
	if p.meta.ICC != nil {
		out = png.Append(out, "iCCP", append([]byte("icc\x00\x00"), compress(p.meta.ICC)...))
	}
	out = png.Append(out, "PLTE", plte)
	if trns != nil {
		out = png.Append(out, "tRNS", trns)
	}
	if block := exif.Upright(p.meta.EXIF); block != nil {
		out = png.Append(out, "eXIf", block)
	}
	if mark := p.mark(); mark != 0 {
		out = png.Append(out, channelsChunk, []byte{byte(mark)})
	}
	for ; len(rows) > png.MaxChunk; rows = rows[png.MaxChunk:] {
		out = png.Append(out, "IDAT", rows[:png.MaxChunk])
	}
	out = png.Append(out, "IDAT", rows)
	return png.Append(out, "IEND", nil), nil
}

// frameTime is how long a frame is shown of which nothing is known, in hundredths of a second.
const frameTime = 10

// delay is how long frame z is shown, in hundredths of a second.
func (p *indexed) delay(z int) int {
	if z >= len(p.timing.Delays) {
		return frameTime
	}
	return int(min(p.timing.Delays[z], raster.MaxDelay).Round(10*time.Millisecond) / (10 * time.Millisecond))
}

// gif writes the file, of frames that hold what changes as it is or with holes,
// whichever is smaller.
func (p *indexed) gif() ([]byte, error) {
	out, err := p.animation(false)
	if err == nil && len(p.frames) > 1 {
		var other []byte
		if other, err = p.animation(true); len(other) < len(out) {
			out = other
		}
	}
	if err != nil {
		return nil, fmt.Errorf("neuquant: gif: %w", err)
	}
	if mark := p.mark(); mark != 0 {
		out = append(out[:len(out)-1], channelsExtension...)
		out = append(out, 1, byte(mark), 0, gifTrailer)
	}
	return out, nil
}

// animation writes frames. The first covers the canvas. Where no frame lets see through,
// each other has the rectangle that differs from the frame before; with holes, pixels in
// it that do not differ are transparent, where the palette has room for one more entry.
// Else each has the rectangle of what is not transparent, and is cleared after its time.
func (p *indexed) animation(holes bool) ([]byte, error) {
	g := &gif.GIF{Config: image.Config{Width: p.width, Height: p.height}}
	seen := false // through a frame
	tables := make([]color.Palette, len(p.palettes))
	lists := make([][256]uint8, len(p.palettes)) // new indices
	for i, palette := range p.palettes {
		for at, v := range sorted(palette, p.census(i)) {
			c := palette[v]
			if c < opaque && at > 0 { // GIF has one such entry
				continue
			}
			seen = seen || c < opaque
			lists[i][v] = uint8(len(tables[i]))
			tables[i] = append(tables[i], color.NRGBA{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)})
		}
	}
	holes = holes && !seen
	entries := make([]int, len(tables)) // without that of holes
	for i := range tables {
		entries[i] = len(tables[i])
		if holes && entries[i] < 256 {
			tables[i] = append(tables[i], color.NRGBA{})
		}
	}
	if len(tables) == 1 {
		g.Config.ColorModel = tables[0]
	}
	for z, frame := range p.frames {
		i := min(z, len(tables)-1)
		palette := p.palettes[i]
		var before []uint8
		var beforePalette []uint32
		if z > 0 && !seen {
			before, beforePalette = p.frames[z-1], p.palettes[min(z-1, len(tables)-1)]
		}
		shows := func(at int) bool {
			c := palette[frame[at]]
			return before == nil && c >= opaque || before != nil && c != beforePalette[before[at]]
		}
		r := image.Rect(0, 0, p.width, p.height)
		table := tables[i][:entries[i]]
		if z > 0 {
			r = p.extent(shows)
			table = tables[i]
		}
		m := image.NewPaletted(r, table)
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				at, to := y*p.width+x, (y-r.Min.Y)*m.Stride+x-r.Min.X
				m.Pix[to] = lists[i][frame[at]]
				if len(table) > entries[i] && !shows(at) {
					m.Pix[to] = uint8(entries[i])
				}
			}
		}
		delay, dispose := 0, byte(0)
		if len(p.frames) > 1 {
			delay = p.delay(z)
			if seen {
				dispose = gif.DisposalBackground
			}
		}
		g.Image, g.Delay, g.Disposal = append(g.Image, m), append(g.Delay, delay), append(g.Disposal, dispose)
	}
	if plays := p.timing.Plays; plays > 0 {
		g.LoopCount = plays - 1 // how often they are shown again
		if plays == 1 {
			g.LoopCount = -1
		}
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, g)
	return b.Bytes(), err
}

// extent is the least rectangle with all pixels that show, of one pixel where none does.
func (p *indexed) extent(shows func(at int) bool) image.Rectangle {
	r := image.Rectangle{Min: image.Pt(p.width, p.height)}
	for y := range p.height {
		for x := range p.width {
			if shows(y*p.width + x) {
				r.Min.X, r.Min.Y = min(r.Min.X, x), min(r.Min.Y, y)
				r.Max.X, r.Max.Y = max(r.Max.X, x+1), max(r.Max.Y, y+1)
			}
		}
	}
	if r.Empty() {
		return image.Rect(0, 0, 1, 1)
	}
	return r
}

// channelsExtension begins an application extension (GIF89a, 26), which ends with a block
// of one byte.
const (
	channelsExtension  = "\x21\xff\x0b" + channelsIdentifier
	channelsIdentifier = "PELMILLCHNS"
)

const gifTrailer = 0x3b
