// Package inflate decompresses the zlib stream of a PNG file (RFC 1950, RFC 1951) from the
// pieces in which the file holds it, into a window from which rows are read in place.
//
//	r := inflate.New(next, size)
//	row, err := r.Next(n) // n bytes, valid until the next call
//	err = r.End()         // the stream holds size bytes, its checksum is right, and nothing follows
//
// It is made for speed on sound streams and says of others only that something is wrong, not what:
// callers that want to know give the file to the decoder of the standard library. What this package
// takes, that decoder takes too, with the same bytes.
//
// # How it works
//
// The bits are held in a 64-bit word, which is filled eight bytes at a time. A look-up in a table
// of 2^12 entries gives one literal, two literals, or a length with its extra bits; codes that are
// longer go on in a second table. On amd64 with AVX2 and BMI2 the loop is in assembly, and takes
// literals and matches in the same instructions, without a branch; the loop in Go is its twin, and does
// the first and last bytes of every piece.
package inflate

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// ErrStream says that the stream is damaged, ends early or has an unusual form.
var ErrStream = errors.New("inflate: the stream is damaged or of an unusual form")

// errEnd says that the stream has ended.
var errEnd = errors.New("inflate: the stream has ended")

const (
	window = 32 << 10 // how far back a distance reaches, in bytes
	// room is what is inflated between two moves of the window.
	room = 96 << 10
	// slack is what may be written from a place where a symbol begins: the longest match,
	// and what vectors write beyond it.
	slack = 258 + 62
	// Overhead is what a reader takes besides the window and a part as large as the largest
	// of Next, in bytes.
	Overhead = window + room + slack + 40<<10
)

// Reader inflates one stream.
type Reader struct {
	next func() ([]byte, bool)
	in   []byte // the piece that is being read
	pos  int    // place in it

	// The next bits of the stream, the first in the lowest place. Places from count on are zero.
	bits  uint64
	count uint

	buf       []byte
	read, out int // buf[read:out] waits for Next
	total     int64
	left      int64 // of the total, what is still to come; below zero when there is too much

	sum    uint32 // Adler-32 of what was inflated
	block  blockKind
	last   bool // the block is the last one
	stored int  // bytes that the stored block still has

	lit  [litEntries]uint32
	dist [distEntries]uint32
}

type blockKind byte

const (
	noBlock blockKind = iota
	storedBlock
	codedBlock
	ended // behind the last block
	start // before the header of the stream
)

// New returns a reader of a stream of size bytes, of which callers ask at most largest at a time.
// The pieces of the stream are what next returns, until it returns false.
func New(next func() ([]byte, bool), size int64, largest int) *Reader {
	r := &Reader{}
	r.Reset(next, size, largest)
	return r
}

// Reset makes r a reader of another stream, as New does, with the memory that it has.
func (r *Reader) Reset(next func() ([]byte, bool), size int64, largest int) {
	// One byte more than the stream holds, so that the end of its last block is reached below the limit.
	n := int(min(size+1, int64(window+room+largest)) + slack)
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.next, r.in, r.pos, r.bits, r.count = next, nil, 0, 0, 0
	r.buf, r.read, r.out, r.total, r.left = r.buf[:n], 0, 0, size, size
	r.sum, r.block, r.last, r.stored = 1, start, false, 0
}

// Next returns the next n bytes. They are valid until the next call.
func (r *Reader) Next(n int) ([]byte, error) {
	for r.out-r.read < n {
		if err := r.fill(); err != nil {
			return nil, ErrStream
		}
	}
	b := r.buf[r.read : r.read+n : r.read+n]
	r.read += n
	return b, nil
}

// Ready is how many bytes Next returns without a move of the window.
func (r *Reader) Ready() int { return r.out - r.read }

// End checks that the stream ends here, with a checksum that is right, and that no bytes follow.
func (r *Reader) End() error {
	for r.block != ended {
		if err := r.fill(); err != nil || r.left < 0 {
			return ErrStream
		}
	}
	r.drop(r.count & 7)
	r.refill()
	if r.left != 0 || r.read != r.out || r.count < 32 || bits.ReverseBytes32(uint32(r.bits)) != r.sum {
		return ErrStream
	}
	r.drop(32)
	r.refill() // fetches the following piece, if any
	if r.count != 0 {
		return ErrStream
	}
	return nil
}

// fill inflates until the buffer is full or the stream ends. It returns errEnd where it had
// ended before.
func (r *Reader) fill() error {
	if r.block == ended {
		return errEnd
	}
	limit := len(r.buf) - slack
	if from := min(r.read, r.out-window); r.out >= limit && from > 0 {
		n := copy(r.buf, r.buf[from:r.out])
		r.read, r.out = r.read-from, n
	}
	from := r.out
	for r.out < limit && r.block != ended {
		if err := r.step(limit); err != nil {
			return err
		}
	}
	if r.out == from && r.block != ended {
		return ErrStream // the stream holds more than the size that was said
	}
	r.sum = adler(r.sum, r.buf[from:r.out])
	if r.left -= int64(r.out - from); r.left < 0 {
		return ErrStream
	}
	return nil
}

