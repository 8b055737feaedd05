//go:build cuda && cgo

package neuquant

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// A device deflates as Go does, many streams of all sizes at once.
func TestLockstepDeflate(t *testing.T) {
	dev := gputest.Device(t, nil)
	list := parseStreams(rand.New(rand.NewPCG(35, 36)))
	d := &deviceSteps{device: dev, pool: pool.New(), parseAll: true}
	left := 0
	for i, p := range d.deflate(t.Context(), list) {
		if p.err != nil {
			t.Fatal(p.err)
		}
		if p.data == nil {
			left++
			continue
		}
		if want := new(deflate.Encoder).Append(nil, list[i]); !bytes.Equal(p.data, want) {
			t.Errorf("stream %d of %d bytes: other bytes (%d, want %d)", i, len(list[i]), len(p.data), len(want))
		}
	}
	if left > len(list)/10 {
		t.Errorf("%d of %d streams are left to the host", left, len(list))
	}
	t.Logf("%d streams, of which %d are left to the host, on %s", len(list), left, dev.Name())
}

// A device with too little memory deflates what fits.
func TestDeflateInLittleMemory(t *testing.T) {
	list := parseStreams(rand.New(rand.NewPCG(37, 38)))[:160]
	for memory := int64(100 << 10); memory < 64<<20; memory += memory / 2 { // the lack shows in each step of some batch
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		d := &deviceSteps{device: dev, pool: pool.New(), parseAll: true}
		for i, p := range d.deflate(t.Context(), list) {
			if p.err != nil {
				t.Fatal(p.err)
			}
			if !bytes.Equal(p.stream(list[i]), new(deflate.Encoder).Append(nil, list[i])) {
				t.Errorf("%d bytes of a device: stream %d: other bytes", memory, i)
			}
		}
	}
}

// Files are the same where a device deflates, also those of photographs where they are at hand.
func TestFilesDeflatedOnCard(t *testing.T) {
	dev := gputest.Device(t, nil)
	batch := append(mixedImages(40), devicePhotos(t)...)
	want := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(batch...), nil)
	got, items := make([]codec.Encoded, len(batch)), make([]int, len(batch))
	for i := range items {
		items[i] = i
	}
	workers := pool.New()
	encode(t.Context(), workers, &deviceSteps{device: dev, pool: workers, parseAll: true}, batch, items, &defaults, got)
	for i := range got {
		if got[i].Err != nil || want[i].Err != nil || !bytes.Equal(got[i].Data, want[i].Data) {
			t.Errorf("picture %d, %s: other bytes (%v, %v)", i, batch[i].Shape, got[i].Err, want[i].Err)
		}
	}
}

// BenchmarkCardDeflate is deflate of many photographs' rows at once, for deviceByte, and what its kernels take one after the other.
func BenchmarkCardDeflate(b *testing.B) {
	dev := gputest.Device(b, nil)
	rows := streamOfPhotograph(b)
	for _, n := range []int{1, 64, 300} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			list := make([][]byte, n)
			for i := range list {
				list[i] = rows
			}
			d := &deviceSteps{device: dev, pool: pool.New(), parseAll: true}
			run := func() {
				for _, p := range d.deflate(b.Context(), list) {
					if p.err != nil || p.data == nil {
						b.Fatalf("a stream is left to the host: %v", p.err)
					}
				}
			}
			b.SetBytes(int64(n * len(rows)))
			for b.Loop() {
				run()
			}
			last := time.Now()
			d.note = func(what string) {
				now := time.Now()
				b.ReportMetric(ms(now.Sub(last)), "ms-"+what)
				last = now
			}
			run()
		})
	}
}
