// Package lossless decodes the lossless bitstreams of WebP files (RFC 9649, 3), at the speed of libwebp.
//
//	pix, width, height, ok := lossless.Decode(bitstream) // pixels of bytes R, G, B, A
//
// It shares no code with an encoder. It takes bitstreams that keep every rule, and of others says only that they
// are not for it: golang.org/x/image then says what is wrong, or reads them all the same. What this package
// takes, that decoder takes too, with the same pixels.
//
// # How it works
//
// Prefix codes are looked up eight bits at a time in tables that lie one behind the other; longer codes go on
// in a second table. Where the processor has BMI2, literals are decoded by a kernel with tables of its own, two look-ups a pixel
// (literalTable). The inverse transforms run over the image together, each one row behind the one before, so that
// rows are in the cache, and follow the prefix codes at once where an image has no backward references (rows); predictors
// and colours are computed by vectors where the processor has AVX2.
package lossless

import (
	"encoding/binary"
	"math/bits"
)

// decoder reads one bitstream. Reading beyond the end gives zeros, and is noticed by exhausted.
type decoder struct {
	data  []byte
	pos   int // of the next byte; beyond the end, as many bytes as were made up
	bits  uint64
	count uint

	tables  []uint32 // of all prefix codes
	most    int      // entries that tables may have
	largest int      // symbol of the last code that was read

	// Of the code that is being read.
	lengths [mostSymbols]byte   // of the symbols that are used
	used    [mostSymbols]uint16 // these in their order
	sorted  [mostSymbols]uint16 // and by their lengths

	scratch *scratch // nil: new memory is taken
}

// refill brings the bits to 56 or more.
func (d *decoder) refill() {
	if d.pos+8 <= len(d.data) {
		d.bits |= binary.LittleEndian.Uint64(d.data[d.pos:]) << d.count
		n := (63 - d.count) >> 3
		d.pos += int(n)
		d.count |= 56
		return
	}
	// What is above count was taken ahead, and is taken again.
	d.bits &= 1<<d.count - 1
	for d.count < 56 {
		if d.pos < len(d.data) {
			d.bits |= uint64(d.data[d.pos]) << d.count
		}
		d.pos++
		d.count += 8
	}
}

// take returns the next n bits, at most 24.
func (d *decoder) take(n uint) uint32 {
	if d.count < n {
		d.refill()
	}
	v := uint32(d.bits) & (1<<n - 1)
	d.bits >>= n
	d.count -= n
	return v
}

// exhausted reports whether more was read than there is.
func (d *decoder) exhausted() bool { return 8*(d.pos-len(d.data)) > int(d.count) }

const signature = 0x2f

// Decode decodes a bitstream. Callers have held its size against their limits: beyond 6 bytes for each of its
// pixels, and 12 for each tile of 4 x 4 pixels, it holds no more than Overhead.
func Decode(bitstream []byte) (pix []byte, width, height int, ok bool) {
	s, ok := Open(bitstream)
	if !ok {
		return nil, 0, 0, false
	}
	pix, ok = s.Decode()
	return pix, s.Width, s.Height, ok
}

// DecodeRGB is Decode without alpha: pixels of bytes R, G, B. alloc gives memory of any content, in the first bytes of which
// they may lie; nil: new memory.
func DecodeRGB(bitstream []byte, alloc func(n int) []byte) (pix []byte, width, height int, ok bool) {
	m := scratches.Get().(*scratch)
	s, ok := open(bitstream, m)
	if ok {
		s.alloc = alloc
		pix, ok = s.RGB()
	}
	m.release(&s.decoder)
	scratches.Put(m)
	return pix, s.Width, s.Height, ok
}

const (
	tablesOverhead = 128 << 10
	// Overhead is what Decode takes besides what it says for pixels and tiles.
	Overhead = tablesOverhead + 48<<10
)

// tiles is how many tiles of 1<<bits pixels cover n pixels.
func tiles(n int, bits uint) int { return (n + 1<<bits - 1) >> bits }

// group is the five prefix codes of RFC 9649, 3.7.1, and how literals of the group are decoded.
type group struct {
	green, red, blue, alpha, distance code
	// fixed is red, blue and alpha where all literals have the same, and flat says that they have.
	fixed uint32
	flat  bool
	// literal says that the code for green has nothing but literals.
	literal bool
}

