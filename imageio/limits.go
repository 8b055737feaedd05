package imageio

// Limits bound what a file may ask for. A zero field stands for its default, and
// a field above its default counts as the default: limits can only be lowered.
type Limits struct {
	Bytes   int64 // of the encoded file; default 1 GiB
	Side    int   // samples along x, y, and z of a volume; default 65,535
	Samples int64 // width x height x depth x channels; default 2^30
	Frames  int   // pages or frames; default 65,535

	// Ratio bounds decoded bytes per encoded byte; default 5,000. It stops
	// files of a few bytes that cost gigabytes; honest formats stay below it
	// (Deflate reaches 1,032, LZW of TIFF some 2,700). Images of up to 64 MiB
	// are never measured by it, because a blank page may need but 30 bytes.
	Ratio int64
}

// ratioFloor is the decoded size in bytes up to which Ratio is not checked.
const ratioFloor = 64 << 20

var defaults = Limits{Bytes: 1 << 30, Side: 65535, Samples: 1 << 30, Frames: 65535, Ratio: 5000}

func (l *Limits) orDefaults() Limits {
	d := defaults
	if l == nil {
		return d
	}
	lower(&d.Bytes, l.Bytes)
	lower(&d.Side, l.Side)
	lower(&d.Samples, l.Samples)
	lower(&d.Frames, l.Frames)
	lower(&d.Ratio, l.Ratio)
	return d
}

func lower[T int | int64](to *T, v T) {
	if v > 0 && v < *to {
		*to = v
	}
}

// check holds the shape of h against the limits. Openers call it before they
// compute anything from the shape: behind it no product of sides overflows.
func (l Limits) check(format string, h *Header, encoded int) error {
	if h.Width < 1 || h.Height < 1 || h.Depth < 1 {
		return rejected(format, "the header promises %d x %d x %d samples", h.Width, h.Height, h.Depth)
	}
	if s := max(h.Width, h.Height); s > l.Side {
		return overLimit(format, "a side of %d samples is over the limit of %d", s, l.Side)
	}
	if h.Frames && h.Depth > l.Frames {
		return overLimit(format, "%d frames are over the limit of %d", h.Depth, l.Frames)
	}
	if !h.Frames && h.Depth > l.Side {
		return overLimit(format, "a side of %d samples is over the limit of %d", h.Depth, l.Side)
	}
	n := int64(h.Width) * int64(h.Height)
	if n > l.Samples || n*int64(h.Channels) > l.Samples || n*int64(h.Channels) > l.Samples/int64(h.Depth) {
		return overLimit(format, "%d x %d x %d with %d channels is over the limit of %d samples", h.Width, h.Height, h.Depth, h.Channels, l.Samples)
	}
	if size := int64(h.Size()); size > ratioFloor && size/int64(max(encoded, 1)) >= l.Ratio {
		return overLimit(format, "%d encoded bytes ask for %d decoded bytes, more than %d times as many", encoded, size, l.Ratio)
	}
	return nil
}
