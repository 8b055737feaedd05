// Package comparison has a device compare images that it has decoded with those that were encoded, where they are: the decoded ones
// need not come to the host.
//
//	b, err := comparison.Begin(lane, &staging, originals)
//	err = b.Start(decoded)       // behind the kernels that make them
//	compared, err := b.End()
//
// The numbers are those of [raster.Quality], bit by bit.
package comparison

import (
	"math"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Takes reports whether a device compares images of the shape s: those of unsigned samples of 8 bits that have room for a window.
func Takes(s raster.Shape) bool {
	return s.Bits == 8 && !s.Signed && s.Channels <= 4 && min(s.Width, s.Height) >= raster.Window
}

// mostSlices is how many slices a launch takes: the rows of a grid.
const mostSlices = 1<<16 - 1

// Originals are those of the files of a batch, by their numbers in the call, that a device is to compare: where there is one, of the
// shape that the file's image has, and [Takes] takes it, as far as they have no more slices together than a launch takes. at has the
// place in the list for each file, -1 for others.
func Originals(run codec.Run, items []int, shape func(j int) raster.Shape) (list []*raster.Image, at []int) {
	at = make([]int, len(items))
	slices := 0
	for j, i := range items {
		at[j] = -1
		if m := run.Original(i).Image; m != nil && Takes(m.Shape) && m.Same(shape(j)) && slices+m.Depth <= mostSlices {
			at[j], list, slices = len(list), append(list, m), slices+m.Depth
		}
	}
	return list, at
}

// Batch is images of a lane's batch that are compared together. It lasts as long as that batch.
type Batch struct {
	lane      *gpu.Lane
	originals []*raster.Image
	places    []int       // of the originals in uploaded
	uploaded  *gpu.Buffer // nil: there are none
	found     *gpu.Buffer // of all slices
	slices    int
}

// Begin brings originals, which [Takes] takes, to the device.
func Begin(l *gpu.Lane, staging *gpu.Staging, originals []*raster.Image) (*Batch, error) {
	b := &Batch{lane: l, originals: originals, places: make([]int, len(originals))}
	if len(originals) == 0 {
		return b, nil
	}
	var places gpu.Layout
	parts := make([]gpu.Part, len(originals))
	for i, m := range originals {
		b.places[i] = places.Take(len(m.Pix))
		parts[i] = gpu.Part{At: b.places[i], Bytes: m.Pix}
	}
	var err error
	if b.uploaded, err = l.Device(places.Size); err != nil {
		return nil, err
	}
	last := parts[len(parts)-1]
	return b, staging.Upload(b.uploaded, last.At+len(last.Bytes), parts)
}

// Start compares the originals with as many decoded images of their shapes, which kernels in the lane's first stream make; where
// one is 0, nothing is compared.
func (b *Batch) Start(decoded []gpu.Ptr) error {
	var slices []deviceSlice
	var indices gpu.Layout
	for i, m := range b.originals {
		across, windows := windowsOf(m.Shape)
		size := m.Width * m.Height * m.Channels
		for z := range m.Depth {
			s := deviceSlice{Width: uint32(m.Width), Height: uint32(m.Height), Channels: uint32(m.Channels)}
			if decoded[i] != 0 {
				s.Original, s.Decoded = b.uploaded.Ptr+gpu.Ptr(b.places[i]+z*size), decoded[i]+gpu.Ptr(z*size)
				s.Indices = gpu.Ptr(indices.Take(8 * windows * colours(m.Channels)))
				s.Across, s.Windows = uint32(across), uint64(windows)
			} else {
				s.Width, s.Height = 0, 0
			}
			slices = append(slices, s)
		}
	}
	if b.slices = len(slices); b.slices == 0 {
		return nil
	}
	memory, err := b.lane.Device(max(1, indices.Size))
	if err != nil {
		return err
	}
	s := b.lane.Stream(0)
	if b.found, err = s.Zeros(b.slices * int(unsafe.Sizeof(deviceFound{}))); err != nil {
		return err
	}
	for i := range slices {
		slices[i].Indices += memory.Ptr
		slices[i].Found = b.found.Ptr + gpu.Ptr(i)*gpu.Ptr(unsafe.Sizeof(deviceFound{}))
	}
	list, err := s.Put(gpu.Bytes(slices))
	if err != nil {
		return err
	}
	for _, name := range []string{"compare_samples", "compare_windows", "compare_totals"} {
		if err := gpu.LaunchFor(&kernels, s, name, slices, &listParams{list.Ptr}); err != nil {
			return err
		}
	}
	return nil
}

// End waits for the device, and returns what it has found of each original; what is found of those that are not compared means nothing.
func (b *Batch) End() ([]codec.Comparison, error) {
	list := make([]codec.Comparison, len(b.originals))
	if b.slices == 0 {
		return list, nil
	}
	found := make([]deviceFound, b.slices)
	s := b.lane.Stream(0)
	if err := s.Download(gpu.Bytes(found), b.found, 0); err != nil {
		return nil, err
	}
	if err := s.Sync(); err != nil {
		return nil, err
	}
	for i, m := range b.originals {
		list[i] = comparisonOf(m.Shape, found[:m.Depth])
		found = found[m.Depth:]
	}
	return list, nil
}

// comparisonOf is what was found of the slices of an image.
func comparisonOf(s raster.Shape, found []deviceFound) codec.Comparison {
	var different, squares uint64
	var totals []float64
	for i := range found {
		different, squares = different+found[i].Different, squares+found[i].Squares
		for _, bits := range found[i].Totals[:colours(s.Channels)] {
			totals = append(totals, math.Float64frombits(bits))
		}
	}
	if different == 0 {
		return codec.Comparison{Identical: true, PSNR: raster.Identical, SSIM: 1}
	}
	var c codec.Comparison
	c.PSNR, c.SSIM = raster.QualityOf(s, squares, totals)
	return c
}
