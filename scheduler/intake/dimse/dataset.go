package dimse

import (
	"encoding/binary"
	"fmt"
)

const (
	tagItem     = 0xFFFEE000
	tagItemEnd  = 0xFFFEE00D
	tagSeqEnd   = 0xFFFEE0DD
	undefined   = 0xFFFFFFFF
	mostNesting = 16
)

// writer writes elements of a data set in little endian.
type writer struct {
	b        []byte
	explicit bool
}

func (w *writer) element(tag uint32, vr string, v []byte) {
	w.b = binary.LittleEndian.AppendUint16(w.b, uint16(tag>>16))
	w.b = binary.LittleEndian.AppendUint16(w.b, uint16(tag))
	switch {
	case !w.explicit:
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(v)))
	case vr == "SQ":
		w.b = binary.LittleEndian.AppendUint32(append(w.b, 'S', 'Q', 0, 0), uint32(len(v)))
	default:
		w.b = binary.LittleEndian.AppendUint16(append(w.b, vr...), uint16(len(v)))
	}
	w.b = append(w.b, v...)
}

// appendInItem adds an item of a sequence.
func appendInItem(b, item []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, 0xFE, 0xFF, 0x00, 0xE0), uint32(len(item)))
	return append(b, item...)
}

// reader reads elements of a data set in little endian.
type reader struct {
	b        []byte
	explicit bool
}

var errDataSet = fmt.Errorf("%w: data set", errProtocol)

// next takes the header of an element.
func (r *reader) next() (tag uint32, vr string, length uint32, err error) {
	if len(r.b) < 8 {
		return 0, "", 0, errDataSet
	}
	tag = uint32(binary.LittleEndian.Uint16(r.b))<<16 | uint32(binary.LittleEndian.Uint16(r.b[2:]))
	if !r.explicit || tag >= tagItem {
		length = binary.LittleEndian.Uint32(r.b[4:])
		r.b = r.b[8:]
		return tag, "", length, nil
	}
	switch vr = string(r.b[4:6]); vr {
	case "OB", "OD", "OF", "OL", "OV", "OW", "SQ", "SV", "UC", "UN", "UR", "UT", "UV":
		if len(r.b) < 12 {
			return 0, "", 0, errDataSet
		}
		length = binary.LittleEndian.Uint32(r.b[8:])
		r.b = r.b[12:]
	default:
		length = uint32(binary.LittleEndian.Uint16(r.b[6:]))
		r.b = r.b[8:]
	}
	return tag, vr, length, nil
}

// value takes the value of an element of a known length.
func (r *reader) value(n uint32) ([]byte, error) {
	if uint64(n) > uint64(len(r.b)) {
		return nil, errDataSet
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v, nil
}

// elements calls fn with the value of each element, and with a reader of the items of each sequence that is known to be
// one. nested data sets end with a delimiter.
func (r *reader) elements(nested bool, depth int, fn func(tag uint32, v []byte) error, items func(tag uint32) func(uint32, []byte) error) error {
	for len(r.b) > 0 {
		tag, vr, n, err := r.next()
		switch {
		case err != nil:
			return err
		case nested && tag == tagItemEnd:
			return nil
		case tag >= tagItem || depth > mostNesting:
			return errDataSet
		case vr == "SQ" || n == undefined || !r.explicit && items != nil && items(tag) != nil:
			of := func(uint32, []byte) error { return nil }
			if items != nil && items(tag) != nil {
				of = items(tag)
			}
			if err := r.sequence(n, depth, of); err != nil {
				return err
			}
			continue
		}
		v, err := r.value(n)
		if err == nil {
			err = fn(tag, v)
		}
		if err != nil {
			return err
		}
	}
	if nested {
		return errDataSet
	}
	return nil
}

// sequence reads the items of a sequence. fn is called with the elements of each, and with tagItem where one begins.
func (r *reader) sequence(n uint32, depth int, fn func(uint32, []byte) error) error {
	in := r
	if n != undefined {
		v, err := r.value(n)
		if err != nil {
			return err
		}
		in = &reader{v, r.explicit}
	}
	for len(in.b) > 0 {
		tag, _, n, err := in.next()
		switch {
		case err != nil:
			return err
		case tag == tagSeqEnd && in == r:
			return nil
		case tag != tagItem:
			return errDataSet
		}
		if err := fn(tagItem, nil); err != nil {
			return err
		}
		if n == undefined {
			err = in.elements(true, depth+1, fn, nil)
		} else {
			var v []byte
			if v, err = in.value(n); err == nil {
				err = (&reader{v, r.explicit}).elements(false, depth+1, fn, nil)
			}
		}
		if err != nil {
			return err
		}
	}
	if in == r {
		return errDataSet
	}
	return nil
}

// parseCommitment reads the data set of a request (PS3.4, J.3.2.1.1).
func parseCommitment(b []byte, explicit bool) (req commitment, err error) {
	r := &reader{b, explicit}
	top := func(tag uint32, v []byte) error {
		if tag == tagTransaction {
			req.transaction = uid(v)
		}
		return nil
	}
	referenced := func(tag uint32, v []byte) error {
		if tag == tagItem {
			if len(req.refs) == mostReferences {
				return fmt.Errorf("%w: more than %d references", errDataSet, mostReferences)
			}
			req.refs = append(req.refs, reference{})
			return nil
		}
		last := &req.refs[len(req.refs)-1]
		switch tag {
		case tagReferencedClass:
			last.class = uid(v)
		case tagReferencedInstance:
			last.instance = uid(v)
		}
		return nil
	}
	err = r.elements(false, 0, top, func(tag uint32) func(uint32, []byte) error {
		if tag == tagReferenced {
			return referenced
		}
		return nil
	})
	if err != nil {
		return req, err
	}
	if req.transaction == "" || len(req.transaction) > 64 || len(req.refs) == 0 {
		return req, fmt.Errorf("%w: no transaction, or no references", errDataSet)
	}
	for _, ref := range req.refs {
		if len(ref.class) > 64 || ref.instance == "" || len(ref.instance) > 64 {
			return req, errDataSet
		}
	}
	return req, nil
}
