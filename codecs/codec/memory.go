package codec

// Memory is what a codec holds on the CPU for one image, in bytes: the most at any
// moment. Garbage that waits for the collector is not counted.
type Memory struct {
	Encode int64 // while an image is encoded: the file included, the image not
	Decode int64 // while a file is decoded: the image included, the file not
	File   int64 // the file
}

// Header is what a file says of its image before anything of it is decoded.
type Header struct {
	Width, Height, Depth int
	Channels             int // the most that Decode returns; images may turn out to be grey or opaque
	Bits                 int
	Memory               int64 // as [Memory].Decode
}

// Size is the number of bytes of the image, at most.
func (h Header) Size() int64 {
	n := int64(h.Width) * int64(h.Height) * int64(h.Depth) * int64(h.Channels)
	if h.Bits > 8 {
		n *= 2
	}
	return n
}
