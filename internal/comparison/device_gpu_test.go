//go:build cuda && cgo

package comparison

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// onDevice compares pairs on a lane; those whose numbers leave gives are not there.
func onDevice(t testing.TB, dev *gpu.Device, list []pair, leave func(i int) bool) (got []codec.Comparison) {
	t.Helper()
	err := dev.Do(t.Context(), func(l *gpu.Lane) error {
		staging := gpu.Staging{Lane: l, Spans: pool.New().Spans}
		originals := make([]*raster.Image, len(list))
		decoded := make([]gpu.Ptr, len(list))
		for i, p := range list {
			originals[i] = p.original
			if leave(i) {
				continue
			}
			b, err := l.Stream(0).Put(p.decoded.Pix)
			if err != nil {
				return err
			}
			decoded[i] = b.Ptr
		}
		b, err := Begin(l, &staging, originals)
		if err != nil {
			return err
		}
		if err := b.Start(decoded); err != nil {
			return err
		}
		got, err = b.End()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A device finds what the host does, bit by bit.
func TestLockstepComparisons(t *testing.T) {
	dev := gputest.Device(t, nil)
	large := pair{raster.New(2111, 1503, 1, 3, 8), raster.New(2111, 1503, 1, 3, 8)}
	for i := range large.original.Pix {
		large.original.Pix[i], large.decoded.Pix[i] = byte(i*i>>7), byte(i*i>>7+i%3)
	}
	list := append(pairs(), large)
	leave := func(i int) bool { return i%11 == 10 }
	for i, got := range onDevice(t, dev, list, leave) {
		if want := want(t, list[i]); !leave(i) && got != want {
			t.Errorf("pair %d, %s: %+v, want %+v", i, list[i].original.Shape, got, want)
		}
	}
	if got := onDevice(t, dev, nil, leave); len(got) != 0 {
		t.Errorf("nothing to compare: %v", got)
	}
}

// BenchmarkCardCompare compares 64 photographs of 768x512.
func BenchmarkCardCompare(b *testing.B) {
	dev := gputest.Device(b, nil)
	var list []pair
	for range 64 {
		list = append(list, pair{raster.New(768, 512, 1, 3, 8), raster.New(768, 512, 1, 3, 8)})
	}
	b.SetBytes(64 * 768 * 512 * 3)
	for b.Loop() {
		onDevice(b, dev, list, func(int) bool { return false })
	}
}
