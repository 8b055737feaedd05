package dicom

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pelmill/pelmill/internal/container"
)

// Reasons for which a file is left alone, as they begin the sentence of a [*LeftAlone].
const (
	ReasonSyntax      = "transfer-syntax"   // not known, or of what is lossy or a video
	ReasonDirectory   = "directory"         // a DICOMDIR
	ReasonNoPixels    = "no-pixel-data"     // a report, a plan, a waveform
	ReasonFloat       = "float-pixels"      // Float or Double Float Pixel Data
	ReasonShape       = "pixel-description" // bits, samples or photometric interpretation that no codestream may have
	ReasonFrames      = "frames"            // a number of frames that does not go with the pixel data
	ReasonPadding     = "padding-bits"      // bits above BitsStored that hold something
	ReasonLength      = "pixel-length"      // more pixel data than frames
	ReasonEncapsulate = "encapsulation"     // encapsulated data under a native transfer syntax, or the reverse
	ReasonNested      = "nested-pixel-data" // an icon, say, whose coding is that of the transfer syntax
	ReasonSignature   = "digital-signature" // it covers the pixel data as they are coded
	ReasonDuplicate   = "duplicate-element" // of those that the rewriter reads, or of the file meta information
	ReasonCodestream  = "codestream"        // of the source, which does not go with the data set
	ReasonDecoder     = "decoder"           // there is none for the transfer syntax
	ReasonBare        = "no-preamble"       // a data set, or file meta information, without preamble
)

// LeftAlone says why a file that may be good is not rewritten. It is a
// [*container.UnsupportedError].
type LeftAlone struct {
	container.UnsupportedError
	Why string // one of the reasons above
}

// Unwrap makes it an UnsupportedError for errors.As.
func (l *LeftAlone) Unwrap() error { return &l.UnsupportedError }

func leave(why, sentence string, args ...any) error {
	return &LeftAlone{container.UnsupportedError{Reason: why + ": " + fmt.Sprintf(sentence, args...)}, why}
}

// Left returns the error of a file that is left alone for a reason that is found outside of this
// package.
func Left(why, sentence string, args ...any) error { return leave(why, sentence, args...) }

// directoryClass is the SOP class of a DICOMDIR.
const directoryClass = "1.2.840.10008.1.3.10"

