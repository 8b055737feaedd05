package codestream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/allocated"
)

// Reading headers takes no more than this: some for any file, which may have 65,535 tiles, and so many times its bytes. Each
// component of a tile is looked at, so that bytes count for each tile-component, too.
const (
	memoryOfAny  = 8 << 20
	memoryOfByte = 64
)

// checkMemory runs f, which reads a file with headers of so many tile-components, once or twice.
func checkMemory(t *testing.T, bytes, tileComponents int, f func()) {
	t.Helper()
	if took, more := allocated.MoreThan(uint64(memoryOfAny+memoryOfByte*(bytes+4*tileComponents)), f); more {
		t.Errorf("%d bytes of headers of %d tile-components take %d bytes", bytes, tileComponents, took)
	}
}

// checkHeaders reads all headers of a codestream: what comes is a codestream, or an error of package codec.
func checkHeaders(t *testing.T, data []byte) {
	t.Helper()
	known := func(err error) bool {
		var malformed *codec.FormatError
		var unsupported *codec.UnsupportedError
		return errors.As(err, &malformed) || errors.As(err, &unsupported)
	}
	var s *Stream
	var err error
	checkMemory(t, len(data), 0, func() { s, err = Parse(data) })
	if err != nil {
		if !known(err) {
			t.Errorf("%T: %v", err, err)
		}
		return
	}
	n := s.Size.Tiles().X * s.Size.Tiles().Y
	if n*len(s.Size.Components) > 1<<16 {
		return
	}
	checkMemory(t, len(data), n*len(s.Size.Components), func() {
		for i := range n {
			p, coded, err := s.Tile(i)
			if err != nil {
				if !known(err) {
					t.Errorf("tile %d: %T: %v", i, err, err)
				}
				continue
			}
			if len(p.Components) != len(s.Size.Components) || len(p.Changes) > maxChanges {
				t.Errorf("tile %d: %d components and %d progression changes", i, len(p.Components), len(p.Changes))
			}
			lengths, sum, bytes := s.PacketLengths(i), 0, 0
			for _, l := range lengths {
				sum += l
			}
			for _, b := range coded.Bodies {
				bytes += len(b)
			}
			if lengths != nil && (sum != bytes || len(lengths) > bytes) {
				t.Errorf("tile %d: %d packets have %d bytes together, and the tile-parts %d", i, len(lengths), sum, bytes)
			}
		}
	})
}

// where says which headers a marker segment is put into.
type where byte

const (
	inMain where = 1 << iota
	inTile
	inSecond // tile-part of the tile
)

// withSegment is a codestream of a tile in two tile-parts, with a marker segment in some of its headers.
func withSegment(components int, m Marker, at where, segment, body []byte) []byte {
	main := grey()
	main.Params = *params(components, 5)
	main.Size.Components = slices.Repeat(main.Size.Components, components)
	add := func(b []byte, here bool) []byte {
		if !here {
			return b
		}
		return appendSegment(b, m, func(b []byte) []byte { return append(b, segment[:min(len(segment), 65000)]...) })
	}
	b := add(AppendMain(nil, main), at&inMain != 0)
	for i, part := range [][]byte{body[:len(body)/2], body[len(body)/2:]} {
		start := len(b)
		b = add(AppendSOT(b, 0, 0, i, 2), at&inTile != 0 && i == 0 || at&inSecond != 0 && i == 1)
		b = append(AppendSOD(b), part...)
		binary.BigEndian.PutUint32(b[start+6:], uint32(len(b)-start))
	}
	return AppendEOC(b)
}

// segments are marker segments as encoders write them, one for each marker that a header may have.
var segments = []struct {
	marker     Marker
	at         where
	components int
	data       []byte
}{
	{PPM, inMain, 1, []byte{0, 0, 0, 0, 2, 4, 5, 0, 0, 0, 1, 7}},
	{PPM, inMain, 1, []byte{3, 0xff, 0xff, 0xff, 0xff}},
	{PPT, inTile | inSecond, 1, []byte{0, 1, 2, 3}},
	{PLT, inTile | inSecond, 1, []byte{0, 2, 2}},
	{PLT, inTile | inSecond, 1, []byte{0, 0x80, 0x80, 4}},
	{PLT, inTile | inSecond, 1, bytes.Repeat([]byte{0}, 60000)},
	{PLM, inMain, 1, []byte{0, 4, 2, 2, 2, 2}},
	{TLM, inMain, 1, []byte{0, tlmSizes, 0, 0, 0, 0, 0, 18, 0, 0, 0, 0, 0, 18}},
	{POC, inMain | inTile, 3, []byte{0, 0, 0, 1, 3, 3, byte(RPCL), 3, 0, 0, 1, 33, 3, byte(CPRL)}},
	{POC, inMain | inSecond, 300, []byte{0, 0, 0, 0, 1, 3, 1, 44, byte(RPCL)}},
	{POC, inMain | inTile, 1, bytes.Repeat([]byte{0, 0, 0, 1, 33, 1, 0}, 9000)},
	{RGN, inMain | inTile, 3, []byte{2, 0, 37}},
	{RGN, inMain, 300, []byte{1, 43, 0, 38}},
	{CAP, inMain, 1, []byte{0, 2, 0, 0, 0, 5}},
	{CAP, inMain, 1, []byte{0xff, 0xff, 0xff, 0xff, 1, 2}},
	{CPF, inMain, 1, []byte{0, 1}},
	{COD, inTile, 3, []byte{7, 2, 0, 3, 1, 2, 4, 4, 0, 1, 0x88, 0x77, 0x66}},
	{COC, inMain | inTile, 3, []byte{1, 1, 1, 4, 4, 0x40, 1, 0x88, 0x77}},
	{QCD, inTile, 3, []byte{0x41, 0x12, 0x34}},
	{QCC, inMain, 3, []byte{2, 0x22, 0x12, 0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 0x34}},
	{CRG, inMain, 1, []byte{0, 1, 0, 2}},
	{COM, inMain | inTile, 1, []byte("\x00\x01a comment")},
	{SIZ, inMain, 1, nil},
	{0xff30, inMain, 1, nil},
	{0xff77, inMain | inTile, 1, []byte{1}},
}