// step reads the header of a block, or goes on in it until it ends or limit is reached.
func (r *Reader) step(limit int) error {
	switch r.block {
	case start:
		r.refill()
		// RFC 1950, 2.2: method 8, a window of at most 32 KiB, no dictionary, a multiple of 31.
		h := uint(r.bits)
		if r.count < 16 || h&0x0f != 8 || h>>4&0x0f > 7 || h>>13&1 != 0 || (h<<8&0xff00|h>>8&0xff)%31 != 0 {
			return ErrStream
		}
		r.drop(16)
		r.block = noBlock
	case noBlock:
		if r.last {
			r.block = ended
			return nil
		}
		return r.header()
	case storedBlock:
		return r.copyStored(limit)
	case codedBlock:
		return r.symbols(limit)
	}
	return nil
}

// refill takes bytes until 56 bits or more are there, or the stream has no more.
func (r *Reader) refill() {
	if r.pos+8 <= len(r.in) {
		r.bits |= binary.LittleEndian.Uint64(r.in[r.pos:]) << r.count
		n := (63 - r.count) >> 3
		r.pos += int(n)
		r.count += 8 * n
		r.bits &= 1<<r.count - 1
		return
	}
	for r.count < 56 {
		for r.pos == len(r.in) {
			in, ok := r.next()
			if !ok {
				return
			}
			r.in, r.pos = in, 0
		}
		r.bits |= uint64(r.in[r.pos]) << r.count
		r.pos++
		r.count += 8
	}
}

func (r *Reader) drop(n uint) {
	r.bits >>= n
	r.count -= n
}

// take returns the next n bits, at most 16, and false where the stream has no more.
func (r *Reader) take(n uint) (uint, bool) {
	if r.count < n {
		if r.refill(); r.count < n {
			return 0, false
		}
	}
	v := uint(r.bits) & (1<<n - 1)
	r.drop(n)
	return v, true
}

// copyStored copies bytes of a stored block (RFC 1951, 3.2.4), behind its header.
func (r *Reader) copyStored(limit int) error {
	for r.stored > 0 && r.out < limit {
		if r.count > 0 { // bytes that were taken ahead
			r.buf[r.out] = byte(r.bits)
			r.out++
			r.stored--
			r.drop(8)
			continue
		}
		if r.pos == len(r.in) {
			in, ok := r.next()
			if !ok {
				return ErrStream
			}
			r.in, r.pos = in, 0
			continue
		}
		n := copy(r.buf[r.out:limit], r.in[r.pos:min(len(r.in), r.pos+r.stored)])
		r.pos, r.out, r.stored = r.pos+n, r.out+n, r.stored-n
	}
	if r.stored == 0 {
		r.block = noBlock
	}
	return nil
}

// symbols decodes until the block ends or limit is reached.
func (r *Reader) symbols(limit int) error {
	for r.out < limit {
		if vector && r.pos+inputSlack <= len(r.in) {
			switch r.fast(limit) {
			case fastEnd:
				r.block = noBlock
				return nil
			case fastDamaged:
				return ErrStream
			}
			if r.out >= limit {
				return nil
			}
		}
		end, err := r.symbol()
		if err != nil {
			return err
		}
		if end {
			r.block = noBlock
			return nil
		}
	}
	return nil
}

// symbol decodes one literal, two literals that one entry holds, a match, or the end of the block.
func (r *Reader) symbol() (end bool, err error) {
	r.refill()
	e := r.lit[r.bits&litMask]
	if e&(flagOther|flagSpecial) == flagOther|flagSpecial && e&kindMask == kindLonger {
		e = r.lit[uint64(e>>16)+r.bits>>litBits&litSecondMask]
	}
	total := uint(e & 0xff)
	if total > r.count {
		return false, ErrStream
	}
	if e&flagOther == 0 {
		r.buf[r.out], r.buf[r.out+1] = byte(e>>16), byte(e>>24)
		r.out += int(e >> 8 & 3)
		r.drop(total)
		return false, nil
	}
	if e&flagSpecial != 0 {
		if e&kindMask != kindEnd {
			return false, ErrStream
		}
		r.drop(total)
		return true, nil
	}
	length := int(e>>16) + int(r.bits&(1<<total-1)>>(e>>8&0x3f))
	r.drop(total)
	r.refill()
	e = r.dist[r.bits&distMask]
	if e&(flagOther|flagSpecial) == flagOther|flagSpecial {
		if e&kindMask != kindLonger {
			return false, ErrStream
		}
		e = r.dist[uint64(e>>16)+r.bits>>distBits&distSecondMask]
		if e&flagSpecial != 0 {
			return false, ErrStream
		}
	}
	total = uint(e & 0xff)
	if total > r.count {
		return false, ErrStream
	}
	distance := int(e>>16) + int(r.bits&(1<<total-1)>>(e>>8&0x3f))
	r.drop(total)
	if distance > r.out {
		return false, ErrStream
	}
	// A distance below the length repeats what is being written.
	for to := r.out + length; r.out < to; {
		r.out += copy(r.buf[r.out:to], r.buf[r.out-distance:r.out])
	}
	return false, nil
}

// inputSlack is how many bytes of a piece the fast loop may read from where it stands.
const inputSlack = 16

// fastResult says why the fast loop ended.
type fastResult int

const (
	fastLimit   fastResult = iota // the input or the output is near its end
	fastEnd                       // the block has ended
	fastDamaged                   // the stream is damaged
)
