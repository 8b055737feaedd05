package pcwt

import (
	"context"
	"hash/crc32"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/gpu"
)

// encodeTiles codes pictures, the slices of files, as their headers say. It sets the lengths of the headers' sections, and
// returns the files. The headers have their checksums once checksums returns, but those of files with qmin, whose samples only
// the decoder knows: for them it takes the place.
func (d *deviceSteps) encodeTiles(ctx context.Context, pictures []picture, headers []*header, frames []frame, checksums func()) ([][]byte, error) {
	b, err := d.newModelBatch(pictures, headers, frames, 0, true)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{b.planesOf, b.lift, b.split, b.round, b.predict, b.scale, b.encode} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return b.assemble(checksums)
}

// mostChannels is the largest number of planes of a slice.
const mostChannels = 4

// The steps of encoding.

func (b *modelBatch) planesOf() error { return b.makePlanes(b.images) }

// lift transforms along the slices.
func (b *modelBatch) lift() error { return b.alongSlices(1) }

// split makes the bands of all levels, and LL of the last.
func (b *modelBatch) split() error {
	for level := range b.most {
		if err := b.transform("pcwt_split", level); err != nil {
			return err
		}
	}
	return nil
}

// round makes of coefficients what their indices stand for, where the files have qmin, and of LL what the decoder has.
func (b *modelBatch) round() error {
	if !b.rounded() {
		return nil
	}
	if err := b.run("pcwt_round", 0, len(b.models)); err != nil {
		return err
	}
	for level := b.most - 1; level > 0; level-- {
		if err := b.transform("pcwt_join", level); err != nil {
			return err
		}
	}
	return nil
}

// rounded says whether the files have qmin: files of one call have the same.
func (b *modelBatch) rounded() bool { return b.headers[0].qmin > 0 }

// predict makes the residuals of all coefficients. A plane looks at those of the planes before.
func (b *modelBatch) predict() error {
	for c := range mostChannels {
		if err := b.run("pcwt_predict", b.ranges[c][0], b.ranges[c+1][0]); err != nil {
			return err
		}
	}
	return nil
}

// scale makes the steps of the scales of all coefficients.
func (b *modelBatch) scale() error { return b.run("pcwt_scale", 0, len(b.models)) }

// encode makes the streams of all tiles.
func (b *modelBatch) encode() error { return b.run("pcwt_encode_tiles", 0, len(b.models)) }

// join makes of the bands and LL of a level the samples that it has, or LL of the next one.
func (b *modelBatch) join(level int) error { return b.transform("pcwt_join", level) }

// assemble makes the files.
func (b *modelBatch) assemble(checksums func()) ([][]byte, error) {
	lengths, err := download[uint32](b.deviceSteps, b.lengths, b.tiles)
	if err != nil {
		return nil, err
	}
	sections, err := b.lowSections()
	if err != nil {
		return nil, err
	}
	heads := b.levelSections(lengths, sections)
	checksums()
	files := make([][]byte, len(b.headers))
	var layout gpu.Layout
	var parts []gpu.Part
	at := make([]int, len(files)) // of the files' sections in the batch's bytes
	b.cores.Each(len(files), func(i int) {
		h := b.headers[i]
		h.sections = sections[i].lengths
		head := h.append()
		files[i] = make([]byte, h.size)
		copy(files[i], head)
	})
	for i, h := range b.headers {
		at[i] = layout.Take(h.size - h.start)
		parts = append(parts, gpu.Part{At: at[i], Bytes: files[i][h.start:]})
	}
	if err := b.putPlaces(lengths, heads, sections, at); err != nil {
		return nil, err
	}
	bytes, err := b.lane.Device(layout.Size)
	if err != nil {
		return nil, err
	}
	if err := b.runWith("pcwt_pack_tiles", bytes.Ptr, 0, len(b.models)); err != nil {
		return nil, err
	}
	if err := b.staging.Download(parts, bytes, layout.Size); err != nil {
		return nil, err
	}
	for i, h := range b.headers {
		b.writeHeads(files[i][h.start:], i, heads, &sections[i])
	}
	if b.rounded() {
		return files, b.roundedChecksums(files)
	}
	return files, nil
}

