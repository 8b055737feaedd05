package pcwt

import (
	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/fit"
)

// maxPixels is the largest slice.
const maxPixels = 1<<31 - 1

// together is how many slices are coded at a time: enough for the cores of most machines, few enough for
// their memory.
const together = 8

// leastTried is the number of samples from which on other ways than the plain one are tried: constants of a file's own take
// a kilobyte, and those of a volume one for each class of slices.
func leastTried(depth int) int {
	if depth > 1 {
		return 1 << 16
	}
	return 1 << 14
}

// best makes the smallest file of the ways that the effort allows.
func (e *encoder) best() ([]byte, error) {
	ways, err := e.ways()
	if err != nil {
		return nil, err
	}
	var best []byte
	for i, h := range ways {
		file, err := e.file(h)
		if err != nil {
			return nil, err
		}
		if i == 0 || len(file) < len(best) {
			best = file
		}
	}
	return best, nil
}

// tries says whether the effort asks for trials of an image.
func (e *encoder) tries() bool {
	m := e.image
	deep := m.Bits > 8 || m.Depth > 1
	return e.o.effort > 0 && (deep || e.o.effort > 1) && e.o.qmin == 0 && levelsOf(m.Width, m.Height) > 0 && m.Samples() >= leastTried(m.Depth)
}

// ways are the headers with which the image is coded, if not with one alone. The smallest file is kept, of equal ones the first.
func (e *encoder) ways() ([]*header, error) {
	plain := e.plain()
	switch {
	case !e.tries():
		return []*header{plain}, nil
	case e.image.Depth > 1:
		return e.volumeWays(plain)
	}
	return append([]*header{plain}, e.alternatives(plain)...), e.ctx.Err()
}

// forms of own constants that are tried.
func (o *Options) forms() []constants.Form {
	if o.effort < 2 {
		return []constants.Form{0}
	}
	return []constants.Form{0, constants.PredictDirections | constants.ScaleDirections}
}

// alternatives are other ways to code an image.
func (e *encoder) alternatives(plain *header) (list []*header) {
	for _, id := range []int{wavelet53, wavelet137T, wavelet2Tap} {
		h := plain.copy()
		for i := range h.planes {
			h.planes[i].wavelet = id
		}
		slices := e.sample(h)
		for _, form := range e.o.forms() {
			if own := e.withOwn(h, slices, form); own != nil {
				list = append(list, own)
			}
		}
		shifted := e.withOffsets(h, slices)
		switch {
		case shifted != nil:
			list = append(list, shifted)
		case id != wavelet53 || h.rct():
			list = append(list, h)
		}
	}
	return list
}

// copy is a header whose parameters can be changed.
func (h *header) copy() *header {
	c := *h
	c.planes = append([]planeParams(nil), h.planes...)
	return &c
}

// sampleSlices is how many slices of a class own constants are fitted to.
const sampleSlices = 6

// sampled are the pyramids of a stored slice.
type sampled struct {
	number   int // of the slice
	pyramids []*pyramid
}

// sample transforms some slices of each class, evenly spread.
func (e *encoder) sample(h *header) (list []sampled) {
	var lifted [][]wavelet.Plane[int32]
	if h.zLevels > 0 {
		lifted = e.lifted(h)
	}
	for class := range h.zLevels + 1 {
		from, to := 0, lowSlices(h.shape.Depth, h.zLevels)
		if class > 0 {
			from, to = lowSlices(h.shape.Depth, h.zLevels-class+1), lowSlices(h.shape.Depth, h.zLevels-class)
		}
		n := min(to-from, sampleSlices)
		for i := range n {
			list = append(list, sampled{number: from + (to-from)*(2*i+1)/(2*n)})
		}
	}
	e.cores.Each(len(list), func(i int) {
		s := &list[i]
		planes := e.planesOf(h, lifted, s.number)
		for k, p := range planes {
			s.pyramids = append(s.pyramids, transform(e.cores, p, h.params(s.number, k).wavelet, h.levels, 0))
		}
	})
	return list
}

// planesOf are the planes of a stored slice, of lifted if that is not nil.
func (e *encoder) planesOf(h *header, lifted [][]wavelet.Plane[int32], number int) []wavelet.Plane[int32] {
	if lifted == nil {
		return loadPlanes(e.cores, e.image, number, h.near, h.rct())
	}
	return lifted[number]
}

// fitSamples is how many coefficients own constants are fitted to, about.
const fitSamples = 1 << 19

// withOwn is h with constants of its own for each plane of each class of slices.
func (e *encoder) withOwn(h *header, slices []sampled, form constants.Form) *header {
	own := h.copy()
	own.own = nil
	channels := h.shape.Channels
	all := make([][]*fit.Plane, len(slices))
	for i := range all {
		all[i] = make([]*fit.Plane, channels)
	}
	for k := range own.planes {
		p := k % channels
		var list []*fit.Plane
		for i, s := range slices {
			if h.params(s.number, p) != &h.planes[k] {
				continue
			}
			f := &fit.Plane{Levels: s.pyramids[p].levels}
			if n := own.planes[k].earlier; n > 0 {
				f.Before = all[i][p-1]
				if n > 1 {
					f.Second = all[i][p-2]
				}
			}
			all[i][p] = f
			list = append(list, f)
		}
		if e.ctx.Err() != nil {
			return nil
		}
		coefficients := len(list) * h.shape.Width * h.shape.Height
		data, _ := fit.Own(list, fit.Options{
			Fast: e.o.fast, Form: form, Side: h.side(), Rounds: 1, Reweigh: h.shape.Bits <= 8, Shrink: 60,
			Every: max(1, coefficients/fitSamples), Each: e.cores.Each,
		})
		own.planes[k].constant = ownSets + len(own.own)
		own.own = append(own.own, data)
	}
	return own
}

