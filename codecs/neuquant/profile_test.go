package neuquant

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// A profile comes back whole, or the image is refused with what to do: none is written
// that Decode would leave out.
func TestProfilesComeBackOrAreRefused(t *testing.T) {
	for _, c := range []struct {
		size    int
		options []string
		refused bool
	}{{maxProfile, nil, false}, {maxProfile + 1, nil, true}, {maxProfile + 1, []string{"metadata=strip"}, false}} {
		m := raster.New(8, 8, 1, 3, 8)
		m.Meta.ICC = bytes.Repeat([]byte("profile "), c.size/8+1)[:c.size]
		o, err := Codec{}.Options(c.options)
		if err != nil {
			t.Fatal(err)
		}
		e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
		var u *codec.UnsupportedError
		if c.refused != errors.As(e.Err, &u) || !c.refused && e.Err != nil {
			t.Fatalf("%d bytes with %q: %v", c.size, c.options, e.Err)
		}
		if c.refused {
			continue
		}
		d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e.Data}, nil)[0]
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		if kept := bytes.Equal(d.Image.Meta.ICC, m.Meta.ICC); kept != (c.options == nil) {
			t.Errorf("%d bytes with %q: kept %v", c.size, c.options, kept)
		}
	}
}
