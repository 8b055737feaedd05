package vardct

import (
	"math/bits"

	fields "github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
)

// The fields of headers that have four distributions (ISO/IEC 18181-1, annexes D to F).
var (
	sizeField     = fields.U32{fields.Plus(9, 1), fields.Plus(13, 1), fields.Plus(18, 1), fields.Plus(30, 1)}
	depthField    = fields.U32{fields.Value(8), fields.Value(10), fields.Value(12), fields.Plus(6, 1)}
	extraField    = fields.U32{fields.Value(0), fields.Value(1), fields.Plus(4, 2), fields.Plus(12, 1)}
	xyField       = fields.U32{fields.Plus(19, 0), fields.Plus(19, 524288), fields.Plus(20, 1048576), fields.Plus(21, 2097152)}
	upsampleField = fields.U32{fields.Value(1), fields.Value(2), fields.Value(4), fields.Value(8)}
	passField     = fields.U32{fields.Value(1), fields.Value(2), fields.Value(3), fields.Plus(3, 4)}
	blendField    = fields.U32{fields.Value(0), fields.Value(1), fields.Value(2), fields.Plus(2, 3)}
	nameField     = fields.U32{fields.Value(0), fields.Plus(4, 0), fields.Plus(5, 16), fields.Plus(10, 48)}
	sectionField  = fields.U32{fields.Plus(10, 0), fields.Plus(14, 1024), fields.Plus(22, 17408), fields.Plus(30, 4211712)}
	scaleField    = fields.U32{fields.Plus(11, 1), fields.Plus(11, 2049), fields.Plus(12, 4097), fields.Plus(16, 8193)}
	dcScaleField  = fields.U32{fields.Value(16), fields.Plus(5, 1), fields.Plus(8, 1), fields.Plus(16, 1)}
	limitField    = fields.U32{fields.Plus(4, 0), fields.Plus(8, 16), fields.Plus(16, 272), fields.Plus(32, 65808)}
	colourField   = fields.U32{fields.Value(84), fields.Value(256), fields.Plus(8, 2), fields.Plus(16, 258)}
	orderField    = fields.U32{fields.Value(0x5f), fields.Value(0x13), fields.Value(0), fields.Plus(13, 0)}
)

const (
	spaceRGB  = 0
	spaceGrey = 1

	skipSmoothing = 128 // flag of a frame
)

// writeHeaders writes what stands before the frame.
func writeHeaders(w *fields.Writer, m *frame, grey bool, meta *Metadata) {
	w.Write(0x0aff, 16)
	w.Bool(false) // the size is not one of the short ones
	w.U32(&sizeField, uint32(m.height))
	w.Write(0, 3)
	w.U32(&sizeField, uint32(m.width))

	turned := meta.Orientation > 1
	w.Bool(false) // not all default
	w.Bool(turned)
	if turned {
		w.Write(uint64(meta.Orientation-1), 3)
		w.Write(0, 3) // no intrinsic size, preview or animation
	}
	w.Bool(false) // integers
	w.U32(&depthField, 8)
	w.Bool(true) // 16 bits suffice in planes
	w.U32(&extraField, 0)
	w.Bool(false) // not XYB
	space := uint32(spaceRGB)
	if grey {
		space = spaceGrey
	}
	switch {
	case meta.ICC != nil:
		w.Bool(false)
		w.Bool(true)
		w.U32(&fields.Enum, space)
	case grey:
		w.Bool(false)
		w.Bool(false)
		w.U32(&fields.Enum, space)
		w.U32(&fields.Enum, 1) // white point D65
		w.Bool(false)
		w.U32(&fields.Enum, 13) // curve of sRGB
		w.U32(&fields.Enum, 1)  // relative
	default:
		w.Bool(true)
	}
	if turned {
		w.Bool(true) // default tone mapping
	}
	w.U64(0)
	w.Bool(true) // default transforms
	if meta.ICC != nil {
		writeICC(w, meta.ICC)
	}
	w.Pad()
}

// writeFrameHeader writes the header of the frame (F.2).
func writeFrameHeader(w *fields.Writer, m *frame) {
	w.Bool(false)
	w.Write(0, 2) // a frame of its own
	w.Bool(false) // VarDCT
	w.U64(skipSmoothing)
	w.Bool(m.ycbcr)
	if m.ycbcr {
		for c := range m.planes {
			w.Write(m.mode(c), 2)
		}
	}
	w.U32(&upsampleField, 1)
	w.U32(&passField, 1)
	w.Bool(false) // the size of the image
	w.U32(&blendField, 0)
	w.Bool(true) // the last frame
	w.U32(&nameField, 0)
	w.Bool(false) // loop filters:
	w.Bool(false) // no smoothing
	w.Write(0, 2) // no edge-preserving filter
	w.U64(0)
	w.U64(0)
}

// mode is how the standard numbers the sampling factors of a plane; those of a grey image
// all have the factors of the one.
func (m *frame) mode(c int) uint64 {
	p := &m.planes[c]
	if p.Component == nil {
		p = &m.planes[1]
	}
	switch {
	case p.H == 2 && p.V == 2:
		return 1
	case p.H == 2:
		return 2
	case p.V == 2:
		return 3
	}
	return 0
}

// header is what the headers of a codestream say.
type header struct {
	width, height int
	grey, ycbcr   bool
	factors       [3][2]int // sampling factors of each plane
	meta          Metadata
}

// errNot is the error for sound codestreams that hold no JPEG file.
func errNot(what string) error { return malformed("the codestream holds no JPEG file: %s", what) }