// Alphabets (RFC 9649, 3.7.2.1).
const (
	literals  = 256
	lengths   = 24
	distances = 40
)

// maxGroups is what libwebp writes and golang.org/x/image takes.
const maxGroups = 2600

// groups reads the prefix codes of an image, and the image of their numbers if it has one (RFC 9649, 3.7.2.2).
func (d *decoder) groups(width, height int, top bool, cache uint) (all []group, numbers []byte, size uint, ok bool) {
	n := 1
	if top && d.take(1) == 1 {
		size = uint(d.take(3)) + 2
		if numbers, ok = d.image(tiles(width, size), tiles(height, size)); !ok {
			return nil, nil, 0, false
		}
		for i := 0; i < len(numbers); i += 4 {
			n = max(n, int(numbers[i])<<8+int(numbers[i+1])+1)
		}
		// A number that no tile can need would take memory for nothing.
		if n > maxGroups || n > len(numbers)/4 {
			return nil, nil, 0, false
		}
	}
	all = make([]group, n)
	for i := range all {
		g := &all[i]
		for j, c := range []*code{&g.green, &g.red, &g.blue, &g.alpha, &g.distance} {
			alphabet := literals
			switch j {
			case 0:
				alphabet += lengths
				if cache > 0 {
					alphabet += 1 << cache
				}
			case 4:
				alphabet = distances
			}
			if *c, ok = d.code(alphabet); !ok {
				return nil, nil, 0, false
			}
			if j == 0 {
				g.literal = d.largest < literals
			}
		}
		if g.red.mask|g.blue.mask|g.alpha.mask == 0 {
			g.flat = true
			g.fixed = d.tables[g.red.at]>>8 | d.tables[g.blue.at]>>8<<16 | d.tables[g.alpha.at]>>8<<24
		}
	}
	return all, numbers, size, true
}

// hash is the place of a pixel in a colour cache (RFC 9649, 3.6.2.3), which is computed of the order A, R, G, B.
func hash(pixel uint32, cache uint) uint32 {
	return bits.RotateLeft32(bits.ReverseBytes32(pixel), -8) * 0x1e35a7bd >> (32 - cache)
}

// cacheBits reads the size of a colour cache (RFC 9649, 3.6.2.3); 0 is none.
func (d *decoder) cacheBits() (cache uint, ok bool) {
	if d.take(1) == 0 {
		return 0, true
	}
	cache = uint(d.take(4))
	return cache, cache >= 1 && cache <= 11
}

// image decodes an image of a transform or of the numbers of groups, which has one group itself (RFC 9649, 3.6.2).
func (d *decoder) image(width, height int) (pix []byte, ok bool) {
	cache, ok := d.cacheBits()
	if !ok {
		return nil, false
	}
	mark := len(d.tables)
	all, _, _, ok := d.groups(width, height, false, cache)
	if !ok || d.exhausted() {
		return nil, false
	}
	pix, ok = d.pixels(d.scratch.pixels(width, height), width, height, all, nil, 0, cache)
	d.tables = d.tables[:mark]
	return pix, ok
}

// pixels decodes the pixels of an image, whose groups were read, to pix: numbers are those of its tiles of 1<<size pixels, nil
// where there is one group. Each pixel is written before it is read: backward references begin behind the first one.
func (d *decoder) pixels(pix []byte, width, height int, all []group, numbers []byte, size, cache uint) ([]byte, bool) {
	s := scan{decoder: d, pix: pix, width: width, height: height, cache: cache, all: all, side: 4 << size}
	s.tabled = s.literalTables()
	if cache > 0 {
		s.colours = make([]uint32, 1<<cache)
	}
	ok := false
	if numbers == nil {
		ok = s.plain()
	} else {
		ok = s.tiled(numbers, size)
	}
	return s.pix, ok && !d.exhausted()
}

// scan is the decoding of the pixels of one image.
type scan struct {
	*decoder
	pix      []byte
	at       int // place in pix of the next pixel
	width    int
	height   int
	cache    uint
	colours  []uint32 // the colour cache
	cached   int      // place in pix of the first pixel that is not in the cache
	all      []group
	tabled   []literalTable // of the groups; nil: literals are decoded without them
	side     int            // of a tile, in bytes of a row
	next     []uint32       // see literals: of a row of tiles, from the second on
	followed *byte          // number of the first of these tiles
}