// roundedChecksums sets the checksums of files with qmin, of the samples that come back and of the sections.
func (b *modelBatch) roundedChecksums(files [][]byte) error {
	if b.most > 0 {
		if err := b.join(0); err != nil {
			return err
		}
	}
	if err := b.alongSlices(-1); err != nil {
		return err
	}
	back := make([][]byte, len(b.images.parts))
	parts := make([]gpu.Part, len(back))
	for i, p := range b.images.parts {
		back[i] = make([]byte, len(p.Bytes))
		parts[i] = gpu.Part{At: p.At, Bytes: back[i]}
	}
	if err := b.samplesTo(b.images, parts); err != nil {
		return err
	}
	for i, h := range b.headers {
		h.checksum = 0
		for _, k := range b.picturesOf(i) {
			h.checksum = crc32.Update(h.checksum, castagnoli, back[k])
		}
		h.checksum = crc32.Update(h.checksum, castagnoli, files[i][h.start:])
		copy(files[i], h.append())
	}
	return nil
}

// fileSections is the sections of a file.
type fileSections struct {
	lengths []int
	lows    [][]byte // of the slices, as in the file
}

// start is where a section begins, from the first on.
func (s *fileSections) start(section int) (at int) {
	for _, n := range s.lengths[:section] {
		at += n
	}
	return at
}

// lowSections brings the last LL of all planes to the host and makes their sections.
func (b *modelBatch) lowSections() ([]fileSections, error) {
	out := make([]fileSections, len(b.headers))
	for i, h := range b.headers {
		out[i] = fileSections{make([]int, h.sectionCount()), make([][]byte, h.shape.Depth)}
	}
	lows, err := b.downloadLows()
	if err != nil {
		return nil, err
	}
	for i := range b.planes {
		f := b.frames[b.planes[i].frame]
		s := &out[f.file]
		s.lows[f.slice] = appendLow(s.lows[f.slice], lows[i])
		s.lengths[b.headers[f.file].section(0, f.slice)] = len(s.lows[f.slice])
	}
	return out, nil
}

// downloadLows brings the last LL of all planes to the host.
func (b *modelBatch) downloadLows() ([]wavelet.Plane[int32], error) {
	var layout gpu.Layout
	at := make([]int, len(b.planes))
	out := make([]wavelet.Plane[int32], len(b.planes))
	var list []deviceCopy
	for i := range b.planes {
		from, w, h := b.last(&b.planes[i])
		out[i] = wavelet.NewPlane[int32](w, h)
		at[i] = layout.Take(4 * w * h)
		list = append(list, deviceCopy{From: from, Count: uint64(w * h)})
	}
	together, err := b.lane.Device(layout.Size)
	if err != nil {
		return nil, err
	}
	var parts []gpu.Part
	for i := range list {
		list[i].To = together.Ptr + gpu.Ptr(at[i])
		parts = append(parts, gpu.Part{At: at[i], Bytes: gpu.Bytes(out[i].Samples)})
	}
	if err := b.copy(list); err != nil {
		return nil, err
	}
	return out, b.staging.Download(parts, together, layout.Size)
}

// copy copies numbers from place to place on the device.
func (d *deviceSteps) copy(list []deviceCopy) error {
	sizes := make([]extent, len(list))
	for i := range list {
		sizes[i].pixels = int(list[i].Count)
	}
	at, err := put(d, list)
	if err != nil {
		return err
	}
	return launch(d, "pcwt_copy", sizes, &listParams{at})
}

// headKey is a section of a level: of a slice of a file.
type headKey struct{ file, section int }

