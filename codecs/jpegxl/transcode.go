package jpegxl

import (
	"bytes"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/jpegdata"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/vardct"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/exif"
)

// pack makes a JPEG XL file from a JPEG file.
func pack(workers *pool.Pool, jpeg []byte, effort vardct.Effort) ([]byte, error) {
	f, err := jpegdata.Read(jpeg, coefficients(len(jpeg)))
	if err != nil {
		return nil, err
	}
	icc, block, xmp := f.Classify()
	meta := &vardct.Metadata{Orientation: exif.Orientation(block)}
	if usable(icc, len(f.Components)) {
		f.MarkICC()
		meta.ICC = icc
	}
	out := &file{}
	if block != nil {
		out.exif = append(make([]byte, 4), block...)
	}
	out.xmp = xmp
	if out.jbrd, err = f.AppendBox(nil); err != nil {
		return nil, err
	}
	if out.codestream, err = vardct.Encode(workers, f, meta, effort); err != nil {
		return nil, err
	}
	return out.write(), nil
}

// usable says whether a profile is one that decoders take for images of so many
// components. Others stay in their segments.
func usable(icc []byte, components int) bool {
	if len(icc) < 132 || string(icc[36:40]) != "acsp" {
		return false
	}
	space := []byte("RGB ")
	if components == 1 {
		space = []byte("GRAY")
	}
	return bytes.Equal(icc[16:20], space)
}

// unpack gives back the JPEG file that a file was made from, of at most limit bytes.
func unpack(workers *pool.Pool, data []byte, limit int) ([]byte, error) {
	in, err := readBoxes(data, maxMetadata)
	if err != nil {
		return nil, err
	}
	if in.jbrd == nil {
		return nil, errNoJPEG
	}
	f, err := jpegdata.ReadBox(in.jbrd)
	if err != nil {
		return nil, err
	}
	meta, err := vardct.Decode(workers, in.codestream, f, coefficients(len(data)))
	if err != nil {
		return nil, err
	}
	var block []byte
	if len(in.exif) >= 4 {
		block = in.exif[4:]
	}
	if err := f.Fill(meta.ICC, block, in.xmp); err != nil {
		return nil, err
	}
	return f.Write(limit)
}

// errNoJPEG is for files of JPEG XL that were not made from a JPEG file.
var errNoJPEG = container.Unsupported("it holds no JPEG file that could be given back")

// coefficients bounds the memory for the coefficients of a file of n bytes: a block takes
// a few bits at least, and 128 bytes of memory, and small files may be nearly empty.
func coefficients(n int) int64 { return min(int64(n)*4096+1<<26, 1<<33) }
