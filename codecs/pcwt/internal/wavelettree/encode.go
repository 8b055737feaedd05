package wavelettree

import (
	"encoding/binary"
	"sort"

	"github.com/pelmill/pelmill/codecs/pool"
)

// encodeGroups codes the groups of all planes, in the order of the sections, each with its length before it.
func encodeGroups(c *pool.Pool, trees []*Tree, p Params) [][]byte {
	l := trees[0].Layout
	sections, n := l.Sections(len(trees), 1)
	groups := make([][]byte, n)
	const together = 4 // groups that a goroutine codes at a time
	c.Spans(n, together, func(lo, hi int) {
		var w bitWriter
		for i := lo; i < hi; i++ {
			s := sectionOf(sections, i)
			w.reset()
			trees[s.Plane].encodeGroup(&w, s.Band, i-s.First, p.ZeroSigns)
			groups[i] = w.group()
		}
	})
	return groups
}

func sectionOf(sections []Section, group int) Section {
	return sections[sort.Search(len(sections), func(i int) bool { return sections[i].First > group })-1]
}

// encodeGroup codes the elements of a group, row after row (3.5).
func (t *Tree) encodeGroup(w *bitWriter, band, group int, zeroSigns bool) {
	b := &t.Layout.Bands[band]
	s := t.Layout.span(b, group)
	stride := 2 * b.Columns
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
			parent := t.Qmax
			if parents != nil {
				parent = parents[x/2]
			}
			four := [4]int32{upper[2*x], upper[2*x+1], lower[2*x], lower[2*x+1]}
			w.element(int(parent), int(mqd[x]), &four, zeroSigns)
		}
	}
}

// element codes an MQD relative to that of its parent, then the coefficients (3.4.2).
func (w *bitWriter) element(parent, mqd int, four *[4]int32, zeroSigns bool) {
	if mqd < 0 {
		w.put(0, uint(parent+1))
		return
	}
	w.put(1, uint(parent-mqd+1))
	for _, c := range four {
		if c == 0 && !zeroSigns {
			w.put(0, uint(mqd+1))
			continue
		}
		positive := uint32(-c) >> 31
		w.put(magnitude(c)<<1|positive, uint(mqd+2))
	}
}

// bitWriter fills bytes from their most significant bit on, behind room for a group's length.
type bitWriter struct {
	out   []byte
	held  uint64 // bits not yet written, the last one lowest
	count uint   // of them, below 32
}

const lengthBytes = 4

func (w *bitWriter) reset() {
	w.out = append(w.out[:0], make([]byte, lengthBytes)...)
	w.held, w.count = 0, 0
}

// put appends the n lowest bits of v, whose others are zero; n is at most 32.
func (w *bitWriter) put(v uint32, n uint) {
	w.held = w.held<<n | uint64(v)
	w.count += n
	if w.count >= 32 {
		w.count -= 32
		w.out = binary.BigEndian.AppendUint32(w.out, uint32(w.held>>w.count))
	}
}

// group is a copy of what was written since reset, with the length in bits.
func (w *bitWriter) group() []byte {
	total := 8*(len(w.out)-lengthBytes) + int(w.count)
	var last [4]byte
	binary.BigEndian.PutUint32(last[:], uint32(w.held<<(32-w.count)))
	n := len(w.out) + int(w.count+7)/8
	out := append(append(make([]byte, 0, len(w.out)+len(last)), w.out...), last[:]...)[:n]
	binary.LittleEndian.PutUint32(out, uint32(total))
	return out
}