func readSize(r *fields.Reader) (width, height int) {
	short := r.Bool()
	side := func() int {
		if short {
			return int(r.Read(5)+1) * 8
		}
		return int(r.U32(&sizeField))
	}
	height = side()
	ratio := [8][2]int{{}, {1, 1}, {12, 10}, {4, 3}, {3, 2}, {16, 9}, {5, 4}, {2, 1}}[r.Read(3)]
	if ratio[0] == 0 {
		return side(), height
	}
	return height * ratio[0] / ratio[1], height
}

// readHeaders reads what stands before the frame. Iccs of more than limit bytes are refused.
func readHeaders(r *fields.Reader, limit int64) (*header, error) {
	if r.Read(16) != 0x0aff {
		return nil, malformed("it is no codestream of JPEG XL")
	}
	h := &header{}
	h.width, h.height = readSize(r)
	if max(h.width, h.height) > 65535 {
		return nil, errNot("its sides are longer")
	}
	if r.Bool() {
		return nil, errNot("its colours are XYB")
	}
	extra := r.Bool()
	h.meta.Orientation = 1
	if extra {
		h.meta.Orientation = int(r.Read(3)) + 1
		if r.Read(3) != 0 {
			return nil, errNot("it has a preview, an animation or another size")
		}
	}
	float := r.Bool()
	depth := r.U32(&depthField)
	r.Bool()
	if channels := r.U32(&extraField); float || depth != 8 || channels != 0 {
		return nil, errNot("its samples have not 8 bits, or more channels than colours")
	}
	if r.Bool() {
		return nil, errNot("its colours are XYB")
	}
	icc, err := h.readColour(r)
	if err != nil {
		return nil, err
	}
	if extra && !r.Bool() { // tone mapping
		r.Read(16)
		r.Read(16)
		r.Bool()
		r.Read(16)
	}
	if r.U64() != 0 || !r.Bool() {
		return nil, errNot("it has extensions or transforms of its own")
	}
	if icc {
		if h.meta.ICC, err = readICC(r, limit); err != nil {
			return nil, err
		}
	}
	r.Pad()
	return h, r.Err()
}

// readColour reads the colour encoding (E.2); icc says that a profile follows.
func (h *header) readColour(r *fields.Reader) (icc bool, err error) {
	if r.Bool() {
		return false, nil
	}
	icc = r.Bool()
	space := r.U32(&fields.Enum)
	if space > spaceGrey {
		return false, errNot("its colour space is neither RGB nor grey")
	}
	h.grey = space == spaceGrey
	if icc {
		return true, nil
	}
	custom := func(points int) {
		for range 2 * points {
			r.U32(&xyField)
		}
	}
	if r.U32(&fields.Enum) == 2 {
		custom(1)
	}
	if !h.grey && r.U32(&fields.Enum) == 2 {
		custom(3)
	}
	if r.Bool() {
		r.Read(24)
	} else {
		r.U32(&fields.Enum)
	}
	r.U32(&fields.Enum)
	return false, nil
}

// readFrameHeader reads the header of the only frame.
func (h *header) readFrame(r *fields.Reader) error {
	if r.Bool() {
		return errNot("its frame is the default one")
	}
	kind, modular := r.Read(2), r.Bool()
	flags := r.U64()
	if kind != 0 || modular || flags&^skipSmoothing != 0 {
		return errNot("its frame is of another kind")
	}
	for c := range h.factors {
		h.factors[c] = [2]int{1, 1}
	}
	if h.ycbcr = r.Bool(); h.ycbcr {
		for c := range h.factors {
			h.factors[c] = [4][2]int{{1, 1}, {2, 2}, {2, 1}, {1, 2}}[r.Read(2)]
		}
	}
	upsampling, passes := r.U32(&upsampleField), r.U32(&passField)
	if upsampling != 1 || passes != 1 {
		return errNot("it is upsampled or has more than one pass")
	}
	custom := r.Bool()
	blend := r.U32(&blendField)
	last := r.Bool()
	if custom || blend != 0 || !last {
		return errNot("it has more than one frame")
	}
	r.Read(8 * uint(min(4, r.U32(&nameField)))) // names are not written by anybody
	if !r.Bool() {
		if r.Bool() || r.Read(2) != 0 || r.U64() != 0 {
			return errNot("it has filters")
		}
	} else {
		return errNot("it has filters")
	}
	if r.U64() != 0 {
		return errNot("its frame has extensions")
	}
	return r.Err()
}

// writeSections writes the table of contents and the sections (F.3).
func writeSections(w *fields.Writer, sections [][]byte) {
	w.Bool(false) // not permuted
	w.Pad()
	for _, s := range sections {
		w.U32(&sectionField, uint32(len(s)))
	}
	w.Pad()
	for _, s := range sections {
		w.AppendBytes(s)
	}
}

// half is the number in half precision (B.2.4) that is nearest to n/d, a positive one.
func half(n, d uint64) uint64 {
	// The quotient with 20 bits behind the point has at least 11 significant ones for
	// all that is asked.
	q := n << 24 / d
	top := bits.Len64(q)
	exponent := top - 25 + 15
	mantissa := q
	if top > 11 {
		mantissa = (q + 1<<(top-12)) >> (top - 11)
	} else {
		mantissa <<= 11 - top
	}
	if mantissa == 2048 {
		mantissa >>= 1
		exponent++
	}
	return uint64(exponent)<<10 | mantissa&1023
}
