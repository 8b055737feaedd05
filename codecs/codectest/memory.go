package codectest

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// testMemory holds what the codec says of memory against what it takes: of images
// that are hard, that repeat themselves, and that are large enough for what grows with
// them to show. Under -short only the defaults are measured, with the most channels.
func (s *suite) testMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // so that little garbage is counted
	sets := s.sets
	if testing.Short() {
		sets = sets[:1]
	}
	for _, pairs := range sets {
		o := s.options(t, pairs)
		info := s.info.With(o)
		tested := info.Accepts.Channels
		if testing.Short() {
			tested = tested[len(tested)-1:]
		}
		for _, channels := range tested {
			for _, name := range []string{"noise", "repeated"} {
				m := raster.New(360, 270, 1, channels, min(max(8, info.Accepts.MinBits), info.Accepts.MaxBits))
				if name == "noise" {
					fill(m, "noise")
				} else {
					repeat(m)
				}
				says, known := s.codec.Memory(m.Shape, nil, o), s.codec.Memory(m.Shape, m, o)
				empty := *m
				empty.Pix = nil
				if without := s.codec.Memory(m.Shape, &empty, o); without != says {
					t.Errorf("%s with %q, without samples and attributes: %+v, and %+v for its shape", m.Shape, o, without, says)
				}
				if known.Encode > says.Encode {
					t.Errorf("%s with %q: %d bytes to encode it and %d for its shape", m.Shape, o, known.Encode, says.Encode)
				}
				var e []codec.Encoded
				took := peak(known.Encode, func() { e = s.codec.Encode(context.Background(), codec.Run{}, codec.Items(m), o) })
				if err := answerErr(e); err != nil {
					t.Fatal(err)
				}
				if took > known.Encode || int64(len(e[0].Data)) > known.File {
					t.Errorf("%s %s with %q: encoding took %d bytes for a file of %d, and the codec says %d and %d", name, m.Shape, o, took, len(e[0].Data), known.Encode, known.File)
				}
				h, err := s.codec.Header(e[0].Data)
				if err != nil {
					t.Fatal(err)
				}
				allowed := min(h.Memory, says.Decode)
				took = peak(allowed, func() { s.codec.Decode(context.Background(), codec.Run{}, [][]byte{e[0].Data}, nil) })
				if took > allowed {
					t.Errorf("%s %s with %q: decoding took %d bytes, the header says %d and the codec %d", name, m.Shape, o, took, h.Memory, says.Decode)
				}
			}
		}
	}
}

// repeat fills an image with tiles that come again.
func repeat(m *raster.Image) {
	n := m.BytesPerSample()
	for i := 0; i < len(m.Pix); i += n {
		x, y := i/n/m.Channels%m.Width, i/n/m.Channels/m.Width
		m.Pix[i] = byte((x/37+y/23)*31+50*(i/n%m.Channels)) & 0xf0
	}
}

// peak is the most that f adds to the objects of the heap. Garbage that the collector has not come to is among them, more of
// it where other programs take the processor, but what f holds is there each time: where it is more than allowed, the least
// of three times counts.
func peak(allowed int64, f func()) int64 {
	least := peakOnce(f)
	for range 2 {
		if least <= allowed {
			break
		}
		least = min(least, peakOnce(f))
	}
	return least
}

func peakOnce(f func()) int64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	now := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before, most := now(), int64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			most = max(most, now())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most - before
}
