package neuquant

import (
	"context"

	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
)

// deflated is the rows of a file as a zlib stream; nil where that is left to who writes the file.
type deflated struct {
	data []byte
	err  error
}

// deflate leaves all to who writes the file, which goes from the search of a chunk to its
// tokens while the bytes are in the cache.
func (cpuSteps) deflate(_ context.Context, list [][]byte) []deflated {
	return make([]deflated, len(list))
}

// stream returns rows as a zlib stream.
func (d *deflated) stream(rows []byte) []byte {
	if d.data != nil {
		return d.data
	}
	e := encoders.Get().(*deflate.Encoder)
	defer encoders.Put(e)
	return e.Append(nil, rows)
}
