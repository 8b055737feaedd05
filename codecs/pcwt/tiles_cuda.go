package pcwt

import (
	"context"
	"hash/crc32"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
)

// encodeTiles codes pictures, the slices of files, as their headers say. It sets the lengths of the headers' sections.
func (d *deviceSteps) encodeTiles(ctx context.Context, pictures []picture, headers []*header, frames []frame) (*codedBatch, error) {
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
	return b.assemble()
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
func (b *modelBatch) predict() error { return b.byLevel("pcwt_predict") }

// scale makes the steps of the scales of all coefficients.
func (b *modelBatch) scale() error { return b.byLevel("pcwt_scale") }

// byLevel runs a kernel for the planes of all pictures, one channel after the other. The large levels have a launch each: one for
// all levels would have as many blocks for each as for the first.
func (b *modelBatch) byLevel(kernel string) error {
	const apart = 2 // levels
	for c := range mostChannels {
		r := b.ranges[c]
		for level := range min(apart, b.most) {
			if err := b.run(kernel, r[level], r[level+1]); err != nil {
				return err
			}
		}
		if err := b.run(kernel, r[min(apart, b.most)], r[b.most]); err != nil {
			return err
		}
	}
	return nil
}

// encode makes the streams of all tiles.
func (b *modelBatch) encode() error { return b.run("pcwt_encode_tiles", 0, len(b.models)) }

// join makes of the bands and LL of a level the samples that it has, or LL of the next one.
func (b *modelBatch) join(level int) error { return b.transform("pcwt_join", level) }

// codedBatch is the parts of files, which are put together when the lane is with other batches.
type codedBatch struct {
	headers  []*header
	sections []fileSections
	heads    map[headKey][]byte
	at       []int      // of the files' sections in bodies
	bodies   *result    // the files' sections, with gaps where the host has the bytes
	files    [][]byte   // or the files in memory of the caller's, with the same gaps; nil: not there
	samples  *result    // of files with qmin, as they come back
	pictures [][][2]int // of each file: where the samples of its slices are, and how many bytes
}

// assemble brings the bodies to the host, and what comes before them.
func (b *modelBatch) assemble() (*codedBatch, error) {
	lengths, err := download[uint32](b.deviceSteps, b.lengths, b.tiles)
	if err != nil {
		return nil, err
	}
	c := &codedBatch{headers: b.headers, at: make([]int, len(b.headers))}
	if c.sections, err = b.lowSections(); err != nil {
		return nil, err
	}
	c.heads = b.levelSections(lengths, c.sections)
	var layout gpu.Layout
	for i, h := range b.headers {
		h.sections = c.sections[i].lengths
		c.at[i] = layout.Take(c.sections[i].start(len(h.sections)))
	}
	if err := b.putPlaces(lengths, c.heads, c.sections, c.at); err != nil {
		return nil, err
	}
	bytes, err := b.lane.Device(layout.Size)
	if err != nil {
		return nil, err
	}
	if err := b.runWith("pcwt_pack_tiles", bytes.Ptr, 0, len(b.models)); err != nil {
		return nil, err
	}
	if c.files = b.placed(); c.files != nil {
		c.bodies, err = new(result), b.fetchFiles(c, bytes)
	} else {
		c.bodies, err = b.fetch(bytes, layout.Size)
	}
	if err != nil {
		return nil, err
	}
	c.bodies.left.Store(int32(len(b.headers)))
	if b.rounded() {
		if err := b.back(c); err != nil {
			return nil, err
		}
		c.samples.left.Store(int32(len(b.headers)))
	}
	return c, nil
}

// placed is pinned memory of the caller's for all files, or nil.
func (b *modelBatch) placed() [][]byte {
	if b.place == nil {
		return nil
	}
	files := make([][]byte, len(b.headers))
	for i, h := range b.headers {
		h.append() // which counts the bytes
		if files[i] = b.place(i, h.size); files[i] == nil || !b.lane.Pinned(files[i]) {
			return nil
		}
	}
	return files
}

// fetchFiles brings the sections of files to where they belong.
func (b *modelBatch) fetchFiles(c *codedBatch, bytes *gpu.Buffer) error {
	parts := make([]gpu.Part, len(c.files))
	for i, h := range b.headers {
		parts[i] = gpu.Part{At: c.at[i], Bytes: c.files[i][h.start:]}
	}
	if err := b.stream.DownloadParts(parts, bytes); err != nil {
		return err
	}
	return b.stream.Sync()
}

// back brings to the host the samples that the files give.
func (b *modelBatch) back(c *codedBatch) (err error) {
	if b.most > 0 {
		if err := b.join(0); err != nil {
			return err
		}
	}
	if err := b.alongSlices(-1); err != nil {
		return err
	}
	for file := range b.headers {
		var list [][2]int
		for _, k := range b.picturesOf(file) {
			list = append(list, [2]int{b.images.parts[k].At, b.images.lengths[k]})
		}
		c.pictures = append(c.pictures, list)
	}
	c.samples, err = b.makeSamples(b.images)
	return err
}

// file is file i, in memory that place has for it, if any. Its header has the checksum of the samples, but with qmin.
func (c *codedBatch) file(cores *pool.Pool, i int, place func(n int) []byte) []byte {
	defer c.bodies.release()
	h := c.headers[i]
	head := h.append()
	var file []byte
	if c.files != nil {
		file = c.files[i]
	} else if file = place(h.size); file == nil {
		file = codec.Uncleared(h.size)
	}
	copy(file, head)
	sections := file[h.start:]
	if c.files == nil {
		from := c.bodies.bytes[c.at[i]:]
		cores.Spans(len(sections), copySpan, func(lo, hi int) { copy(sections[lo:hi], from[lo:hi]) })
	}
	c.writeHeads(sections, i)
	if h.qmin > 0 {
		defer c.samples.release()
		h.checksum = 0
		for _, p := range c.pictures[i] {
			h.checksum = crc32.Update(h.checksum, castagnoli, c.samples.bytes[p[0]:][:p[1]])
		}
		h.checksum = crc32.Update(h.checksum, castagnoli, sections)
		copy(file, h.append())
	}
	return file
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
func (c *codedBatch) writeHeads(to []byte, file int) {
	at := 0
	s := &c.sections[file]
	for i, n := range s.lengths {
		if i < c.headers[file].shape.Depth {
			copy(to[at:], s.lows[i])
		} else {
			copy(to[at:], c.heads[headKey{file, i}])
		}
		at += n
	}
}
