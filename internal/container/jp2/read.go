package jp2

import (
	"bytes"
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container"
)

// Is says whether data begin like a file of JPEG 2000: with the signature box, or with a
// codestream's first markers.
func Is(data []byte) bool { return isBoxed(data) || isRaw(data) }

func isBoxed(data []byte) bool {
	return len(data) >= 12 && binary.BigEndian.Uint32(data) == 12 && string(data[4:8]) == "jP  " && string(data[8:12]) == signature
}

func isRaw(data []byte) bool { return bytes.HasPrefix(data, []byte{0xff, 0x4f, 0xff, 0x51}) }

// Parse reads the boxes of a file, or takes a raw codestream as it is. Slices of the
// result are parts of data.
func Parse(data []byte) (*File, error) {
	switch {
	case isRaw(data):
		return &File{Codestream: data}, nil
	case !isBoxed(data):
		return nil, container.Malformed("it is no file of JPEG 2000")
	}
	f := &File{}
	header := false
	err := boxes(data[12:], func(kind string, body []byte) error {
		switch {
		case kind == "ftyp" && f.Brand == "":
			if len(body) < 8 {
				return container.Malformed("its box ftyp is too short")
			}
			f.Brand = string(body[:4])
		case kind == "jp2h" && !header:
			header = true
			return f.readHeader(body)
		case kind == "jp2c" && f.Codestream == nil:
			if !header {
				return container.Malformed("its box jp2c comes before jp2h")
			}
			f.Codestream = body
		case kind == "uuid" && len(body) >= 16:
			f.readUUID([16]byte(body), body[16:])
		}
		return nil
	})
	if err != nil && f.Codestream == nil {
		return nil, err // behind the codestream there may be anything
	}
	if f.Codestream == nil {
		return nil, container.Malformed("it holds no codestream")
	}
	if f.Brand == "" {
		return nil, container.Malformed("it has no box ftyp")
	}
	return f, f.check()
}

