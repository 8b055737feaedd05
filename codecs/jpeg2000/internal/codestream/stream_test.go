package codestream

import (
	"bytes"
	"errors"
	"image"
	"reflect"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
)

// grey is the main header of an image of one tile and one component.
func grey() *Main {
	return &Main{Size: Size{Image: image.Rect(0, 0, 100, 80), Tile: image.Pt(100, 80), Components: []Component{{Bits: 10, Step: image.Pt(1, 1)}}}, Params: *params(1, 5)}
}

func mains() map[string]*Main {
	grey := grey()
	many := &Main{Size: Size{Image: image.Rect(3, 5, 1000, 800), Tile: image.Pt(128, 200), TileOrigin: image.Pt(1, 2)}, Params: *params(300, 2)}
	for i := range 300 {
		many.Size.Components = append(many.Size.Components, Component{Bits: 1 + i%38, Signed: i%2 == 1, Step: image.Pt(1+i%3, 1+i%2)})
	}
	p := &many.Params
	p.Order, p.Layers, p.MCT, p.SOP, p.EPH = CPRL, 300, true, true, true
	p.Components[7].ROIShift = 12
	p.Components[299] = Coding{Levels: 1, BlockExp: image.Pt(2, 10), Style: Bypass | Causal, Precincts: []image.Point{{0, 3}, {15, 1}},
		Quantization: Quantization{Style: ScalarDerived, Guard: 7, Steps: []Step{{31, 2047}}}}
	p.Changes = []Progression{{0, 2, 0, 300, 1, RPCL}, {1, 33, 256, 300, 65535, PCRL}}
	ht := &Main{Size: grey.Size, Params: *params(1, 1), HT: HTMixed | HTIrreversible | 9}
	ht.Size.Capabilities = PartFifteen
	ht.Params.Components[0].Style = HT
	return map[string]*Main{"grey": grey, "many": many, "ht": ht}
}

// build makes a codestream of a tile-part for each tile, with the given body.
func build(m *Main, body []byte) []byte {
	b := AppendMain(nil, m)
	for t := range m.Size.Tiles().X * m.Size.Tiles().Y {
		b = AppendSOD(AppendSOT(b, t, TilePartHeader+len(body), 0, 1))
		b = append(b, body...)
	}
	return AppendEOC(b)
}

func TestHeadersComeBack(t *testing.T) {
	for name, m := range mains() {
		s, err := Parse(build(m, []byte{1, 2, 3}))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(s.Size, m.Size) || s.HT != m.HT || s.HasCAP != (m.HT != 0) {
			t.Errorf("%s: %+v, want %+v", name, s.Size, m.Size)
		}
		p, coded, err := s.Tile(s.Size.Tiles().X*s.Size.Tiles().Y - 1)
		if err != nil || !reflect.DeepEqual(*p, m.Params) {
			t.Errorf("%s: %+v (%v), want %+v", name, p, err, m.Params)
		}
		if len(coded.Bodies) != 1 || !bytes.Equal(coded.Bodies[0], []byte{1, 2, 3}) || coded.Packed {
			t.Errorf("%s: %+v", name, coded)
		}
	}
}

// The header that another encoder writes for 10 bits and 5 levels.
func TestHeaderOfKnownBytes(t *testing.T) {
	m := grey()
	for i := range m.Params.Components[0].Quantization.Steps {
		m.Params.Components[0].Quantization.Steps[i].Exponent = []int{11, 11, 12}[i%3]
	}
	m.Params.Components[0].Quantization.Steps[0].Exponent = 10
	got := AppendMain(nil, m)
	for _, want := range [][]byte{
		{0xff, 0x4f, 0xff, 0x51, 0, 41, 0, 0, 0, 0, 0, 100, 0, 0, 0, 80},
		{0xff, 0x52, 0, 12, 0, 0, 0, 1, 0, 5, 4, 4, 0, 1},
		{0xff, 0x5c, 0, 19, 0x40, 0x50, 0x58, 0x60},
	} {
		if !bytes.Contains(got, want) {
			t.Errorf("% x\nis not in\n% x", want, got)
		}
	}
}

