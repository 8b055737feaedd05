package pcwt

import (
	"context"
	"slices"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/gpu"
)

// Decoding of profile 1 on a device: where the bodies of tiles lie in files, and the steps back from them to samples.

// codedFile is a file whose tiles were found.
type codedFile struct {
	data   []byte // sections
	lows   [][]wavelet.Plane[int32]
	bodies map[int][]tileBody // of a section, those of all planes
	starts []int              // of the sections
}

// readTiles finds the tiles of a file but for those of the finest reduce levels, which need not be there.
func readTiles(h *header, file []byte, reduce int) (*codedFile, error) {
	c := &codedFile{data: file[h.start:], bodies: make(map[int][]tileBody)}
	s := &h.shape
	at := 0
	for i, n := range h.sections[:(1+h.levels-reduce)*s.Depth] {
		if n > len(c.data)-at {
			return nil, codec.Malformedf("pcwt: the file is cut short")
		}
		c.starts = append(c.starts, at)
		data := c.data[at:][:n]
		at += n
		if i < s.Depth {
			planes, err := readLows(data, s.Channels, reduced(s.Width, h.levels), reduced(s.Height, h.levels))
			if err != nil {
				return nil, err
			}
			c.lows = append(c.lows, planes)
			continue
		}
		level := h.levels + 1 - i/s.Depth
		side := h.side()
		across, down := (reduced(s.Width, level)+side-1)/side, (reduced(s.Height, level)+side-1)/side
		bodies, err := readLengths(data, s.Channels*across*down)
		if err != nil {
			return nil, err
		}
		for k, b := range bodies {
			x, y := k%(across*down)%across, k%(across*down)/across
			if err := checkBody(h, level, x, y, &b, data[b.at:][:2*b.words]); err != nil {
				return nil, err
			}
		}
		c.bodies[i] = bodies
	}
	c.data = c.data[:at]
	return c, nil
}

// checkBody checks what the device does not: that a stream has its states, and that raw indices end with the body.
func checkBody(h *header, level, x, y int, b *tileBody, data []byte) error {
	damaged := codec.Malformedf("pcwt: a tile of level %d is damaged", level)
	if !b.raw {
		if b.words > roomOf(h.side(), 1<<h.laneLog) || b.words > 0 && b.words < 2<<h.laneLog {
			return damaged
		}
		return nil
	}
	width, height := reduced(h.shape.Width, level-1), reduced(h.shape.Height, level-1)
	part := func(n, at int) int { return min(h.side(), max(0, n-at*h.side())) }
	w0, w1, h0, h1 := part((width+1)/2, x), part(width/2, x), part((height+1)/2, y), part(height/2, y)
	count := w1*h0 + w0*h1 + w1*h1
	if b.words == 0 {
		return damaged
	}
	bits := int(little.Uint16(data))
	if bits < 1 || bits > 32 || b.words != 1+(count*bits+15)/16 {
		return damaged
	}
	if left := (b.words-1)*16 - count*bits; left > 0 && little.Uint16(data[len(data)-2:])&(1<<left-1) != 0 {
		return damaged
	}
	return nil
}

// decodeTiles decodes pictures, the slices of files at 1/2^reduce. It returns their samples, and what is wrong with each
// picture, 0 for nothing.
func (d *deviceSteps) decodeTiles(ctx context.Context, pictures []picture, headers []*header, frames []frame, files []*codedFile, reduce int) (*decodedBatch, error) {
	b, err := d.newModelBatch(pictures, headers, frames, reduce, false)
	if err != nil {
		return nil, err
	}
	bytes, err := b.upload(files)
	if err != nil {
		return nil, err
	}
	if err := b.decodeLevels(ctx, bytes); err != nil {
		return nil, err
	}
	if err := b.alongSlices(-1); err != nil {
		return nil, err
	}
	return d.decoded(b.images)
}

