package neuquant

import (
	"bytes"
	"context"
	"image/gif"
	"slices"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// GIF files keep delays, to a hundredth of a second, and how often the frames are shown; the frames of
// which nothing is known, as the pages of a TIFF file, are shown for a tenth of a second each, for ever.
func TestGIFKeepsTheAnimation(t *testing.T) {
	opts, err := Codec{}.Options([]string{"format=gif"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		plays  int
		delays []time.Duration
		loop   int   // of image/gif: -1 is once, 0 for ever, n is n times more
		want   []int // hundredths of a second
	}{
		{0, []time.Duration{40 * time.Millisecond, 33 * time.Millisecond, 0}, 0, []int{4, 3, 0}},
		{1, []time.Duration{time.Second, 45 * time.Millisecond, raster.MaxDelay}, -1, []int{100, 5, 65535}},
		{7, []time.Duration{time.Second, time.Second, time.Second}, 6, []int{100, 100, 100}},
		{raster.MaxPlays, []time.Duration{1, 2, 3}, raster.MaxPlays - 1, []int{0, 0, 0}},
		{0, nil, 0, []int{10, 10, 10}},
	} {
		m := raster.New(9, 7, 3, 3, 8)
		for i := range m.Pix {
			m.Pix[i] = byte(i * 7)
		}
		m.Frames, m.Meta.Animation = true, raster.Animation{Plays: test.plays, Delays: test.delays}
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), opts)[0]
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		g, err := gif.DecodeAll(bytes.NewReader(e.Data))
		if err != nil || g.LoopCount != test.loop || !slices.Equal(g.Delay, test.want) {
			t.Errorf("%+v: image/gif reads loop %d, delays %v (%v)", test, g.LoopCount, g.Delay, err)
		}
		d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e.Data}, nil)[0]
		if d.Err != nil || m.Meta.Lost(&d.Image.Meta) != nil {
			t.Errorf("%+v comes back as %+v (%v)", m.Meta.Animation, d.Image.Meta.Animation, d.Err)
		}
	}
}
