package neuquant

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// failingParse does not parse the second stream.
type failingParse struct {
	cpuSteps
	err error
}

func (f failingParse) deflate(_ context.Context, list [][]byte) []deflated {
	out := make([]deflated, len(list))
	out[1].err = f.err
	return out
}

// An image whose rows are not deflated fails alone, with its error and nothing else.
func TestParseOfOneImageFails(t *testing.T) {
	var batch []*raster.Image
	for i := range 3 {
		m := raster.New(20, 3, 1, 3, 8)
		for j := range m.Pix {
			m.Pix[j] = byte(j * (i + 3))
		}
		batch = append(batch, m)
	}
	workers, out := pool.Of(1), make([]codec.Encoded, len(batch))
	failure := errors.New("no answer")
	encode(t.Context(), workers, failingParse{cpuSteps{workers}, failure}, batch, []int{0, 1, 2}, &defaults, out)
	want := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(batch...), nil)
	for i, e := range out {
		if i == 1 {
			if e.Err != failure || e.Data != nil || e.Facts != nil {
				t.Errorf("image %d: %d bytes, facts %v, error %v", i, len(e.Data), e.Facts, e.Err)
			}
			continue
		}
		if e.Err != nil || !bytes.Equal(e.Data, want[i].Data) {
			t.Errorf("image %d: %d bytes, want %d (%v)", i, len(e.Data), len(want[i].Data), e.Err)
		}
	}
}
