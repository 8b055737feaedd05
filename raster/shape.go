package raster

import "fmt"

// Shape is what is known of an image before its samples are: how many there are along
// each axis, and what one of them is. It is a value; two shapes of equal fields are
// equal. Records hold it as JSON, fields that are zero left out.
type Shape struct {
	Width    int  `json:"width,omitempty"`
	Height   int  `json:"height,omitempty"`
	Depth    int  `json:"depth,omitempty"`    // slices; 1 for a 2D image
	Channels int  `json:"channels,omitempty"` // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha (not premultiplied)
	Bits     int  `json:"bits,omitempty"`     // bits per sample, 1 to 16
	Signed   bool `json:"signed,omitempty"`   // samples are two's complement
	Frames   bool `json:"frames,omitempty"`   // slices are pages or frames in time, not a volume
}

// Check reports why no [Image] can have the shape, or nil. The products of a checked
// shape, such as [Shape.Size], do not overflow.
func (s Shape) Check() error {
	switch {
	case s.Width < 1 || s.Height < 1 || s.Depth < 1:
		return fmt.Errorf("raster: shape %d x %d x %d has an empty side", s.Width, s.Height, s.Depth)
	case s.Channels < 1 || s.Channels > 4:
		return fmt.Errorf("raster: %d channels, want 1 to 4", s.Channels)
	case s.Bits < 1 || s.Bits > 16:
		return fmt.Errorf("raster: %d bits per sample, want 1 to 16", s.Bits)
	}
	const most = 1 << 40
	n := int64(s.Width)
	for _, f := range []int64{int64(s.Height), int64(s.Depth), int64(s.Channels)} {
		if n > most/f {
			return fmt.Errorf("raster: shape %d x %d x %d is too large", s.Width, s.Height, s.Depth)
		}
		n *= f
	}
	return nil
}

// Same reports whether s and o agree in everything that [Image.Hash] covers except the
// samples: in all but Frames.
func (s Shape) Same(o Shape) bool {
	s.Frames, o.Frames = false, false
	return s == o
}

// Pixels is the number of pixels of all slices: width x height x depth.
func (s Shape) Pixels() int { return s.Width * s.Height * s.Depth }

// Samples is the number of samples: width x height x depth x channels.
func (s Shape) Samples() int { return s.Pixels() * s.Channels }

// BytesPerSample is 1 for samples of up to 8 bits and 2 above.
func (s Shape) BytesPerSample() int {
	if s.Bits > 8 {
		return 2
	}
	return 1
}

// Size is the number of bytes of all samples.
func (s Shape) Size() int { return s.Samples() * s.BytesPerSample() }

// Alpha reports whether the last channel is alpha.
func (s Shape) Alpha() bool { return s.Channels == 2 || s.Channels == 4 }

// String is the shape for people: "768 x 512, 3 x 8 bit".
func (s Shape) String() string {
	t := fmt.Sprintf("%d x %d", s.Width, s.Height)
	if s.Depth > 1 {
		t += fmt.Sprintf(" x %d", s.Depth)
	}
	t += fmt.Sprintf(", %d x %d bit", s.Channels, s.Bits)
	if s.Signed {
		t += " signed"
	}
	return t
}
