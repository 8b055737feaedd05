package dicom

import (
	"github.com/pelmill/pelmill/internal/container"
)

// MaxNesting is how deep sequences may nest. Structured reports, which nest deepest, stay below
// 30.
const MaxNesting = 100

// maxElements bounds the elements at the top of a data set: a thousand is much.
const maxElements = 1 << 20

// undefined is the length of what ends with a delimiter (PS3.5 7.1.3).
const undefined = 0xffffffff

// Element is where an element lies, as offsets from the start of the bytes that were walked.
type Element struct {
	Tag       Tag
	VR        VR  // as the file has it; by the dictionary where the encoding has none
	Header    int // of the tag
	Value     int // of the first byte of the value
	End       int // behind the last byte, the delimiter of an undefined length included
	Undefined bool
}

// walker reads elements.
type walker struct {
	data    []byte
	enc     Encoding
	signed  bool // the PixelRepresentation of the data set, or of the item that is walked, for implicit encodings
	plain   bool // PixelRepresentation of items is not looked for: nobody asks for value representations
	visitor visitor
}

// visitor is told what a walker meets, in the order of the file. Its methods may be called for
// nested elements too; depth is 0 at the top of the data set.
type visitor interface {
	// element is called for each element; for a sequence before its items and without End
	// where its length is undefined.
	element(e *Element, depth int, enc Encoding) error

	// item is called at the tag of an item of a sequence, whose content begins at value; end is 0
	// where its length is undefined.
	item(value, end int, enc Encoding) error

	itemEnded(undefined bool) error
	sequenceEnded(undefined bool) error
}

func overEnd(e *Element, end int) error {
	return container.Malformed("element %v of %d bytes goes over the end by %d", e.Tag, e.End-e.Value, e.End-end)
}

// header reads the tag, value representation and length of the element at an offset. The end
// of a value of defined length is not compared with end.
func (w *walker) header(at, end int) (Element, error) {
	e := Element{Header: at}
	if end-at < 8 {
		return e, container.Malformed("it ends in the header of an element")
	}
	b, o := w.data[at:end], w.enc.Order
	e.Tag = Tag(o.Uint16(b))<<16 | Tag(o.Uint16(b[2:]))
	var length uint32
	switch {
	case e.Tag.Group() == 0xfffe:
		e.Value, length = at+8, o.Uint32(b[4:])
	case w.enc.Implicit:
		e.VR, e.Value, length = implicitVR(e.Tag, w.signed), at+8, o.Uint32(b[4:])
	default:
		e.VR = VR(b[4:6])
		switch {
		case !e.VR.letters():
			return e, container.Malformed("element %v has no value representation of two letters", e.Tag)
		case !e.VR.long():
			e.Value, length = at+8, uint32(o.Uint16(b[6:]))
		case len(b) < 12:
			return e, container.Malformed("it ends in the header of element %v", e.Tag)
		default:
			e.Value, length = at+12, o.Uint32(b[8:])
		}
	}
	e.End = e.Value + int(length)
	if length == undefined {
		e.Undefined, e.End = true, 0
		if w.enc.Implicit && e.Tag != PixelData {
			e.VR = w.undefinedVR(e.VR)
		}
	}
	return e, nil
}

// undefinedVR is the value representation of an element of undefined length in an implicit
// encoding: only sequences have that. What the dictionary does not know stays unknown.
func (w *walker) undefinedVR(v VR) VR {
	if v == "UN" {
		return v
	}
	return "SQ"
}

// elements walks a data set between at and end. With delimited it is the content of an item
// that ends with a delimiter; the result is the offset behind that.
func (w *walker) elements(at, end, depth int, delimited bool) (int, error) {
	for at < end {
		e, err := w.header(at, end)
		if err != nil {
			return 0, err
		}
		if e.Tag == itemEnd && delimited {
			if e.Value != e.End {
				return 0, container.Malformed("the delimiter of an item has a length")
			}
			return e.End, nil
		}
		if e.Tag.Group() == 0xfffe {
			return 0, container.Malformed("it has the tag %v where an element has to be", e.Tag)
		}
		if !e.Undefined && e.End > end {
			return 0, overEnd(&e, end)
		}
		if w.enc.Implicit && e.VR == "SQ" && !e.Undefined && !w.beginsWithItem(&e) {
			e.VR = "UN" // another edition, or another writer, has the tag for something else
		}
		if w.visitor != nil {
			if err := w.visitor.element(&e, depth, w.enc); err != nil {
				return 0, err
			}
		}
		if at = e.End; nests(&e) {
			if at, err = w.sequence(&e, end, depth); err != nil {
				return 0, err
			}
		}
	}
	if delimited {
		return 0, container.Malformed("an item has no delimiter")
	}
	return at, nil
}

