package pcwt_test

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/pelmill/pelmill/raster"
)

// The reference decoder reads profile 1 and stored files as README.md says: sample by
// sample, without a table or a loop that is there for speed, and without code of this
// package. Of the repository it takes the data of the constants alone.

var errReference = errors.New("the file is not as its page says")

// reader takes numbers from a file's bytes.
type reader struct{ data []byte }

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.data) {
		panic(errReference)
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) u8() int  { return int(r.bytes(1)[0]) }
func (r *reader) u16() int { return int(binary.LittleEndian.Uint16(r.bytes(2))) }
func (r *reader) u32() int { return int(binary.LittleEndian.Uint32(r.bytes(4))) }
func (r *reader) u64() int { return int(binary.LittleEndian.Uint64(r.bytes(8))) }

func (r *reader) leb128() int {
	v, shift := 0, 0
	for {
		b := r.u8()
		v |= b & 127 << shift
		if shift += 7; b < 128 {
			return v
		}
	}
}

// bitReader takes bits from bytes, the most significant one first.
type bitReader struct {
	data []byte
	at   int
}

func (r *bitReader) bits(n int) int {
	v := 0
	for range n {
		if r.at/8 >= len(r.data) {
			panic(errReference)
		}
		v = v<<1 | int(r.data[r.at/8]>>(7-r.at%8))&1
		r.at++
	}
	return v
}

func (r *bitReader) expGolomb(k int) int {
	zeros := 0
	for r.bits(1) == 0 {
		zeros++
	}
	u := (1<<(zeros+k) | r.bits(zeros+k)) - 1<<k
	if u&1 == 1 {
		return (u + 1) / 2
	}
	return -u / 2
}

// coded is how a plane of a class of slices is coded.
type coded struct {
	wavelet, earlier int
	set              *refSet
	offsets          [9]int
}

type refHeader struct {
	signed, frames, rct, fast, stored         bool
	channels, width, height, slices, bits     int
	levels, tile, lanes, zLevels, qmin, bound int
	classes                                   [][]coded // by class of slices and plane
	sections                                  [][]byte
	sum                                       uint32
}

// referenceDecode decodes a file of profile 1 or a stored one.
func referenceDecode(file []byte) (m *raster.Image, err error) {
	defer func() {
		if v := recover(); v != nil {
			m, err = nil, fmt.Errorf("%w: %v", errReference, v)
		}
	}()
	h := readReferenceHeader(file)
	shape := raster.Shape{Width: h.width, Height: h.height, Depth: h.slices, Channels: h.channels, Bits: h.bits, Signed: h.signed, Frames: h.frames}
	m = raster.Make(shape)
	set := func(i, v int) {
		if h.bits <= 8 {
			m.Pix[i] = byte(v)
			return
		}
		binary.LittleEndian.PutUint16(m.Pix[2*i:], uint16(v))
	}
	if h.stored {
		for z, section := range h.sections {
			r := bitReader{data: section}
			for i := range shape.Samples() / h.slices {
				v := r.bits(h.bits)
				if h.signed && v>>(h.bits-1) == 1 {
					v -= 1 << h.bits
				}
				set(z*shape.Samples()/h.slices+i, v)
			}
		}
	} else {
		low, high := 0, 1<<h.bits-1
		if h.signed {
			low, high = -1<<(h.bits-1), 1<<(h.bits-1)-1
		}
		step := 2*h.bound + 1
		middle, top := ((high-low)/step+1)/2, (high-low+h.bound)/step
		for c, plane := range h.planes() {
			for i, x := range plane {
				index := min(max(x+middle, 0), top)
				set(i*h.channels+c, min(low+index*step, high))
			}
		}
	}
	sum := crc32.Checksum(m.Pix, crc32.MakeTable(crc32.Castagnoli))
	if h.qmin > 0 {
		sum = crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), file[binary.LittleEndian.Uint32(file[28:]):])
	}
	if sum != h.sum {
		return nil, fmt.Errorf("%w: CRC of the samples", errReference)
	}
	return m, nil
}

