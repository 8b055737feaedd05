package neuquant

import (
	"context"
	"sync"

	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
)

// deflated is the rows of a file as a zlib stream; nil where that is left to who writes the file.
type deflated struct {
	data []byte
	err  error
	laid *deflate.Laid // whose memory data is; nil: it is its own
}

// laidStreams are those that nobody needs any more: their memory is used again.
var laidStreams = sync.Pool{New: func() any { return new(deflate.Laid) }}

// free ends the use of the stream.
func (d *deflated) free() {
	if d.laid != nil {
		laidStreams.Put(d.laid)
	}
	*d = deflated{}
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