// beginsWithItem reports whether the value of an element is empty or begins with an item.
func (w *walker) beginsWithItem(e *Element) bool {
	value := w.data[e.Value:e.End]
	return len(value) == 0 || len(value) >= 8 && Tag(w.enc.Order.Uint16(value))<<16|Tag(w.enc.Order.Uint16(value[2:])) == itemTag
}

// nests reports whether an element has items: a sequence, or a value that ends with a
// delimiter.
func nests(e *Element) bool { return e.VR == "SQ" || e.Undefined }

// skip returns the offset behind an element that nests.
func (w *walker) skip(e *Element, end int) (int, error) {
	quiet := walker{data: w.data, enc: w.enc, signed: w.signed, plain: true}
	return quiet.sequence(e, end, 0)
}

// sequence walks the items of an element and returns the offset behind it.
func (w *walker) sequence(e *Element, end, depth int) (int, error) {
	switch {
	case depth == MaxNesting:
		return 0, container.OverLimit("its sequences nest more than %d deep", MaxNesting)
	case e.VR == "UN" && e.Undefined && !w.enc.Implicit:
		// The items of a sequence whose value representation was not known are implicit
		// (PS3.5 6.2.2, note 3).
		outer := w.enc
		w.enc = implicitLittle
		defer func() { w.enc = outer }()
	case e.Undefined && (e.VR == "OB" || e.VR == "OW"):
		return w.fragments(e, end)
	case e.Undefined && e.VR != "SQ" && e.VR != "UN":
		return 0, container.Malformed("element %v of value representation %s has no length", e.Tag, e.VR)
	}
	at := e.Value
	if !e.Undefined {
		end = e.End
	}
	for at < end {
		i, err := w.header(at, end)
		if err != nil {
			return 0, err
		}
		switch {
		case i.Tag == sequenceEnd && e.Undefined:
			if i.Value != i.End {
				return 0, container.Malformed("the delimiter of sequence %v has a length", e.Tag)
			}
			return i.End, w.sequenceEnded(true)
		case i.Tag != itemTag:
			return 0, container.Malformed("sequence %v has the tag %v where an item has to be", e.Tag, i.Tag)
		case !i.Undefined && i.End > end:
			return 0, container.Malformed("an item of sequence %v goes over its end by %d bytes", e.Tag, i.End-end)
		}
		if w.visitor != nil {
			if err := w.visitor.item(i.Value, i.End, w.enc); err != nil {
				return 0, err
			}
		}
		itemsEnd := i.End
		if i.Undefined {
			itemsEnd = end
		}
		outer := w.signed
		if w.enc.Implicit && !w.plain {
			w.signed = w.itemSign(i.Value, itemsEnd)
		}
		if at, err = w.elements(i.Value, itemsEnd, depth+1, i.Undefined); err != nil {
			return 0, err
		}
		w.signed = outer
		if w.visitor != nil {
			if err := w.visitor.itemEnded(i.Undefined); err != nil {
				return 0, err
			}
		}
	}
	if e.Undefined {
		return 0, container.Malformed("sequence %v has no delimiter", e.Tag)
	}
	return end, w.sequenceEnded(false)
}

// itemSign is the PixelRepresentation of an item whose content begins at an offset, an icon's say; where it has none that of what
// the item is in. What is malformed is for the walk itself to say.
func (w *walker) itemSign(at, end int) bool {
	for at < end {
		e, err := w.header(at, end)
		if err != nil || e.Tag > pixelRepresentation {
			break
		}
		if e.Tag == pixelRepresentation && e.End == e.Value+2 && e.End <= end {
			return w.enc.Order.Uint16(w.data[e.Value:]) == 1
		}
		if at = e.End; e.Undefined {
			if at, err = w.skip(&e, end); err != nil {
				break
			}
		}
	}
	return w.signed
}

func (w *walker) sequenceEnded(undefined bool) error {
	if w.visitor == nil {
		return nil
	}
	return w.visitor.sequenceEnded(undefined)
}

// fragments walks the items of encapsulated data (PS3.5 A.4) and returns the offset behind
// their delimiter.
func (w *walker) fragments(e *Element, end int) (int, error) {
	for at := e.Value; at < end; {
		i, err := w.header(at, end)
		switch {
		case err != nil:
			return 0, err
		case i.Tag == sequenceEnd:
			if i.Value != i.End {
				return 0, container.Malformed("the delimiter of %v has a length", e.Tag)
			}
			return i.End, nil
		case i.Tag != itemTag || i.Undefined:
			return 0, container.Malformed("%v has the tag %v where a fragment has to be", e.Tag, i.Tag)
		case i.End > end:
			return 0, container.Malformed("a fragment of %v goes over the end by %d bytes", e.Tag, i.End-end)
		}
		at = i.End
	}
	return 0, container.Malformed("%v has no delimiter", e.Tag)
}