// volumeWays are the levels along z and the constants that take least for some slices: without levels along z, so that no
// file is larger than the slices alone, and with them where these promise less.
func (e *encoder) volumeWays(plain *header) ([]*header, error) {
	type way struct {
		header *header
		size   float64
	}
	var best [2]*way // without and with levels along z
	depth := e.image.Depth
	for z := 0; z <= maxZLevels && (z == 0 || !e.image.Frames && lowSlices(depth, z-1) >= 2); z++ {
		for _, id := range []int{wavelet53, wavelet2Tap} {
			h := plain.copy()
			h.zLevels = z
			for i := range h.planes {
				h.planes[i].wavelet = id
			}
			one := h.planes
			for range z {
				h.planes = append(h.planes, one...)
			}
			slices := e.sample(h)
			ways := []*header{h}
			for _, form := range e.o.forms() {
				if own := e.withOwn(h, slices, form); own != nil {
					ways = append(ways, own)
				}
			}
			for _, h := range ways {
				size, err := e.estimate(h, slices)
				if err != nil {
					return nil, err
				}
				if b := &best[min(z, 1)]; *b == nil || size < (*b).size {
					*b = &way{h, size}
				}
			}
		}
	}
	ways := []*header{best[0].header}
	if best[1] != nil && best[1].size < best[0].size {
		ways = append(ways, best[1].header)
	}
	return ways, nil
}

// estimate is what the file takes, from some of its slices.
func (e *encoder) estimate(h *header, slices []sampled) (float64, error) {
	if err := h.setTables(); err != nil {
		return 0, err
	}
	k := &coders{side: h.side()}
	sizes := make([]int, len(slices))
	e.cores.Each(len(slices), func(i int) {
		for _, s := range e.code(h, k, slices[i].pyramids, slices[i].number) {
			sizes[i] += len(s)
		}
	})
	sum, count := make([]int, h.zLevels+1), make([]int, h.zLevels+1)
	for i, s := range slices {
		class := h.class(s.number)
		sum[class] += sizes[i]
		count[class]++
	}
	size := 0.
	for _, o := range h.own {
		size += float64(len(o))
	}
	for z := range h.shape.Depth {
		class := h.class(z)
		size += float64(sum[class]) / float64(count[class])
	}
	return size, e.ctx.Err()
}

// plain is the header for photographs: 5/3, chroma with the 2-tap wavelet, constants of the format.
func (e *encoder) plain() *header {
	m := e.image
	h := e.header()
	h.levels, h.qmin = levelsOf(m.Width, m.Height), e.o.qmin
	h.tileLog, h.laneLog = e.o.layout(m.Shape)
	if e.o.fast {
		h.flags |= flagFast
	}
	h.planes = make([]planeParams, m.Channels)
	for i := range h.planes {
		p := &h.planes[i]
		if h.rct() && i > 0 && i < 3 {
			*p = planeParams{wavelet: wavelet2Tap, earlier: i, constant: i}
		}
	}
	return h
}

// file codes the image as h says.
func (e *encoder) file(h *header) ([]byte, error) {
	if err := h.setTables(); err != nil {
		return nil, err
	}
	m := e.image
	k := &coders{side: h.side()}
	sections := make([][]byte, h.sectionCount())
	var lifted [][]wavelet.Plane[int32] // by slice
	if h.zLevels > 0 {
		lifted = e.lifted(h)
	}
	for first := 0; first < m.Depth && e.ctx.Err() == nil; first += together {
		e.cores.Each(min(together, m.Depth-first), func(i int) {
			z := first + i
			for i, s := range e.sliceOf(h, k, lifted, z) {
				sections[i*m.Depth+z] = s
			}
		})
	}
	if err := e.ctx.Err(); err != nil {
		return nil, err
	}
	h.checksum = checksum(e.cores, h, m)
	if h.qmin > 0 {
		// What comes back is known to the decoder only.
		file := assemble(h, sections)
		back, err := decodeSamples(e.ctx, e.cores, h, file)
		if err != nil {
			return nil, err
		}
		h.checksum = h.checksumOf(e.cores, back.Pix, file)
	}
	return assemble(h, sections), nil
}

// sliceOf codes a stored slice, of lifted if that is not nil, which it lets go.
func (e *encoder) sliceOf(h *header, k *coders, lifted [][]wavelet.Plane[int32], z int) [][]byte {
	if h.narrow() {
		return e.narrowSlice(h, k, z)
	}
	planes := e.planesOf(h, lifted, z)
	if lifted != nil {
		lifted[z] = nil
	}
	return e.slice(h, k, planes, z)
}

// lifted are the planes of all slices as they are stored.
func (e *encoder) lifted(h *header) [][]wavelet.Plane[int32] {
	m := e.image
	slices := make([][]wavelet.Plane[int32], m.Depth)
	e.cores.Each(m.Depth, func(z int) { slices[z] = loadPlanes(e.cores, m, z, h.near, h.rct()) })
	for c := range m.Channels {
		column := make([]wavelet.Plane[int32], m.Depth)
		for z := range column {
			column[z] = slices[z][c]
		}
		for z, p := range liftSlices(e.cores, column, h.zLevels) {
			column[z] = p
		}
		for z := range column {
			slices[z][c] = column[z]
		}
	}
	return slices
}
