package jpeg2000

import (
	"image"
	"slices"
	"sync"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/packet"
)

// appendStream appends the codestream of tiles, each in one tile-part.
func appendStream(dst []byte, main *codestream.Main, tiles []*codedTile) []byte {
	fitGuardBits(&main.Params, tiles)
	if main.Size.Capabilities&codestream.PartFifteen != 0 {
		main.HT = htCapabilities(&main.Params)
	}
	dst = codestream.AppendMain(slices.Grow(dst, streamBytes(tiles)), main)
	var lengths codestream.TileLengths
	if main.TLM {
		dst, lengths = codestream.AppendTLM(dst, len(tiles))
	}
	for i, t := range tiles {
		at := len(dst)
		dst = appendTilePart(codestream.AppendSOT(dst, t.tile.Index, 0, 0, 1), main, t)
		codestream.SetTilePartLength(dst[at:], len(dst)-at)
		if main.TLM {
			lengths.Set(dst, i, t.tile.Index, len(dst)-at)
		}
	}
	return codestream.AppendEOC(dst)
}

// appendTilePart appends what follows SOT in the tile-part of a tile.
func appendTilePart(dst []byte, main *codestream.Main, t *codedTile) []byte {
	if !main.PLT {
		return appendPackets(codestream.AppendSOD(dst), &main.Params, t, func(int) {})
	}
	var lengths []int
	packets := appendPackets(nil, &main.Params, t, func(n int) { lengths = append(lengths, n) })
	return append(codestream.AppendSOD(codestream.AppendPLT(dst, lengths)), packets...)
}

// streamBytes is about what a codestream takes, and rarely less.
func streamBytes(tiles []*codedTile) int {
	n := 1 << 10
	for _, t := range tiles {
		n += 64
		t.each(func(_ *codestream.Subband, b *codedBlock) { n += b.length(b.layers[len(b.layers)-1]) + 4 })
	}
	return n
}

// fitGuardBits raises the number of guard bits to what the largest coefficients need
// (equation E-2): almost never, as two are enough for all but the worst of images.
func fitGuardBits(p *codestream.Params, tiles []*codedTile) {
	guard := 2
	for _, t := range tiles {
		t.each(func(band *codestream.Subband, b *codedBlock) {
			guard = max(guard, b.planes+1-band.Step.Exponent)
		})
	}
	for c := range p.Components {
		p.Components[c].Quantization.Guard = guard
	}
}

// htCapabilities is Ccap15 of a codestream all of whose code-blocks are HT (15444-15, A.3.2):
// its low bits bound the magnitudes by 2^B.
func htCapabilities(p *codestream.Params) codestream.HTCapabilities {
	bound := 0 // B
	flags := codestream.HTCapabilities(0)
	for c := range p.Components {
		q := &p.Components[c].Quantization
		for _, s := range q.Steps {
			bound = max(bound, q.Guard+s.Exponent-1)
		}
		if p.Components[c].Transform == codestream.Irreversible97 {
			flags = codestream.HTIrreversible
		}
	}
	switch {
	case bound <= 8:
	case bound <= 27:
		flags |= codestream.HTCapabilities(bound - 8)
	default:
		flags |= codestream.HTCapabilities(min(19+(bound-27+3)/4, 31))
	}
	return flags
}

// packetMemory is *packet.Memory of those that read or write packets.
var packetMemory = sync.Pool{New: func() any { return new(packet.Memory) }}

// appendPackets appends the packets of a tile and tells the length of each.
func appendPackets(dst []byte, p *codestream.Params, t *codedTile, tell func(bytes int)) []byte {
	m := packetMemory.Get().(*packet.Memory)
	defer func() {
		m.Reset()
		packetMemory.Put(m)
	}()
	writers := make([][][]*packet.Writer, len(t.blocks))
	for c := range writers {
		writers[c] = make([][]*packet.Writer, len(t.blocks[c]))
		for r := range writers[c] {
			writers[c][r] = make([]*packet.Writer, len(t.blocks[c][r]))
		}
	}
	guard := p.Components[0].Quantization.Guard
	var lengths []packet.Length
	packet.Order(t.tile, p, slices.Repeat([]image.Point{{X: 1, Y: 1}}, len(t.blocks)), func(id packet.ID) bool {
		res := &t.tile.Components[id.Component].Resolutions[id.Resolution]
		blocks := t.blocks[id.Component][id.Resolution][id.Precinct]
		w := &writers[id.Component][id.Resolution][id.Precinct]
		if *w == nil {
			*w = packet.NewWriter(res, id.Precinct, m, func(band, k int) (layer, zeroPlanes int) {
				b := blocks[band][k]
				return b.firstLayer(), guard + res.Subbands[band].Step.Exponent - 1 - b.coded
			})
		}
		start := len(dst)
		dst = (*w).AppendHeader(dst, id.Layer, func(band, k int) []packet.Length {
			lengths = blocks[band][k].lengths(lengths[:0], id.Layer)
			return lengths
		})
		for _, band := range blocks {
			for _, b := range band {
				dst = append(dst, b.bytes(id.Layer)...)
			}
		}
		tell(len(dst) - start)
		return true
	})
	return dst
}

// firstLayer is the layer that the block is first included in, or the number of layers.
func (b *codedBlock) firstLayer() int {
	for l, passes := range b.layers {
		if passes > 0 {
			return l
		}
	}
	return len(b.layers)
}

// span returns the passes from first to last-1 that a layer holds.
func (b *codedBlock) span(layer int) (first, last int) {
	if layer > 0 {
		first = b.layers[layer-1]
	}
	return first, b.layers[layer]
}

// length is the number of bytes of the first passes.
func (b *codedBlock) length(passes int) int {
	if passes == 0 {
		return 0
	}
	return b.passes[passes-1].Length
}

// lengths appends what a layer holds of the block's codeword segments.
func (b *codedBlock) lengths(dst []packet.Length, layer int) []packet.Length {
	first, last := b.span(layer)
	for i := first; i < last; i++ {
		if b.passes[i].Terminated || i == last-1 {
			dst = append(dst, packet.Length{Passes: i + 1 - first, Bytes: b.length(i+1) - b.length(first)})
			first = i + 1
		}
	}
	return dst
}

// bytes are those that a layer holds of the block.
func (b *codedBlock) bytes(layer int) []byte {
	first, last := b.span(layer)
	return b.data[b.length(first):b.length(last)]
}
