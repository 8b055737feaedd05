package pcwt

import (
	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/gpu"
)

// Profile 1 on a device: the levels of all planes of a batch, as kernels see them.

// frame is a slice of a file, as it is stored. Levels along z put other slices first than the image has.
type frame struct {
	file, slice int
	picture     int // the slice of the image
}

// modelBatch is the levels of files whose slices are pictures.
type modelBatch struct {
	*deviceSteps
	images  *deviceImages // of the frames
	headers []*header     // of the files
	frames  []frame
	planes  []modelPlane // of all frames
	reduce  int          // finest levels that are left out
	most    int          // levels of the file that has most, without these

	memory *gpu.Buffer
	models []deviceModel // by channel, then by level, the finest first
	sizes  []extent
	ranges [mostChannels + 1][]int // of channel c and level l, the models from ranges[c][l] to ranges[c][l+1]-1
	list   gpu.Ptr
	tiles  int // of all planes

	lengths, rawBits, places, states *gpu.Buffer // of all tiles
	wide                             *gpu.Buffer // a uint32 for each picture: 1 where sums have to be limited
}

// modelPlane is a plane of a frame.
type modelPlane struct {
	frame, channel int
	params         *planeParams
	levels         []modelLevel // the finest first
	first          gpu.Ptr      // its samples
}

// modelLevel is where a level of a plane has its arrays.
type modelLevel struct {
	width, height int // of the samples
	low           gpu.Ptr
	bands         [constants.Bands]modelArrays
	words         gpu.Ptr
	across        int // tiles in a row
	tiles         int
	tilesAt       int // the first of them in the batch's lists
}

// modelArrays is a band.
type modelArrays struct {
	width, height                         int
	c, e, residuals, scales, kinds, steps gpu.Ptr
}

// roomOf is the number of words that a tile may take: more than two for each coefficient take more than raw ones.
func roomOf(side, lanes int) int { return 2*constants.Bands*side*side + 2*lanes }

// newModelBatch makes room for the levels of files, of which the finest reduce are left out. The pictures are as small as
// that makes them. encoding says what for.
func (d *deviceSteps) newModelBatch(pictures []picture, headers []*header, frames []frame, reduce int, encoding bool) (*modelBatch, error) {
	images, err := d.images(pictures)
	if err != nil {
		return nil, err
	}
	b := &modelBatch{deviceSteps: d, images: images, headers: headers, frames: frames, reduce: reduce}
	var room gpu.Layout
	for i, f := range frames {
		h := headers[f.file]
		b.most = max(b.most, h.levels-reduce)
		for c := range h.shape.Channels {
			b.planes = append(b.planes, b.layOut(&room, i, c, encoding))
		}
	}
	if b.memory, err = d.lane.Device(max(1, room.Size)); err != nil {
		return nil, err
	}
	for _, list := range []struct {
		to   **gpu.Buffer
		size int
	}{{&b.lengths, 4}, {&b.rawBits, 1}, {&b.places, 8}, {&b.states, 4 * recordWords}} {
		if *list.to, err = d.lane.Device(max(1, list.size*b.tiles)); err != nil {
			return nil, err
		}
	}
	if b.wide, err = d.stream.Zeros(4 * len(pictures)); err != nil {
		return nil, err
	}
	sets, err := b.putSets()
	if err != nil {
		return nil, err
	}
	b.listModels(sets, encoding)
	b.list, err = put(d, b.models)
	return b, err
}

// layOut makes room for a plane. Pointers are from the start of the batch's memory on.
func (b *modelBatch) layOut(room *gpu.Layout, frame, channel int, encoding bool) modelPlane {
	f := b.frames[frame]
	h := b.headers[f.file]
	p := modelPlane{frame: frame, channel: channel, params: h.params(f.slice, channel), first: b.images.plane(f.picture, channel)}
	take := func(n int) gpu.Ptr { return gpu.Ptr(room.Take(n)) }
	width, height := reduced(h.shape.Width, b.reduce), reduced(h.shape.Height, b.reduce)
	for range h.levels - b.reduce {
		lw, lh := (width+1)/2, (height+1)/2
		l := modelLevel{width: width, height: height, low: take(4 * lw * lh), tilesAt: b.tiles}
		l.across = (lw + h.side() - 1) / h.side()
		l.tiles = l.across * ((lh + h.side() - 1) / h.side())
		b.tiles += l.tiles
		for i, size := range [constants.Bands][2]int{{width / 2, lh}, {lw, height / 2}, {width / 2, height / 2}} {
			n := size[0] * size[1]
			a := modelArrays{width: size[0], height: size[1], c: take(4 * n), e: take(2 * n), residuals: take(4 * n), kinds: take(n)}
			if encoding {
				a.steps = take(n)
			} else {
				a.scales = take(4 * n)
			}
			l.bands[i] = a
		}
		if encoding {
			l.words = take(2 * l.tiles * roomOf(h.side(), 1<<h.laneLog))
		}
		p.levels = append(p.levels, l)
		width, height = lw, lh
	}
	return p
}

