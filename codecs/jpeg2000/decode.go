package jpeg2000

import (
	"context"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/volume"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/jp2"
	"github.com/pelmill/pelmill/raster"
)

// Decode decodes files of Part 1 and Part 15, of any encoder. A device does
// most of them, see README.md.
func (c Codec) Decode(ctx context.Context, run codec.Run, files [][]byte, assets codec.Assets) []codec.Decoded {
	return c.DecodeView(ctx, run, files, assets, codec.View{})
}

// decodeOnDevice is DecodeView with a device.
func decodeOnDevice(ctx context.Context, run codec.Run, files [][]byte, view codec.View) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	var all, volumes []int
	for i := range files {
		if view == (codec.View{}) && volume.Is(files[i]) {
			volumes = append(volumes, i)
		} else {
			all = append(all, i)
		}
	}
	(&volumeDecoder{device: run.Device, ctx: ctx, workers: run.Cores(), files: files, decoded: make([]*decodedVolume, len(files))}).run(volumes, out)
	d := newDeviceDecoder(ctx, run, run.Cores(), files)
	d.view = view
	defer pool.Beside(d.readAll)() // lanes read themselves what it does not come to
	pixels := make([]int, len(files))
	if view == (codec.View{}) {
		for _, i := range all {
			pixels[i] = batchPixels(files[i])
		}
	} else {
		d.workers.Each(len(all), func(j int) { pixels[all[j]] = viewPixels(files[all[j]], view) })
	}
	batches := divideFiles(files, all, pixels)
	d.beside = min(len(batches), besideEachOther)
	run.Device.Run(ctx, batches, gpu.Work{
		Device: d.decode,
		Host: func(list []int) {
			d.workers.Each(len(list), func(j int) {
				i := list[j]
				out[i].Image, out[i].Err = d.result(i)
			})
		},
		CPU: func(list []int) {
			d.workers.Each(len(list), func(j int) {
				i := list[j]
				out[i].Image, out[i].Err = decode(ctx, codec.Run{Pool: d.workers}, files[i], view)
			})
		},
		Failed: func(list []int, err error) {
			for _, i := range list {
				out[i] = codec.Decoded{Err: err}
			}
		},
	})
	return out
}

// batchPixels is viewPixels of the whole image of a file for the division of a call into batches. Every lane waits for it,
// so that of images of up to four components it believes the marker segment SIZ.
func batchPixels(file []byte) int {
	if boxes, err := jp2.Parse(file); err == nil {
		if w, h, ok := codestream.ImageSize(boxes.Codestream); ok && max(w, h) <= maxSide {
			return max(1, w*h)
		}
	}
	return viewPixels(file, codec.View{})
}

// viewPixels is the number of pixels of a view, 1 if it has none that can be decoded.
func viewPixels(file []byte, view codec.View) int {
	p, err := open(file)
	if err != nil {
		return 1
	}
	area, err := view.In(p.shape, p.resolutions)
	if err != nil {
		return 1
	}
	return area.Dx() * area.Dy() * p.shape.Depth
}

// DecodeView decodes the code-blocks that the view depends on, and no others. Of packets it
// reads the headers. A device decodes all of the tiles that large views lie in.
func (Codec) DecodeView(ctx context.Context, run codec.Run, files [][]byte, _ codec.Assets, view codec.View) []codec.Decoded {
	if run.Device != nil && forDevice(files, view) {
		return decodeOnDevice(ctx, run, files, view)
	}
	out := make([]codec.Decoded, len(files))
	run.Pool = run.Cores()
	run.Pool.Each(len(files), func(i int) {
		out[i].Image, out[i].Err = decode(ctx, run, files[i], view)
	})
	return out
}

func decode(ctx context.Context, run codec.Run, data []byte, view codec.View) (m *raster.Image, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if volume.Is(data) {
		return decodeVolume(ctx, run.Pool, data, view)
	}
	p, err := open(data)
	if err != nil {
		return nil, err
	}
	area, err := view.In(p.shape, p.resolutions)
	if err != nil {
		return nil, err
	}
	o := p.newOutput(area, view.Reduce)
	o.take(run)
	d := newDecoder(ctx, run.Pool, p.stream, view.Reduce, o.windows, o.store)
	if o.rgb8() {
		d.storeRCT = o.storeRGB8
	}
	if err := d.decode(); err != nil {
		return nil, err
	}
	o.assemble(run.Pool)
	return exif.Attach(o.image(), p.meta()), nil
}

// meta are the attributes of the file. Viewers show JPEG 2000 as it is stored, so the
// orientation that an EXIF block may have is not applied.
func (p *picture) meta() raster.Meta {
	m := raster.Meta{EXIF: p.boxes.EXIF, XMP: p.boxes.XMP, ICC: p.boxes.Colour.ICC}
	if d, ok := p.boxes.Resolution.Density(); ok {
		unit := map[container.Unit]raster.Unit{container.Inch: raster.Inch, container.Centimetre: raster.Centimetre, container.Metre: raster.Metre}[d.Per]
		m.Density = raster.Density{X: fraction(d.X), Y: fraction(d.Y), Unit: unit}
	}
	return m
}

func fraction(r container.Rational) float64 { return float64(r.Numerator) / float64(r.Denominator) }
