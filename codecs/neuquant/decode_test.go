package neuquant

import (
	"bytes"
	"context"
	"image"
	"math/rand/v2"
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

// Indices of every count become the colours or the numbers of their entries, and nothing is written behind them.
func TestExpand(t *testing.T) {
	has := hasVBMI
	defer func() { hasVBMI = has }()
	for _, hasVBMI = range []bool{false, true} {
		if hasVBMI && !has {
			t.Log("SKIPPED: this machine has no AVX-512 VBMI")
			continue
		}
		rng := rand.New(rand.NewPCG(51, 52))
		var table [256]uint32
		for i := range table {
			table[i] = rng.Uint32()
		}
		for n := range 1100 {
			if n > 80 && n%64 > 1 && n%64 < 63 && n%7 > 0 {
				continue
			}
			indices, got, want := make([]byte, n), make([]byte, 3*n+9), make([]byte, 3*n+9)
			for i := range indices {
				indices[i] = byte(rng.Uint32())
				c := table[indices[i]]
				want[3*i], want[3*i+1], want[3*i+2] = byte(c), byte(c>>8), byte(c>>16)
			}
			if expand(got[:3*n], indices, &table); !bytes.Equal(got, want) {
				t.Errorf("in vectors %t, %d indices become %v, want %v", hasVBMI, n, got, want)
			}
			var to [256]uint8
			for i := range to {
				to[i] = uint8(table[i])
			}
			clear(got)
			clear(want)
			for i, v := range indices {
				want[i] = to[v]
			}
			if renumber(got[:n], indices, &to); !bytes.Equal(got, want) {
				t.Errorf("in vectors %t, %d indices become %v, want %v", hasVBMI, n, got, want)
			}
		}
	}
}

// What the colours of an image are is what those of its pixels are, wherever they lie, and not what
// those of entries are that no pixel has.
func TestKinds(t *testing.T) {
	grey, colour, clear := uint32(opaque|0x101010), uint32(opaque|0x102030), uint32(0x7f101010)
	for _, c := range []struct {
		name    string
		entries []uint32
		use     []int // how many pixels in turn have the entry
		want    channelKinds
	}{
		{"grey", []uint32{grey}, []int{9000}, channelKinds{}},
		{"grey of a palette with colours", []uint32{grey, colour, clear}, []int{3 * kindsAtOnce}, channelKinds{}},
		{"colour at the end", []uint32{grey, colour, clear}, []int{3*kindsAtOnce - 1, 1}, channelKinds{chromatic: true}},
		{"all at the end", []uint32{grey, colour, clear}, []int{2 * kindsAtOnce, 1, 1}, channelKinds{true, true}},
		{"clear first", []uint32{clear, grey, colour}, []int{1, 2*kindsAtOnce + 5}, channelKinds{clear: true}},
		{"one pixel", []uint32{colour, clear}, []int{1}, channelKinds{chromatic: true}},
		{"one pixel more than are looked at", []uint32{grey, colour}, []int{kindsAtOnce, 1}, channelKinds{chromatic: true}},
	} {
		var table [256]uint32
		for i := range table {
			table[i] = opaque
		}
		copy(table[:], c.entries)
		var indices []byte
		for v, n := range c.use {
			indices = append(indices, bytes.Repeat([]byte{byte(v)}, n)...)
		}
		if got := kindsOf(indices, &table); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