// putSets brings the sets of constants to the device.
func (b *modelBatch) putSets() (map[*constants.Set]gpu.Ptr, error) {
	sets := make(map[*constants.Set]gpu.Ptr)
	for i := range b.planes {
		s := b.planes[i].params.tables.Set
		if sets[s] != 0 {
			continue
		}
		at, err := put(b.deviceSteps, []deviceSet{*makeDeviceSet(s)})
		if err != nil {
			return nil, err
		}
		sets[s] = at
	}
	return sets, nil
}

// listModels describes the levels of all planes.
func (b *modelBatch) listModels(sets map[*constants.Set]gpu.Ptr, encoding bool) {
	warps := decoderWarps
	if encoding {
		warps = encoderWarps
	}
	base := b.memory.Ptr
	for i := range b.planes {
		for l := range b.planes[i].levels {
			e := &b.planes[i].levels[l]
			e.low += base
			e.words += base
			for k := range e.bands {
				a := &e.bands[k]
				for _, p := range []*gpu.Ptr{&a.c, &a.e, &a.residuals, &a.scales, &a.kinds, &a.steps} {
					*p += base
				}
			}
		}
	}
	b.models, b.sizes = make([]deviceModel, 0, len(b.planes)*b.most), make([]extent, 0, len(b.planes)*b.most)
	for channel := range b.ranges {
		for level := range b.most + 1 {
			b.ranges[channel] = append(b.ranges[channel], len(b.models))
			tiles := b.beside // that are coded together
			for i := range b.planes {
				if p := &b.planes[i]; p.channel == channel && level < len(p.levels) {
					tiles += p.levels[level].tiles
				}
			}
			for i := range b.planes {
				p := &b.planes[i]
				if p.channel != channel || level >= len(p.levels) {
					continue
				}
				e := &p.levels[level]
				h := b.headers[b.frames[p.frame].file]
				group := groupLog(h.laneLog, tiles, warps)
				b.models = append(b.models, b.model(i, level, group, sets))
				width, height := e.bands[constants.LH].width, e.bands[constants.HL].height
				b.sizes = append(b.sizes, extent{
					pixels: width * height, regions: regions(width, height), bodies: e.tiles, side: h.side(), group: 1 << group, fast: h.fast(),
				})
			}
		}
	}
}

// model describes a level of a plane, with log2 of the threads that work on a tile.
func (b *modelBatch) model(plane, level, group int, sets map[*constants.Set]gpu.Ptr) deviceModel {
	p := &b.planes[plane]
	h := b.headers[b.frames[p.frame].file]
	l := &p.levels[level]
	class := constants.LevelClass(b.reduce + level + 1)
	m := deviceModel{
		Low: l.low, Set: sets[p.params.tables.Set],
		Words: l.words, Lengths: b.lengths.Ptr + gpu.Ptr(4*l.tilesAt), RawBits: b.rawBits.Ptr + gpu.Ptr(l.tilesAt), Places: b.places.Ptr + gpu.Ptr(8*l.tilesAt),
		States: b.states.Ptr + gpu.Ptr(4*recordWords*l.tilesAt), LogGroup: uint32(group),
		Error: b.images.errors.Ptr + gpu.Ptr(4*b.frames[p.frame].picture), Wide: b.wideOf(p),
		Width: uint32(l.bands[constants.LH].width), Height: uint32(l.bands[constants.HL].height),
		Side: uint32(h.side()), LogSide: uint32(h.tileLog), LogLanes: uint32(h.laneLog), LevelClass: uint32(class), Variant: uint32(p.params.earlier),
		Fast: flag(h.fast()), Qmin: uint32(h.qmin), Across: uint32(l.across), Tiles: uint32(l.tiles), Room: uint32(roomOf(h.side(), 1<<h.laneLog)),
	}
	copy(m.Offsets[:], p.params.offsets[class*constants.Bands:][:constants.Bands])
	for i, to := range [constants.Bands]*deviceModelBand{&m.Hl, &m.Lh, &m.Hh} {
		a := &l.bands[i]
		*to = deviceModelBand{
			C: a.c, E: a.e, Residuals: a.residuals, Scales: a.scales, Kinds: a.kinds, Steps: a.steps,
			Width: uint32(a.width), Height: uint32(a.height),
		}
		if level+1 < len(p.levels) {
			q := &p.levels[level+1].bands[i]
			to.ParentC, to.ParentE, to.ParentWidth, to.ParentHeight = q.c, q.e, uint32(q.width), uint32(q.height)
		}
		if p.params.earlier > 0 {
			q := &b.planes[plane-1].levels[level].bands[i]
			to.BeforeC, to.BeforeE = q.c, q.e
		}
		if p.params.earlier > 1 {
			q := &b.planes[plane-2].levels[level].bands[i]
			to.SecondC, to.SecondE = q.c, q.e
		}
	}
	return m
}

