package packet

import (
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// phase is what is known of the kind of a code-block's passes.
type phase byte

const (
	partOne        phase = iota // arithmetic coding (Part 1)
	placeholders                // HT style and no byte yet: passes were placeholders, if there were any
	highThroughput              // HT passes, the first cleanup pass has come
)

// maxLblock bounds Lblock: longer lengths than of 31 bits no file has.
const maxLblock = 31

// length is a codeword segment's, or its part's, length in a packet.
type length struct {
	block  *Block
	passes int
	bytes  int
	starts bool
}

// readHeader reads the header of the packet of a layer. Its lengths are those of the
// bytes that follow, in their order.
func (p *Precinct) readHeader(r *bitReader, layer int, style codestream.BlockStyle, lengths []length) ([]length, error) {
	for i := range p.Bands {
		band := &p.Bands[i]
		for k := range band.Blocks {
			b := &band.Blocks[k]
			included := false
			if b.lblock == 0 {
				included = band.inclusion.read(r, k, uint16(layer)+1)
			} else {
				included = r.bit() == 1
			}
			if !included {
				continue
			}
			if b.lblock == 0 {
				if err := band.start(r, k, band.planes, style); err != nil {
					return nil, err
				}
			}
			var err error
			if lengths, err = b.readLengths(r, style, lengths); err != nil {
				return nil, err
			}
		}
		if r.short {
			return nil, codec.Malformedf("jpeg2000: a packet header is cut short")
		}
	}
	return lengths, nil
}

// start reads the zero bit-planes of block k, which is included for the first time.
func (band *Band) start(r *bitReader, k, planes int, style codestream.BlockStyle) error {
	b := &band.Blocks[k]
	n := band.zeroPlanes.value(r, k, uint16(planes))
	if r.short {
		return codec.Malformedf("jpeg2000: a packet header is cut short")
	}
	if n > planes {
		return codec.Malformedf("jpeg2000: a code-block has more than the %d bit-planes of its subband missing", planes)
	}
	b.zeroPlanes, b.lblock = n, 3
	if style&codestream.HT != 0 {
		b.phase = placeholders
	}
	return nil
}

// readPasses reads the number of coding passes (Table B.4).
func readPasses(r *bitReader) int {
	switch {
	case r.bit() == 0:
		return 1
	case r.bit() == 0:
		return 2
	}
	if n := r.bits(2); n < 3 {
		return 3 + n
	}
	if n := r.bits(5); n < 31 {
		return 6 + n
	}
	return 37 + r.bits(7)
}

// readLengths reads the passes of a block in a packet and the lengths of their codeword
// segments (B.10.6, B.10.7).
func (b *Block) readLengths(r *bitReader, style codestream.BlockStyle, lengths []length) ([]length, error) {
	n := readPasses(r)
	for r.bit() == 1 {
		b.lblock++
		if b.lblock > maxLblock {
			return nil, codec.Malformedf("jpeg2000: a code-block promises lengths of more than %d bits", maxLblock)
		}
	}
	if b.phase == placeholders {
		l, err := b.readFirst(r, style, n)
		if err != nil {
			return nil, err
		}
		lengths = append(lengths, l)
		n -= l.passes
	}
	for n > 0 {
		l := length{block: b, passes: min(n, b.segmentEnd(style)-b.passes)}
		l.starts = b.passes == 0 || b.segmentStarts(style)
		l.bytes = r.bits(b.lblock + log2(l.passes))
		b.passes += l.passes
		lengths = append(lengths, l)
		n -= l.passes
	}
	return lengths, nil
}

// firstBypassed is the number of passes before the first without arithmetic coding
// (Table D.9), which share a codeword segment.
const firstBypassed = 10

// maxPasses is above the number of passes of any block.
const maxPasses = 1 << 20

// segmentEnd is the number of passes at the end of the codeword segment of pass b.passes.
func (b *Block) segmentEnd(style codestream.BlockStyle) int {
	n := b.passes
	switch {
	case b.phase == highThroughput:
		if n%3 == 0 {
			return n + 1
		}
		return n + 3 - n%3
	case style&codestream.Terminate != 0:
		return n + 1
	case style&codestream.Bypass != 0 && n < firstBypassed:
		return firstBypassed
	case style&codestream.Bypass != 0:
		return n + [3]int{2, 1, 1}[(n-firstBypassed)%3]
	}
	return maxPasses
}

// segmentStarts says whether pass b.passes, not the first, begins a codeword segment.
func (b *Block) segmentStarts(style codestream.BlockStyle) bool {
	n := b.passes
	switch {
	case b.phase == highThroughput:
		return n%3 != 2
	case style&codestream.Terminate != 0:
		return true
	case style&codestream.Bypass != 0:
		return n >= firstBypassed && (n-firstBypassed)%3 != 1
	}
	return false
}

// readFirst reads the first length of a contribution of n passes, of a block with HT style
// of which no byte has come (15444-15, B.1 to B.3). Passes without bytes before the first
// cleanup pass are placeholders; the length covers all up to the last cleanup pass of
// the packet. With style Mixed a length that no HT cleanup pass can have, and the number
// of whose bits then counts all passes, says that the block is one of Part 1.
func (b *Block) readFirst(r *bitReader, style codestream.BlockStyle, n int) (length, error) {
	upToCleanup := n - (b.passes+n-1)%3
	mixed := style&codestream.Mixed != 0
	l := length{block: b, passes: n, starts: b.passes == 0}
	bits := 0
	if upToCleanup >= 1 {
		bits = b.lblock + log2(upToCleanup)
		l.bytes = r.bits(bits)
		if l.bytes > 0 && (!mixed || b.lblock > 3 && l.bytes > 1 && l.bytes>>(bits-1) == 0) {
			if l.bytes < 2 {
				return l, codec.Malformedf("jpeg2000: an HT cleanup segment of %d byte", l.bytes)
			}
			l.passes, b.phase = upToCleanup, highThroughput
			b.passes += upToCleanup
			return l, nil
		}
	}
	more := b.lblock + log2(n) - bits
	l.bytes = l.bytes<<more | r.bits(more)
	if l.bytes > 0 {
		if !mixed {
			return l, codec.Malformedf("jpeg2000: an HT code-block whose placeholder passes have %d bytes", l.bytes)
		}
		b.phase = partOne
	}
	b.passes += n
	return l, nil
}
