package ht

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// maxSegment is more than a cleanup segment can take: 32 bits a sample, 16 bits a quad for
// VLC, and a gap for each run of ones.
const maxSegment = (maxMagSgn + 2*maxQuads) * 17 / 16

// encoder is the working memory of one code-block after the other.
type encoder struct {
	magsgn packed[[maxMagSgn + slack]byte]
	vlc    packed[[2*maxQuads + 2*slack]byte]
	mel    melWriter

	// Of the current row of quads and the one above: the quads, and of the samples in
	// their lower row v|1, or 0 where m is 0. One is free before the first.
	quads [2][maxSide/2 + slack]uint32
	lower [2][maxSide + slack]uint32
	v     [2*maxSide + slack]uint32 // of a row of quads, quad after quad
	rows  [2][maxSide + slack]int32 // the samples, filled up with zeros

	vlcOut [2*maxQuads*17/16 + slack]byte // the VLC stream with its gaps, at the end
	out    [maxSegment + slack]byte
}

// packed is bits in order, the first lowest, without gaps.
type packed[A any] struct {
	bytes A
	at    int    // bytes that are complete
	bits  uint64 // of the next, fewer than 8
	wait  uint
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Encode appends to out the cleanup segment of a code-block and returns the number of
// bits of its greatest magnitude; if that is 0 nothing is appended. src holds the
// quantizer indices, in two's complement and rows stride apart. A code-block has at most
// 1024 samples a side and 1024 quads.
//
// The segment is one coding pass whose last bit-plane is 0. The packet header says that
// all bit-planes of the subband but one are zero, whatever the magnitudes are.
func Encode(out []byte, src []int32, stride, width, height int) (segment []byte, planes int) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	s, planes := e.encode(src, stride, width, height)
	return append(out, s...), planes
}

// encode returns the segment in the encoder's memory.
func (e *encoder) encode(src []int32, stride, w, h int) (segment []byte, planes int) {
	columns := (w + 1) / 2
	e.magsgn.at, e.magsgn.bits, e.magsgn.wait = 0, 0, 0
	e.vlc.at, e.vlc.bits, e.vlc.wait = 0, 0, 0
	e.mel.reset()
	clear(e.quads[1][:columns+slack])
	clear(e.lower[1][:2*columns+slack])
	r := quadRow{columns: columns, v: &e.v, top: &e.rows[0], bottom: &e.rows[1]}
	clear(e.rows[0][w:][:slack])
	clear(e.rows[1][w:][:slack])
	any := uint32(0)
	for y := 0; y < h; y += 2 {
		copy(e.rows[0][:w], src[y*stride:])
		if y+1 < h {
			copy(e.rows[1][:w], src[(y+1)*stride:])
		} else {
			clear(e.rows[1][:w])
		}
		current := y / 2 % 2
		r.quads, r.above, r.lower = &e.quads[current], &e.lower[1-current], &e.lower[current]
		words := r.analyse()
		any |= words & 15
		row := r.quads[1:][:columns]
		clear(r.quads[1+columns:][:slack-1])
		if y == 0 {
			e.firstRow(row)
		} else {
			e.nextRow(row, e.quads[1-current][:])
		}
		e.putMagnitudes(&r, words)
	}
	if any == 0 {
		return nil, 0
	}
	return e.segment(), bits.Len32(r.greatest>>1 + 1)
}

// putVLC appends count bits to the VLC stream, at most 56.
func (e *encoder) putVLC(bits uint64, count uint) {
	p := &e.vlc
	p.bits |= bits << p.wait
	p.wait += count
	binary.LittleEndian.PutUint64(p.bytes[p.at:], p.bits)
	p.at += int(p.wait / 8)
	p.bits >>= p.wait &^ 7
	p.wait &= 7
}

// putMagnitudesGo appends what the codewords of a row leave unsaid of v (T.814, 7.3.8).
func (e *encoder) putMagnitudesGo(r *quadRow) {
	p := &e.magsgn
	bits, wait, at := p.bits, p.wait, p.at
	for q := range r.columns {
		word := r.quads[q+1]
		u := word >> rowU & 63
		for i, v := range r.v[4*q:][:4] {
			if word>>i&1 == 0 {
				continue
			}
			m := uint(u - word>>(rowKnown+i)&1)
			bits |= uint64(v) & (1<<m - 1) << wait
			wait += m
			binary.LittleEndian.PutUint64(p.bytes[at:], bits)
			at += int(wait / 8)
			bits >>= wait &^ 7
			wait &= 7
		}
	}
	p.bits, p.wait, p.at = bits, wait, at
}
