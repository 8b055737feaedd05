//go:build cuda && cgo

package neuquant

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// A device parses as Go does, many streams of all sizes at once.
func TestLockstepParse(t *testing.T) {
	dev := gputest.Device(t, nil)
	list := parseStreams(rand.New(rand.NewPCG(35, 36)))
	d := &deviceSteps{device: dev, pool: pool.New(), parseAll: true}
	left := 0
	for i, p := range d.parse(t.Context(), list) {
		if p.err != nil {
			t.Fatal(p.err)
		}
		if p.tokens == nil {
			left++
			continue
		}
		if err := sameParse(list[i], p.tokens); err != nil {
			t.Errorf("stream %d: %v", i, err)
		}
	}
	if left > len(list)/10 {
		t.Errorf("%d of %d streams are left to the host", left, len(list))
	}
	t.Logf("%d streams, of which %d are left to the host, on %s", len(list), left, dev.Name())
}

// A device with too little memory parses what fits.
func TestParseInLittleMemory(t *testing.T) {
	list := parseStreams(rand.New(rand.NewPCG(37, 38)))[:160]
	for memory := int64(100 << 10); memory < 64<<20; memory *= 5 {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		d := &deviceSteps{device: dev, pool: pool.New(), parseAll: true}
		for i, p := range d.parse(t.Context(), list) {
			if p.err != nil {
				t.Fatal(p.err)
			}
			if !bytes.Equal(p.stream(list[i]), new(deflate.Encoder).Append(nil, list[i])) {
				t.Errorf("%d bytes of a device: stream %d: other bytes", memory, i)
			}
		}
	}
}

// Files are the same where a device parses, also those of photographs where they are at hand.
func TestFilesParsedOnCard(t *testing.T) {
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

// BenchmarkCardParse is the parse of many photographs' rows at once: for deviceByte.
func BenchmarkCardParse(b *testing.B) {
	dev := gputest.Device(b, nil)
	rows := streamOfPhotograph(b)
	for _, n := range []int{1, 64, 300} {
		b.Run(map[int]string{1: "1", 64: "64", 300: "300"}[n], func(b *testing.B) {
			list := make([][]byte, n)
			for i := range list {
				list[i] = rows
			}
			d := &deviceSteps{device: dev, pool: pool.New(), parseAll: true}
			b.SetBytes(int64(n * len(rows)))
			for b.Loop() {
				for _, p := range d.parse(b.Context(), list) {
					if p.err != nil || p.tokens == nil {
						b.Fatalf("a stream is left to the host: %v", p.err)
					}
				}
			}
		})
	}
}
