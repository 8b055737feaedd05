package pcwt

import (
	"hash/crc32"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
)

// maxPixels is the largest slice.
const maxPixels = 1<<31 - 1

// together is how many slices are coded at a time: enough for the cores of most machines, few enough for
// their memory.
const together = 8

// best makes the smallest file of the plans that the effort allows.
func (e *encoder) best() ([]byte, error) {
	h := e.plain()
	return e.file(h)
}

// plain is the header for photographs: 5/3, chroma with the 2-tap wavelet, constants of the format.
func (e *encoder) plain() *header {
	m := e.image
	h := e.header()
	h.levels, h.tileLog, h.laneLog, h.qmin = levelsOf(m.Width, m.Height), e.o.tile, lanesLog, e.o.qmin
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
			var planes []wavelet.Plane[int32]
			if lifted != nil {
				planes, lifted[z] = lifted[z], nil
			} else {
				planes = loadPlanes(e.cores, m, z, h.near, h.rct())
			}
			for i, s := range e.slice(h, k, planes, z) {
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
		h.checksum = crc32.Checksum(back.Pix, castagnoli)
	}
	return assemble(h, sections), nil
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
