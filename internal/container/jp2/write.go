package jp2

import "encoding/binary"

// Append appends a file with the boxes of f, which is not a raw codestream, and its
// codestream last.
func Append(b []byte, f *File) []byte {
	b = appendBox(b, "jP  ", func(b []byte) []byte { return append(b, signature...) })
	b = appendBox(b, "ftyp", func(b []byte) []byte { return append(b, f.Brand+"\x00\x00\x00\x00"+f.Brand...) })
	b = appendBox(b, "jp2h", f.appendHeader)
	for _, u := range []struct {
		id   [16]byte
		data []byte
	}{{uuidEXIF, f.EXIF}, {uuidXMP, f.XMP}} {
		if u.data != nil {
			b = appendBox(b, "uuid", func(b []byte) []byte { return append(append(b, u.id[:]...), u.data...) })
		}
	}
	return appendBox(b, "jp2c", func(b []byte) []byte { return append(b, f.Codestream...) })
}

// appendBox appends a box with what body appends. Boxes of 4 GiB and more get a long
// length.
func appendBox(b []byte, kind string, body func([]byte) []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = body(append(b, kind...))
	size := len(b) - at
	if size < 1<<32 {
		binary.BigEndian.PutUint32(b[at:], uint32(size))
		return b
	}
	b = append(b, make([]byte, 8)...)
	copy(b[at+16:], b[at+8:])
	binary.BigEndian.PutUint32(b[at:], 1)
	binary.BigEndian.PutUint64(b[at+8:], uint64(size)+8)
	return b
}

func (d Depth) code() byte {
	v := byte(d.Bits - 1)
	if d.Signed {
		v |= 0x80
	}
	return v
}

// common is the depth of all components, or 255 where they differ (I.5.3.1).
func (f *File) common() byte {
	for _, d := range f.Components {
		if d != f.Components[0] {
			return 255
		}
	}
	return f.Components[0].code()
}

func (f *File) appendHeader(b []byte) []byte {
	b = appendBox(b, "ihdr", func(b []byte) []byte {
		b = binary.BigEndian.AppendUint32(b, uint32(f.Height))
		b = binary.BigEndian.AppendUint32(b, uint32(f.Width))
		b = binary.BigEndian.AppendUint16(b, uint16(len(f.Components)))
		return append(b, f.common(), 7, 0, 0)
	})
	if f.common() == 255 {
		b = appendBox(b, "bpcc", func(b []byte) []byte {
			for _, d := range f.Components {
				b = append(b, d.code())
			}
			return b
		})
	}
	b = appendBox(b, "colr", func(b []byte) []byte {
		b = append(b, byte(f.Colour.Method), 0, 0)
		if f.Colour.Method == MethodEnumerated {
			return binary.BigEndian.AppendUint32(b, uint32(f.Colour.Space))
		}
		return append(b, f.Colour.ICC...)
	})
	if f.Palette != nil {
		b = appendBox(b, "pclr", f.Palette.append)
	}
	if f.Mapping != nil {
		b = appendBox(b, "cmap", f.appendMapping)
	}
	if f.Channels != nil {
		b = appendBox(b, "cdef", f.appendChannels)
	}
	if f.Resolution == (Resolution{}) {
		return b
	}
	return appendBox(b, "res ", func(b []byte) []byte { return appendBox(b, "resc", f.Resolution.append) })
}

func (p *Palette) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(p.Entries)/len(p.Columns)))
	b = append(b, byte(len(p.Columns)))
	for _, d := range p.Columns {
		b = append(b, d.code())
	}
	for i, v := range p.Entries {
		d := p.Columns[i%len(p.Columns)]
		v &= 1<<d.Bits - 1
		if d.Bits > 8 {
			b = append(b, byte(v>>8))
		}
		b = append(b, byte(v))
	}
	return b
}

func (f *File) appendMapping(b []byte) []byte {
	for _, m := range f.Mapping {
		b = binary.BigEndian.AppendUint16(b, uint16(m.Component))
		if m.Palette {
			b = append(b, 1, byte(m.Column))
		} else {
			b = append(b, 0, 0)
		}
	}
	return b
}

func (f *File) appendChannels(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(f.Channels)))
	for _, c := range f.Channels {
		b = binary.BigEndian.AppendUint16(b, uint16(c.Index))
		b = binary.BigEndian.AppendUint16(b, uint16(c.Type))
		b = binary.BigEndian.AppendUint16(b, uint16(c.Association))
	}
	return b
}

func (r *Resolution) append(b []byte) []byte {
	for _, v := range []uint16{r.Y.Numerator, r.Y.Denominator, r.X.Numerator, r.X.Denominator} {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return append(b, byte(r.Y.Exponent), byte(r.X.Exponent))
}
