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
	sections, n := l.Sections(len(planes), min(reduce+1, info.Levels))
	groups, err := info.Groups(data, n, reduce == 0)
	if err != nil {
		return err
	}
	trees := make([]*Tree, len(planes))
	for i := range trees {
		trees[i] = NewTree(l)
		trees[i].Qmax = int8(info.Qmax[i])
	}
	if err := decodeGroups(c, trees, sections, data, groups); err != nil {
		return err
	}
	c.Each(len(planes), func(i int) { trees[i].inverse(c, planes[i], reduce) })
	return nil
}

// Group is the place of a group's bits in coded planes.
type Group struct {
	At   int // first byte
	Bits int
}

// Groups finds the first n groups by their lengths. whole says that nothing may follow them.
func (info *Info) Groups(data []byte, n int, whole bool) ([]Group, error) {
	at := info.size
	if n > (len(data)-at)/lengthBytes {
		return nil, fmt.Errorf("wavelet trees of %d groups in %d bytes", n, len(data))
	}
	most := uint32(info.GroupRows*info.GroupColumns) * mostElementBits
	groups := make([]Group, n)
	for i := range groups {
		if len(data)-at < lengthBytes {
			return nil, fmt.Errorf("wavelet trees end before group %d of %d", i, n)
		}
		length := binary.LittleEndian.Uint32(data[at:])
		at += lengthBytes
		if length > most {
			return nil, fmt.Errorf("group %d has %d bits, more than its elements can take", i, length)
		}
		groups[i] = Group{at, int(length)}
		if at += int(length+7) / 8; at > len(data) {
			return nil, fmt.Errorf("wavelet trees end inside group %d of %d", i, n)
		}
	}
	if whole && at < len(data) {
		return nil, fmt.Errorf("%d bytes follow the last group", len(data)-at)
	}
	return groups, nil
}

// mostElementBits is what an element takes at most: its MQD, and four magnitudes with signs.
const mostElementBits = MaxQmax + 1 + 4*(MaxQmax+2)

// decodeGroups decodes level after level: those of a level need the MQDs of the level above only.
func decodeGroups(c *pool.Pool, trees []*Tree, sections []Section, data []byte, groups []Group) error {
	l := trees[0].Layout
	var mu sync.Mutex
	var failure error
	for len(sections) > 0 && failure == nil {
		level, n := l.Bands[sections[0].Band].Level, 0
		for n < len(sections) && l.Bands[sections[n].Band].Level == level {
			n++
		}
		first, end := sections[0].First, len(groups)
		if n < len(sections) {
			end = sections[n].First
		}
		here := sections[:n]
		c.Each(end-first, func(i int) {
			i += first
			s := sectionOf(here, i)
			if !trees[s.Plane].decodeGroup(s.Band, i-s.First, data, groups[i]) {
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
func (t *Tree) decodeGroup(band, group int, data []byte, g Group) bool {
	b := &t.Layout.Bands[band]
	s := t.Layout.span(b, group)
	zeroSigns := t.Layout.ZeroSigns
	stride := 2 * b.Columns
	r := bitReader{in: data[g.At:][:(g.Bits+7)/8]}
	var parents []int8
	for y := s.y0; y < s.y1; y++ {
		mqd := t.levels(b)[y*b.Columns:][:b.Columns]
		upper := t.Coefficients[b.At+2*y*stride:][:stride]
		lower := t.Coefficients[b.At+(2*y+1)*stride:][:stride]
		if b.Parent >= 0 {
			parent := &t.Layout.Bands[b.Parent]
			parents = t.levels(parent)[y/2*parent.Columns:][:parent.Columns]
		}
		for x := s.x0; x < s.x1; x++ {
			parent := int(t.Qmax)
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
		if r.taken > g.Bits {
			return false
		}
	}
	return r.taken == g.Bits
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
