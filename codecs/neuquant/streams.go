package neuquant

import (
	"context"

	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
)

// parsedRows is rows of a file as tokens, of which a zlib stream is made; nil tokens where
// the stream is made of the rows themselves.
type parsedRows struct {
	tokens *deflate.Parsed
	err    error
}

// parse leaves all to who makes the stream, which goes from the search of a chunk to its
// tokens while the bytes are in the cache.
func (cpuSteps) parse(_ context.Context, list [][]byte) []parsedRows {
	return make([]parsedRows, len(list))
}

// stream returns rows as a zlib stream. What a device has parsed and cannot be right is parsed again.
func (p *parsedRows) stream(rows []byte) []byte {
	e := encoders.Get().(*deflate.Encoder)
	defer encoders.Put(e)
	if p.tokens != nil {
		if out, ok := e.AppendParsed(nil, rows, p.tokens); ok {
			return out
		}
	}
	return e.Append(nil, rows)
}
