package jpeg2000

import (
	"image"
	"sync"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/slab"
)

// transforms are a filter with what its transforms work in, which goroutines take and give back. An image finds
// what those before it have left in the cache, and no page of it is new.
type transforms[T wavelet.Sample] struct {
	filter  *wavelet.Filter[T]
	pool    sync.Pool // *wavelet.Transform[T]
	planes  sync.Pool // *slab.Slab[T]
	scratch sync.Pool // *[]T, a row
}

var (
	intTransforms   = transforms[int32]{filter: wavelet.LeGall53()}
	floatTransforms = transforms[float32]{filter: wavelet.Daubechies97()}
)

func (t *transforms[T]) take() *wavelet.Transform[T] {
	if w, ok := t.pool.Get().(*wavelet.Transform[T]); ok {
		return w
	}
	return wavelet.New(t.filter, wavelet.ColumnsFirst)
}

// takePlanes returns memory for planes of so many samples together.
func (t *transforms[T]) takePlanes(samples int) *slab.Slab[T] {
	s, ok := t.planes.Get().(*slab.Slab[T])
	if !ok {
		s = new(slab.Slab[T])
	}
	s.Reserve(samples)
	return s
}

// mostKept are the samples of planes that are kept for the next image. What is larger is rare, and its pages cost
// little beside the work on it.
const mostKept = 1 << 20

func (t *transforms[T]) givePlanes(s *slab.Slab[T]) {
	if s.Reset(); s.Size() <= mostKept {
		t.planes.Put(s)
	}
}

// takeRow returns memory for a row.
func (t *transforms[T]) takeRow(width int) *[]T {
	row, ok := t.scratch.Get().(*[]T)
	if !ok || cap(*row) < width {
		row = new([]T)
		*row = make([]T, width)
	}
	*row = (*row)[:width]
	return row
}

// newPlane returns a plane of any samples.
func newPlane[T wavelet.Sample](s *slab.Slab[T], area image.Rectangle) wavelet.Plane[T] {
	return wavelet.Plane[T]{Samples: s.TakeAny(area.Dx() * area.Dy()), Width: area.Dx(), Height: area.Dy(), Stride: area.Dx()}
}
