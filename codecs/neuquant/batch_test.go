//go:build cuda && cgo

package neuquant

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// mixedImages are of all channels and many sizes.
func mixedImages(n int) (list []*raster.Image) {
	rng := rand.New(rand.NewPCG(3, 5))
	for i := range n {
		m := raster.New(1+rng.IntN(120), 1+rng.IntN(120), 1, 1+i%4, 8)
		for j := range m.Pix {
			m.Pix[j] = byte(j/7*(i+1) + rng.IntN(30))
		}
		list = append(list, m)
	}
	return list
}

// A batch whose context ends hands the error to every image, and the next one is whole.
func TestBatchEndsWithItsContext(t *testing.T) {
	dev := gputest.Device(t, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	list := oddProblems(rand.New(rand.NewPCG(1, 1)), 20)
	d := &deviceSteps{device: dev, pool: pool.New()}
	for i, s := range d.solve(ctx, list, &defaults) {
		if s.err == nil {
			t.Errorf("problem %d has no error", i)
		}
	}
	sameSolutions(t, "next", list, &defaults, d.solve(context.Background(), list, &defaults))
}

// A context that ends in the middle of the work leaves problems that are solved and
// problems with its error.
func TestBatchIsCutShort(t *testing.T) {
	dev := gputest.Device(t, nil)
	list := oddProblems(rand.New(rand.NewPCG(1, 2)), 40)
	want := cpuSteps{pool.New()}.solve(context.Background(), list, &defaults)
	for _, after := range []time.Duration{200 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, 8 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		for i, s := range (&deviceSteps{device: dev, pool: pool.New()}).solve(ctx, list, &defaults) {
			if s.err == nil && !bytes.Equal(s.index, want[i].index) || s.err != nil && !errors.Is(s.err, context.DeadlineExceeded) {
				t.Errorf("after %v: problem %d: error %v", after, i, s.err)
			}
		}
		cancel()
	}
}

// A device with too little memory takes smaller batches, and leaves to the CPU what does not
// even fit alone, whatever the step that finds no room.
func TestLittleMemory(t *testing.T) {
	list := oddProblems(rand.New(rand.NewPCG(1, 3)), 40)
	o := &Options{sample: 10, refine: 3}
	for memory := int64(30 << 10); memory < 256<<20; memory += memory + 1111 {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		d := &deviceSteps{device: dev, pool: pool.New(), trainer: trainOnDevice}
		sameSolutions(t, "little memory", list, o, d.solve(t.Context(), list, o))
	}
}

// Files are the same, whoever makes them.
func TestFilesOnCard(t *testing.T) {
	dev := gputest.Device(t, nil)
	batch := mixedImages(60)
	for _, pairs := range [][]string{nil, {"sample=1", "refine=0"}, {"colours=17", "dither=floyd-steinberg"}, {"dither=ordered", "colours=2"}, {"format=gif", "alpha=threshold"}} {
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		want := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(batch...), o)
		for i, e := range (Codec{}).Encode(t.Context(), codec.Run{Device: dev}, codec.Items(batch...), o) {
			if e.Err != nil || want[i].Err != nil || !bytes.Equal(e.Data, want[i].Data) {
				t.Errorf("%v: picture %d, %s: other bytes (%v, %v)", pairs, i, batch[i].Shape, e.Err, want[i].Err)
			}
		}
	}
}

// A device makes the digests of what its files decode to, of colour pictures that have too many colours to be counted, and the rows of
// those files that have 8 bits.
func TestDigestsOnCard(t *testing.T) {
	dev := gputest.Device(t, nil)
	batch := mixedImages(12)
	rng := rand.New(rand.NewPCG(7, 8))
	var noisy []*raster.Image
	for _, size := range [][2]int{{128, 128}, {101, 333}, {97, 103}, {98, 103}, {99, 103}, {1, 20_000}, {640, 480}} {
		m := raster.New(size[0], size[1], 1, 3, 8)
		for i := range m.Pix {
			m.Pix[i] = byte(rng.Uint32())
		}
		noisy = append(noisy, m)
	}
	batch = append(batch, noisy...)
	for _, c := range []struct {
		pairs []string
		want  int // digests
	}{
		{want: len(noisy)}, {pairs: []string{"colours=17", "refine=1"}, want: len(noisy)},
		{pairs: []string{"colours=16", "refine=1"}, want: len(noisy)}, {pairs: []string{"format=gif", "alpha=threshold"}},
		{pairs: []string{"dither=floyd-steinberg"}}, {pairs: []string{"dither=ordered", "colours=2"}},
	} {
		o, err := Codec{}.Options(c.pairs)
		if err != nil {
			t.Fatal(err)
		}
		if n := codectest.Digests(t, dev, Codec{}, batch, o, nil); n != c.want {
			t.Errorf("%q: digests of %d pictures, want %d", c.pairs, n, c.want)
		}
	}
	few := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: 64 << 20})
	codectest.Digests(t, few, Codec{}, batch, nil, nil)
}
