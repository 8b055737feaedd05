package jpeg2000

import (
	"encoding/binary"
	"image"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// TLM has each tile-part with its tile and its length.
func TestTileLengths(t *testing.T) {
	file := encoded(t, pattern(shape(300, 200, 3, 8, false)), "container=j2c", "tile=77x61", "tlm=true", "mode=ht", "progression=RPCL")
	at := 2
	marker := func() (m codestream.Marker, body []byte) {
		m = codestream.Marker(binary.BigEndian.Uint16(file[at:]))
		n := int(binary.BigEndian.Uint16(file[at+2:]))
		at += 2 + n
		return m, file[at-n+2 : at]
	}
	var entries []byte
	for entries == nil {
		if m, body := marker(); m == codestream.TLM {
			if body[0] != 0 || body[1] != 0x60 {
				t.Fatalf("Ztlm and Stlm are %x", body[:2])
			}
			entries = body[2:]
		}
	}
	for tile := range 16 {
		start := at
		m, body := marker()
		if m != codestream.SOT || int(binary.BigEndian.Uint16(body)) != tile {
			t.Fatalf("%v, %x, where tile %d begins", m, body, tile)
		}
		length := binary.BigEndian.Uint32(body[2:])
		if int(binary.BigEndian.Uint16(entries)) != tile || binary.BigEndian.Uint32(entries[2:]) != length {
			t.Errorf("TLM says %x of tile %d, which has %d bytes", entries[:6], tile, length)
		}
		entries, at = entries[6:], start+int(length)
	}
	if len(entries) > 0 || codestream.Marker(binary.BigEndian.Uint16(file[at:])) != codestream.EOC {
		t.Errorf("%d more bytes in TLM, %x behind the tiles", len(entries), file[at:])
	}
}

// With the lengths of packets views are the same as without, and most of the packets are
// not read for a small region: they may be damaged.
func TestPacketLengths(t *testing.T) {
	m := pattern(shape(300, 260, 1, 8, false))
	for _, pairs := range [][]string{
		{"precincts=64x64", "progression=RPCL", "layers=2"}, {"precincts=64x64,32x32", "tile=200x170", "wavelet=9/7"}, {"mode=ht", "precincts=32x32", "progression=PCRL"},
	} {
		pairs = append(pairs, "container=j2c", "levels=3")
		plain, file := encoded(t, m, pairs...), encoded(t, m, append(pairs, "plt=true")...)
		for _, view := range []codec.View{{}, {Reduce: 2}, {Region: image.Rect(5, 6, 30, 40)}, {Region: image.Rect(250, 200, 300, 260), Reduce: 1}, {Region: image.Rect(40, 1, 210, 3)}} {
			want, err := decodeOne(t, plain, view)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeOne(t, file, view)
			if err != nil || got.Hash() != want.Hash() {
				t.Fatalf("%q, %+v: %v, or other samples", pairs, view, err)
			}
		}
		view := codec.View{Region: image.Rect(5, 6, 30, 40)}
		want, _ := decodeOne(t, file, view)
		s, err := codestream.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		all, same := 0, 0
		for tile := range s.Size.Tiles().X * s.Size.Tiles().Y {
			_, coded, err := s.Tile(tile)
			if err != nil {
				t.Fatal(err)
			}
			body := coded.Bodies[0]
			for i, n := range s.PacketLengths(tile) {
				if testing.Short() && i%5 != 0 {
					body = body[n:]
					continue
				}
				body[0] ^= 0xff
				if got, err := decodeOne(t, file, view); err == nil && got.Hash() == want.Hash() {
					same++
				}
				body[0] ^= 0xff
				all++
				body = body[n:]
			}
		}
		if all < 10 || same < all*3/4 {
			t.Errorf("%q: %d of %d packets may be damaged", pairs, same, all)
		}
	}
}

// Lengths that are wrong harm nothing: packets are read without them.
func TestWrongPacketLengths(t *testing.T) {
	m := pattern(shape(200, 150, 1, 8, false))
	file := encoded(t, m, "container=j2c", "precincts=32x32", "levels=2", "plt=true")
	view := codec.View{Region: image.Rect(150, 100, 180, 140)}
	want, err := decodeOne(t, file, view)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for codestream.Marker(binary.BigEndian.Uint16(file[at:])) != codestream.PLT {
		at++
	}
	for i := range int(binary.BigEndian.Uint16(file[at+2:])) - 3 {
		b := &file[at+5+i]
		for _, change := range []byte{1, 0x80} {
			*b ^= change
			if got, err := decodeOne(t, file, view); err != nil || got.Hash() != want.Hash() {
				t.Fatalf("byte %d of the lengths: %v, or other samples", i, err)
			}
			*b ^= change
		}
	}
	// One byte taken from a packet and given to the next keeps their sum.
	for i := 0; i < 40; i++ {
		a, b := &file[at+5+i], &file[at+6+i]
		if *a > 1 && *a < 127 && *b < 126 {
			*a, *b = *a-1, *b+1
			if got, err := decodeOne(t, file, view); err == nil && got.Shape != want.Shape {
				t.Fatalf("packets %d and %d: another shape", i, i+1)
			}
			*a, *b = *a+1, *b-1
		}
	}
}
