package dicom

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/pelmill/pelmill/internal/container"
)

// What files that are written here say of their writer (PS3.10 7.1).
const (
	ImplementationClassUID    = "2.25.242033048381979398625128336753342023278"
	ImplementationVersionName = "PELMILL_1"
)

// Rewriting is what the new file of a source has that the source has not.
type Rewriting struct {
	Syntax      string   // transfer syntax, with explicit value representations in little endian
	Photometric string   // Photometric Interpretation
	Frames      [][]byte // codestreams, one for each frame; nil where Native is set
	Native      []byte   // native pixel data, interleaved and little-endian; nil where Frames are set
}

// Rewrite returns the new file. Of a source with explicit value representations in little endian,
// deflated ones too, everything but the elements that the rewriting is about is copied as it
// stands; any other data set is written anew, element by element. [Verify] tells whether it
// succeeded.
//
// Changed are: the pixel data; Photometric Interpretation, where it says another thing;
// Planar Configuration, which becomes 0 where there are more samples than one; the offset tables
// and the group lengths of the groups 0028 and 7FE0, which go; and of the file meta information what
// names the transfer syntax and the writer, and the UIDs where they are not those of the data
// set.
func (f *File) Rewrite(r *Rewriting) ([]byte, error) {
	size := len(f.Data) + len(r.Native) + 4096
	for _, frame := range r.Frames {
		size += len(frame) + 16
	}
	if e := f.PixelElement(); e != nil && !f.Syntax.Deflated {
		size -= e.End - e.Value
	}
	out := make([]byte, 0, size)
	out = f.appendPreamble(out)
	out = f.appendMeta(out, r.Syntax)
	if f.Syntax.Encoding == explicitLittle {
		return f.appendCopied(out, r), nil
	}
	t := transcriber{file: f, rewriting: r, out: out}
	return t.run()
}

// appendPreamble appends the preamble and the prefix. A preamble that makes the file a TIFF file too
// would point to what now lies elsewhere (PS3.10 7.1).
func (f *File) appendPreamble(out []byte) []byte {
	preamble := f.Data[:128]
	if bytes.HasPrefix(preamble, []byte("II*\x00")) || bytes.HasPrefix(preamble, []byte("MM\x00*")) {
		preamble = make([]byte, 128)
	}
	return append(append(out, preamble...), "DICM"...)
}

// appendMeta appends the file meta information.
func (f *File) appendMeta(out []byte, syntax string) []byte {
	type piece struct {
		tag   Tag
		bytes []byte
	}
	var pieces []piece
	ours := map[Tag][]byte{
		metaVersion:            appendElement(nil, metaVersion, "OB", []byte{0, 1}),
		metaSyntax:             appendUID(nil, metaSyntax, syntax),
		metaImplementation:     appendUID(nil, metaImplementation, ImplementationClassUID),
		metaImplementationName: appendElement(nil, metaImplementationName, "SH", even([]byte(ImplementationVersionName), ' ')),
	}
	if f.UIDs.Class != "" && f.UIDs.Class != f.Meta.Class {
		ours[metaClass] = appendUID(nil, metaClass, f.UIDs.Class)
	}
	if f.UIDs.Instance != "" && f.UIDs.Instance != f.Meta.Instance {
		ours[metaInstance] = appendUID(nil, metaInstance, f.UIDs.Instance)
	}
	for t, b := range ours {
		pieces = append(pieces, piece{t, b})
	}
	for i := range f.Meta.Elements {
		e := &f.Meta.Elements[i]
		if ours[e.Tag] == nil && e.Tag != metaLength {
			pieces = append(pieces, piece{e.Tag, f.Data[e.Header:e.End]})
		}
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return int(int64(a.tag) - int64(b.tag)) })
	n := 0
	for _, p := range pieces {
		n += len(p.bytes)
	}
	out = appendElement(out, metaLength, "UL", binary.LittleEndian.AppendUint32(nil, uint32(n)))
	for _, p := range pieces {
		out = append(out, p.bytes...)
	}
	return out
}

// appendCopied appends the data set with the rewriting, and everything else as it stands.
func (f *File) appendCopied(out []byte, r *Rewriting) []byte {
	var copied int // up to here
	for i := range f.Elements {
		e := &f.Elements[i]
		replaced, ours := f.replace(e, r)
		if !ours {
			continue
		}
		out = append(out, f.Set[copied:e.Header]...)
		if replaced != nil {
			out = replaced(out)
		}
		copied = e.End
	}
	return append(out, f.Set[copied:]...)
}

