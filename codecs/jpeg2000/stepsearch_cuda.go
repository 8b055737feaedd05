package jpeg2000

import (
	"errors"
	"iter"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/gpu"
)

// errStopped is the error of a search for a step that was not run to its end.
var errStopped = errors.New("jpeg2000: the search for a quantization step was ended")

// deviceStep is a quantization step that a search wants to know about: how large the
// distortion is with it, or the codestream.
type deviceStep struct {
	step    float64
	measure bool

	distortion float64
	stream     []byte
}

// deviceSteps is the [stepCoder] of an image on a device: it hands on what it is asked.
type deviceSteps struct {
	yield func(*deviceStep) bool
	ended bool
}

func (d *deviceSteps) ask(s *deviceStep) (*deviceStep, error) {
	if d.ended || !d.yield(s) {
		d.ended = true
		return s, errStopped
	}
	return s, nil
}

func (d *deviceSteps) codestream(step float64) ([]byte, error) {
	s, err := d.ask(&deviceStep{step: step})
	return s.stream, err
}

func (d *deviceSteps) distortion(step float64) (float64, error) {
	s, err := d.ask(&deviceStep{step: step, measure: true})
	return s.distortion, err
}

// imageSteps is the search for the step of an image of a batch.
type imageSteps struct {
	coded  *deviceCoded
	choice choice
	planes []devicePlane // with the coefficients
	next   func() (*deviceStep, bool)
	step   *deviceStep // the current one
	main   *codestream.Main
	err    error
}

// withSteps encodes images of High Throughput code-blocks with loss: their coefficients stay
// on the device while all searches go on together, a step of each at a time.
func (d *deviceEncoder) withSteps(b *batch, list []int) error {
	if err := b.transformed(d.ctx); err != nil {
		return err
	}
	indices, err := b.lane.Device(b.memory.Size)
	if err != nil {
		return err
	}
	var searches []*imageSteps
	planes := b.planes
	for _, i := range list {
		c := d.coded[i]
		if c.err != nil {
			continue
		}
		n := len(c.tiles) * len(c.main.Params.Components)
		s := &imageSteps{coded: c, planes: planes[:n]}
		planes = planes[n:]
		if s.choice, err = c.encoder.single(); err != nil {
			return err
		}
		var stop func()
		s.next, stop = iter.Pull(func(yield func(*deviceStep) bool) {
			search := stepSearch{d.options, c.encoder.image, &deviceSteps{yield: yield}}
			stream, err := search.run(&c.main.Params)
			if s.err = err; err == nil {
				c.stream = stream
			}
		})
		defer stop()
		searches = append(searches, s)
	}
	for {
		var measured, coded []*imageSteps
		for _, s := range searches {
			step, ok := s.next()
			switch {
			case !ok && s.err != nil:
				return s.err
			case !ok:
				continue
			case step.measure:
				measured = append(measured, s)
			default:
				coded = append(coded, s)
			}
			s.step = step
			s.main = s.coded.encoder.mainWith(s.choice, step.step)
			for k, t := range s.coded.tiles {
				t.tile, t.segments = s.main.Size.NewTile(k, &s.main.Params), nil
			}
		}
		if len(measured)+len(coded) == 0 {
			return nil
		}
		if err := d.measure(b, measured); err != nil {
			return err
		}
		if err := d.codeSteps(b, coded, indices); err != nil {
			return err
		}
	}
}

// only lets a batch have the tiles of some images.
func (b *batch) only(list []*imageSteps) {
	b.tiles, b.planes = nil, nil
	for _, s := range list {
		b.tiles = append(b.tiles, s.coded.tiles...)
		b.planes = append(b.planes, s.planes...)
	}
}

// measure computes distortions.
func (d *deviceEncoder) measure(b *batch, list []*imageSteps) error {
	if len(list) == 0 {
		return nil
	}
	b.only(list)
	rows, err := b.rowErrors()
	if err != nil {
		return err
	}
	for _, s := range list {
		sum := 0.0
		for _, t := range s.coded.tiles {
			for c := range t.tile.Components {
				component := &t.tile.Components[c]
				for r := range component.Resolutions {
					for k := range component.Resolutions[r].Subbands {
						band := &component.Resolutions[r].Subbands[k]
						n := band.Bounds.Dy()
						sum += bandError(rows[:n], unitOf(&s.main.Params, component, band, t.image.Bits, 0))
						rows = rows[n:]
					}
				}
			}
		}
		s.step.distortion = sum
	}
	return nil
}

// codeSteps makes codestreams.
func (d *deviceEncoder) codeSteps(b *batch, list []*imageSteps, indices *gpu.Buffer) error {
	if len(list) == 0 {
		return nil
	}
	b.only(list)
	if err := b.quantize(indices); err != nil {
		return err
	}
	if err := b.encodeBlocks(); err != nil {
		return err
	}
	d.workers.Each(len(list), func(k int) {
		s := list[k]
		room := codingRooms.Get().(*codingRoom)
		defer room.free()
		tiles := make([]*codedTile, len(s.coded.tiles))
		for i, t := range s.coded.tiles {
			tiles[i] = t.codedTile(s.coded.encoder, s.main, room)
		}
		a := allocation{s.main, tiles, s.coded.encoder.image.Shape}
		a.whole()
		s.step.stream = appendStream(nil, s.main, tiles)
	})
	if b.result != nil {
		b.result.Free()
		b.result = nil
	}
	return nil
}
