package worker

import (
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs"
)

// TestModulesOfACodec: kernels of the codec come before those for its sources, and where it is not known there are none.
func TestModulesOfACodec(t *testing.T) {
	for name, want := range map[string][]string{
		"vq":       {"vq", "compare", "sha256", "png"},
		"neuquant": {"neuquant", "neuquant-parse", "neuquant-pack", "sha256", "png"},
		"webp":     {"webp", "webp decoder", "compare", "sha256", "png"},
		"pcwt":     {"pcwt", "sha256", "png"},
		"jpeg2000": {"jpeg2000", "sha256", "png"},
		"jpegxl":   nil,
		"auto":     nil,
		"":         nil,
	} {
		var got []string
		for _, m := range modules(&Options{Codec: name, Codecs: codecs.All()}) {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
