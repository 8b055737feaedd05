package pcwt

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/wavelettree"
	"github.com/pelmill/pelmill/gpu"
)

// Profile 0 on a device: the stages of package wavelettree, each for all pictures of a batch.

// treeBatch is pictures with their wavelet trees.
type treeBatch struct {
	*deviceSteps
	images  *deviceImages
	layouts []*wavelettree.Layout // of the pictures
	planes  []treePlane
	most    int // levels of the picture that has most

	bands     []deviceBand // by level, the finest first
	bandSizes []extent
	from      []int // of level l, the bands from[l] to from[l+1]-1
	number    map[bandKey]int
	memory    *gpu.Buffer // of all trees
	qmax      *gpu.Buffer // of each plane
	bandList  gpu.Ptr
}

// treePlane is where a plane's arrays are.
type treePlane struct {
	picture, channel        int
	coefficients, mqd, qmax gpu.Ptr
	low                     []gpu.Ptr // samples after each level, 0 those of the plane; none for the last
}

type bandKey struct{ plane, band int }

// newTreeBatch makes room for the trees of pictures.
func (d *deviceSteps) newTreeBatch(pictures []picture, params []wavelettree.Params) (*treeBatch, error) {
	images, err := d.images(pictures)
	if err != nil {
		return nil, err
	}
	b := &treeBatch{deviceSteps: d, images: images}
	var room gpu.Layout
	for i := range pictures {
		p := &pictures[i]
		l := wavelettree.NewLayout(p.width, p.height, params[i])
		b.layouts = append(b.layouts, l)
		b.most = max(b.most, l.Levels)
		for c := range p.channels {
			t := treePlane{picture: i, channel: c, low: []gpu.Ptr{images.plane(i, c)}}
			t.coefficients = gpu.Ptr(room.Take(4 * l.Coefficients))
			t.mqd = gpu.Ptr(room.Take(l.Elements))
			for level := 1; level < l.Levels; level++ {
				w, h := l.Size(level)
				t.low = append(t.low, gpu.Ptr(room.Take(4*w*h)))
			}
			b.planes = append(b.planes, t)
		}
	}
	if b.memory, err = d.lane.Device(room.Size); err != nil {
		return nil, err
	}
	if b.qmax, err = d.lane.Device(4 * len(b.planes)); err != nil {
		return nil, err
	}
	for i := range b.planes {
		t := &b.planes[i]
		t.coefficients += b.memory.Ptr
		t.mqd += b.memory.Ptr
		t.qmax = b.qmax.Ptr + gpu.Ptr(4*i)
		for level := 1; level < len(t.low); level++ {
			t.low[level] += b.memory.Ptr
		}
	}
	b.listBands()
	b.bandList, err = put(d, b.bands)
	return b, err
}

// listBands describes the bands of all planes.
func (b *treeBatch) listBands() {
	b.number = make(map[bandKey]int)
	b.from = make([]int, b.most+2)
	for level := 1; level <= b.most; level++ {
		b.from[level] = len(b.bands)
		for i := range b.planes {
			l := b.layouts[b.planes[i].picture]
			if level > l.Levels {
				continue
			}
			first, last := l.LevelBands(level)
			for band := first; band < last; band++ {
				b.number[bandKey{i, band}] = len(b.bands)
				b.bands = append(b.bands, b.planes[i].band(l, band))
				b.bandSizes = append(b.bandSizes, extent{elements: l.Bands[band].Columns * l.Bands[band].Rows})
			}
		}
	}
	b.from[b.most+1] = len(b.bands)
}

