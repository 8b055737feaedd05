package neuquant

import (
	"context"
	"image"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// One PNG file of standardShare, more or less, is decoded twice, and comes back like the others, whatever its channels.
func TestStandardDecoderTakesAShare(t *testing.T) {
	const files = 600
	o, err := Codec{}.Options(nil)
	if err != nil {
		t.Fatal(err)
	}
	chosen := 0
	for i := range files {
		m := raster.New(1+i%6, 3, 1, 1+i%4, 8)
		for j := range m.Pix {
			m.Pix[j] = byte(i*j + i)
		}
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e.Data}, nil)[0]
		if d.Err != nil || d.Image.Hash() != m.Hash() {
			t.Fatalf("file %d comes back as another picture (%v)", i, d.Err)
		}
		if want := wantSecond(t, e.Data); d.Second != want {
			t.Errorf("file %d: the second decoder is said to have %q, want %q", i, d.Second, want)
		}
		indices := make([]byte, 16)
		for j := range indices {
			indices[j] = byte(i * j)
		}
		if standard(indices) {
			chosen++
		}
	}
	if want := files / standardShare; chosen < want/3 || chosen > want*3 {
		t.Errorf("%d of %d files were chosen, want about %d", chosen, files, want)
	}
}

// wantSecond is what decoding a PNG file says of the second decoder.
func wantSecond(t *testing.T, data []byte) codec.Second {
	f, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	src, err := f.png.DecodeStandard()
	if err != nil {
		t.Fatal(err)
	}
	if standard(src.(*image.Paletted).Pix) {
		return codec.SecondAgreed
	}
	return codec.SecondLeftOut
}
