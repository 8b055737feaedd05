package jpeg2000

import (
	"errors"
	"image"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/internal/container/jp2"
)

// blank is a codestream of one component without levels, whose packets are empty: all
// samples are in the middle of their range. It holds the given tiles.
func blank(size codestream.Size, components int, tiles ...int) []byte {
	m := &codestream.Main{Size: size, Params: codestream.Params{Layers: 1}}
	for range components {
		m.Params.Components = append(m.Params.Components, codestream.Coding{
			BlockExp: image.Pt(6, 6), Transform: codestream.Reversible53,
			Quantization: codestream.Quantization{Guard: 2, Steps: []codestream.Step{{Exponent: 8}}},
		})
	}
	b := codestream.AppendMain(nil, m)
	for _, t := range tiles {
		b = codestream.AppendSOD(codestream.AppendSOT(b, t, codestream.TilePartHeader+components, 0, 1))
		b = append(b, make([]byte, components)...)
	}
	return codestream.AppendEOC(b)
}

// A tile in which sub-sampling leaves no sample may be missing, others may not.
func TestTilesWithoutSamples(t *testing.T) {
	size := codestream.Size{Image: image.Rect(0, 2, 4, 6), Tile: image.Pt(4, 3), Components: []codestream.Component{{Bits: 8, Step: image.Pt(1, 3)}}}
	m, err := decodeOne(t, blank(size, 1, 1), codec.View{})
	if err != nil || m.Shape.String() != "4 x 1, 1 x 8 bit" || m.Pix[0] != 128 || m.Pix[3] != 128 {
		t.Errorf("%v (%v)", m, err)
	}
	if _, err := decodeOne(t, blank(size, 1, 0), codec.View{}); err == nil || !strings.Contains(err.Error(), "no tile 1") {
		t.Errorf("without the tile that has samples: %v", err)
	}
}

// An image of one colour may leave the association of its channel open.
func TestTheOnlyColour(t *testing.T) {
	size := codestream.Size{Image: image.Rect(0, 0, 5, 4), Tile: image.Pt(5, 4), Components: []codestream.Component{{Bits: 8, Step: image.Pt(1, 1)}, {Bits: 1, Step: image.Pt(1, 1)}}}
	file := jp2.Append(nil, &jp2.File{
		Brand: "jp2 ", Codestream: blank(size, 2, 0), Width: 5, Height: 4, Components: []jp2.Depth{{Bits: 8}, {Bits: 1}},
		Colour:   jp2.Colour{Method: jp2.MethodEnumerated, Space: jp2.Greyscale},
		Channels: []jp2.Channel{{Index: 0}, {Index: 1, Type: jp2.OpacityChannel}},
	})
	m, err := decodeOne(t, file, codec.View{})
	if err != nil || m.Channels != 2 || m.Bits != 8 || m.Pix[0] != 128 || m.Pix[1] != 255 {
		t.Errorf("%v (%v)", m, err)
	}
}

// Headers that would take long are refused before they do.
func TestTooManyTileComponents(t *testing.T) {
	size := codestream.Size{Image: image.Rect(0, 0, 60000, 1), Tile: image.Pt(1, 1)}
	for range 300 {
		size.Components = append(size.Components, codestream.Component{Bits: 8, Step: image.Pt(1, 1)})
	}
	_, err := Codec{}.Header(blank(size, 300, 0))
	var unsupported *codec.UnsupportedError
	if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "60000 x 1 tiles of 300 components") {
		t.Errorf("%v", err)
	}
}
