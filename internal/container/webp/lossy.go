package webp

import (
	"bytes"
	"encoding/binary"
	"io"
)

// lossySource presents a lossy image as the decoder takes it, without what stands
// beside it in the file: the decoder refuses an alpha channel that VP8X does not
// announce or that is announced and missing, which libwebp takes. Bodies are not
// copied.
func (f *File) lossySource(s *Shape) io.Reader {
	var parts []io.Reader
	length := len("WEBP")
	chunk := func(kind string, body []byte) {
		head := binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(body)))
		parts = append(parts, bytes.NewReader(head), bytes.NewReader(body), bytes.NewReader(make([]byte, len(body)&1)))
		length += chunkHeader + len(body) + len(body)&1
	}
	if f.Alpha != nil {
		chunk("VP8X", Extended(FlagAlpha, s.Width, s.Height))
		chunk("ALPH", f.Alpha)
	}
	chunk("VP8 ", f.Bitstream)
	head := append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(length)), "WEBP"...)
	return io.MultiReader(append([]io.Reader{bytes.NewReader(head)}, parts...)...)
}
