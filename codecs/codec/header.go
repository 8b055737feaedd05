package codec

import "github.com/pelmill/pelmill/raster"

// Memory is what a codec holds on the CPU for one image, in bytes: the most at any
// moment. Garbage that waits for the collector is not counted.
type Memory struct {
	Encode int64 // while an image is encoded: the file included, the image not
	Decode int64 // while a file is decoded: the image included, the file not
	File   int64 // the file
}

// Header is what a file says of its image before anything of it is decoded.
type Header struct {
	// Shape has as channels the most that Decode returns; images may turn out to be
	// grey or opaque.
	raster.Shape

	Memory      int64   // as [Memory].Decode
	Resolutions int     // the image can be had at 1/2^k of its width and height for k below Resolutions; 1: only whole
	Tile        [2]int  // width and height of the parts that decode alone; 0, 0: the file has one part
	Fields      []Field // the format and what is worth to know of it, for people; never empty
}