// What is said of a component goes before what is said of all, and a tile's before the
// main header's, in any order of markers.
func TestPrecedenceOfParameters(t *testing.T) {
	m := grey()
	m.Size.Components = append(m.Size.Components, m.Size.Components[0])
	m.Params = *params(2, 1)
	m.Params.Components[1].Levels = 0
	head := AppendMain(nil, m)
	at := bytes.Index(head, []byte{0xff, byte(COC & 0xff)})
	coc := head[at : at+11]
	if coc[3] != 9 {
		t.Fatalf("% x", coc)
	}
	siz := bytes.Index(head, []byte{0xff, byte(COD & 0xff)})
	swapped := append(append(bytes.Clone(head[:siz]), coc...), head[siz:at]...)
	swapped = append(swapped, head[at+11:]...)
	cod := appendSegment(nil, COD, func(b []byte) []byte { return append(b, 0, 0, 0, 1, 0, 1, 4, 4, byte(Reset), 1) })
	for _, tt := range []struct {
		head []byte
		tile []byte
		want [2]Coding
	}{
		{head, nil, [2]Coding{{Levels: 1}, {Levels: 0}}},
		{swapped, nil, [2]Coding{{Levels: 1}, {Levels: 0}}},
		{head, cod, [2]Coding{{Levels: 1, Style: Reset}, {Levels: 1, Style: Reset}}},
		{head, append(bytes.Clone(coc), cod...), [2]Coding{{Levels: 1, Style: Reset}, {Levels: 0}}},
	} {
		file := AppendSOT(bytes.Clone(tt.head), 0, TilePartHeader+len(tt.tile), 0, 1)
		s, err := Parse(AppendEOC(AppendSOD(append(file, tt.tile...))))
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := s.Tile(0)
		if err != nil {
			t.Fatal(err)
		}
		for c, want := range tt.want {
			if got := p.Components[c]; got.Levels != want.Levels || got.Style != want.Style {
				t.Errorf("component %d: %d levels, style %x, want %d and %x", c, got.Levels, got.Style, want.Levels, want.Style)
			}
		}
	}
}

// Packet headers of PPM belong to tile-parts, wherever the segments of PPM end.
func TestPackedHeaders(t *testing.T) {
	m := grey()
	m.Size.Tile = image.Pt(50, 80)
	m.Size.Tile.X = 50
	b := AppendMain(nil, m)
	b = appendSegment(b, PPM, func(b []byte) []byte { return append(b, 1, 5, 0, 0, 0, 3, 6, 7, 8) })
	b = appendSegment(b, PPM, func(b []byte) []byte { return append(b, 0, 0, 0, 0, 2, 4) })
	for i := range 2 {
		b = AppendSOD(AppendSOT(b, i, TilePartHeader, 0, 1))
	}
	s, err := Parse(AppendEOC(b))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]byte{{4, 5}, {6, 7, 8}} {
		if _, coded, err := s.Tile(i); err != nil || !coded.Packed || !bytes.Equal(coded.Headers, want) {
			t.Errorf("tile %d: %v (%v), want %v", i, coded, err, want)
		}
	}
}

// The size that is read of the beginning of a codestream is that of its header.
func TestImageSize(t *testing.T) {
	for name, m := range mains() {
		file := build(m, []byte{1, 2, 3})
		parsed, err := Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		want, few := parsed.Size.Image.Size(), len(parsed.Size.Components) <= 4
		if w, h, ok := ImageSize(file); ok != few || ok && image.Pt(w, h) != want {
			t.Errorf("%s: %d x %d, %v, and %v", name, w, h, ok, want)
		}
		for n := range 42 {
			if _, _, ok := ImageSize(file[:n]); ok {
				t.Errorf("%s: a size of %d bytes", name, n)
			}
		}
	}
}

func TestBrokenHeaders(t *testing.T) {
	good := build(grey(), []byte{1, 2, 3})
	change := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	const siz = 2
	cod := bytes.Index(good, []byte{0xff, 0x52})
	sot := bytes.Index(good, []byte{0xff, 0x90})
	for name, tt := range map[string]struct {
		file        []byte
		unsupported bool
	}{
		"empty":               {nil, false},
		"no SOC":              {good[2:], false},
		"cut in SIZ":          {good[:20], false},
		"cut in a tile-part":  {good[:len(good)-4], false},
		"no width":            {change(siz+6, 0, 0, 0, 0), false},
		"tiles of no width":   {change(siz+22, 0, 0, 0, 0), false},
		"sub-sampling of 0":   {change(siz+41, 0), false},
		"Part 2":              {change(siz+4, 0x80), true},
		"MCT of Part 2":       {change(cod+8, 2), true},
		"order 5":             {change(cod+5, 5), false},
		"33 levels":           {change(cod+9, 33), false},
		"blocks of 2048":      {change(cod+10, 9), false},
		"wavelet of Part 2":   {change(cod+13, 2), true},
		"tile 1 of 1":         {change(sot+4, 0, 1), false},
		"second tile-part":    {change(sot+10, 1), false},
		"length of tile-part": {change(sot+6, 0, 0, 0, 5), false},
	} {
		_, err := Parse(tt.file)
		var unsupported *codec.UnsupportedError
		var malformed *codec.FormatError
		if !errors.As(err, &unsupported) == tt.unsupported || !errors.As(err, &malformed) != tt.unsupported {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, m := range mains() {
		f.Add(build(m, []byte{1, 2, 3}))
	}
	for _, s := range segments {
		f.Add(withSegment(s.components, s.marker, s.at, s.data, []byte{1, 2, 3, 4}))
	}
	f.Fuzz(checkHeaders)
}