func (t *treePlane) band(l *wavelettree.Layout, number int) deviceBand {
	b := &l.Bands[number]
	out := deviceBand{
		Coefficients: t.coefficients + gpu.Ptr(4*b.At), Mqd: t.mqd + gpu.Ptr(b.ElementsAt), Qmax: t.qmax,
		Width: uint32(b.Width), Height: uint32(b.Height), Stride: uint32(2 * b.Columns),
		Columns: uint32(b.Columns), Rows: uint32(b.Rows),
		GroupColumns: uint32(l.Params.GroupColumns), GroupRows: uint32(l.Params.GroupRows), Across: uint32(b.GroupColumns),
		ZeroSigns: flag(l.ZeroSigns),
	}
	if b.Parent >= 0 {
		out.Parent = t.mqd + gpu.Ptr(l.Bands[b.Parent].ElementsAt)
	}
	if b.Child >= 0 {
		child := &l.Bands[b.Child]
		out.Child = t.mqd + gpu.Ptr(child.ElementsAt)
		out.ChildColumns, out.ChildRows = uint32(child.Columns), uint32(child.Rows)
	}
	return out
}

// level describes a level of the transform of all planes that have it.
func (b *treeBatch) level(level int) (list []deviceLevel, sizes []extent) {
	for i := range b.planes {
		t := &b.planes[i]
		l := b.layouts[t.picture]
		if level > l.Levels {
			continue
		}
		w, h := l.Size(level - 1)
		_, last := l.LevelBands(level)
		at := func(band int) gpu.Ptr { return t.coefficients + gpu.Ptr(4*l.Bands[band].At) }
		e := deviceLevel{
			Samples: t.low[level-1], Hl: at(last - 3), Lh: at(last - 2), Hh: at(last - 1),
			Width: uint32(w), Height: uint32(h), ExtendedWidth: uint32(w + w&1), ExtendedHeight: uint32(h + h&1),
			Stride: uint32(2 * l.Bands[last-1].Columns), HighStride: uint32(2 * l.Bands[last-1].Columns), Filter: filter53,
		}
		if level < l.Levels {
			low, _ := l.Size(level)
			e.Ll, e.LowStride = t.low[level], uint32(low)
		} else {
			e.Ll, e.LowStride = at(0), e.Stride
		}
		list = append(list, e)
		sizes = append(sizes, extent{tiles: tiles(int(e.ExtendedWidth), int(e.ExtendedHeight))})
	}
	return list, sizes
}

// transform runs a kernel for a level of all planes.
func (b *treeBatch) transform(kernel string, level int) error {
	list, sizes := b.level(level)
	at, err := put(b.deviceSteps, list)
	if err != nil {
		return err
	}
	return launch(b.deviceSteps, kernel, sizes, &listParams{at})
}

// analyse makes the coefficients, MQDs and Qmax of the planes.
func (b *treeBatch) analyse() error {
	for level := 1; level <= b.most; level++ {
		if err := b.transform("pcwt_split", level); err != nil {
			return err
		}
	}
	if err := b.stream.Fill(b.qmax, 0, b.qmax.Size, 0xff); err != nil {
		return err
	}
	for level := 1; level <= b.most; level++ {
		from, to := b.from[level], b.from[level+1]
		at := b.bandList + gpu.Ptr(from*len(gpu.Bytes(b.bands[:1])))
		if err := launch(b.deviceSteps, "pcwt_quantise", b.bandSizes[from:to], &listParams{at}); err != nil {
			return err
		}
	}
	return nil
}

