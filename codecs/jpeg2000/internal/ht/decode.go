package ht

import (
	"sync"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

const (
	maxSide    = 1024
	maxSamples = 4096
	maxQuads   = 1024 // of a code-block: its sides are powers of two, or cut off at the edge of a subband
	maxSuffix  = 4079 // bytes of MEL and VLC together

	// maxVLC is more than a hostile stream can make the decoder read: 22 bits a quad.
	maxVLC = maxSuffix

	// maxMagSgn is what the samples of all quads can read with 32 bits each.
	maxMagSgn = 4 * maxQuads * 4

	// slack lets the assembly read and write whole vectors at the end of an array.
	slack = 32
)

// decoder is the working memory of one code-block after the other.
type decoder struct {
	vlc    [maxVLC + slack]byte    // without gaps
	magsgn [maxMagSgn + slack]byte // likewise
	suffix [maxSuffix]byte         // MEL and VLC as they are
	at     uint                    // in bits of vlc
	mel    melReader

	// Of the row of quads above and the current one: the quads, and of the samples in
	// their lower row v|1, or 0 where m is 0. One is free before the first.
	quads [2][maxSide/2 + slack]uint32
	lower [2][maxSide + slack]uint32

	// A row of quads, as samples in two rows.
	rows [2][maxSide + slack]int32

	refinement
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Decode decodes a code-block, see the comment of package codestream.
func Decode(dst []int32, stride int, b *codestream.Block) error {
	return decode(dst, stride, b, withFraction)
}

// DecodeIndices decodes a code-block to quantizer indices: the numbers that Decode gives,
// divided by two towards zero.
func DecodeIndices(dst []int32, stride int, b *codestream.Block) error {
	if len(b.Segments) < 2 {
		return decode(dst, stride, b, toIndex)
	}
	if err := decode(dst, stride, b, withFraction); err != nil {
		return err
	}
	for y := range b.Height {
		row := dst[y*stride:][:b.Width]
		for x := range row {
			row[x] /= 2
		}
	}
	return nil
}

func decode(dst []int32, stride int, b *codestream.Block, scaled func(plane uint) scale) error {
	if err := check(b); err != nil {
		return err
	}
	if len(b.Segments) == 0 {
		for y := range b.Height {
			clear(dst[y*stride:][:b.Width])
		}
		return nil
	}
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	plane := uint(b.Planes - 1 - b.ZeroPlanes)
	if err := d.cleanup(dst, stride, b, plane, scaled(plane)); err != nil {
		return err
	}
	if len(b.Segments) > 1 {
		d.refine(dst, stride, b, plane)
	}
	return nil
}

func check(b *codestream.Block) error {
	w, h := b.Width, b.Height
	if w < 1 || h < 1 || w > maxSide || h > maxSide || (w+1)/2*((h+1)/2) > maxQuads {
		return codec.Malformedf("HT code-block of %d x %d samples", w, h)
	}
	if len(b.Segments) == 0 {
		return nil
	}
	plane := b.Planes - 1 - b.ZeroPlanes
	if plane < 0 || b.ZeroPlanes < 0 {
		return codec.Malformedf("HT code-block: %d of %d bit-planes are zero", b.ZeroPlanes, b.Planes)
	}
	if plane >= codestream.MaxPlanes {
		return codec.Unsupportedf("HT code-block: its last bit-plane is %d", plane)
	}
	if len(b.Segments) > 2 || b.Segments[0].Passes != 1 || len(b.Segments) == 2 && b.Segments[1].Passes > 2 {
		return codec.Malformedf("HT code-block: %d coding passes in %d segments", b.Passes(), len(b.Segments))
	}
	if len(b.Segments) == 2 && plane == 0 {
		return codec.Malformedf("HT code-block: refinement below the last bit-plane")
	}
	return nil
}

// cleanup decodes the cleanup pass, whose last bit-plane is plane.
func (d *decoder) cleanup(dst []int32, stride int, b *codestream.Block, plane uint, scaled scale) error {
	w, h := b.Width, b.Height
	columns := (w + 1) / 2
	if err := d.open(b.Segments[0].Data, columns*((h+1)/2)); err != nil {
		return err
	}
	clear(d.quads[1][:columns+slack])
	clear(d.lower[1][:2*columns+slack])
	r := rowArgs{
		columns: columns, scale: scaled, magsgn: &d.magsgn,
		limit: uint32(min(b.ZeroPlanes+2, 31-int(plane))),
	}
	for y := 0; y < h; y += 2 {
		current := y / 2 % 2
		r.quads, r.above, r.lower = &d.quads[current], &d.lower[1-current], &d.lower[current]
		row := r.quads[1:][:columns]
		if y == 0 {
			d.firstRow(row)
		} else {
			d.nextRow(row, d.quads[1-current][:])
		}
		clear(r.quads[1+columns:][:slack-1])
		// Whole pairs of quads go where they belong; what is cut off goes through rows.
		inPlace := w%4 == 0 && y+1 < h
		r.top, r.bottom = d.rows[0][:], d.rows[1][:]
		if inPlace {
			r.top, r.bottom = dst[y*stride:][:w], dst[(y+1)*stride:][:w]
		}
		if r.decode() > r.limit {
			return codec.Malformedf("HT code-block: magnitude above the bit-planes")
		}
		if inPlace {
			continue
		}
		copy(dst[y*stride:][:w], d.rows[0][:])
		if y+1 < h {
			copy(dst[(y+1)*stride:][:w], d.rows[1][:])
		}
	}
	return nil
}

// open cuts the segment into its streams and frees them of gaps.
func (d *decoder) open(segment []byte, quads int) error {
	n := len(segment)
	if n < 2 {
		return codec.Malformedf("HT cleanup segment of %d bytes", n)
	}
	suffix := int(segment[n-1])<<4 | int(segment[n-2]&15)
	if suffix < 2 || suffix > min(n, maxSuffix) {
		return codec.Malformedf("HT cleanup segment of %d bytes: %d for MEL and VLC", n, suffix)
	}
	unstuff(d.magsgn[:], segment[:n-suffix], 0xff, 16*quads+slack/2)

	// The bits of Scup count as ones.
	s := d.suffix[:copy(d.suffix[:], segment[n-suffix:])]
	s[suffix-1] = 0xff
	s[suffix-2] |= 15
	d.mel = melReader{in: s}
	w := bitWriter{out: d.vlc[:]}
	if first := s[suffix-2]; first>>4&7 == 7 {
		w.put(7, 3)
	} else {
		w.put(first>>4, 4)
	}
	unstuffBackward(&w, s[:suffix-2], s[suffix-2], min(3*quads+slack/2, maxVLC))
	d.at = 0
	return nil
}
