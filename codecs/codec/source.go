package codec

import "context"

// SourceCodec is implemented by codecs that keep source files of one format themselves,
// to the last byte, and not the images in them. Its Encode takes [Item.Source] of that
// format; [Item.Image] is not looked at and may be nil. An item without such a source is
// an [*UnsupportedError], as is a sound source that the codec's files cannot hold; a
// damaged one is a [*FormatError]. Of other damaged sources, and of those that hold what no
// decoder looks at, Encode makes a file from which other bytes come back: so a file is
// proved by Restore before anything is done with it. Its work is done on the CPU whatever
// [Run.Device] is, and batches for a device are not made of its items. The methods are safe
// for concurrent use.
type SourceCodec interface {
	Codec

	// SourceFormat is the format that Encode takes and Restore gives, as imageio names it.
	SourceFormat() string

	// Restore gives back the source that each file was made from. Its errors are those of
	// Decode.
	Restore(ctx context.Context, run Run, files [][]byte) []Encoded

	// SourceSample is a small source that Encode takes, for tests.
	SourceSample() []byte
}