// encodeTrees codes pictures as wavelettree.Encode does with their planes. Once the sizes are known, room gives the memory for the
// bytes of each picture. It returns their CRC-32C.
func (d *deviceSteps) encodeTrees(ctx context.Context, pictures []picture, params []wavelettree.Params, room func(sizes []int) [][]byte) ([]uint32, error) {
	b, err := d.newTreeBatch(pictures, params)
	if err != nil {
		return nil, err
	}
	if err := d.makePlanes(b.images); err != nil {
		return nil, err
	}
	if err := b.analyse(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return b.code(room)
}

// code measures all groups, asks for the sizes, and packs the groups.
func (b *treeBatch) code(room func(sizes []int) [][]byte) ([]uint32, error) {
	groups, trees := b.listGroups()
	bits, err := b.lane.Device(4 * len(groups))
	if err != nil {
		return nil, err
	}
	places, err := b.lane.Device(8 * len(groups))
	if err != nil {
		return nil, err
	}
	sizes, err := b.lane.Device(8 * len(trees))
	if err != nil {
		return nil, err
	}
	at := 0
	items := make([]extent, len(trees))
	for i := range trees {
		trees[i].Size = sizes.Ptr + gpu.Ptr(8*i)
		trees[i].Places, trees[i].Bits = places.Ptr+gpu.Ptr(8*at), bits.Ptr+gpu.Ptr(4*at)
		at += int(trees[i].Groups)
	}
	groupList, err := put(b.deviceSteps, groups)
	if err != nil {
		return nil, err
	}
	treeList, err := put(b.deviceSteps, trees)
	if err != nil {
		return nil, err
	}
	all := []extent{{groups: len(groups)}}
	if err := launch(b.deviceSteps, "pcwt_group_bits", all, &groupBitsParams{b.bandList, groupList, bits.Ptr}); err != nil {
		return nil, err
	}
	if err := launch(b.deviceSteps, "pcwt_group_places", items, &listParams{treeList}); err != nil {
		return nil, err
	}
	files, parts, bases, n, err := b.layOutFiles(sizes, room)
	if err != nil {
		return nil, err
	}
	bytes, err := b.stream.Zeros(n)
	if err != nil {
		return nil, err
	}
	baseList, err := put(b.deviceSteps, bases)
	if err != nil {
		return nil, err
	}
	err = launch(b.deviceSteps, "pcwt_group_pack", all, &groupPackParams{
		Bytes: bytes.Ptr, Size: uint64(n), Bands: b.bandList, Groups: groupList, Bits: bits.Ptr, Places: places.Ptr, Bases: baseList,
	})
	if err != nil {
		return nil, err
	}
	coded, err := b.fetch(bytes, n)
	if err != nil {
		return nil, err
	}
	coded.left.Store(1)
	defer coded.release()
	sums := make([]uint32, len(files))
	b.cores.Each(len(files), func(i int) {
		head := len(files[i]) - len(parts[i].Bytes)
		sums[i] = crcFilled(b.cores, files[i], func(lo, hi int) {
			if lo = max(lo, head); lo < hi {
				copy(files[i][lo:hi], coded.bytes[parts[i].At+lo-head:])
			}
		})
	})
	return sums, nil
}

// listGroups lists the groups of all pictures in the order of coding.
func (b *treeBatch) listGroups() (groups []deviceGroup, trees []deviceTree) {
	plane := 0
	for i, l := range b.layouts {
		channels := int(b.images.list[i].Channels)
		sections, n := l.Sections(channels, 1)
		for _, s := range sections {
			band := uint32(b.number[bandKey{plane + s.Plane, s.Band}])
			for number := range l.Bands[s.Band].Groups() {
				groups = append(groups, deviceGroup{Band: band, Number: uint32(number), Picture: uint32(i)})
			}
		}
		trees = append(trees, deviceTree{Groups: uint64(n)})
		plane += channels
	}
	return groups, trees
}

// layOutFiles waits for the sizes of the pictures' groups and for their Qmax, and writes what comes before the groups. The
// groups of picture i have their place at bases[i] of n bytes.
func (b *treeBatch) layOutFiles(sizes *gpu.Buffer, room func(sizes []int) [][]byte) (files [][]byte, parts []gpu.Part, bases []uint64, n int, err error) {
	list, err := download[uint64](b.deviceSteps, sizes, len(b.layouts))
	if err != nil {
		return nil, nil, nil, 0, err
	}
	qmax, err := download[int32](b.deviceSteps, b.qmax, len(b.planes))
	if err != nil {
		return nil, nil, nil, 0, err
	}
	heads, all := make([][]byte, len(list)), make([]int, len(list))
	for i, l := range b.layouts {
		channels := int(b.images.list[i].Channels)
		var own []int
		for _, q := range qmax[:channels] {
			own = append(own, int(q))
		}
		qmax = qmax[channels:]
		heads[i] = l.Params.AppendHeader(nil, own)
		all[i] = len(heads[i]) + int(list[i])
	}
	var layout gpu.Layout
	for i, to := range room(all) {
		copy(to, heads[i])
		at := layout.Take(int(list[i]))
		bases = append(bases, uint64(at))
		files = append(files, to[:all[i]])
		parts = append(parts, gpu.Part{At: at, Bytes: to[len(heads[i]):all[i]]})
	}
	return files, parts, bases, layout.Size, nil
}

// decodeTrees decodes pictures from what encodeTrees gave. A picture whose file is damaged has no samples.
func (d *deviceSteps) decodeTrees(ctx context.Context, pictures []picture, files [][]byte) (*decodedBatch, error) {
	var good []int
	var list []picture
	var trees []codedTree
	for i, file := range files {
		if t, err := readTree(&pictures[i], file); err == nil {
			good, list, trees = append(good, i), append(list, pictures[i]), append(trees, t)
		}
	}
	out := &decodedBatch{result: new(result), samples: make([][]byte, len(pictures))}
	if len(good) == 0 {
		return out, nil
	}
	some, err := d.decodeWhole(ctx, list, trees)
	if err != nil {
		return nil, err
	}
	out.result = some.result
	for k, i := range good {
		out.samples[i] = some.samples[k]
	}
	return out, nil
}

// codedTree is a file whose groups were found.
type codedTree struct {
	data     []byte
	info     wavelettree.Info
	sections []wavelettree.Section
	groups   []wavelettree.Group
}

func readTree(p *picture, data []byte) (t codedTree, err error) {
	t.data = data
	if t.info, err = wavelettree.Header(data, p.channels); err != nil {
		return t, err
	}
	l := wavelettree.NewLayout(p.width, p.height, t.info.Params)
	var n int
	t.sections, n = l.Sections(p.channels, 1)
	t.groups, err = t.info.Groups(data, n, true)
	return t, err
}

// decodeWhole decodes files whose groups are all there.
func (d *deviceSteps) decodeWhole(ctx context.Context, pictures []picture, trees []codedTree) (*decodedBatch, error) {
	params := make([]wavelettree.Params, len(trees))
	var qmax []int32
	for i := range trees {
		params[i] = trees[i].info.Params
		for _, q := range trees[i].info.Qmax {
			qmax = append(qmax, int32(q))
		}
	}
	b, err := d.newTreeBatch(pictures, params)
	if err != nil {
		return nil, err
	}
	if err := d.stream.Upload(b.qmax, 0, gpu.Bytes(qmax)); err != nil {
		return nil, err
	}
	if err := b.readGroups(trees); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	for level := b.most; level >= 1; level-- {
		if err := b.transform("pcwt_join", level); err != nil {
			return nil, err
		}
	}
	return d.decoded(b.images)
}

// readGroups brings the files to the device and decodes their groups, level after level.
func (b *treeBatch) readGroups(trees []codedTree) error {
	var layout gpu.Layout
	var parts []gpu.Part
	byLevel := make([][]deviceCodedGroup, b.most+1)
	plane := 0
	for i := range trees {
		t := &trees[i]
		at := layout.Take(len(t.data))
		parts = append(parts, gpu.Part{At: at, Bytes: t.data})
		for _, s := range t.sections {
			band := &b.layouts[i].Bands[s.Band]
			for number, g := range t.groups[s.First:][:band.Groups()] {
				byLevel[band.Level] = append(byLevel[band.Level], deviceCodedGroup{
					At: uint64(at + g.At), Bits: uint32(g.Bits), Band: uint32(b.number[bandKey{plane + s.Plane, s.Band}]),
					Number: uint32(number), Picture: uint32(i),
				})
			}
		}
		plane += int(b.images.list[i].Channels)
	}
	bytes, err := b.lane.Device(layout.Size)
	if err != nil {
		return err
	}
	if err := b.send(bytes, layout.Size, parts); err != nil {
		return err
	}
	for level := b.most; level >= 1; level-- {
		list, err := put(b.deviceSteps, byLevel[level])
		if err != nil {
			return err
		}
		n := len(byLevel[level])
		err = launch(b.deviceSteps, "pcwt_group_read", []extent{{groups: n}}, &groupReadParams{
			Bands: b.bandList, Groups: list, N: uint64(n), Bytes: bytes.Ptr, Size: uint64(layout.Size), Errors: b.images.errors.Ptr,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
