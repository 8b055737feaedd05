package dicom

import (
	"bytes"
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container"
)

// fragment is a fragment of encapsulated pixel data. offset is that of its item from the
// first byte behind the Basic Offset Table (PS3.5 A.4).
type fragment struct {
	data   []byte
	offset uint64
}

// fragments returns the Basic Offset Table and the fragments of the pixel data, whose form the
// walker has checked.
func (f *File) fragments() (table []byte, list []fragment, err error) {
	w := walker{data: f.Set, enc: f.Syntax.Encoding}
	e := f.PixelElement()
	first := -1
	for at := e.Value; ; {
		i, err := w.header(at, e.End)
		if err != nil {
			return nil, nil, err
		}
		if i.Tag == sequenceEnd {
			break
		}
		if first < 0 {
			table, first = f.Set[i.Value:i.End], i.End
		} else {
			list = append(list, fragment{f.Set[i.Value:i.End], uint64(i.Header - first)})
		}
		at = i.End
	}
	if first < 0 {
		return nil, nil, container.Malformed("its encapsulated pixel data have no Basic Offset Table")
	}
	return table, list, nil
}

// Frames returns the codestreams of encapsulated pixel data by frame. A frame of several
// fragments is joined in new memory. Where the offset tables do not say which
// fragments belong together, the markers do with which codestreams begin.
func (f *File) Frames() ([][]byte, error) {
	table, list, err := f.fragments()
	if err != nil {
		return nil, err
	}
	n := f.Image.Frames
	if len(list) < n {
		return nil, container.Malformed("it has %d fragments of pixel data and %d frames", len(list), n)
	}
	starts := startsOf(list, f.tables(table, n))
	if len(list) == n {
		starts = every(n)
	}
	if starts == nil && n == 1 {
		starts = []int{0}
	}
	if starts == nil && f.Syntax.Coding != RLE {
		starts = marked(list)
	}
	switch {
	case len(starts) < n:
		return nil, container.Malformed("it has codestreams for %d frames of %d", len(starts), n)
	case len(starts) > n:
		return nil, leave(ReasonFrames, "it has codestreams for %d frames and says that there are %d", len(starts), n)
	}
	frames := make([][]byte, n)
	for i, first := range starts {
		last := len(list)
		if i+1 < n {
			last = starts[i+1]
		}
		if frames[i] = list[first].data; last-first > 1 {
			var parts [][]byte
			for _, part := range list[first:last] {
				parts = append(parts, part.data)
			}
			frames[i] = bytes.Join(parts, nil)
		}
	}
	return frames, nil
}

// tables returns the offsets of n frames by the Extended Offset Table or by the basic
// one; nil where neither has n entries.
func (f *File) tables(basic []byte, n int) []uint64 {
	o := f.Syntax.Encoding.Order
	var offsets []uint64
	switch extended := f.values[extendedOffsets]; {
	case len(extended) == 8*n:
		for i := range n {
			offsets = append(offsets, o.Uint64(extended[8*i:]))
		}
	case len(basic) == 4*n:
		for i := range n {
			offsets = append(offsets, uint64(o.Uint32(basic[4*i:])))
		}
	}
	return offsets
}

// startsOf returns the fragments at the given offsets; nil where there is an offset of no
// fragment, they do not rise, or the first is not that of the first fragment.
func startsOf(list []fragment, offsets []uint64) []int {
	var starts []int
	at := 0
	for _, offset := range offsets {
		for at < len(list) && list[at].offset < offset {
			at++
		}
		if at == len(list) || list[at].offset != offset || len(starts) == 0 && at > 0 {
			return nil
		}
		starts = append(starts, at)
		at++
	}
	return starts
}

func every(n int) []int {
	starts := make([]int, n)
	for i := range starts {
		starts[i] = i
	}
	return starts
}

// marked returns the fragments that begin with SOI of JPEG, SOC of JPEG 2000 or the
// signature of JP2.
func marked(list []fragment) []int {
	var starts []int
	for i := range list {
		d := list[i].data
		if bytes.HasPrefix(d, []byte{0xff, 0xd8, 0xff}) || bytes.HasPrefix(d, []byte{0xff, 0x4f, 0xff, 0x51}) || bytes.HasPrefix(d, []byte("\x00\x00\x00\x0cjP  ")) {
			starts = append(starts, i)
		}
	}
	if len(starts) > 0 && starts[0] > 0 {
		return nil
	}
	return starts
}

// offsetTables returns the Basic Offset Table for frames of one fragment with the given
// lengths, or, where an offset does not fit it, the Extended Offset Table and its lengths
// (PS3.3 C.7.6.3.1.8), which count no padding.
func offsetTables(lengths []int) (basic, offsets, extended []byte) {
	at := uint64(0)
	for _, n := range lengths {
		basic = binary.LittleEndian.AppendUint32(basic, uint32(at))
		offsets = binary.LittleEndian.AppendUint64(offsets, at)
		extended = binary.LittleEndian.AppendUint64(extended, uint64(n))
		if at > undefined {
			basic = nil
		}
		at += 8 + uint64(n+n&1)
	}
	if len(lengths) > 0 && binary.LittleEndian.Uint64(offsets[len(offsets)-8:]) > undefined {
		return nil, offsets, extended
	}
	return basic, nil, nil
}
