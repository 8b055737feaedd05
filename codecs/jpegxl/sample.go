package jpegxl

import (
	"bytes"
	_ "embed"
)

// sample is a JPEG file of 61 x 45 samples with subsampled chroma.
//
//go:embed sample.jpg
var sample []byte

// SourceSample is a small JPEG file.
func (Codec) SourceSample() []byte { return bytes.Clone(sample) }
