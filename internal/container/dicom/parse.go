package dicom

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"strings"
)

// side is one of the files that are compared: a parser that goes through it token by token.
type side struct {
	preamble []byte
	meta     map[uint32][]byte // whole elements of group 0002
	values   map[uint32][]byte
	syntax   string

	b             []byte // the data set
	at            int
	implicit, big bool
	open          []level
}

// level is a sequence or item that is open.
type level struct {
	item     bool
	end      int // -1: it ends with a delimiter
	implicit bool
	little   bool // whatever the side's order is: inside of UN
}

// token is an element, or a bracket of a sequence.
type token struct {
	kind      byte // 'e' element, 'p' pixel data in fragments, 's' sequence, 'i' item, 'I' end of an item, 'S' of a sequence, 0 end of the file
	depth     int
	tag       uint32
	vr        string
	raw       []byte // the whole of an element; the header of a sequence or item, or the delimiter
	value     []byte
	undefined bool
	implicit  bool
	fragments [][]byte // of 'p', the Basic Offset Table first
	items     []int    // offsets of their tags from the first byte behind that table
}

// longForm are the value representations whose length has 32 bits. Those that are in neither list
// have that too.
const shortForm = " AE AS AT CS DA DS DT FL FD IS LO LT PN SH SL SS ST TM UI UL US "

func openSide(file []byte) (*side, error) {
	s := &side{meta: map[uint32][]byte{}, values: map[uint32][]byte{}}
	if len(file) < 132 || !bytes.Equal(file[128:132], []byte("DICM")) {
		return nil, fmt.Errorf("there is no DICM")
	}
	s.preamble, s.b, s.at = file[:128], file, 132
	for s.at+2 <= len(file) && file[s.at] == 2 && file[s.at+1] == 0 {
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		if t.kind != 'e' {
			return nil, fmt.Errorf("a sequence in the file meta information")
		}
		s.meta[t.tag], s.values[t.tag] = t.raw, t.value
	}
	s.syntax = strings.TrimRight(string(s.values[0x00020010]), "\x00 ")
	s.b, s.at = file[s.at:], 0
	switch s.syntax {
	case "1.2.840.10008.1.2":
		s.implicit = true
	case "1.2.840.10008.1.2.2":
		s.big = true
	case "1.2.840.10008.1.2.1.99":
		var err error
		if s.b, err = io.ReadAll(flate.NewReader(bytes.NewReader(s.b))); err != nil {
			return nil, fmt.Errorf("inflating: %w", err)
		}
	}
	return s, nil
}

func (s *side) u16(at int) int {
	if s.order() {
		return int(s.b[at])<<8 | int(s.b[at+1])
	}
	return int(s.b[at]) | int(s.b[at+1])<<8
}

func (s *side) u32(at int) int64 {
	if s.order() {
		return int64(s.u16(at))<<16 | int64(s.u16(at+2))
	}
	return int64(s.u16(at)) | int64(s.u16(at+2))<<16
}

// order reports whether numbers are big endian here.
func (s *side) order() bool {
	n := len(s.open)
	return s.big && (n == 0 || !s.open[n-1].little)
}

// next returns the next token.
func (s *side) next() (token, error) {
	n := len(s.open)
	if n > 0 && s.open[n-1].end == s.at {
		top := s.open[n-1]
		s.open = s.open[:n-1]
		if top.item {
			return token{kind: 'I', depth: n - 1}, nil
		}
		return token{kind: 'S', depth: n - 1}, nil
	}
	limit := len(s.b)
	for i := range s.open {
		if e := s.open[i].end; e >= 0 {
			limit = min(limit, e)
		}
	}
	if s.at == limit && n == 0 {
		return token{}, nil
	}
	if limit-s.at < 8 {
		return token{}, fmt.Errorf("it ends inside of an element")
	}
	t := token{tag: uint32(s.u16(s.at))<<16 | uint32(s.u16(s.at+2)), depth: n}
	head := s.at
	if t.tag>>16 == 0xfffe {
		return s.bracket(t, limit)
	}
	if n > 0 && !s.open[n-1].item {
		return token{}, fmt.Errorf("an element stands where an item has to")
	}
	t.implicit = s.implicit
	if n > 0 {
		t.implicit = s.open[n-1].implicit
	}
	var length int64
	switch {
	case t.implicit:
		length, s.at = s.u32(head+4), head+8
	default:
		t.vr = string(s.b[head+4 : head+6])
		if t.vr[0] < 'A' || t.vr[0] > 'Z' || t.vr[1] < 'A' || t.vr[1] > 'Z' {
			return token{}, fmt.Errorf("element %08x has no value representation", t.tag)
		}
		if strings.Contains(shortForm, " "+t.vr+" ") {
			length, s.at = int64(s.u16(head+6)), head+8
			break
		}
		if limit-head < 12 {
			return token{}, fmt.Errorf("it ends inside of element %08x", t.tag)
		}
		length, s.at = s.u32(head+8), head+12
	}
	return s.body(t, head, limit, length)
}

