package codec

import "github.com/pelmill/pelmill/raster"

// FrameOptions is implemented by the options of a codec whose codestreams DICOM files hold.
type FrameOptions interface {
	Options

	// Frames says how frames of shape s, which has a depth of 1, are coded without loss. rgb says that the
	// three channels are red, green and blue. The error is an [*UnsupportedError] where the options are
	// of no use for that.
	Frames(s raster.Shape, rgb bool) (Frames, error)
}

// Frames is how the frames of a DICOM file are coded.
type Frames struct {
	Options      Options // with which an image of the frame is encoded as a codestream alone
	Syntax       string  // UID of the transfer syntax
	Decorrelated bool    // red, green and blue have gone through a reversible colour transform
}
