// Package gif walks the blocks of GIF files (CompuServe, GIF89a specification) and
// draws their frames.
//
//	s, err := gif.ReadScreen(data)                   // the shape, from the beginning
//	f, err := gif.Open(data, most, container.Lenient) // what the blocks say, no samples
//	for canvas, err := range f.Slices() {            // the samples, frame by frame
//
// Frames are decoded here and not with image/gif, which refuses frames that lie
// partly outside of the canvas, unknown extensions and indices beyond the colours,
// all of which giflib and browsers take, and which holds all frames at once. A
// strict decoder refuses them too.
//
// [Attributes] yields the comments, the XMP packet and the ICC profile; the format
// has no place for an EXIF block or for a density.
package gif

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container"
)

// Disposal methods (GIF89a specification, 23); 4 is in use for 3.
const (
	ToBackground  = 2
	ToPrevious    = 3
	ToPreviousOld = 4
)

// File is what the blocks of a file say.
type File struct {
	Screen
	Frames []Frame // at least one
	Plays  int     // how often the frames are shown; 0: for ever

	mode container.Mode
}

// Frame is one frame, as its descriptor and the graphic control before it have it.
type Frame struct {
	X, Y, Width, Height int

	Colours     []byte // R, G, B of each, its own or the global ones
	Transparent int    // index, -1 where there is none
	Disposal    byte
	Delay       int // for which the frame is shown, in hundredths of a second
	interlaced  bool
	size        int    // bits of an index, 1 to 8
	data        []byte // sub-blocks
}

// descriptorLength is that of the descriptor of a frame.
const descriptorLength = 10

// Open reads all blocks. A file with more than maxFrames frames is over the limit.
// Memory is taken for the list of frames; the shape of none is held against a limit.
func Open(data []byte, maxFrames int, mode container.Mode) (*File, error) {
	f := &File{mode: mode, Plays: 1}
	var err error
	if f.Screen, err = ReadScreen(data); err != nil {
		return nil, err
	}
	control := Frame{Transparent: -1}
	for b, err := range Blocks(data) {
		if err == nil {
			switch b.Kind {
			case kindExtension:
				err = f.extension(&b, &control)
			case kindImage:
				if len(f.Frames) == maxFrames {
					return nil, container.OverLimit("more than %d frames are over the limit", maxFrames)
				}
				err = f.frame(&b, control)
				control = Frame{Transparent: -1}
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if len(f.Frames) == 0 {
		return nil, container.Malformed("it holds no frame")
	}
	return f, nil
}

// extension notes a graphic control (GIF89a specification, 23).
func (f *File) extension(b *Block, control *Frame) error {
	switch b.label() {
	case labelControl:
		if c := b.Data; c[0] == 4 {
			*control = Frame{Transparent: -1, Disposal: c[1] >> 2 & 7, Delay: int(binary.LittleEndian.Uint16(c[2:]))}
			if c[1]&1 != 0 {
				control.Transparent = int(c[4])
			}
		} else if f.mode == container.Strict {
			return container.Malformed("a graphic control of %d bytes", c[0])
		}
	case labelApplication:
		f.loop(b)
	case labelPlainText, labelComment:
	default:
		if f.mode == container.Strict {
			return container.Malformed("an extension of the kind %#02x is not defined", b.label())
		}
	}
	return nil
}

// loop notes how often the frames are shown: browsers read it of an extension of Netscape's, of 3 bytes:
// 1, and how often they are shown again, 0 being for ever.
func (f *File) loop(b *Block) {
	for _, name := range []string{"NETSCAPE2.0", "ANIMEXTS1.0"} {
		if d, ok := b.application(name); ok && len(d) >= 4 && d[0] == 3 && d[1] == 1 {
			if f.Plays = int(binary.LittleEndian.Uint16(d[2:])); f.Plays > 0 {
				f.Plays++
			}
		}
	}
}

// frame adds a frame of the descriptor in b (GIF89a specification, 20 to 22) and of
// the graphic control before it.
func (f *File) frame(b *Block, control Frame) error {
	d, le := b.Whole, binary.LittleEndian
	fr := control
	fr.X, fr.Y = int(le.Uint16(d[1:])), int(le.Uint16(d[3:]))
	fr.Width, fr.Height = int(le.Uint16(d[5:])), int(le.Uint16(d[7:]))
	fr.interlaced = d[9]&0x40 != 0
	fr.Colours = f.Colours
	n := tableLength(d[9])
	if n > 0 {
		fr.Colours = d[descriptorLength : descriptorLength+n]
	}
	fr.size = int(d[descriptorLength+n])
	fr.data = b.Data
	switch {
	case len(fr.Colours) == 0:
		return container.Unsupported("a frame without colours is not read")
	case fr.size < 1 || fr.size > 8:
		return container.Malformed("a frame has indices of %d bits", fr.size)
	case f.mode == container.Strict && (fr.Width == 0 || fr.Height == 0):
		return container.Malformed("frame %d has no samples", len(f.Frames)+1)
	case f.mode == container.Strict && (fr.X+fr.Width > f.Width || fr.Y+fr.Height > f.Height):
		return container.Malformed("frame %d lies outside of its canvas", len(f.Frames)+1)
	}
	f.Frames = append(f.Frames, fr)
	return nil
}

// Largest is the number of samples of the largest frame.
func (f *File) Largest() int64 {
	var most int64
	for i := range f.Frames {
		most = max(most, int64(f.Frames[i].Width)*int64(f.Frames[i].Height))
	}
	return most
}

// Clear reports whether something may stay transparent: the first frame does not
// cover the canvas, a frame has a transparent index or indices beyond its colours,
// or one is disposed of.
func (f *File) Clear() bool {
	for i := range f.Frames {
		fr := &f.Frames[i]
		if fr.Transparent >= 0 || fr.Disposal >= ToBackground || len(fr.Colours) < 3<<fr.size {
			return true
		}
	}
	first := &f.Frames[0]
	return first.Width != f.Width || first.Height != f.Height || first.X != 0 || first.Y != 0
}