// plain decodes an image of one group, some rows at a time, so that an end of the data is noticed soon.
func (s *scan) plain() bool {
	const rows = 16
	for s.at < len(s.pix) {
		if !s.run(0, min(len(s.pix), s.at+4*rows*s.width)) || s.exhausted() {
			return false
		}
	}
	return true
}

// tiled decodes an image whose tiles have groups of their own.
func (s *scan) tiled(numbers []byte, size uint) bool {
	for s.at < len(s.pix) {
		y := s.at / 4 / s.width
		if !s.row(numbers, size, s.at/4-y*s.width, y) {
			return false
		}
	}
	return true
}

// row decodes row y from column x on: as many tiles at once as follow one another with the same group. It ends early where a
// backward reference has gone beyond these.
func (s *scan) row(numbers []byte, size uint, x, y int) bool {
	across := tiles(s.width, size)
	row := numbers[4*(y>>size)*across:][:4*across]
	number := binary.BigEndian.Uint16
	for x < s.width {
		tile := x >> size
		k := number(row[4*tile:])
		if s.tabled != nil && s.pos+inputSlack <= len(s.data) {
			if s.followed != &row[0] {
				s.follow(row)
			}
			from := s.at
			s.literals(&s.tabled[k], s.next[tile:], (tile+1)<<size-x, s.width-x)
			if x += (s.at - from) / 4; x == s.width {
				break
			}
			tile = x >> size
			k = number(row[4*tile:])
		}
		for tile++; tile < across && number(row[4*tile:]) == k; tile++ {
		}
		edge := min(s.width, tile<<size)
		to := s.at + 4*(edge-x)
		if !s.run(int(k), to) || s.exhausted() {
			return false
		}
		if s.at != to {
			break
		}
		x = edge
	}
	return true
}

// follow sets next to what is behind the tiles of a row. Nothing is behind the last one.
func (s *scan) follow(numbers []byte) {
	s.followed, s.next = &numbers[0], s.next[:0]
	for i := 4; i < len(numbers); i += 4 {
		s.next = append(s.next, tableBytes*uint32(binary.BigEndian.Uint16(numbers[i:])))
	}
	s.next = append(s.next, 0)
}

// run decodes pixels with the codes of group k at least up to a place.
func (s *scan) run(k, to int) bool {
	d, pix, tables, g := s.decoder, s.pix, s.tables, &s.all[k]
	fast := s.tabled != nil && g.alpha.mask == 0
	at := s.at
	for at < to {
		if fast && d.pos+inputSlack <= len(d.data) {
			s.at = at
			if n := (to - at) / 4; g.flat {
				s.greens(&s.tabled[k], g.fixed, n)
			} else {
				s.literals(&s.tabled[k], alone[:], n, n)
			}
			if at = s.at; at >= to {
				break
			}
		}
		d.refill()
		e := tables[g.green.at+uint32(d.bits)&g.green.mask]
		if e&longer != 0 {
			e = tables[e>>8+uint32(d.bits>>first)&(1<<(e&15)-1)]
		}
		d.bits >>= e & 31
		d.count -= uint(e & 31)
		symbol := e >> 8
		switch {
		case symbol < literals:
			pixel := g.fixed | symbol<<8
			if !g.flat {
				pixel = symbol<<8 | s.others(g)
			}
			binary.LittleEndian.PutUint32(pix[at:], pixel)
			at += 4
		case symbol < literals+lengths:
			length := d.value(symbol - literals)
			d.refill()
			e := tables[g.distance.at+uint32(d.bits)&g.distance.mask]
			if e&longer != 0 {
				e = tables[e>>8+uint32(d.bits>>first)&(1<<(e&15)-1)]
			}
			d.bits >>= e & 31
			d.count -= uint(e & 31)
			back := 4 * distance(d.value(e>>8), s.width)
			end := at + 4*length
			if back > at || end > len(pix) {
				return false
			}
			for at < end {
				at += copy(pix[at:end], pix[at-back:at])
			}
		default:
			for ; s.cached < at; s.cached += 4 {
				v := binary.LittleEndian.Uint32(pix[s.cached:])
				s.colours[hash(v, s.cache)] = v
			}
			binary.LittleEndian.PutUint32(pix[at:], s.colours[symbol-literals-lengths])
			// The cache keeps the order A, R, G, B only in its places.
			at += 4
		}
	}
	s.at = at
	return true
}