// boxes calls f for the boxes of data (I.4).
func boxes(data []byte, f func(kind string, body []byte) error) error {
	for len(data) > 0 {
		if len(data) < 8 {
			return container.ErrCutShort
		}
		size, kind, head := uint64(binary.BigEndian.Uint32(data)), string(data[4:8]), uint64(8)
		switch {
		case size == 0:
			size = uint64(len(data))
		case size == 1 && len(data) >= 16:
			size, head = binary.BigEndian.Uint64(data[8:]), 16
		}
		if size < head {
			return container.Malformed("its box %q has a length of %d", kind, size)
		}
		if size > uint64(len(data)) {
			if kind != "jp2c" {
				return container.ErrCutShort
			}
			size = uint64(len(data)) // the codestream says itself where it ends
		}
		if err := f(kind, data[head:size:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}

// readUUID takes the first EXIF block and the first XMP packet.
func (f *File) readUUID(id [16]byte, body []byte) {
	switch {
	case id == uuidEXIF && f.EXIF == nil:
		f.EXIF = bytes.TrimPrefix(body, []byte("Exif\x00\x00"))
	case id == uuidXMP && f.XMP == nil:
		f.XMP = body
	}
}

// readHeader reads the box jp2h.
func (f *File) readHeader(data []byte) error {
	var bits []byte
	first := true
	err := boxes(data, func(kind string, body []byte) error {
		if first != (kind == "ihdr") {
			return container.Malformed("its box ihdr is not the first of jp2h, or comes twice")
		}
		first = false
		switch kind {
		case "ihdr":
			return f.readImageHeader(body)
		case "bpcc":
			bits = body
		case "colr":
			return f.readColour(body)
		case "pclr":
			return f.readPalette(body)
		case "cmap":
			return f.readMapping(body)
		case "cdef":
			return f.readChannels(body)
		case "res ":
			return f.readResolutions(body)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case first:
		return container.Malformed("its box jp2h is empty")
	case f.Components[0].Bits > 0:
		return nil
	case len(bits) != len(f.Components):
		return container.Malformed("its box bpcc has %d bytes for %d components", len(bits), len(f.Components))
	}
	for i, b := range bits {
		f.Components[i] = depth(b)
	}
	return nil
}

// depth reads a bit depth and sign.
func depth(b byte) Depth { return Depth{int(b&0x7f) + 1, b>>7 == 1} }

func (f *File) readImageHeader(b []byte) error {
	if len(b) != 14 {
		return container.Malformed("its box ihdr has %d bytes", len(b))
	}
	f.Height, f.Width = int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
	n := int(binary.BigEndian.Uint16(b[8:]))
	if n < 1 || n > 16384 {
		return container.Malformed("its box ihdr has %d components", n)
	}
	if b[11] != 7 {
		return container.Unsupported("its box ihdr has the compression type %d", b[11])
	}
	f.Components = make([]Depth, n)
	if b[10] != 255 {
		for i := range f.Components {
			f.Components[i] = depth(b[10])
		}
	}
	return nil
}

// readColour takes the first box colr with a method that is known (I.5.3.3).
func (f *File) readColour(b []byte) error {
	if len(b) < 3 {
		return container.Malformed("its box colr is too short")
	}
	if f.Colour.Method != 0 {
		return nil
	}
	switch b[0] {
	case 1:
		if len(b) < 7 {
			return container.Malformed("its box colr is too short")
		}
		f.Colour = Colour{Method: MethodEnumerated, Space: ColourSpace(binary.BigEndian.Uint32(b[3:]))}
	case 2, 3:
		f.Colour = Colour{Method: MethodICC, ICC: b[3:]}
	}
	return nil
}

func (f *File) readPalette(b []byte) error {
	if f.Palette != nil || len(b) < 3 {
		return container.Malformed("its box pclr comes twice or is too short")
	}
	entries, columns := int(binary.BigEndian.Uint16(b)), int(b[2])
	if entries < 1 || entries > 1024 || columns < 1 || len(b) < 3+columns {
		return container.Malformed("it has a palette of %d entries with %d columns", entries, columns)
	}
	p := &Palette{Entries: make([]int32, 0, entries*columns)}
	for _, v := range b[3 : 3+columns] {
		d := depth(v)
		if d.Bits > 16 {
			return container.Unsupported("it has a palette of %d bits; those of 1 to 16 bits are read", d.Bits)
		}
		p.Columns = append(p.Columns, d)
	}
	b = b[3+columns:]
	for range entries {
		for _, d := range p.Columns {
			n := (d.Bits + 7) / 8
			if len(b) < n {
				return container.Malformed("its box pclr is too short")
			}
			v := int32(b[0])
			if n == 2 {
				v = v<<8 | int32(b[1])
			}
			v &= 1<<d.Bits - 1
			if d.Signed && v>>(d.Bits-1) != 0 {
				v -= 1 << d.Bits
			}
			p.Entries, b = append(p.Entries, v), b[n:]
		}
	}
	f.Palette = p
	return nil
}

func (f *File) readMapping(b []byte) error {
	if len(b) == 0 || len(b)%4 != 0 || f.Mapping != nil {
		return container.Malformed("its box cmap has %d bytes, or comes twice", len(b))
	}
	for ; len(b) > 0; b = b[4:] {
		if b[2] > 1 {
			return container.Malformed("its box cmap has the mapping type %d", b[2])
		}
		f.Mapping = append(f.Mapping, Mapping{int(binary.BigEndian.Uint16(b)), b[2] == 1, int(b[3])})
	}
	return nil
}

func (f *File) readChannels(b []byte) error {
	if len(b) < 2 || len(b) != 2+6*int(binary.BigEndian.Uint16(b)) || f.Channels != nil {
		return container.Malformed("its box cdef has %d bytes, or comes twice", len(b))
	}
	for b = b[2:]; len(b) > 0; b = b[6:] {
		f.Channels = append(f.Channels, Channel{int(binary.BigEndian.Uint16(b)), ChannelType(binary.BigEndian.Uint16(b[2:])), int(binary.BigEndian.Uint16(b[4:]))})
	}
	return nil
}

// readResolutions reads the box res.
func (f *File) readResolutions(b []byte) error {
	capture := false
	return boxes(b, func(kind string, body []byte) error {
		if kind != "resc" && kind != "resd" || capture {
			return nil
		}
		if len(body) != 10 {
			return container.Malformed("its box %q has %d bytes", kind, len(body))
		}
		capture = kind == "resc"
		number := func(i int) uint16 { return binary.BigEndian.Uint16(body[i:]) }
		f.Resolution = Resolution{Y: Ratio{number(0), number(2), int8(body[8])}, X: Ratio{number(4), number(6), int8(body[9])}}
		return nil
	})
}

// check holds the boxes against each other.
func (f *File) check() error {
	if (f.Palette != nil) != (f.Mapping != nil) && f.Palette != nil {
		return container.Malformed("it has a box pclr and no cmap")
	}
	for i, m := range f.Mapping {
		if m.Component >= len(f.Components) || m.Palette && (f.Palette == nil || m.Column >= len(f.Palette.Columns)) {
			return container.Malformed("its channel %d is of component %d, column %d, which it does not have", i, m.Component, m.Column)
		}
	}
	return nil
}