// levelSections are the lengths of tiles as they stand before the bodies. It sets the lengths of the sections.
func (b *modelBatch) levelSections(lengths []uint32, sections []fileSections) map[headKey][]byte {
	heads := make(map[headKey][]byte)
	for i := range b.planes {
		p := &b.planes[i]
		f := b.frames[p.frame]
		for level := range p.levels {
			l := &p.levels[level]
			key := headKey{f.file, b.headers[f.file].section(b.reduce+level+1, f.slice)}
			head := heads[key]
			before := len(head)
			bodies := 0
			for _, n := range lengths[l.tilesAt:][:l.tiles] {
				head = appendLEB(head, uint64(n))
				bodies += int(n/2) * 2
			}
			heads[key] = head
			sections[f.file].lengths[key.section] += len(head) - before + bodies
		}
	}
	return heads
}

// putPlaces tells the device where the bodies of tiles go. at is where the sections of a file begin.
func (b *modelBatch) putPlaces(lengths []uint32, heads map[headKey][]byte, sections []fileSections, at []int) error {
	places := make([]uint64, b.tiles)
	next := make(map[headKey]int)
	for i := range b.planes {
		p := &b.planes[i]
		f := b.frames[p.frame]
		for level := range p.levels {
			l := &p.levels[level]
			key := headKey{f.file, b.headers[f.file].section(b.reduce+level+1, f.slice)}
			to, ok := next[key]
			if !ok {
				to = at[f.file] + sections[f.file].start(key.section) + len(heads[key])
			}
			for k, n := range lengths[l.tilesAt:][:l.tiles] {
				places[l.tilesAt+k] = uint64(to)
				to += int(n/2) * 2
			}
			next[key] = to
		}
	}
	return b.stream.Upload(b.places, 0, gpu.Bytes(places))
}

// writeHeads writes what the host has of the sections of a file.
func (b *modelBatch) writeHeads(to []byte, file int, heads map[headKey][]byte, s *fileSections) {
	h := b.headers[file]
	at := 0
	for i, n := range s.lengths {
		if i < h.shape.Depth {
			copy(to[at:], s.lows[i])
		} else {
			copy(to[at:], heads[headKey{file, i}])
		}
		at += n
	}
}

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

// decodeTiles fills the samples of pictures, the slices of files at 1/2^reduce, from them. It returns what is wrong with each
// picture, 0 for nothing.
func (d *deviceSteps) decodeTiles(ctx context.Context, pictures []picture, headers []*header, frames []frame, files []*codedFile, reduce int) ([]uint32, error) {
	b, err := d.newModelBatch(pictures, headers, frames, reduce, false)
	if err != nil {
		return nil, err
	}
	bytes, err := b.upload(files)
	if err != nil {
		return nil, err
	}
	for level := b.most - 1; level >= 0; level-- {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := b.decodeLevel(level, bytes); err != nil {
			return nil, err
		}
		if err := b.join(level); err != nil {
			return nil, err
		}
	}
	if err := b.alongSlices(-1); err != nil {
		return nil, err
	}
	if err := b.makeSamples(b.images); err != nil {
		return nil, err
	}
	return download[uint32](d, b.images.errors, len(pictures))
}

// decodeLevel decodes the coefficients of a level of all planes. A plane looks at those before.
func (b *modelBatch) decodeLevel(level int, bytes *gpu.Buffer) error {
	for c := range mostChannels {
		from, to := b.ranges[c][level], b.ranges[c][level+1]
		if err := b.run("pcwt_know", from, to); err != nil {
			return err
		}
		if err := b.runWith("pcwt_decode_tiles", bytes.Ptr, from, to); err != nil {
			return err
		}
	}
	return nil
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
	bytes, err := b.lane.Device(layout.Size)
	if err != nil {
		return nil, err
	}
	if err := b.staging.Upload(bytes, layout.Size, parts); err != nil {
		return nil, err
	}
	places, lengths := make([]uint64, b.tiles), make([]uint32, b.tiles)
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
		lowParts = append(lowParts, gpu.Part{At: lows.Take(4 * len(low)), Bytes: gpu.Bytes(low)})
		to, _, _ := b.last(p)
		list = append(list, deviceCopy{To: to, Count: uint64(len(low))})
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