// inputSlack is how many bytes the kernels may read from where eight pixels begin: these have at most 45 bits each, before the
// last of them as many bits were taken ahead as there is room for, and a refill reads 8 bytes.
const inputSlack = 64

// alone is what is behind a tile that is the only one.
var alone [1]uint32

// others decodes red, blue and alpha of a literal. Behind green, which had at most 15 bits, there are 41 left: enough for two of
// them.
func (s *scan) others(g *group) uint32 {
	d, tables := s.decoder, s.tables
	b := d.bits
	red := tables[g.red.at+uint32(b)&g.red.mask]
	if red&longer != 0 {
		red = tables[red>>8+uint32(b>>first)&(1<<(red&15)-1)]
	}
	b >>= red & 31
	blue := tables[g.blue.at+uint32(b)&g.blue.mask]
	if blue&longer != 0 {
		blue = tables[blue>>8+uint32(b>>first)&(1<<(blue&15)-1)]
	}
	d.bits = b >> (blue & 31)
	d.count -= uint(red&31 + blue&31)
	if g.alpha.mask == 0 {
		return red>>8 | blue>>8<<16 | tables[g.alpha.at]>>8<<24
	}
	d.refill()
	alpha := tables[g.alpha.at+uint32(d.bits)&g.alpha.mask]
	if alpha&longer != 0 {
		alpha = tables[alpha>>8+uint32(d.bits>>first)&(1<<(alpha&15)-1)]
	}
	d.bits >>= alpha & 31
	d.count -= uint(alpha & 31)
	return red>>8 | blue>>8<<16 | alpha>>8<<24
}

// value reads the extra bits of a length or a distance code (RFC 9649, 3.6.2.2).
func (d *decoder) value(symbol uint32) int {
	if symbol < 4 {
		return int(symbol) + 1
	}
	extra := (symbol - 2) >> 1
	return int((2+symbol&1)<<extra+d.take(uint(extra))) + 1
}

// near are the columns to the left, from 8 to the left to 7 to the right, and rows above, of the first 120 distance codes
// (RFC 9649, 3.6.2.2): rows in the upper half, 8 - columns in the lower.
var near = [120]byte{
	0x18, 0x07, 0x17, 0x19, 0x28, 0x06, 0x27, 0x29, 0x16, 0x1a, 0x26, 0x2a, 0x38, 0x05, 0x37, 0x39, 0x15, 0x1b, 0x36, 0x3a,
	0x25, 0x2b, 0x48, 0x04, 0x47, 0x49, 0x14, 0x1c, 0x35, 0x3b, 0x46, 0x4a, 0x24, 0x2c, 0x58, 0x45, 0x4b, 0x34, 0x3c, 0x03,
	0x57, 0x59, 0x13, 0x1d, 0x56, 0x5a, 0x23, 0x2d, 0x44, 0x4c, 0x55, 0x5b, 0x33, 0x3d, 0x68, 0x02, 0x67, 0x69, 0x12, 0x1e,
	0x66, 0x6a, 0x22, 0x2e, 0x54, 0x5c, 0x43, 0x4d, 0x65, 0x6b, 0x32, 0x3e, 0x78, 0x01, 0x77, 0x79, 0x53, 0x5d, 0x11, 0x1f,
	0x64, 0x6c, 0x42, 0x4e, 0x76, 0x7a, 0x21, 0x2f, 0x75, 0x7b, 0x31, 0x3f, 0x63, 0x6d, 0x52, 0x5e, 0x00, 0x74, 0x7c, 0x41,
	0x4f, 0x10, 0x20, 0x62, 0x6e, 0x30, 0x73, 0x7d, 0x51, 0x5f, 0x40, 0x72, 0x7e, 0x61, 0x6f, 0x50, 0x71, 0x7f, 0x60, 0x70,
}

// distance is how many pixels back a distance code reaches.
func distance(code, width int) int {
	if code > len(near) {
		return code - len(near)
	}
	v := int(near[code-1])
	return max(v>>4*width+8-v&15, 1)
}
