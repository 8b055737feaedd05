package wavelettree

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pool"
)

// Decode is the inverse of Encode. The planes were of width x height; it fills planes of the size that is left after
// the given number of levels (see [Layout.Size]), for which the first part of data suffices. With reduce = 0 data must end with the last
// group.
func Decode(c *pool.Pool, data []byte, width, height int, planes []wavelet.Plane[int32], reduce int) error {
	info, err := Header(data, len(planes))
	if err != nil {
		return err
	}
	if reduce > info.Levels {
		return fmt.Errorf("wavelet trees have %d levels, asked for the samples after %d", info.Levels, reduce)
	}
	l := NewLayout(width, height, info.Params)
	sections, n := l.sections(len(planes), min(reduce+1, info.Levels))
	groups, err := divide(data[info.size:], n, l, reduce == 0)
	if err != nil {
		return err
	}
	trees := make([]*tree, len(planes))
	for i := range trees {
		trees[i] = newTree(l)
		trees[i].qmax = int8(info.Qmax[i])
	}
	if err := decodeGroups(c, trees, sections, groups); err != nil {
		return err
	}
	c.Each(len(planes), func(i int) { trees[i].inverse(c, planes[i], reduce) })
	return nil
}

// codedGroup is the bits of a group.
type codedGroup struct {
	bytes []byte
	bits  int
}

// divide finds n groups by their lengths.
func divide(data []byte, n int, l *Layout, whole bool) ([]codedGroup, error) {
	if n*lengthBytes > len(data) {
		return nil, fmt.Errorf("wavelet trees of %d groups in %d bytes", n, len(data))
	}
	most := uint32(l.GroupRows*l.GroupColumns) * mostElementBits
	groups := make([]codedGroup, n)
	for i := range groups {
		if len(data) < lengthBytes {
			return nil, fmt.Errorf("wavelet trees end before group %d of %d", i, n)
		}
		length := binary.LittleEndian.Uint32(data)
		data = data[lengthBytes:]
		if length > most {
			return nil, fmt.Errorf("group %d has %d bits, more than its elements can take", i, length)
		}
		size := int(length+7) / 8
		if size > len(data) {
			return nil, fmt.Errorf("wavelet trees end inside group %d of %d", i, n)
		}
		groups[i] = codedGroup{data[:size], int(length)}
		data = data[size:]
	}
	if whole && len(data) > 0 {
		return nil, fmt.Errorf("%d bytes follow the last group", len(data))
	}
	return groups, nil
}

// mostElementBits is what an element takes at most: its MQD, and four magnitudes with signs.
const mostElementBits = MaxQmax + 1 + 4*(MaxQmax+2)

// decodeGroups decodes level after level: those of a level need the MQDs of the level above only.
func decodeGroups(c *pool.Pool, trees []*tree, sections []section, groups []codedGroup) error {
	l := trees[0].layout
	var mu sync.Mutex
	var failure error
	for len(sections) > 0 && failure == nil {
		level, n := l.Bands[sections[0].band].Level, 0
		for n < len(sections) && l.Bands[sections[n].band].Level == level {
			n++
		}
		first, end := sections[0].first, len(groups)
		if n < len(sections) {
			end = sections[n].first
		}
		here := sections[:n]
		c.Each(end-first, func(i int) {
			i += first
			s := sectionOf(here, i)
			if !trees[s.plane].decodeGroup(s.band, i-s.first, groups[i]) {
				mu.Lock()
				defer mu.Unlock()
				failure = fmt.Errorf("a group of level %d does not end where its elements do", level)
			}
		})
		sections = sections[n:]
	}
	return failure
}

// decodeGroup says whether the elements take all bits of the group.
func (t *tree) decodeGroup(band, group int, g codedGroup) bool {
	b := &t.layout.Bands[band]
	s := t.layout.span(b, group)
	zeroSigns := t.layout.ZeroSigns
	stride := 2 * b.Columns
	r := bitReader{in: g.bytes}
	var parents []int8
	for y := s.y0; y < s.y1; y++ {
		mqd := t.levels(b)[y*b.Columns:][:b.Columns]
		upper := t.coefficients[b.At+2*y*stride:][:stride]
		lower := t.coefficients[b.At+(2*y+1)*stride:][:stride]
		if b.Parent >= 0 {
			parent := &t.layout.Bands[b.Parent]
			parents = t.levels(parent)[y/2*parent.Columns:][:parent.Columns]
		}
		for x := s.x0; x < s.x1; x++ {
			parent := int(t.qmax)
			if parents != nil {
				parent = int(parents[x/2])
			}
			q := r.level(parent)
			mqd[x] = int8(q)
			if q < 0 {
				continue // coefficients are zero from the start
			}
			upper[2*x] = r.coefficient(uint(q+1), zeroSigns)
			upper[2*x+1] = r.coefficient(uint(q+1), zeroSigns)
			lower[2*x] = r.coefficient(uint(q+1), zeroSigns)
			lower[2*x+1] = r.coefficient(uint(q+1), zeroSigns)
		}
		if r.taken > g.bits {
			return false
		}
	}
	return r.taken == g.bits
}

// bitReader reads bits from the most significant one of a byte on. Behind the end it reads zeros and goes on
// counting.
type bitReader struct {
	in    []byte
	held  uint64 // the next bits, from the highest one on, zeros behind them
	count uint   // valid bits of held
	taken int    // bits read so far
}

// fill provides at least 32 bits.
func (r *bitReader) fill() {
	if len(r.in) >= 4 {
		r.held |= uint64(binary.BigEndian.Uint32(r.in)) << (32 - r.count)
		r.in = r.in[4:]
		r.count += 32
		return
	}
	for ; r.count <= 56; r.count += 8 {
		if len(r.in) > 0 {
			r.held |= uint64(r.in[0]) << (56 - r.count)
			r.in = r.in[1:]
		}
	}
}

func (r *bitReader) skip(n uint) {
	r.held <<= n
	r.count -= n
	r.taken += int(n)
}

// level reads an MQD relative to that of its parent.
func (r *bitReader) level(parent int) int {
	if parent < 0 {
		return -1
	}
	if r.count < 32 {
		r.fill()
	}
	zeros := bits.LeadingZeros64(r.held)
	if zeros > parent {
		r.skip(uint(parent + 1))
		return -1
	}
	r.skip(uint(zeros + 1))
	return parent - zeros
}

// coefficient reads a magnitude of n bits and its sign.
func (r *bitReader) coefficient(n uint, zeroSigns bool) int32 {
	if r.count < 32 {
		r.fill()
	}
	v := int32(r.held >> (64 - n))
	if v == 0 && !zeroSigns {
		r.skip(n)
		return 0
	}
	negative := int32(r.held>>(63-n)&1) - 1
	r.skip(n + 1)
	return (v ^ negative) - negative
}
