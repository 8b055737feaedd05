package jpeg2000

import (
	"image"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/packet"
	"github.com/pelmill/pelmill/raster"
)

const (
	decodeTables = 128 << 10 // headers and tables
	scratchBytes = 96 << 10  // of a goroutine that decodes code-blocks
	scratches    = 64        // of them at most, also with more cores
	segmentBytes = 80        // of a codeword segment of a block that has many
	taskBytes    = 120       // of a code-block that waits to be decoded
	tileBytes    = 200       // of a tile of which only the header was read
	rowSets      = 20        // rows that a wavelet transform works on
)

// Memory is proportional to the samples. Decoding a file of the codec takes what its
// header says, for which this is a bound.
func (Codec) Memory(s raster.Shape, m *raster.Image, opts codec.Options) codec.Memory {
	o, err := resolve(opts)
	if err != nil {
		o = &defaults
	}
	if o.part10() {
		return volumeMemory(s)
	}
	s.Channels, s.Depth = s.Channels*s.Depth, 1 // as the codestream has them
	encode, file := o.encodeMemory(s)
	meta := int64(0)
	if m != nil {
		meta = int64(metaBytes(m))
	}
	return codec.Memory{Encode: encode + 2*meta, Decode: o.decodeMemory(s) + meta, File: file + meta}
}

// decodeMemory is what decoding a file takes that is encoded with the options.
func (o *Options) decodeMemory(s raster.Shape) int64 {
	samples := int64(s.Samples())
	state := o.blocks(s)*(packet.BlockBytes+taskBytes+packet.PrecinctBytes+o.segments(s)*segmentBytes) + 2*o.headers(s)
	state += scratchBytes * min(o.blocks(s)/blocksAtOnce+1, scratches)
	return decodeTables + int64(s.Size()) + 16*samples + state + o.tiles(s)*tileBytes + 64*int64(s.Width)*rowSets
}

// segments are the most codeword segments of a block beyond the first.
func (o *Options) segments(s raster.Shape) int64 {
	if o.style&(codestream.Terminate|codestream.Bypass) == 0 {
		return 0
	}
	return 3 * int64(s.Bits+6)
}

// memory is what decoding takes, the image included.
func (o *output) memory() (int64, error) {
	size := &o.stream.Size
	n := decodeTables + int64(o.shape.Size()) + int64(len(o.boxes.Colour.ICC)+len(o.boxes.EXIF)+len(o.boxes.XMP))
	if !o.direct() {
		for _, ch := range o.channels {
			w := o.windows[ch.component]
			n += 4*int64(w.Dx())*int64(w.Dy()) + 16*int64(o.area.Dx())
		}
	}
	d := &decoder{stream: o.stream, reduce: o.reduce, windows: o.windows}
	tiles := size.Tiles().X * size.Tiles().Y
	most, touched := int64(0), int64(0)
	for t := range tiles {
		if !d.touches(t) {
			continue
		}
		touched++
		params, coded, err := o.stream.Tile(t)
		if err != nil {
			return 0, err
		}
		most = max(most, d.tileMemory(size.NewTile(t, params), coded, params.MCT))
	}
	if d.small() {
		most *= min(touched, tilesAtOnce)
	}
	return n + most + int64(tiles)*tileBytes, nil
}

// tileMemory is what decoding a tile takes: packets, then the subbands of a component at
// a time and the samples of those that are transformed together.
func (d *decoder) tileMemory(t *codestream.Tile, coded codestream.Coded, mct bool) int64 {
	bytes := int64(0)
	for _, b := range coded.Bodies {
		bytes += int64(len(b))
	}
	bytes += int64(len(coded.Headers))
	state, samples, largest, blocks := 2*int64(len(coded.Headers)), int64(0), int64(0), int64(0)
	for c := range t.Components {
		component := &t.Components[c]
		area := d.reduced(t.Bounds, c).Intersect(d.windows[c])
		if area.Empty() {
			continue
		}
		// The margins for the wavelet at every level are less than 64 samples on all sides.
		area = area.Inset(-64).Intersect(d.reduced(t.Bounds, c))
		n := pixels(area)
		if mct && c < 3 {
			samples += n
		} else {
			samples = max(samples, n)
		}
		largest = max(largest, n+rowSets*int64(area.Dx()))
		for r := range component.Resolutions {
			n := component.Resolutions[r].CodeBlocks()
			blocks += n
			state += precinctMemory(&component.Resolutions[r], bytes) + n*(packet.BlockBytes+taskBytes+segmentMemory(component))
		}
	}
	return state + 4*samples + 4*largest*3/2 + scratchBytes*min(blocks/blocksAtOnce+1, scratches)
}

// precinctMemory is what the packets of a resolution leave besides code-blocks. A packet with
// content has a byte at least, so that there are no more precincts than bytes.
func precinctMemory(r *codestream.Resolution, bytes int64) int64 {
	n := int64(r.Precincts.X) * int64(r.Precincts.Y)
	return 10*n + min(n, bytes)*packet.PrecinctBytes
}

// segmentMemory is what the codeword segments of a block take where most passes have one.
func segmentMemory(t *codestream.TileComponent) int64 {
	if t.Coding.Style&(codestream.Terminate|codestream.Bypass) == 0 {
		return 0
	}
	planes := 0
	for r := range t.Resolutions {
		for i := range t.Resolutions[r].Subbands {
			planes = max(planes, t.Resolutions[r].Subbands[i].Planes)
		}
	}
	return int64(min(planes, codestream.MaxPlanes)) * 3 * segmentBytes
}

func pixels(r image.Rectangle) int64 { return int64(r.Dx()) * int64(r.Dy()) }