func readReferenceHeader(file []byte) *refHeader {
	r := &reader{file}
	h := &refHeader{}
	if string(r.bytes(4)) != "PCWT" || r.u8() != 1 || r.u8() != 1 {
		panic("not version 1, profile 1")
	}
	flags := r.u8()
	h.signed, h.frames, h.rct, h.fast, h.stored = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0, flags&16 != 0
	h.channels, h.width, h.height, h.slices = r.u8(), r.u32(), r.u32(), r.u32()
	h.bits, h.levels, h.tile, h.lanes = r.u8(), r.u8(), 1<<r.u8(), 1<<r.u8()
	h.zLevels, h.qmin, h.bound = r.u8(), r.u8(), r.u16()
	before := r.u32()
	if r.u64() != len(file) {
		panic("length of the file")
	}
	h.sum = uint32(r.u32())
	if crc32.Checksum(file[:before-4], crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(file[before-4:]) {
		panic("CRC of the header")
	}
	r.bytes(r.u32()) // attributes
	sections := h.slices
	if !h.stored {
		h.readParameters(r)
		sections *= 1 + h.levels
	}
	at := before
	for range sections {
		n := r.leb128()
		h.sections = append(h.sections, file[at:at+n])
		at += n
	}
	if at != len(file) || len(file)-len(r.data) != before-4 {
		panic("lengths of the sections")
	}
	return h
}

func (h *refHeader) readParameters(r *reader) {
	type choice struct{ class, plane, constants int } // made when the own sets are known
	var choices []choice
	for class := range h.zLevels + 1 {
		h.classes = append(h.classes, make([]coded, h.channels))
		for plane := range h.channels {
			c := &h.classes[class][plane]
			kind := r.u8()
			c.wavelet, c.earlier = kind&3, kind>>2
			choices = append(choices, choice{class, plane, r.u8()})
			for i := range c.offsets {
				c.offsets[i] = int(int8(r.u8()))
			}
		}
	}
	sets := map[int]*refSet{}
	for i, s := range formatSets(h.fast) {
		sets[i] = s
	}
	for i := range r.u8() {
		sets[16+i] = readOwnSet(r.bytes(r.u32()), h.fast, sets[0])
	}
	for _, c := range choices {
		h.classes[c.class][c.plane].set = sets[c.constants]
	}
}

// refSet is what README.md calls constants: weights by key, and tables by fraction and q.
type refSet struct {
	thresholds [2]int16
	prediction [2430][16]int16
	scale      [180][16]int16
	bias       [180]int32
	tables     [4][44][88]uint16
}

//go:embed internal/constants/format.bin
var formatData []byte

// formatSets are the three sets of the format.
func formatSets(fast bool) (sets [3]*refSet) {
	data := flate.NewReader(bytes.NewReader(formatData))
	for i := range 6 {
		s := new(refSet)
		parts := []any{&s.thresholds, &s.prediction, &s.scale, &s.bias, &s.tables}
		if i >= 3 {
			parts = []any{&s.thresholds, &s.scale, &s.bias, &s.tables}
		}
		for _, part := range parts {
			if err := binary.Read(data, binary.LittleEndian, part); err != nil {
				panic(err)
			}
		}
		if fast == (i >= 3) {
			sets[i%3] = s
		}
	}
	if _, err := data.Read(make([]byte, 1)); err != io.EOF {
		panic("more constants than sets")
	}
	return sets
}

// readOwnSet reads the constants that a file brings along.
func readOwnSet(data []byte, fast bool, base *refSet) *refSet {
	r := bitReader{data: data}
	s := new(refSet)
	form := r.bits(8)
	for i := range s.thresholds {
		s.thresholds[i] = int16(r.bits(15))
	}
	if !fast {
		shift, order := r.bits(4), r.bits(4)
		for key := range 54 {
			// The 45 textures are (direction*3 + diagonal)*3 + activity.
			each := 45
			if form&1 != 0 {
				each = 1
			} else if form&2 != 0 {
				each = 9
			}
			for first := 0; first < 45; first += each {
				var weights [16]int16
				for i := range weights {
					weights[i] = int16(r.expGolomb(order) << shift)
				}
				for i := range each {
					s.prediction[key*45+first+i] = weights
				}
			}
		}
	}
	shift, order := r.bits(4), r.bits(4)
	for key := range 36 {
		each := 5
		if form&4 != 0 {
			each = 1
		}
		for first := 0; first < 5; first += each {
			var weights [16]int16
			for i := range weights {
				weights[i] = int16(r.expGolomb(order) << shift)
			}
			bias := int32(r.expGolomb(10) << shift)
			for i := range each {
				s.scale[key*5+first+i], s.bias[key*5+first+i] = weights, bias
			}
		}
	}
	for fraction := range 4 {
		for q := range 44 {
			switch {
			case fraction > 0 && form&8 == 0:
				s.tables[fraction][q] = s.tables[0][q]
			case r.bits(1) == 0:
				s.tables[fraction][q] = base.tables[fraction][q]
			default:
				s.tables[fraction][q] = readFrequencies(&r)
			}
		}
	}
	return s
}

func readFrequencies(r *bitReader) (table [88]uint16) {
	var g, weight [88]int
	n, sum := r.bits(7), 0
	for t := range n {
		if t >= 2 {
			g[t] = g[t-2]
		}
		g[t] += r.expGolomb(1)
		if g[t] > 0 {
			weight[t] = [4]int{16384, 19484, 23170, 27554}[g[t]&3] << (g[t] >> 2)
		}
		sum += weight[t]
	}
	rest, most := 16384, 0
	for t := range table {
		hi, lo := bits.Mul64(uint64(weight[t]), 16384-88)
		share := uint64(0)
		if sum > 0 {
			share, _ = bits.Div64(hi, lo, uint64(sum))
		}
		table[t] = uint16(1 + share)
		rest -= int(table[t])
		if table[t] > table[most] {
			most = t
		}
	}
	table[most] += uint16(rest)
	return table
}
