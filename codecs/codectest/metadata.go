package codectest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// attributed gives m every attribute that an image can have, without a copy of its
// samples.
func attributed(m *raster.Image) *raster.Image {
	out := *m
	// A directory with one entry, the orientation (EXIF 2.3, 4.6.2).
	exif := []byte{'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0}
	for _, v := range []uint16{274, 3, 1, 0, 1, 0} {
		exif = binary.LittleEndian.AppendUint16(exif, v)
	}
	out.Meta = raster.Meta{
		ICC:      []byte("a profile that no codec looks into"),
		EXIF:     append(exif, 0, 0, 0, 0),
		XMP:      []byte(`<x:xmpmeta xmlns:x="adobe:ns:meta/"/>`),
		Density:  raster.Density{X: 300, Y: 299.5, Unit: raster.Inch},
		Text:     []raster.Text{{Key: "Author", Value: "somebody"}, {Value: "a comment"}},
		Spacing:  [3]float64{0.5, 0.25, 3},
		Geometry: slices.Repeat([]byte{1, 2, 3, 4}, raster.NIfTIGeometry/4),
	}
	if m.Frames {
		out.Meta.Animation = raster.Animation{Plays: 3, Delays: make([]time.Duration, m.Depth)}
		for i := range out.Meta.Animation.Delays {
			out.Meta.Animation.Delays[i] = time.Duration(33*i) * time.Millisecond
		}
	}
	return &out
}

// testMetadata gives images every attribute. Those that the codec says that it keeps
// come back unchanged, no other comes back, and the samples are those of an image
// without.
func (s *suite) testMetadata(t *testing.T) {
	for _, pairs := range s.sets {
		o := s.options(t, pairs)
		info := s.info.With(o)
		list := images(info)
		for _, p := range []testImage{list[0], list[len(list)-1], list[len(list)/2]} {
			if err := s.metadata(t, info, p.Image, o); err != nil {
				t.Errorf("%s with %q: %v", p, o, err)
			}
		}
	}
}

func (s *suite) metadata(t *testing.T, info codec.Info, plain *raster.Image, o codec.Options) error {
	m := attributed(plain)
	for _, name := range info.Keeps {
		if name == raster.AttributeAnimation && !plain.Frames {
			continue // of images with frames only
		}
		if !slices.ContainsFunc(m.Meta.Attributes(), func(a raster.Attribute) bool { return a.Name == name }) {
			return fmt.Errorf("it keeps %q, which is no attribute", name)
		}
	}
	hash := m.Meta.Hash()
	file := s.encode(t, m, o)
	if m.Meta.Hash() != hash {
		return fmt.Errorf("encode changed the attributes")
	}
	got, err := s.decode(file, nil)
	if err != nil {
		return err
	}
	if lost, dropped := m.Meta.Lost(&got.Meta), info.Dropped(&m.Meta); !slices.Equal(lost, dropped) {
		return fmt.Errorf("the file lacks the attributes %q, and the codec says %q", lost, dropped)
	}
	if added := got.Meta.Lost(&m.Meta); added != nil {
		return fmt.Errorf("the attributes %q come from nowhere", added)
	}
	without, err := s.decode(s.encode(t, plain, o), nil)
	if err != nil {
		return err
	}
	if without.Hash() != got.Hash() {
		return fmt.Errorf("other samples than without attributes")
	}
	return nil
}