// body finishes a token of an element behind its header.
func (s *side) body(t token, head, limit int, length int64) (token, error) {
	t.undefined = length == 0xffffffff
	if !t.undefined && length > int64(limit-s.at) {
		return token{}, fmt.Errorf("element %08x goes over the end", t.tag)
	}
	sequence := t.vr == "SQ" || t.undefined
	if t.implicit && !t.undefined {
		d, ok := define(Tag(t.tag))
		sequence = ok && d.vr == "SQ" && t.tag>>16&1 == 0 && (length == 0 || bytes.HasPrefix(s.b[s.at:], []byte{0xfe, 0xff, 0x00, 0xe0}))
	}
	switch {
	case t.undefined && (t.vr == "OB" || t.vr == "OW"):
		return s.encapsulated(t, head, limit)
	case sequence:
		inside := level{end: -1, implicit: t.implicit || t.vr == "UN", little: t.vr == "UN" || len(s.open) > 0 && s.open[len(s.open)-1].little}
		if !t.undefined {
			inside.end = s.at + int(length)
		}
		if len(s.open) > 3*MaxNesting {
			return token{}, fmt.Errorf("sequences nest too deep")
		}
		s.open = append(s.open, inside)
		t.kind, t.raw = 's', s.b[head:s.at]
		return t, nil
	}
	t.kind, t.value = 'e', s.b[s.at:s.at+int(length)]
	s.at += int(length)
	t.raw = s.b[head:s.at]
	return t, nil
}

// bracket reads an item or a delimiter.
func (s *side) bracket(t token, limit int) (token, error) {
	n, length := len(s.open), s.u32(s.at+4)
	t.raw = s.b[s.at : s.at+8]
	s.at += 8
	if n == 0 {
		return token{}, fmt.Errorf("an item or delimiter outside of a sequence")
	}
	top := s.open[n-1]
	switch {
	case t.tag == 0xfffee000 && !top.item:
		inside := level{item: true, end: -1, implicit: top.implicit, little: top.little}
		if t.undefined = length == 0xffffffff; !t.undefined {
			if length > int64(limit-s.at) {
				return token{}, fmt.Errorf("an item goes over the end")
			}
			inside.end = s.at + int(length)
		}
		s.open = append(s.open, inside)
		t.kind = 'i'
	case t.tag == 0xfffee00d && top.item && top.end < 0 && length == 0:
		s.open, t.kind, t.depth = s.open[:n-1], 'I', n-1
	case t.tag == 0xfffee0dd && !top.item && top.end < 0 && length == 0:
		s.open, t.kind, t.depth = s.open[:n-1], 'S', n-1
	default:
		return token{}, fmt.Errorf("%08x does not fit where it stands", t.tag)
	}
	return t, nil
}

// encapsulated reads fragments up to their delimiter.
func (s *side) encapsulated(t token, head, limit int) (token, error) {
	t.kind = 'p'
	first := 0
	for {
		if limit-s.at < 8 {
			return token{}, fmt.Errorf("fragments have no end")
		}
		tag, n := uint32(s.u16(s.at))<<16|uint32(s.u16(s.at+2)), s.u32(s.at+4)
		item := s.at
		s.at += 8
		if tag == 0xfffee0dd && n == 0 {
			t.raw = s.b[head:s.at]
			return t, nil
		}
		if tag != 0xfffee000 || n > int64(limit-s.at) {
			return token{}, fmt.Errorf("a fragment is broken")
		}
		t.fragments = append(t.fragments, s.b[s.at:s.at+int(n)])
		s.at += int(n)
		if first == 0 {
			first = s.at
		} else {
			t.items = append(t.items, item-first)
		}
	}
}