// Check says by the headers whether the file can be rewritten, and reads its Image. The error is a
// [*LeftAlone], or a [*container.FormatError] where the file is damaged. What only the
// samples tell is told by them: [File.Frame], [Image.Raster].
func (f *File) Check() error {
	switch {
	case f.Meta.Class == directoryClass || f.count[directoryRecords] > 0:
		return leave(ReasonDirectory, "it is a directory of files")
	case f.count[floatPixelData] > 0 || f.count[doublePixelData] > 0:
		return leave(ReasonFloat, "its pixel data are floating-point numbers")
	case f.pixels < 0 && f.count[rows] > 0 && f.count[providerURL]+f.count[spectroscopyData] == 0:
		return container.Malformed("it has Rows %v and no pixel data: it may be cut short", rows)
	case f.pixels < 0:
		return leave(ReasonNoPixels, "it has no pixel data")
	case f.Syntax.Coding == Lossy:
		return leave(ReasonSyntax, "pixel data of the transfer syntax %s are not coded again", f.Syntax.Name)
	case f.signatures:
		return leave(ReasonSignature, "it has digital signatures, which may cover the pixel data")
	case f.nested:
		return leave(ReasonNested, "an item of a sequence has encapsulated pixel data")
	}
	for _, t := range watched {
		if f.count[t] > 1 {
			return leave(ReasonDuplicate, "it has the element %v %d times", t, f.count[t])
		}
	}
	meta := map[Tag]bool{}
	for i := range f.Meta.Elements {
		t := f.Meta.Elements[i].Tag
		if f.Meta.Elements[i].VR == "SQ" {
			// The standard has none there (PS3.10 7.1), and not every reader can walk over one.
			return container.Malformed("its file meta information has a sequence, %v", t)
		}
		if meta[t] {
			return leave(ReasonDuplicate, "it has the element %v of the file meta information twice", t)
		}
		meta[t] = true
	}
	for i := range f.Elements {
		switch e := &f.Elements[i]; {
		case e.Tag.Group() == 2:
			// At its beginning a reader would take it for a part of that.
			return container.Malformed("its data set has the element %v, which is one of the file meta information", e.Tag)
		case e.Tag == photometric && f.Syntax.Encoding.Order == binary.BigEndian && e.VR.number() > 1:
			// Of one order of bytes it is a text, of the other one it is not.
			return leave(ReasonShape, "its photometric interpretation has the value representation %s", e.VR)
		}
	}
	e := f.PixelElement()
	if e.Undefined != f.Syntax.Encapsulated() {
		return leave(ReasonEncapsulate, "its pixel data are not as the transfer syntax %s has them", f.Syntax.Name)
	}
	if e.VR != "OW" && e.VR != "OB" && (e.VR != "UN" || f.Syntax.Encoding.Order == binary.BigEndian) {
		return leave(ReasonShape, "its pixel data have the value representation %s", e.VR)
	}
	if err := f.describe(); err != nil {
		return err
	}
	if f.Syntax.Encoding.Order == binary.BigEndian && f.Image.Allocated > 8 && e.VR != "OW" {
		// By their value representation they are bytes in no order of words (PS3.5 6.2), by the syntax words (A.3).
		return leave(ReasonShape, "its samples of %d bits are %s, which leaves open in which order their bytes are", f.Image.Allocated, e.VR)
	}
	if err := f.Image.check(f.Syntax.Coding); err != nil {
		return err
	}
	if f.Syntax.Encapsulated() {
		return nil
	}
	return f.Image.checkNative(int64(e.End-e.Value), f.Syntax.Encoding)
}

// check says whether there is a codestream for such an image (PS3.5 8.2.4 and A.4.4).
func (m *Image) check(c Coding) error {
	switch {
	case m.Rows == 0 || m.Columns == 0:
		return leave(ReasonShape, "it has %d rows and %d columns", m.Rows, m.Columns)
	case m.Allocated != 8 && m.Allocated != 16:
		return leave(ReasonShape, "it has %d bits allocated, and 8 or 16 can be coded", m.Allocated)
	case m.Stored == 0 || m.Stored > m.Allocated:
		return leave(ReasonShape, "it has %d bits stored of %d allocated", m.Stored, m.Allocated)
	case m.HighBit != m.Stored-1:
		return leave(ReasonShape, "its high bit is %d with %d bits stored", m.HighBit, m.Stored)
	case m.Planar > 1:
		return leave(ReasonShape, "its planar configuration is %d", m.Planar)
	}
	switch {
	case m.Samples == 1 && slices.Contains([]string{"MONOCHROME1", "MONOCHROME2"}, m.Photometric):
	case m.Samples == 1 && m.Photometric == "PALETTE COLOR" && !m.Signed:
	case m.Samples == 3 && !m.Signed && slices.Contains([]string{"RGB", "YBR_FULL"}, m.Photometric):
	case m.Samples == 3 && !m.Signed && m.Photometric == "YBR_RCT" && c == JPEG2000Lossless:
	default:
		return leave(ReasonShape, "its photometric interpretation does not go with %d samples in the transfer syntax", m.Samples)
	}
	return nil
}

// checkNative compares the length of native pixel data with that of the frames.
func (m *Image) checkNative(have int64, enc Encoding) error {
	frame := int64(m.FrameBytes()) // below 2^35: sides have 16 bits
	if int64(m.Frames) > have/frame {
		return container.Malformed("its pixel data have %d bytes, too few for %d frames of %d bytes", have, m.Frames, frame)
	}
	if over := have - int64(m.Frames)*frame; over > 1 {
		return leave(ReasonLength, "its pixel data have %d bytes more than its frames", over)
	}
	return nil
}
