package png

import (
	"encoding/binary"
	"time"

	"github.com/pelmill/pelmill/internal/container"
)

// Animation is what the chunks of an animation say (PNG specification, third edition, 11.3.4).
type Animation struct {
	Frames []Frame // at least two
	Plays  uint32  // 0: for ever
}

// Frame is one frame (fcTL), which lies in the image.
type Frame struct {
	X, Y, Width, Height int
	Delay               time.Duration
	Dispose             byte // what becomes of its place after its time
	Over                bool // it is blended over what is there, and else takes its place

	from int // place of its first chunk of samples
	kind string
}

// What becomes of the place of a frame.
const (
	DisposeNone       = 0
	DisposeBackground = 1 // it becomes transparent
	DisposePrevious   = 2 // what was there before comes back
)

// Length of the body of a control chunk, and of the number that begins one and a chunk of samples.
const (
	controlLength  = 26
	sequenceLength = 4
)

// Animation reads the frames of a file that says that it has several. ok is false where they are not as the
// file says or break a rule: browsers then show the image that viewers without animation show. Memory is taken
// for the list of frames, of which there are f.Frames: callers have held that against their limit.
func (f *File) Animation() (a Animation, ok bool) {
	if f.Frames < 2 {
		return a, false
	}
	var next uint32 // sequence number
	samples := false
	for c, err := range Chunks(f.data) {
		if err != nil {
			return a, false
		}
		body := c.Body()
		switch c.Kind {
		case "acTL":
			if len(body) != 8 || samples {
				return a, false
			}
			a.Plays = binary.BigEndian.Uint32(body[4:])
		case "fcTL", "fdAT":
			if len(body) < sequenceLength || binary.BigEndian.Uint32(body) != next {
				return a, false
			}
			next++
			if c.Kind == "fcTL" && !f.control(&a, body, samples) || c.Kind == "fdAT" && !a.samples(&c, samples) {
				return a, false
			}
		case "IDAT":
			if !samples && len(a.Frames) == 1 {
				a.Frames[0].from, a.Frames[0].kind = c.At, c.Kind
			}
			samples = true
		}
	}
	for i := range a.Frames {
		if a.Frames[i].from == 0 {
			return a, false
		}
	}
	return a, len(a.Frames) == int(f.Frames)
}

// control adds the frame of a control chunk. The one before the samples of the image covers it.
func (f *File) control(a *Animation, body []byte, samples bool) bool {
	if len(body) != controlLength || len(a.Frames) == int(f.Frames) || !samples && len(a.Frames) > 0 {
		return false
	}
	number := func(at int) int64 { return int64(binary.BigEndian.Uint32(body[at:])) }
	w, h, x, y := number(4), number(8), number(12), number(16)
	if w < 1 || h < 1 || x+w > int64(f.Width) || y+h > int64(f.Height) || body[24] > DisposePrevious || body[25] > 1 ||
		!samples && (w != int64(f.Width) || h != int64(f.Height)) {
		return false
	}
	seconds, parts := binary.BigEndian.Uint16(body[20:]), binary.BigEndian.Uint16(body[22:])
	if parts == 0 {
		parts = 100
	}
	a.Frames = append(a.Frames, Frame{
		X: int(x), Y: int(y), Width: int(w), Height: int(h), Dispose: body[24], Over: body[25] == 1,
		Delay: (time.Duration(seconds)*time.Second/time.Duration(parts) + time.Microsecond/2).Truncate(time.Microsecond),
	})
	return true
}

// samples notes a chunk with samples of the last frame.
func (a *Animation) samples(c *Chunk, afterImage bool) bool {
	if len(a.Frames) == 0 || !afterImage {
		return false
	}
	last := &a.Frames[len(a.Frames)-1]
	if last.kind == "IDAT" {
		return false
	}
	if last.from == 0 {
		last.from, last.kind = c.At, c.Kind
	}
	return true
}

// OpenFrame opens the samples of a frame, as a file with the colours of this one. It takes memory for
// a copy of its part of the file.
func (f *File) OpenFrame(fr *Frame) (*File, error) {
	file, err := f.frameFile(fr)
	if err != nil {
		return nil, err
	}
	return Open(file, f.mode)
}

// frameFile makes a file of the samples of a frame, with the colours of this one.
func (f *File) frameFile(fr *Frame) ([]byte, error) {
	first, err := next(f.data, len(Signature))
	if err != nil {
		return nil, err
	}
	head := append([]byte(nil), first.Body()...)
	binary.BigEndian.PutUint32(head, uint32(fr.Width))
	binary.BigEndian.PutUint32(head[4:], uint32(fr.Height))
	out := Append([]byte(Signature), "IHDR", head)
	for _, c := range []Chunk{f.Palette, f.Transparency} {
		if c.Kind != "" && !c.Sound() {
			return nil, container.Malformed("the checksum of a chunk %q is wrong", c.Kind)
		}
		if c.Kind != "" {
			out = append(out, c.Whole...)
		}
	}
	for at := fr.from; ; {
		c, err := next(f.data, at)
		if err != nil {
			return nil, err
		}
		if c.Kind != fr.kind {
			break
		}
		if !c.Sound() {
			return nil, container.Malformed("the checksum of a chunk %q is wrong", c.Kind)
		}
		body := c.Body()
		if fr.kind == "fdAT" {
			body = body[sequenceLength:]
		}
		out = Append(out, "IDAT", body)
		at += len(c.Whole)
	}
	return Append(out, "IEND", nil), nil
}
