package instances

import (
	"bufio"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Transfer syntaxes whose data sets are big endian or deflated (PS3.5, A).
const (
	explicitBig = "1.2.840.10008.1.2.2"
	deflated    = "1.2.840.10008.1.2.1.99"
)

// Bounds of what is looked at for the identity of an instance.
const (
	mostMeta     = 1 << 20   // bytes of the file meta information
	mostIdentity = 256 << 20 // bytes of a data set before its Series Instance UID
	mostNested   = 64        // sequences in sequences
)

// ErrNotDICOM means that bytes are no DICOM file.
var ErrNotDICOM = errors.New("instances: not a DICOM file")

// ErrBroken means that a DICOM file ends early or cannot be parsed up to its UIDs.
var ErrBroken = errors.New("instances: the data set cannot be parsed")

// header is what identifies an instance.
type header struct {
	dataset  int64  // offset of the data set in the file
	syntax   string // Transfer Syntax UID (0002,0010)
	class    string // SOP Class UID (0008,0016)
	instance string // SOP Instance UID (0008,0018)
	study    string // Study Instance UID (0020,000D)
	series   string // Series Instance UID (0020,000E)
}

const (
	tagSyntax   = 0x00020010
	tagClass    = 0x00080016
	tagInstance = 0x00080018
	tagStudy    = 0x0020000D
	tagSeries   = 0x0020000E
	tagItem     = 0xFFFEE000
	tagItemEnd  = 0xFFFEE00D
	tagSeqEnd   = 0xFFFEE0DD
	undefined   = 0xFFFFFFFF
)

// readHeader reads a file of PS3.10 up to its Series Instance UID.
func readHeader(r io.Reader) (h header, err error) {
	e := &elements{r: bufio.NewReaderSize(r, 4096), order: binary.LittleEndian, explicit: true, left: mostMeta}
	start := make([]byte, 132)
	if err := e.fill(start); err != nil || string(start[128:]) != "DICM" {
		return h, ErrNotDICOM
	}
	// The first element is the group's length (PS3.10, 7.1); without it the group ends where another begins.
	for {
		peek, err := e.r.Peek(4)
		if err != nil {
			return h, ErrBroken
		}
		if binary.LittleEndian.Uint16(peek) != 2 {
			break
		}
		el, err := e.next()
		if err != nil {
			return h, err
		}
		switch {
		case el.length == undefined:
			return h, ErrBroken
		case el.tag == tagSyntax:
			h.syntax, err = e.uid(el)
		default:
			err = e.skip(el.length)
		}
		if err != nil {
			return h, err
		}
	}
	if h.dataset = e.read; h.syntax == "" {
		return h, ErrBroken
	}
	return h, h.identify(e)
}

// identify reads a data set up to its Series Instance UID.
func (h *header) identify(e *elements) error {
	e.left = mostIdentity
	switch h.syntax {
	case explicitBig:
		e.order = binary.BigEndian
	case deflated:
		e.r = bufio.NewReaderSize(flate.NewReader(e.r), 4096)
	}
	// Some files have no value representations where their transfer syntax has, or the reverse. They are stored as they are.
	if peek, err := e.r.Peek(6); err == nil {
		e.explicit = 'A' <= peek[4] && peek[4] <= 'Z' && 'A' <= peek[5] && peek[5] <= 'Z'
	}
	explicit := e.explicit
	unknown := -1 // depth of a sequence of VR UN, in which all is implicit VR little endian (PS3.5, 6.2.2)
	order := e.order
	for depth := 0; ; {
		el, err := e.next()
		switch {
		case errors.Is(err, io.EOF) && depth == 0:
			return h.complete()
		case err != nil:
			return ErrBroken
		case el.tag == tagItemEnd || el.tag == tagSeqEnd:
			if depth--; depth < 0 {
				return ErrBroken
			}
			if depth == unknown {
				unknown, e.explicit, e.order = -1, explicit, order
			}
			continue
		case depth == 0 && el.tag > tagSeries && el.tag < tagItem:
			return h.complete()
		case el.length == undefined:
			// Elements of items are met like those of the data set, at a greater depth.
			if el.unknown {
				unknown, e.explicit, e.order = depth, false, binary.LittleEndian
			}
			if depth++; depth > mostNested {
				return ErrBroken
			}
			continue
		}
		var to *string
		if depth == 0 {
			to = map[uint32]*string{tagClass: &h.class, tagInstance: &h.instance, tagStudy: &h.study, tagSeries: &h.series}[el.tag]
		}
		if to != nil {
			*to, err = e.uid(el)
		} else {
			err = e.skip(el.length)
		}
		if err != nil {
			return ErrBroken
		}
	}
}

// complete reports whether an instance can be told from others.
func (h *header) complete() error {
	if h.class == "" || h.instance == "" {
		return fmt.Errorf("%w: no SOP Class or SOP Instance UID", ErrBroken)
	}
	return nil
}

// elements reads elements one after the other.
type elements struct {
	r        *bufio.Reader
	order    binary.ByteOrder
	explicit bool
	read     int64 // bytes so far
	left     int64 // bytes that may still be read
}

type element struct {
	tag, length uint32
	unknown     bool // of VR UN
}

func (e *elements) fill(b []byte) error {
	if e.left -= int64(len(b)); e.left < 0 {
		return ErrBroken
	}
	n, err := io.ReadFull(e.r, b)
	e.read += int64(n)
	return err
}

// next reads the tag and the length of an element (PS3.5, 7.1). io.EOF means that there is none.
func (e *elements) next() (el element, err error) {
	var b [8]byte
	if err := e.fill(b[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return el, io.EOF
		}
		return el, ErrBroken
	}
	el.tag = uint32(e.order.Uint16(b[:]))<<16 | uint32(e.order.Uint16(b[2:]))
	if !e.explicit || el.tag >= tagItem && el.tag <= tagSeqEnd {
		el.length = e.order.Uint32(b[4:])
		return el, nil
	}
	switch vr := string(b[4:6]); vr {
	case "OB", "OD", "OF", "OL", "OV", "OW", "SQ", "SV", "UC", "UN", "UR", "UT", "UV":
		var long [4]byte
		if e.fill(long[:]) != nil {
			return el, ErrBroken
		}
		el.length = e.order.Uint32(long[:])
		el.unknown = vr == "UN"
	default:
		if vr[0] < 'A' || vr[0] > 'Z' || vr[1] < 'A' || vr[1] > 'Z' {
			return el, ErrBroken
		}
		el.length = uint32(e.order.Uint16(b[6:]))
	}
	return el, nil
}

func (e *elements) skip(n uint32) error {
	if e.left -= int64(n); e.left < 0 {
		return ErrBroken
	}
	done, err := io.CopyN(io.Discard, e.r, int64(n))
	if e.read += done; err != nil {
		return ErrBroken
	}
	return nil
}

// mostUID is the most bytes of a UID (PS3.5, 9.1); some senders write a few more.
const mostUID = 128

// uid reads a value of VR UI without its padding.
func (e *elements) uid(el element) (string, error) {
	if el.length > mostUID {
		return "", ErrBroken
	}
	b := make([]byte, el.length)
	if e.fill(b) != nil {
		return "", ErrBroken
	}
	return strings.TrimRight(string(b), "\x00 "), nil
}
