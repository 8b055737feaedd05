package packet

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// Coded fills the style, the bit-planes and the segments of dst for block k of a subband
// that has the given style and bit-planes, and says whether there is anything to decode.
// Segments are slices of the file where they lie in one packet; others are put together
// in buffer, which comes back for the next block.
func (band *Band) Coded(k int, style codestream.BlockStyle, planes int, dst *codestream.Block, buffer []byte) (bool, []byte, error) {
	b := &band.Blocks[k]
	dst.Segments, dst.Planes, dst.ZeroPlanes = dst.Segments[:0], planes, b.zeroPlanes
	switch {
	case b.phase == placeholders || len(b.parts) == 0:
		return false, buffer, nil
	case b.phase == highThroughput:
		dst.Style = style &^ codestream.Mixed
		buffer = b.lastSet(dst, buffer[:0])
	default:
		dst.Style = style &^ (codestream.HT | codestream.Mixed)
		buffer = b.segments(dst, buffer[:0])
	}
	return true, buffer, check(dst)
}

// check holds the passes against the bit-planes. Those of Part 1 behind the last bit-plane,
// which some encoders write, are left out.
func check(b *codestream.Block) error {
	planes := b.Planes - b.ZeroPlanes
	switch {
	case planes > codestream.MaxPlanes:
		return codec.Unsupportedf("jpeg2000: a code-block of %d bit-planes; at most %d are decoded", planes, codestream.MaxPlanes)
	case planes < 1 || b.Style&codestream.HT != 0 && planes == 1 && b.Passes() > 1:
		return codec.Malformedf("jpeg2000: a code-block of %d bit-planes has %d coding passes", planes, b.Passes())
	case b.Style&codestream.HT == 0:
		b.Segments = limit(b.Segments, 3*planes-2)
	}
	return nil
}

// limit cuts segments down to so many passes.
func limit(segments []codestream.Segment, passes int) []codestream.Segment {
	for i := range segments {
		s := &segments[i]
		if s.Passes = min(s.Passes, passes); s.Passes == 0 {
			return segments[:i]
		}
		passes -= s.Passes
	}
	return segments
}

// segments puts the parts of Part 1 together.
func (b *Block) segments(dst *codestream.Block, buffer []byte) []byte {
	for first := 0; first < len(b.parts); {
		last := first + 1
		for last < len(b.parts) && !b.parts[last].starts {
			last++
		}
		buffer = join(b.parts[first:last], dst, buffer)
		first = last
	}
	return buffer
}

// lastSet takes the last HT set that has bytes: its cleanup pass, and the refinement passes
// that follow it. The sets before it are bit-planes that are missing.
func (b *Block) lastSet(dst *codestream.Block, buffer []byte) []byte {
	first, sets, n := 0, 0, 0
	for i, p := range b.parts {
		n += p.passes
		if cleanup := n - 1; cleanup%3 == 0 && len(p.data) > 0 {
			first, sets = i, cleanup/3
		}
	}
	dst.ZeroPlanes += sets
	dst.Segments = append(dst.Segments, codestream.Segment{Data: b.parts[first].data, Passes: 1})
	last, passes := first+1, 0
	for last < len(b.parts) && passes < 2 {
		passes += b.parts[last].passes
		last++
	}
	if last > first+1 {
		buffer = join(b.parts[first+1:last], dst, buffer)
	}
	return buffer
}

// join appends the segment of parts to dst.
func join(parts []part, dst *codestream.Block, buffer []byte) []byte {
	s := codestream.Segment{Data: parts[0].data, Passes: parts[0].passes}
	if len(parts) > 1 {
		start := len(buffer)
		s.Passes = 0
		for _, p := range parts {
			buffer = append(buffer, p.data...)
			s.Passes += p.passes
		}
		s.Data = buffer[start:len(buffer):len(buffer)]
	}
	dst.Segments = append(dst.Segments, s)
	return buffer
}