// Each marker segment of every content is read, or refused by an error of package codec, after memory in
// proportion to the file.
func FuzzMarkers(f *testing.F) {
	for _, s := range segments {
		f.Add(uint16(s.marker), byte(s.at), uint16(s.components), s.data, []byte{1, 2, 3, 4})
	}
	f.Fuzz(func(t *testing.T, marker uint16, at byte, components uint16, segment, body []byte) {
		data := withSegment(int(components%400)+1, Marker(marker|0xff00), where(at), segment, body)
		checkHeaders(t, data)
		checkHeaders(t, data[:len(data)-1-len(data)/3])
	})
}

// The lengths that PLT has are those that a reader by the letter of A.7.3 finds, or none.
func FuzzPacketLengths(f *testing.F) {
	f.Add(uint16(300), []byte{0x82, 0x2c}, []byte(nil))
	f.Add(uint16(300), []byte{0x82}, []byte{0x2b, 1})
	f.Add(uint16(3), []byte{1, 1}, []byte{1, 0})
	f.Add(uint16(88), []byte{88}, []byte{0x80})
	f.Add(uint16(3), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, []byte{3})
	f.Fuzz(func(t *testing.T, size uint16, first, second []byte) {
		var got []int
		var ok bool
		checkMemory(t, len(first)+len(second), 0, func() { got, ok = splitPLT([][]byte{first, second}, int(size)) })
		var want []int
		sum, n, open := uint64(0), uint64(0), false
		for _, c := range append(bytes.Clone(first), second...) {
			n = min(n<<7|uint64(c&127), 1<<20) // no packet is as long
			if open = c >= 128; !open {
				want, sum, n = append(want, int(n)), sum+n, 0
			}
		}
		whole := !open && sum == uint64(size) && !slices.Contains(want, 0)
		if ok != whole || ok && !slices.Equal(got, want) {
			t.Errorf("%v %v, want %v %v", got, ok, want, whole)
		}
	})
}

// What an encoder says of its tile-parts and packets is found again.
func FuzzLengthsComeBack(f *testing.F) {
	f.Add([]byte{1, 2, 200}, uint16(1))
	f.Add([]byte{255, 255, 1, 1}, uint16(40000))
	f.Fuzz(func(t *testing.T, sizes []byte, scale uint16) {
		var lengths []int
		sum := 0
		for _, s := range sizes[:min(len(sizes), 200)] {
			lengths = append(lengths, 1+int(s)*int(scale%50000))
			sum += lengths[len(lengths)-1]
		}
		if sum > 1<<22 || len(lengths) == 0 {
			return
		}
		m := grey()
		b, tlm := AppendTLM(AppendMain(nil, m), 1)
		start := len(b)
		b = AppendSOD(AppendPLT(AppendSOT(b, 0, 0, 0, 1), lengths))
		b = append(b, make([]byte, sum)...)
		binary.BigEndian.PutUint32(b[start+6:], uint32(len(b)-start))
		tlm.Set(b, 0, 0, len(b)-start)
		s, err := Parse(AppendEOC(b))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.PacketLengths(0); !slices.Equal(got, lengths) {
			t.Errorf("%v, want %v", got, lengths)
		}
	})
}

// More progression changes than a marker segment holds are refused before any is kept.
func TestTooManyProgressionChanges(t *testing.T) {
	changes := bytes.Repeat([]byte{0, 0, 0, 1, 33, 1, 0}, 9000)
	data := withSegment(1, POC, inTile|inSecond, changes, []byte{1, 2})
	s, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var malformed *codec.FormatError
	if _, _, err := s.Tile(0); !errors.As(err, &malformed) {
		t.Errorf("18,000 progression changes: %v", err)
	}
	s, err = Parse(withSegment(1, POC, inMain|inTile, changes, []byte{1, 2}))
	if err != nil {
		t.Fatal(err)
	}
	if p, _, err := s.Tile(0); err != nil || len(p.Changes) != 9000 {
		t.Errorf("%v, or not the 9,000 progression changes of the tile", err)
	}
}