// replace says what becomes of an element of the top of the data set: with ours it is not copied,
// and what the function appends stands in its place; nil: nothing.
func (f *File) replace(e *Element, r *Rewriting) (func(out []byte) []byte, bool) {
	switch {
	case e.Tag == photometric && r.Photometric != f.Image.Photometric:
		return func(out []byte) []byte {
			return appendElement(out, photometric, "CS", even([]byte(r.Photometric), ' '))
		}, true
	case e.Tag == planarConfiguration && f.Image.Samples > 1 && f.Image.Planar != 0:
		return appendPlanar, true
	case e.Tag == PixelData:
		return r.appendPixels(f.Image.Allocated), true
	case e.Tag == extendedOffsets, e.Tag == extendedLengths, e.Tag == 0x00280000, e.Tag == 0x7fe00000:
		return nil, true
	case f.lacksPlanar() && e == f.planarPlace():
		// Before the element that it has to stand before, which is copied.
		return func(out []byte) []byte { return append(appendPlanar(out), f.Set[e.Header:e.End]...) }, true
	}
	return nil, false
}

// lacksPlanar reports whether Planar Configuration has to be added.
func (f *File) lacksPlanar() bool { return f.Image.Samples > 1 && f.count[planarConfiguration] == 0 }

// planarPlace is the element that Planar Configuration has to stand before: Rows, which every
// image has, or Number of Frames.
func (f *File) planarPlace() *Element {
	for i := range f.Elements {
		if t := f.Elements[i].Tag; t > planarConfiguration && t <= rows {
			return &f.Elements[i]
		}
	}
	return nil
}

func appendPlanar(out []byte) []byte {
	return appendElement(out, planarConfiguration, "US", []byte{0, 0})
}

// appendPixels appends the element of the pixel data.
func (r *Rewriting) appendPixels(allocated int) func(out []byte) []byte {
	return func(out []byte) []byte {
		if r.Frames != nil {
			return appendEncapsulated(out, r.Frames)
		}
		vr := VR("OW")
		if allocated <= 8 {
			vr = "OB"
		}
		n := len(r.Native)
		out = appendHeader(out, PixelData, vr, n+n&1)
		out = append(out, r.Native...)
		if n&1 == 1 {
			out = append(out, 0)
		}
		return out
	}
}

// appendEncapsulated appends pixel data of one fragment for each frame (PS3.5 A.4).
func appendEncapsulated(out []byte, frames [][]byte) []byte {
	lengths := make([]int, len(frames))
	for i := range frames {
		lengths[i] = len(frames[i])
	}
	basic, offsets, extended := offsetTables(lengths)
	if offsets != nil {
		out = appendElement(out, extendedOffsets, "OV", offsets)
		out = appendElement(out, extendedLengths, "OV", extended)
	}
	out = appendTag(out, PixelData)
	out = append(out, "OB\x00\x00\xff\xff\xff\xff"...)
	out = appendItem(out, basic)
	for _, frame := range frames {
		out = appendItem(out, frame)
	}
	return append(appendTag(out, sequenceEnd), 0, 0, 0, 0)
}

// appendItem appends an item, padded with a zero byte that its length counts.
func appendItem(out, value []byte) []byte {
	n := len(value)
	out = binary.LittleEndian.AppendUint32(appendTag(out, itemTag), uint32(n+n&1))
	out = append(out, value...)
	if n&1 == 1 {
		out = append(out, 0)
	}
	return out
}

func appendTag(out []byte, t Tag) []byte {
	return append(out, byte(t>>16), byte(t>>24), byte(t), byte(t>>8))
}

// appendHeader appends the header of an element with explicit value representation in
// little endian. One whose length does not fit becomes UN (PS3.5 6.2.2).
func appendHeader(out []byte, t Tag, vr VR, n int) []byte {
	if !vr.long() && n > maxShort {
		vr = "UN"
	}
	out = append(appendTag(out, t), vr...)
	if vr.long() {
		return binary.LittleEndian.AppendUint32(append(out, 0, 0), uint32(n))
	}
	return binary.LittleEndian.AppendUint16(out, uint16(n))
}

// maxShort is the longest value that a length of 16 bits counts, which is even.
const maxShort = 65534

func appendElement(out []byte, t Tag, vr VR, value []byte) []byte {
	return append(appendHeader(out, t, vr, len(value)), value...)
}

func appendUID(out []byte, t Tag, uid string) []byte {
	return appendElement(out, t, "UI", even([]byte(uid), 0))
}

// even pads a value to an even length.
func even(value []byte, pad byte) []byte {
	if len(value)&1 == 1 {
		return append(value, pad)
	}
	return value
}

// tooLarge is the error of a data set whose sequence cannot say its length.
func tooLarge() error { return container.OverLimit("a sequence has more than %d bytes", undefined-1) }
