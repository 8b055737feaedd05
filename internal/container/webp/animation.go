package webp

import (
	"encoding/binary"
	"time"

	"github.com/pelmill/pelmill/internal/container"
)

// Animation is an animated file (RFC 9649, 2.7.1): frames that are drawn on a canvas, which is transparent
// at first. The background colour that a file names is for viewers to ignore. File has the attributes.
type Animation struct {
	File
	Frames []Frame // at least one
	Plays  int     // 0: for ever
}

// Frame is one frame, which lies on the canvas.
type Frame struct {
	File  // its bitstream
	X, Y  int
	Shape Shape
	Delay time.Duration
	Clear bool // its place becomes transparent after its time
	Over  bool // it is blended over what is there, and else takes its place
}

// frameHead is the length of the body of an ANMF chunk up to its own chunks.
const frameHead = 16

// Animated reports whether a file says that it is an animation.
func Animated(data []byte) bool {
	c, ok := Find(data, "VP8X")
	return ok && len(c.Body) >= extendedLength && c.Body[0]&FlagAnimation != 0
}

// OpenAnimation reads the chunks of an animation and the headers of its frames. One with more than
// maxFrames frames is over the limit. Memory is taken for the list of frames; callers hold the canvas
// against their limits.
func OpenAnimation(data []byte, maxFrames int) (*Animation, error) {
	a := &Animation{Plays: -1}
	for c, err := range Chunks(data) {
		if err == errStray && len(a.Frames) > 0 {
			break
		}
		if err == nil {
			err = a.add(&c, maxFrames)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case a.Canvas == nil:
		return nil, container.Malformed("an animation without a canvas")
	case len(a.Frames) == 0 || a.Plays < 0:
		return nil, container.Malformed("an animation without frames")
	}
	return a, nil
}

func (a *Animation) add(c *Chunk, maxFrames int) error {
	switch c.Kind {
	case "VP8X":
		if len(c.Body) < extendedLength {
			return container.ErrCutShort
		}
		a.Canvas = &Canvas{Width: 1 + uint24(c.Body[4:]), Height: 1 + uint24(c.Body[7:])}
		return nil
	case "ANIM":
		if len(c.Body) < 6 {
			return container.ErrCutShort
		}
		a.Plays = int(binary.LittleEndian.Uint16(c.Body[4:]))
		return nil
	case "ANMF":
		if len(a.Frames) == maxFrames {
			return container.OverLimit("more than %d frames are over the limit", maxFrames)
		}
		return a.frame(c.Body)
	case "VP8 ", "VP8L", "ALPH":
		return nil // of an image for viewers without animation, which libwebp passes over
	}
	return a.chunk(c, container.Lenient)
}

// frame adds a frame (RFC 9649, 2.7.1.2).
func (a *Animation) frame(body []byte) error {
	if len(body) < frameHead || a.Canvas == nil {
		return container.ErrCutShort
	}
	f := Frame{X: 2 * uint24(body), Y: 2 * uint24(body[3:]), Delay: time.Duration(uint24(body[12:])) * time.Millisecond, Clear: body[15]&1 != 0, Over: body[15]&2 == 0}
	f.Canvas = &Canvas{Width: 1 + uint24(body[6:]), Height: 1 + uint24(body[9:])}
	if f.X+f.Canvas.Width > a.Canvas.Width || f.Y+f.Canvas.Height > a.Canvas.Height {
		return container.Malformed("frame %d lies outside of its canvas", len(a.Frames)+1)
	}
	for at := frameHead; at < len(body); {
		c, err := next(body, at)
		if err != nil {
			return err
		}
		if c.Kind == "VP8 " || c.Kind == "VP8L" || c.Kind == "ALPH" {
			if err := f.chunk(&c, container.Lenient); err != nil {
				return err
			}
		}
		at += chunkHeader + len(c.Body) + len(c.Body)&1
	}
	if f.Bitstream == nil {
		return container.Malformed("frame %d holds no picture", len(a.Frames)+1)
	}
	var err error
	if f.Shape, err = f.File.Shape(); err == nil {
		a.Frames = append(a.Frames, f)
	}
	return err
}
