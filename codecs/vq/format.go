package vq

import (
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// Flags of the header.
const (
	flagColour = 1 << iota
	flagHalf   // chroma at half size
	flagRaw    // plain index table
	flagShared // codebook by its hash
	flagFrames // slices are frames
	flagsKnown = 1<<iota - 1
)

// Tags of header extensions. A reader skips tags from 0x80 that it does not know
// and refuses the file over others.
const (
	tagCodebook = 0x01 // SHA-256 of the shared codebook file
	tagSpacing  = 0x80 // three float64, millimetres
)

const headerSize = 48

// header is the fixed part of a file and its extensions.
type header struct {
	flags         byte
	block         shape
	w, h, d       int
	n, chroma     int
	bookSize      int
	tableSize     int
	codebook      string // hash of the shared codebook in hexadecimal
	spacing       [3]float64
	sectionsStart int
}

func (h *header) colour() bool { return h.flags&flagColour != 0 }
func (h *header) half() bool   { return h.flags&flagHalf != 0 }
func (h *header) raw() bool    { return h.flags&flagRaw != 0 }
func (h *header) shared() bool { return h.flags&flagShared != 0 }

func (h *header) channels() int {
	if h.colour() {
		return 3
	}
	return 1
}

// planeSizes lists width and height of the planes of a slice.
func (h *header) planeSizes() [][2]int {
	s := [][2]int{{h.w, h.h}}
	if h.colour() {
		w, l := h.w, h.h
		if h.half() {
			w, l = (w+1)/2, (l+1)/2
		}
		s = append(s, [2]int{w, l}, [2]int{w, l})
	}
	return s
}

// marshal writes the header for sections of the sizes in h.
func (h *header) marshal() []byte {
	le := binary.LittleEndian
	var ext []byte
	if h.shared() {
		hash, err := hex.DecodeString(h.codebook)
		if err != nil {
			panic("vq: codebook hash " + h.codebook)
		}
		ext = append(ext, tagCodebook, byte(len(hash)))
		ext = append(ext, hash...)
	}
	if h.spacing != [3]float64{} {
		ext = append(ext, tagSpacing, 24)
		for _, v := range h.spacing {
			ext = le.AppendUint64(ext, math.Float64bits(v))
		}
	}
	out := make([]byte, 0, headerSize+len(ext))
	out = append(out, signature...)
	out = append(out, formatVersion, h.flags, byte(h.block.p), byte(h.block.q))
	out = le.AppendUint32(out, uint32(h.w))
	out = le.AppendUint32(out, uint32(h.h))
	out = le.AppendUint32(out, uint32(h.d))
	out = le.AppendUint16(out, uint16(h.n))
	out = le.AppendUint16(out, uint16(h.chroma))
	out = le.AppendUint32(out, uint32(len(ext)))
	out = le.AppendUint32(out, uint32(h.bookSize))
	out = le.AppendUint64(out, uint64(h.tableSize))
	out = le.AppendUint32(out, checksum(out, ext))
	return append(out, ext...)
}

// parseHeader reads and checks the header of a whole file: nothing in it may ask
// for more than the file can hold.
func parseHeader(data []byte) (*header, error) {
	le := binary.LittleEndian
	if len(data) < len(signature) || string(data[:8]) != signature {
		return nil, codec.Malformedf("vq: not a vq file")
	}
	if len(data) < headerSize {
		return nil, codec.Malformedf("vq: file of %d bytes is shorter than its header", len(data))
	}
	if data[8] != formatVersion {
		return nil, codec.Unsupportedf("vq: file of version %d; this program reads %d", data[8], formatVersion)
	}
	extSize := int64(le.Uint32(data[28:]))
	bookSize := int64(le.Uint32(data[32:]))
	tableSize := le.Uint64(data[36:])
	if extSize > int64(len(data)-headerSize) {
		return nil, codec.Malformedf("vq: extension of %d bytes in a file of %d", extSize, len(data))
	}
	ext := data[headerSize : headerSize+extSize]
	if le.Uint32(data[44:]) != checksum(data[:44], ext) {
		return nil, codec.Malformedf("vq: the header's checksum is wrong")
	}
	h := &header{
		flags: data[9], block: shape{int(data[10]), int(data[11])},
		n: int(le.Uint16(data[24:])), chroma: int(le.Uint16(data[26:])),
		bookSize: int(bookSize), sectionsStart: headerSize + len(ext),
	}
	if h.flags&^flagsKnown != 0 {
		return nil, codec.Unsupportedf("vq: flags %#x are not known", h.flags)
	}
	if _, ok := shapes[h.block.String()]; !ok {
		return nil, codec.Unsupportedf("vq: blocks of %s are not known", h.block)
	}
	w, l, d := le.Uint32(data[12:]), le.Uint32(data[16:]), le.Uint32(data[20:])
	if min(w, l, d) < 1 || max(w, l, d) > maxSide {
		return nil, codec.Malformedf("vq: picture of %d x %d x %d", w, l, d)
	}
	h.w, h.h, h.d = int(w), int(l), int(d)
	if overSamples(h.w, h.h, h.d, h.channels()) {
		return nil, codec.Malformedf("vq: picture of %d x %d x %d with %d channels is over the limit of %d samples", w, l, d, h.channels(), maxSamples)
	}
	if h.half() && !h.colour() || h.n < 1 || h.n > maxCodewords || h.chroma > maxCodewords || h.colour() != (h.chroma > 0) {
		return nil, codec.Malformedf("vq: %d and %d codewords with flags %#x", h.n, h.chroma, h.flags)
	}
	if err := h.parseExtension(ext); err != nil {
		return nil, err
	}
	if h.shared() != (h.codebook != "") || h.shared() && h.bookSize != 0 {
		return nil, codec.Malformedf("vq: codebook both in the file and shared, or neither")
	}
	if err := h.checkCodewords(); err != nil {
		return nil, err
	}
	left := int64(len(data)) - int64(h.sectionsStart) - 8
	if left < 0 || tableSize > uint64(left) || bookSize+int64(tableSize) != left {
		return nil, codec.Malformedf("vq: sections of %d and %d bytes in a file of %d", bookSize, tableSize, len(data))
	}
	h.tableSize = int(tableSize)
	if least := h.leastTable(); int64(h.tableSize) < least {
		return nil, codec.Malformedf("vq: index table of %d bytes, at least %d for this picture", h.tableSize, least)
	}
	return h, nil
}

// checkCodewords limits an image's own codebooks to the number of its blocks, which
// is what bounds the memory that a small file can ask for.
func (h *header) checkCodewords() error {
	if h.shared() {
		return nil
	}
	for i, s := range h.planeSizes() {
		blocks := int64(h.block.grid(s[0], s[1]).blocks()) * int64(h.d)
		if i > 0 {
			blocks *= 2 // Co and Cg
		}
		if n := h.codewords(i); int64(n) > blocks {
			return codec.Malformedf("vq: %d codewords for %d blocks", n, blocks)
		}
	}
	return nil
}

// overSamples reports whether a shape exceeds maxSamples; each side is at most
// maxSide.
func overSamples(w, h, d, channels int) bool {
	a := int64(w) * int64(h)
	return a > maxSamples || a*int64(d) > maxSamples || a*int64(d)*int64(channels) > maxSamples
}

// leastTable is the least size of the index section: its exact size when plain, and
// otherwise the length and the four last bytes of every segment.
func (h *header) leastTable() int64 {
	var n int64
	for i, s := range h.planeSizes() {
		g := h.block.grid(s[0], s[1])
		if h.raw() {
			n += rawSize(g, h.codewords(i))
		} else {
			n += g.segmentCount() * (4 + rangeTail)
		}
	}
	return n * int64(h.d)
}

// codewords is the size of the codebook of plane i.
func (h *header) codewords(i int) int {
	if i == 0 {
		return h.n
	}
	return h.chroma
}

func (h *header) parseExtension(ext []byte) error {
	last := -1
	for len(ext) > 0 {
		if len(ext) < 2 || len(ext) < 2+int(ext[1]) {
			return codec.Malformedf("vq: header extension is cut")
		}
		tag, value := ext[0], ext[2:2+int(ext[1])]
		if int(tag) <= last {
			return codec.Malformedf("vq: header extension %#x is out of order", tag)
		}
		last = int(tag)
		switch {
		case tag == tagCodebook && len(value) == 32:
			h.codebook = hex.EncodeToString(value)
		case tag == tagSpacing && len(value) == 24:
			for i := range h.spacing {
				v := math.Float64frombits(binary.LittleEndian.Uint64(value[8*i:]))
				if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					return codec.Malformedf("vq: spacing %v", v)
				}
				h.spacing[i] = v
			}
		case tag == tagCodebook || tag == tagSpacing:
			return codec.Malformedf("vq: header extension %#x of %d bytes", tag, len(value))
		case tag < 0x80:
			return codec.Unsupportedf("vq: header extension %#x is not known", tag)
		}
		ext = ext[2+len(value):]
	}
	return nil
}

// newHeader describes m and its options, without the sizes of the sections.
func newHeader(m *raster.Image, o *Options) *header {
	h := &header{block: o.block, w: m.Width, h: m.Height, d: m.Depth}
	if m.Channels == 3 {
		h.flags |= flagColour
		if o.half {
			h.flags |= flagHalf
		}
	}
	if o.raw {
		h.flags |= flagRaw
	}
	if m.Frames {
		h.flags |= flagFrames
	}
	if o.books != nil {
		h.flags |= flagShared
		h.codebook = o.hash
	}
	for i, v := range m.Meta.Spacing {
		if v > 0 && !math.IsInf(v, 0) {
			h.spacing[i] = v
		}
	}
	return h
}