// wideOf is where it is told that a plane has values whose sums have to be limited.
func (b *modelBatch) wideOf(p *modelPlane) gpu.Ptr {
	return b.wide.Ptr + gpu.Ptr(4*b.frames[p.frame].picture)
}

// run runs a kernel for the models from first to last-1.
func (b *modelBatch) run(kernel string, first, last int) error {
	return launch(b.deviceSteps, kernel, b.sizes[first:last], &listParams{b.at(first)})
}

// at is where a model stands in the list on the device.
func (b *modelBatch) at(model int) gpu.Ptr {
	if len(b.models) == 0 {
		return b.list
	}
	return b.list + gpu.Ptr(model*len(gpu.Bytes(b.models[:1])))
}

// runWith runs a kernel that reads or writes bytes for the models from first to last-1.
func (b *modelBatch) runWith(kernel string, bytes gpu.Ptr, first, last int) error {
	return launch(b.deviceSteps, kernel, b.sizes[first:last], &tileParams{b.at(first), bytes})
}

// transform runs a kernel for a level of the transform of all planes.
func (b *modelBatch) transform(kernel string, level int) error {
	var list []deviceLevel
	var sizes []extent
	for i := range b.planes {
		p := &b.planes[i]
		if level >= len(p.levels) {
			continue
		}
		l := &p.levels[level]
		e := deviceLevel{
			Samples: p.first, Ll: l.low, Hl: l.bands[0].c, Lh: l.bands[1].c, Hh: l.bands[2].c,
			Width: uint32(l.width), Height: uint32(l.height), ExtendedWidth: uint32(l.width), ExtendedHeight: uint32(l.height),
			LowStride: uint32(l.bands[1].width), Stride: uint32(l.bands[1].width), HighStride: uint32(l.bands[2].width), Filter: uint32(p.params.wavelet),
			Wide: b.wideOf(p),
		}
		if level > 0 {
			e.Samples = p.levels[level-1].low
		}
		list = append(list, e)
		sizes = append(sizes, extent{tiles: tiles(l.width, l.height)})
	}
	at, err := put(b.deviceSteps, list)
	if err != nil {
		return err
	}
	return launch(b.deviceSteps, kernel, sizes, &listParams{at})
}

// last is the last LL of a plane, and its size.
func (b *modelBatch) last(p *modelPlane) (at gpu.Ptr, width, height int) {
	h := b.headers[b.frames[p.frame].file]
	if n := len(p.levels); n > 0 {
		at = p.levels[n-1].low
	} else {
		at = p.first
	}
	return at, reduced(h.shape.Width, h.levels), reduced(h.shape.Height, h.levels)
}

// makeDeviceSet lays out a set of constants for kernels.
func makeDeviceSet(s *constants.Set) *deviceSet {
	d := &deviceSet{Bias: s.Bias, Thresholds: s.Thresholds}
	for i := range s.Scale {
		copy(d.Scale[i*constants.Slots:], s.Scale[i][:])
	}
	if s.Predict != nil {
		for i := range s.Predict {
			copy(d.Predict[i*constants.Slots:], s.Predict[i][:])
		}
	}
	count := constants.TableCount
	if s.Predict == nil {
		count = constants.Contexts
	}
	bucket := 0
	for i := range s.Tables {
		starts := d.Starts[i*startStride:][:startStride]
		sum, at := 0, 0
		for t, f := range s.Tables[i] {
			starts[t] = uint16(sum)
			d.Ranges[i*constants.Tokens+t] = uint32(sum) | uint32(f)<<16
			for sum += int(f); i < count && at < sum; at += 1 << logBucketSlots {
				d.Firsts[bucket] = uint8(t)
				bucket++
			}
		}
		for t := constants.Tokens; t < startStride; t++ {
			starts[t] = 1 << constants.Bits
		}
	}
	return d
}
