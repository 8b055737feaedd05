package pcwt

import (
	"hash/crc32"
	"math"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/tile"
	"github.com/pelmill/pelmill/raster"
)

// Flags of the header.
const (
	flagSigned = 1 << iota
	flagFrames
	flagRCT
	flagFast
	flagStored // samples as they are
	flagsKnown = 1<<iota - 1
)

const (
	headerSize = 44
	maxNear    = 32767
	maxQmin    = 8
	maxZLevels = 2
	maxOwnSets = 64
	ownSets    = 16 // the number of the first own set
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is what stands before the sections of a file.
type header struct {
	profile  int
	flags    byte
	shape    raster.Shape
	levels   int
	tileLog  int
	laneLog  int
	zLevels  int
	qmin     int
	near     int
	checksum uint32 // of the samples
	meta     raster.Meta
	planes   []planeParams // by class of slices, then plane
	own      [][]byte      // sets of the file
	sections []int         // lengths

	start int // of the sections
	size  int // of the file
}

// planeParams are those of a plane in one class of slices.
type planeParams struct {
	wavelet  int
	earlier  int // number of earlier planes that it looks at
	constant int
	offsets  [constants.LevelClasses * constants.Bands]int8
	tables   *tile.Tables
	count    func(class int, entries []uint32) // as that of tile.Params
}

const planeParamsSize = 2 + constants.LevelClasses*constants.Bands

func (h *header) fast() bool   { return h.flags&flagFast != 0 }
func (h *header) rct() bool    { return h.flags&flagRCT != 0 }
func (h *header) stored() bool { return h.flags&flagStored != 0 }
func (h *header) side() int    { return 1 << h.tileLog }

// sectionCount is the number of sections.
func (h *header) sectionCount() int {
	if h.profile == 0 || h.stored() {
		return h.shape.Depth
	}
	return h.shape.Depth * (h.levels + 1)
}

// section is the number of the section of a level of a stored slice: with level 0 that of the last LL.
func (h *header) section(level, slice int) int {
	if level == 0 {
		return slice
	}
	return (1+h.levels-level)*h.shape.Depth + slice
}

// class is that of a stored slice: what is low along z comes first, then the high slices of the last level and so on.
func (h *header) class(slice int) int {
	class := 0
	for class < h.zLevels && slice >= lowSlices(h.shape.Depth, h.zLevels-class) {
		class++
	}
	return class
}

// params are those of a plane of a stored slice.
func (h *header) params(slice, plane int) *planeParams {
	return &h.planes[h.class(slice)*h.shape.Channels+plane]
}

// lowSlices is the number of slices that levels along z leave low.
func lowSlices(depth, levels int) int {
	for range levels {
		depth = (depth + 1) / 2
	}
	return depth
}

// levelsOf is how many levels an image of a size has.
func levelsOf(w, h int) (n int) {
	for w, h = (w+1)/2, (h+1)/2; min(w, h) >= 6; w, h = (w+1)/2, (h+1)/2 {
		n++
	}
	return n
}

// append writes all that comes before the sections, whose lengths it takes from h.
func (h *header) append() []byte {
	s := &h.shape
	data := append([]byte("PCWT"), 1, byte(h.profile), h.flags, byte(s.Channels))
	for _, v := range []int{s.Width, s.Height, s.Depth} {
		data = little.AppendUint32(data, uint32(v))
	}
	data = append(data, byte(s.Bits), byte(h.levels), byte(h.tileLog), byte(h.laneLog), byte(h.zLevels), byte(h.qmin))
	data = little.AppendUint16(data, uint16(h.near))
	data = append(data, make([]byte, 12)...)
	data = little.AppendUint32(data, h.checksum)
	data = appendAttributes(data, &h.meta)
	if h.profile == 1 && !h.stored() {
		for _, p := range h.planes {
			data = append(data, byte(p.wavelet+4*p.earlier), byte(p.constant))
			for _, v := range p.offsets {
				data = append(data, byte(v))
			}
		}
		data = append(data, byte(len(h.own)))
		for _, set := range h.own {
			data = append(little.AppendUint32(data, uint32(len(set))), set...)
		}
	}
	all := 0
	for _, n := range h.sections {
		data = appendLEB(data, uint64(n))
		all += n
	}
	h.start = len(data) + 4
	h.size = h.start + all
	little.PutUint32(data[28:], uint32(h.start))
	little.PutUint64(data[32:], uint64(h.size))
	return little.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

func appendLEB(data []byte, v uint64) []byte {
	for ; v >= 0x80; v >>= 7 {
		data = append(data, byte(v)|0x80)
	}
	return append(data, byte(v))
}

// readLEB reads a number and returns how many bytes it took; 0 if it is cut short or not the shortest.
func readLEB(data []byte) (v uint64, n int) {
	for i, b := range data {
		if i > 8 {
			break
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if b == 0 && i > 0 {
				break
			}
			return v, i + 1
		}
	}
	return 0, 0
}

// readHeader reads and checks all that comes before the sections. The sections themselves may be missing.
func readHeader(file []byte) (*header, error) {
	if len(file) < headerSize || string(file[:4]) != "PCWT" {
		return nil, codec.Malformedf("pcwt: not a PCWT file")
	}
	if file[4] != 1 {
		return nil, codec.Unsupportedf("pcwt: version %d of the format; this program reads version 1", file[4])
	}
	start := int64(little.Uint32(file[28:]))
	if start < headerSize+4+4 || start > int64(len(file)) {
		return nil, codec.Malformedf("pcwt: the file is cut short in its headers")
	}
	rest := file[:start-4]
	if crc32.Checksum(rest, castagnoli) != little.Uint32(file[start-4:]) {
		return nil, codec.Malformedf("pcwt: the checksum of the headers is wrong")
	}
	h := &header{
		profile: int(file[5]),
		flags:   file[6],
		shape: raster.Shape{
			Channels: int(file[7]), Width: int(little.Uint32(file[8:])), Height: int(little.Uint32(file[12:])), Depth: int(little.Uint32(file[16:])),
			Bits: int(file[20]), Signed: file[6]&flagSigned != 0, Frames: file[6]&flagFrames != 0,
		},
		levels: int(file[21]), tileLog: int(file[22]), laneLog: int(file[23]),
		zLevels: int(file[24]), qmin: int(file[25]), near: int(little.Uint16(file[26:])),
		checksum: little.Uint32(file[40:]),
		start:    int(start),
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	rest = rest[headerSize:]
	n := little.Uint32(rest)
	if uint64(n) > uint64(len(rest)-4) {
		return nil, codec.Malformedf("pcwt: attributes are cut short")
	}
	var err error
	if h.meta, err = readAttributes(rest[4 : 4+n]); err != nil {
		return nil, err
	}
	rest = rest[4+n:]
	if h.profile == 1 && !h.stored() {
		if rest, err = h.readParams(rest); err != nil {
			return nil, err
		}
	}
	if err := h.readDirectory(rest); err != nil {
		return nil, err
	}
	if size := little.Uint64(file[32:]); size != uint64(h.size) {
		return nil, codec.Malformedf("pcwt: the header says %d bytes, and the sections end at %d", size, h.size)
	}
	return h, nil
}

// check checks the fields of fixed place.
func (h *header) check() error {
	s := h.shape
	if err := s.Check(); err != nil {
		return codec.Malformedf("pcwt: %v", err)
	}
	switch {
	case h.profile > 1:
		return codec.Unsupportedf("pcwt: profile %d", h.profile)
	case h.flags&^flagsKnown != 0:
		return codec.Unsupportedf("pcwt: flags %#x", h.flags)
	case max(s.Width, s.Height) > maxSide || int64(s.Width)*int64(s.Height) > math.MaxInt32 || s.Depth > maxSide:
		return codec.Malformedf("pcwt: %s is more than the format holds", s)
	case h.rct() && s.Channels < 3:
		return codec.Malformedf("pcwt: a colour transform of %d channels", s.Channels)
	case h.near > maxNear || h.near > 1<<s.Bits-1:
		return codec.Malformedf("pcwt: a bound of %d for %d bits", h.near, s.Bits)
	}
	if h.profile == 0 || h.stored() {
		if h.levels != 0 || h.tileLog != 0 || h.laneLog != 0 || h.zLevels != 0 || h.qmin != 0 || h.fast() ||
			h.stored() && (h.profile != 1 || h.near != 0 || h.rct()) {
			return codec.Malformedf("pcwt: the header has fields that profile %d does not use", h.profile)
		}
		return nil
	}
	switch {
	case h.levels > levelsOf(s.Width, s.Height):
		return codec.Malformedf("pcwt: %d levels of %s", h.levels, s)
	case h.tileLog < 6 || h.tileLog > 8 || h.laneLog > 5:
		return codec.Malformedf("pcwt: tiles of 2^%d with 2^%d lanes", h.tileLog, h.laneLog)
	case h.zLevels > maxZLevels || h.zLevels > 0 && lowSlices(s.Depth, h.zLevels-1) < 2:
		return codec.Malformedf("pcwt: %d levels along %d slices", h.zLevels, s.Depth)
	case h.qmin > maxQmin:
		return codec.Malformedf("pcwt: qmin %d", h.qmin)
	}
	return nil
}

// readParams reads the parameters of profile 1 and returns what follows.
func (h *header) readParams(data []byte) ([]byte, error) {
	short := codec.Malformedf("pcwt: parameters are cut short")
	n := h.shape.Channels * (1 + h.zLevels)
	if len(data) < n*planeParamsSize+1 {
		return nil, short
	}
	h.planes = make([]planeParams, n)
	for i := range h.planes {
		p, b := &h.planes[i], data[i*planeParamsSize:]
		p.wavelet, p.earlier, p.constant = int(b[0]&3), int(b[0]>>2), int(b[1])
		if p.wavelet >= len(wavelets) || p.earlier > 2 || p.earlier > i%h.shape.Channels {
			return nil, codec.Malformedf("pcwt: wavelet %d and %d earlier planes for plane %d", p.wavelet, p.earlier, i%h.shape.Channels)
		}
		for k := range p.offsets {
			p.offsets[k] = int8(b[2+k])
		}
	}
	data = data[n*planeParamsSize:]
	count := int(data[0])
	data = data[1:]
	if count > maxOwnSets {
		return nil, codec.Malformedf("pcwt: %d sets of constants", count)
	}
	for range count {
		if len(data) < 4 || uint64(little.Uint32(data)) > uint64(len(data)-4) {
			return nil, short
		}
		n := little.Uint32(data)
		h.own = append(h.own, data[4:4+n])
		data = data[4+n:]
	}
	return data, h.setTables()
}

// readDirectory reads the lengths of sections.
func (h *header) readDirectory(data []byte) error {
	if len(data) < h.sectionCount() {
		return codec.Malformedf("pcwt: the directory is cut short")
	}
	h.sections = make([]int, h.sectionCount())
	size := uint64(h.start)
	for i := range h.sections {
		v, n := readLEB(data)
		if n == 0 || v > math.MaxInt32 {
			return codec.Malformedf("pcwt: the directory is damaged")
		}
		if least := h.leastSection(i); v < uint64(least) {
			return codec.Malformedf("pcwt: a section of %d bytes for at least %d", v, least)
		}
		h.sections[i] = int(v)
		size += v
		data = data[n:]
	}
	if len(data) > 0 {
		return codec.Malformedf("pcwt: %d bytes after the directory", len(data))
	}
	h.size = int(size)
	return nil
}

// leastSection is the number of bytes that section i has at least: one for each tile.
func (h *header) leastSection(i int) int {
	s := &h.shape
	switch {
	case h.stored():
		return (s.Width*s.Height*s.Channels*s.Bits + 7) / 8
	case h.profile == 0:
		return 4
	case i < s.Depth:
		return 5 * s.Channels
	}
	columns, rows := h.tiles(h.levels + 1 - i/s.Depth)
	return columns * rows * s.Channels
}

// tiles is the number of columns and rows of tiles of a level.
func (h *header) tiles(level int) (columns, rows int) {
	side := h.side()
	return (reduced(h.shape.Width, level) + side - 1) / side, (reduced(h.shape.Height, level) + side - 1) / side
}

// reduced is n samples at 1/2^k.
func reduced(n, k int) int { return (n + 1<<k - 1) >> k }

// sectionBytes returns section i, or an error if the file lacks it.
func (h *header) sectionBytes(file []byte, i int) ([]byte, error) {
	at := h.start
	for _, n := range h.sections[:i] {
		at += n
	}
	if at+h.sections[i] > len(file) {
		return nil, codec.Malformedf("pcwt: the file is cut short")
	}
	return file[at : at+h.sections[i]], nil
}

// setTables finds the tables of planes.
func (h *header) setTables() error {
	own := make([]*tile.Tables, len(h.own))
	for i, data := range h.own {
		set, err := constants.Read(data, h.fast())
		if err != nil {
			return codec.Malformedf("pcwt: %v", err)
		}
		own[i] = tile.NewTables(set)
	}
	for i := range h.planes {
		p := &h.planes[i]
		switch {
		case p.constant < constants.Variants:
			p.tables = tile.FormatTables(p.constant, h.fast())
		case p.constant >= ownSets && p.constant < ownSets+len(own):
			p.tables = own[p.constant-ownSets]
		default:
			return codec.Malformedf("pcwt: there are no constants %d", p.constant)
		}
	}
	return nil
}
