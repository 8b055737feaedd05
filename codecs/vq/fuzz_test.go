package vq

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/raster"
)

// FuzzEncode encodes any samples in any shape with any blocks and codebooks: the decoder must give the image that the reference
// decoder gives, which shares nothing with it, and the cards of the machine, if any, the same file and image.
func FuzzEncode(f *testing.F) {
	f.Add(uint8(9), uint8(7), uint8(0), true, uint8(0), uint16(14), uint8(3), []byte("some samples"))
	f.Add(uint8(63), uint8(0), uint8(0), false, uint8(1), uint16(300), uint8(0), []byte{0, 255, 1})
	f.Add(uint8(32), uint8(31), uint8(2), true, uint8(2), uint16(62), uint8(16), []byte{7, 9, 200, 31, 5})
	f.Add(uint8(40), uint8(17), uint8(0), true, uint8(7), uint16(0), uint8(1), bytes.Repeat([]byte{1, 250, 3}, 50))
	blocks := []string{"2x2", "4x2", "4x4", "8x8"}
	f.Fuzz(func(t *testing.T, w, h, d uint8, colour bool, how uint8, n uint16, passes uint8, samples []byte) {
		channels := 1
		if colour {
			channels = 3
		}
		m := raster.New(1+int(w)%64, 1+int(h)%64, 1+int(d)%3, channels, 8)
		for at := 0; at < len(m.Pix) && len(samples) > 0; {
			at += copy(m.Pix[at:], samples)
		}
		pairs := []string{"block=" + blocks[how%4], fmt.Sprint("n=", 2+n%600), fmt.Sprint("passes=", 1+passes%17)}
		if how&4 != 0 {
			pairs = append(pairs, fmt.Sprint("chroma-n=", 2+n%77))
		}
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
		if e.Err != nil {
			t.Fatalf("%s, %q: %v", m.Shape, pairs, e.Err)
		}
		got, err := decodeOne(e.Data, nil)
		if err != nil {
			t.Fatalf("%s, %q: %v", m.Shape, pairs, err)
		}
		if !got.Same(m.Shape) || !bytes.Equal(got.Pix, refDecode(e.Data, nil)) {
			t.Errorf("%s, %q: %s is not what the reference decoder gives", m.Shape, pairs, got.Shape)
		}
		if err := codectest.SameOnCards(Codec{}, m, o, e); err != nil {
			t.Error(err)
		}
	})
}
