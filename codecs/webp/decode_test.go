package webp

import (
	"context"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// One file of foreignShare, more or less, is decoded twice, which the answer says, and comes back like the others.
func TestForeignDecoderTakesAShare(t *testing.T) {
	const files = 600
	o, err := Codec{}.Options([]string{"effort=1"})
	if err != nil {
		t.Fatal(err)
	}
	chosen := 0
	for i := range files {
		m := raster.New(5, 3, 1, 3, 8)
		for j := range m.Pix {
			m.Pix[j] = byte(i*j + i)
		}
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		f, err := open(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		want := codec.SecondLeftOut
		if foreign(f.bitstream) {
			chosen++
			want = codec.SecondAgreed
		}
		d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e.Data}, nil)[0]
		if d.Err != nil || d.Image.Hash() != m.Hash() {
			t.Fatalf("file %d comes back as another picture (%v)", i, d.Err)
		}
		if d.Second != want {
			t.Errorf("file %d: the second decoder is said to have %q, want %q", i, d.Second, want)
		}
	}
	if want := files / foreignShare; chosen < want/3 || chosen > want*3 {
		t.Errorf("%d of %d files were chosen, want about %d", chosen, files, want)
	}
}