// decodeLevels decodes all levels and makes the planes of them.
func (b *modelBatch) decodeLevels(ctx context.Context, bytes *gpu.Buffer) error {
	for level := b.most - 1; level >= 0; level-- {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := b.decodeLevel(level, bytes); err != nil {
			return err
		}
		if err := b.join(level); err != nil {
			return err
		}
	}
	return nil
}

// decodeLevel decodes the coefficients of a level of all planes. A plane looks at those before.
func (b *modelBatch) decodeLevel(level int, bytes *gpu.Buffer) error {
	for c := range mostChannels {
		from, to := b.ranges[c][level], b.ranges[c][level+1]
		for _, kernels := range [][2]string{{"pcwt_know", "pcwt_decode_hl"}, {"pcwt_know_lh", "pcwt_decode_lh"}, {"pcwt_know_hh", "pcwt_decode_hh"}} {
			if err := b.decodeBand(kernels, from, to, bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// decodeBand decodes a band of the models from first to last-1: the terms that are known by then, and the band itself.
func (b *modelBatch) decodeBand(kernels [2]string, first, last int, bytes *gpu.Buffer) error {
	if err := b.run(kernels[0], first, last); err != nil {
		return err
	}
	return b.runWith(kernels[1], bytes.Ptr, first, last)
}

// upload brings the files, the places of their tiles and the last LL of their planes to the device.
func (b *modelBatch) upload(files []*codedFile) (*gpu.Buffer, error) {
	var layout, lows gpu.Layout
	var parts, lowParts []gpu.Part
	at := make([]int, len(files))
	for i, f := range files {
		at[i] = layout.Take(len(f.data))
		parts = append(parts, gpu.Part{At: at[i], Bytes: f.data})
	}
	const beyond = 16 // bytes that kernels may read behind the last file
	bytes, err := b.lane.Device(layout.Size + beyond)
	if err != nil {
		return nil, err
	}
	if err := b.stream.Fill(bytes, layout.Size, beyond, 0); err != nil {
		return nil, err
	}
	if err := b.send(bytes, layout.Size, parts); err != nil {
		return nil, err
	}
	places, lengths, wide := make([]uint64, b.tiles), make([]uint32, b.tiles), make([]uint32, len(b.frames))
	var list []deviceCopy
	for i := range b.planes {
		p := &b.planes[i]
		f := b.frames[p.frame]
		file := files[f.file]
		for level := range p.levels {
			l := &p.levels[level]
			section := b.headers[f.file].section(b.reduce+level+1, f.slice)
			for k, body := range file.bodies[section][p.channel*l.tiles:][:l.tiles] {
				places[l.tilesAt+k] = uint64(at[f.file] + file.starts[section] + body.at)
				lengths[l.tilesAt+k] = 2*uint32(body.words) + flag(body.raw)
			}
		}
		low := file.lows[f.slice][p.channel].Samples
		if slices.Max(low) > mostSmall || slices.Min(low) < -mostSmall {
			wide[f.picture] = 1
		}
		lowParts = append(lowParts, gpu.Part{At: lows.Take(4 * len(low)), Bytes: gpu.Bytes(low)})
		to, _, _ := b.last(p)
		list = append(list, deviceCopy{To: to, Count: uint64(len(low))})
	}
	if err := b.stream.Upload(b.wide, 0, gpu.Bytes(wide)); err != nil {
		return nil, err
	}
	if err := b.stream.Upload(b.places, 0, gpu.Bytes(places)); err != nil {
		return nil, err
	}
	if err := b.stream.Upload(b.lengths, 0, gpu.Bytes(lengths)); err != nil {
		return nil, err
	}
	together, err := b.lane.Device(lows.Size)
	if err != nil {
		return nil, err
	}
	if err := b.staging.Upload(together, lows.Size, lowParts); err != nil {
		return nil, err
	}
	for i := range list {
		list[i].From = together.Ptr + gpu.Ptr(lowParts[i].At)
	}
	return bytes, b.copy(list)
}
