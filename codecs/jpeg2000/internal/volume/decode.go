package volume

import (
	"context"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/packet"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// Decode decodes a codestream, with width and height at 1/2^reduce; reduce is below the
// Resolutions of its [Header].
func Decode(ctx context.Context, p *pool.Pool, file []byte, reduce int) (*raster.Image, error) {
	h, body, err := parse(file)
	if err != nil {
		return nil, err
	}
	if reduce < 0 || reduce >= h.resolutionCount() {
		return nil, codec.Unsupportedf("jpeg2000: a volume of %d resolutions cannot be reduced by 2^%d", h.resolutionCount(), reduce)
	}
	d := &decoder{header: h, pool: p, reduce: reduce}
	if err := d.read(body); err != nil {
		return nil, err
	}
	if err := d.decode(ctx); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	m := store(p, h.reducedShape(reduce), d.arrays, h.transform)
	h.space.attach(&m.Meta)
	return m, nil
}

// decoder is the state of [Decode].
type decoder struct {
	*header
	pool        *pool.Pool
	reduce      int
	resolutions []resolution         // of every component
	precincts   [][]*packet.Precinct // by component and resolution
	arrays      []array              // by component
}

// read reads the packets.
func (d *decoder) read(body []byte) error {
	d.resolutions = d.Coding.resolutions(size{d.Width, d.Height, d.Depth})
	d.precincts = make([][]*packet.Precinct, d.Channels)
	for c := range d.precincts {
		for _, r := range d.resolutions {
			d.precincts[c] = append(d.precincts[c], packet.NewVolumePrecinct(d.bands(r)))
		}
	}
	return d.packets(func(layer, r, c int) (err error) {
		if len(body) == 0 {
			return codec.Malformedf("jpeg2000: the volume is cut short: it ends before the packet of layer %d, resolution %d, component %d", layer, r, c)
		}
		body, err = d.precincts[c][r].ReadPacket(body, layer, d.style, packet.Markers{SOP: d.sop, EPH: d.eph})
		return err
	})
}

// decode decodes the code-blocks and transforms their coefficients.
func (d *decoder) decode(ctx context.Context) error {
	shape, coding := d.reducedShape(d.reduce), d.Coding
	coding.Levels[axisX] -= d.reduce
	coding.Levels[axisY] -= d.reduce
	var jobs []func() error
	for c := range d.Channels {
		d.arrays = append(d.arrays, newArray(size{shape.Width, shape.Height, shape.Depth}))
		for r := range coding.Levels[axisX] + 1 {
			for b := range d.resolutions[r] {
				for k := range d.resolutions[r][b].blocks.samples() {
					jobs = append(jobs, func() error { return d.block(c, r, b, k) })
				}
			}
		}
	}
	errs := make([]error, len(jobs))
	d.pool.Each(len(jobs), func(i int) {
		if ctx.Err() == nil {
			errs[i] = jobs[i]()
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for c := range d.arrays {
		if ctx.Err() == nil {
			d.arrays[c].inverse(d.pool, &coding)
		}
	}
	return nil
}

// block decodes code-block k of a subband into its place.
func (d *decoder) block(component, r, b, k int) error {
	band := &d.resolutions[r][b]
	var coded codestream.Block
	some, _, err := d.precincts[component][r].Bands[b].Coded(k, d.style, d.planes(band), &coded, nil)
	if !some || err != nil {
		return err
	}
	a := &d.arrays[component]
	origin, extent := d.Coding.block(band, k)
	coded.Width, coded.Height, coded.Orientation = extent[axisX], extent[axisY], band.orientation.planar()
	at, slice := a.at(origin), a.size[axisX]*a.size[axisY]
	dst := a.samples[at:]
	if err := bitplane.DecodeSlices(dst, a.size[axisX], slice, extent[axisZ], &coded); err != nil {
		return err
	}
	for z := range extent[axisZ] {
		for y := range extent[axisY] {
			row := dst[z*slice+y*a.size[axisX]:][:extent[axisX]]
			for x, v := range row {
				row[x] = v / 2 // the half below the last bit-plane
			}
		}
	}
	return nil
}
