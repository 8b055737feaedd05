// Package codecs is the list of codecs.
//
// A codec is a value of [codec.Codec]; what it has to do is said there. To add
// one, write its package in a folder beside vq, with the same file names, run
// codectest.Run from its tests until it passes, and add one line to [All].
package codecs

import (
	"fmt"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/codecs/jpegxl"
	"github.com/pelmill/pelmill/codecs/neuquant"
	"github.com/pelmill/pelmill/codecs/pcwt"
	"github.com/pelmill/pelmill/codecs/vq"
	"github.com/pelmill/pelmill/codecs/webp"
)

// All returns every codec of this build.
func All() []codec.Codec {
	return []codec.Codec{
		jpeg2000.Codec{},
		jpegxl.Codec{},
		neuquant.Codec{},
		pcwt.Codec{},
		vq.Codec{},
		webp.Codec{},
	}
}

// Find returns the codec with the given name.
func Find(name string) (codec.Codec, error) { return find(nil, name) }

// find looks a codec up in list, nil being [All].
func find(list []codec.Codec, name string) (codec.Codec, error) {
	if list == nil {
		list = All()
	}
	var names []string
	for _, c := range list {
		n := c.Info().Name
		if n == name {
			return c, nil
		}
		names = append(names, n)
	}
	return nil, fmt.Errorf("codecs: no codec %q; there are %s", name, strings.Join(names, ", "))
}

// ByExtension returns the codec whose files end like key, a file name or an
// object's key. Letter case does not matter.
func ByExtension(key string) (codec.Codec, bool) {
	for _, c := range All() {
		if c.Info().Ending(key) != "" {
			return c, true
		}
	}
	return nil, false
}

// Sniff returns the codec that knows the headers of the file data.
func Sniff(data []byte) (codec.Codec, bool) {
	for _, c := range All() {
		if _, err := c.Header(data); err == nil {
			return c, true
		}
	}
	return nil, false
}
