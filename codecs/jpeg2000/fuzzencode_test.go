package jpeg2000

import (
	"bytes"
	"context"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/raster"
)

// FuzzEncode encodes any samples in any shape without loss: the file must give the same image back, and the cards of the machine,
// if any, must make the same file.
func FuzzEncode(f *testing.F) {
	f.Add(uint8(9), uint8(7), uint8(1), uint8(1), uint8(8), false, []byte("some samples"))
	f.Add(uint8(33), uint8(1), uint8(1), uint8(3), uint8(8), true, []byte{0, 255, 1})
	f.Add(uint8(16), uint8(16), uint8(4), uint8(1), uint8(12), true, []byte{7})
	f.Fuzz(func(t *testing.T, w, h, d, channels, bits uint8, ht bool, samples []byte) {
		m := raster.New(1+int(w)%64, 1+int(h)%64, 1+int(d)%5, 1+int(channels)%4, 1+int(bits)%16)
		fill(m, samples)
		var pairs []string
		if ht {
			pairs = []string{"mode=ht"}
		}
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		if (Codec{}).Info().Check(m.Shape) != nil {
			return
		}
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
		if e.Err != nil {
			t.Fatalf("%s: %v", m.Shape, e.Err)
		}
		out := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e.Data}, nil)[0]
		if out.Err != nil {
			t.Fatalf("%s: %v", m.Shape, out.Err)
		}
		if !out.Image.Same(m.Shape) || !bytes.Equal(out.Image.Pix, m.Pix) {
			t.Errorf("%s comes back as another image, %s", m.Shape, out.Image.Shape)
		}
		if err := codectest.SameOnCards(Codec{}, m, o, e); err != nil {
			t.Error(err)
		}
	})
}

// fill repeats bytes over the samples of m, each cut to its bits.
func fill(m *raster.Image, data []byte) {
	if len(data) == 0 {
		return
	}
	for i := range m.Pix {
		m.Pix[i] = data[i%len(data)]
		switch {
		case m.Bits < 8:
			m.Pix[i] &= 1<<m.Bits - 1
		case m.Bits > 8 && i%2 == 1: // samples are little-endian
			m.Pix[i] &= 1<<(m.Bits-8) - 1
		}
	}
}
