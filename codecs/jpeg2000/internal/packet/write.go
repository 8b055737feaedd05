package packet

import "github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"

// Writer writes the headers of a precinct's packets, one layer after the other.
type Writer struct {
	precinct *Precinct
}

// NewWriter makes a writer for precinct p of a resolution. block says of a code-block,
// by the index of its subband and its own, the layer that it is first included in (the
// number of layers if in none) and how many bit-planes are missing. m may be nil.
func NewWriter(r *codestream.Resolution, p int, m *Memory, block func(band, k int) (layer, zeroPlanes int)) *Writer {
	return newWriter(m.newPrecinct(r, p), block)
}

func newWriter(p *Precinct, block func(band, k int) (layer, zeroPlanes int)) *Writer {
	w := &Writer{p}
	for i := range w.precinct.Bands {
		b := &w.precinct.Bands[i]
		b.inclusion.set(func(k int) uint16 { layer, _ := block(i, k); return uint16(layer) })
		b.zeroPlanes.set(func(k int) uint16 { _, zero := block(i, k); return uint16(zero) })
	}
	return w
}

// Blocks is the grid of code-blocks of the precinct in a subband.
func (w *Writer) Blocks(band int) codestream.BlockGrid { return w.precinct.Bands[band].Grid }

// Length is what a packet holds of a codeword segment: coding passes and bytes.
type Length struct{ Passes, Bytes int }

// AppendHeader appends the header of the packet of a layer. lengths says for a code-block
// what the packet holds of it: a codeword segment, or the part of one, after the other;
// nothing if the block is not in the packet. Headers are written in the order of layers.
func (w *Writer) AppendHeader(dst []byte, layer int, lengths func(band, k int) []Length) []byte {
	bits := newBitWriter(dst)
	if !w.holds(lengths) {
		bits.bits(0, 1)
		return bits.end()
	}
	bits.bits(1, 1)
	for i := range w.precinct.Bands {
		band := &w.precinct.Bands[i]
		for k := range band.Blocks {
			band.writeBlock(bits, k, layer, lengths(i, k))
		}
	}
	return bits.end()
}

func (w *Writer) holds(lengths func(band, k int) []Length) bool {
	for i := range w.precinct.Bands {
		for k := range w.precinct.Bands[i].Blocks {
			if len(lengths(i, k)) > 0 {
				return true
			}
		}
	}
	return false
}

func (band *Band) writeBlock(w *bitWriter, k, layer int, lengths []Length) {
	b := &band.Blocks[k]
	switch {
	case b.lblock == 0:
		band.inclusion.write(w, k, uint16(layer)+1)
	case len(lengths) > 0:
		w.bits(1, 1)
	default:
		w.bits(0, 1)
	}
	if len(lengths) == 0 {
		return
	}
	if b.lblock == 0 {
		leaf := &band.zeroPlanes.nodes[k]
		band.zeroPlanes.write(w, k, leaf.value+1)
		b.lblock = 3
	}
	passes, more := 0, 0
	for _, l := range lengths {
		passes += l.Passes
		more = max(more, log2(max(1, l.Bytes))+1-log2(l.Passes)-b.lblock)
	}
	writePasses(w, passes)
	for range more {
		w.bits(1, 1)
	}
	w.bits(0, 1)
	b.lblock += more
	for _, l := range lengths {
		w.bits(l.Bytes, b.lblock+log2(l.Passes))
	}
}

// writePasses is the inverse of readPasses (Table B.4).
func writePasses(w *bitWriter, n int) {
	switch {
	case n == 1:
		w.bits(0, 1)
	case n == 2:
		w.bits(2, 2)
	case n <= 5:
		w.bits(3<<2|(n-3), 4)
	case n <= 36:
		w.bits(15<<5|(n-6), 9)
	default:
		w.bits(511<<7|(n-37), 16)
	}
}
