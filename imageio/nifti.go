package imageio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"

	"github.com/pelmill/pelmill/raster"
)

// niftiHeader is the length of the NIfTI-1 header; the samples of a single file
// start at 352 or later.
const niftiHeader = 348

// niftiTypes are the data types of nifti1.h that are read.
var niftiTypes = map[int16]struct {
	channels, bits int
	signed         bool
}{
	2:    {1, 8, false},
	4:    {1, 16, true},
	128:  {3, 8, false},
	256:  {1, 8, true},
	512:  {1, 16, false},
	2304: {4, 8, false},
}

// niftiNames are the types of nifti1.h that are not read, for the message.
var niftiNames = map[int16]string{
	1: "bits", 8: "32-bit integers", 16: "32-bit floats", 32: "complex numbers", 64: "64-bit floats",
	768: "32-bit integers", 1024: "64-bit integers", 1280: "64-bit integers", 1536: "128-bit floats",
	1792: "complex numbers", 2048: "complex numbers",
}

// matchNIfTI looks for the magic of a single file or of a header of a pair, and
// into a gzip stream as far as that takes.
func matchNIfTI(data []byte) bool {
	head := data
	if prefix("\x1f\x8b")(data) {
		head, _ = gunzip(data, niftiHeader)
	}
	if len(head) < niftiHeader {
		// A file cut within its header still says what it is.
		return len(head) >= 4 && niftiOrder(head) != nil
	}
	return niftiOrder(head) != nil && (string(head[344:348]) == "n+1\x00" || string(head[344:348]) == "ni1\x00")
}

// niftiOrder tells the byte order by the length of the header, its first field.
func niftiOrder(head []byte) binary.ByteOrder {
	switch {
	case binary.LittleEndian.Uint32(head) == niftiHeader:
		return binary.LittleEndian
	case binary.BigEndian.Uint32(head) == niftiHeader:
		return binary.BigEndian
	}
	return nil
}

// gunzip inflates at most n bytes.
func gunzip(data []byte, n int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return io.ReadAll(io.LimitReader(z, n))
}

func openNIfTI(data []byte, lim Limits) (*opened, error) {
	zipped := prefix("\x1f\x8b")(data)
	head := data
	if zipped {
		var err error
		if head, err = gunzip(data, niftiHeader); err != nil {
			return nil, err
		}
	}
	if len(head) < niftiHeader {
		return nil, cutShort("nii")
	}
	if string(head[344:348]) == "ni1\x00" {
		return nil, unsupported("nii", "a header whose samples lie in another file is not read")
	}
	order := niftiOrder(head)
	p := &opened{}
	meta, offset, err := p.niftiShape(head, order)
	if err != nil {
		return nil, err
	}
	if err := lim.check("nii", &p.Header, len(data)); err != nil {
		return nil, err
	}
	if !zipped && int64(len(data)) < offset+int64(p.Size()) {
		return nil, cutShort("nii")
	}
	for _, a := range meta.Attributes() {
		p.Attributes = append(p.Attributes, a.Name)
	}
	p.DecodedBytes = int64(p.Size()) + overhead
	p.decode = func() (*raster.Image, error) {
		m := &raster.Image{Shape: raster.Shape{Width: p.Width, Height: p.Height, Depth: p.Depth, Channels: p.Channels, Bits: p.Bits, Signed: p.Signed}, Meta: meta}
		m.Pix = make([]byte, m.Size())
		if zipped {
			err = gunzipInto(m.Pix, data, offset)
		} else if copy(m.Pix, data[offset:]); int64(len(data)) > offset+int64(p.Size()) {
			err = tooMuch()
		}
		if err != nil {
			return nil, err
		}
		if m.Bits == 16 && order == binary.BigEndian {
			swap16(m.Pix)
		}
		return m, nil
	}
	return p, nil
}

// tooMuch refuses a file that holds more samples than its header accounts for:
// what we do not know we would lose.
func tooMuch() error { return rejected("nii", "it holds more samples than its header promises") }

// gunzipInto fills pix from the stream behind offset and reads on to the end, so
// that the checksum is verified.
func gunzipInto(pix, data []byte, offset int64) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer z.Close()
	if _, err := io.CopyN(io.Discard, z, offset); err != nil {
		return err
	}
	if _, err := io.ReadFull(z, pix); err != nil {
		return err
	}
	var more [1]byte
	n, err := io.ReadFull(z, more[:])
	if n > 0 {
		return tooMuch()
	}
	if err != io.EOF {
		return fmt.Errorf("the end of the gzip stream: %w", err)
	}
	return nil
}

// niftiShape reads dim, datatype, bitpix, pixdim, vox_offset and xyzt_units of
// the header (nifti1.h).
func (p *opened) niftiShape(head []byte, order binary.ByteOrder) (raster.Meta, int64, error) {
	var meta raster.Meta
	dim := func(i int) int { return int(int16(order.Uint16(head[40+2*i:]))) }
	float := func(at int) float64 { return float64(math.Float32frombits(order.Uint32(head[at:]))) }
	n := dim(0)
	if n < 1 || n > 7 {
		return meta, 0, rejected("nii", "its header has %d dimensions", n)
	}
	for i := 4; i <= n; i++ {
		if dim(i) > 1 {
			return meta, 0, unsupported("nii", "a series of %d volumes is not read", dim(i))
		}
	}
	code := int16(order.Uint16(head[70:]))
	kind, ok := niftiTypes[code]
	if !ok {
		if name := niftiNames[code]; name != "" {
			return meta, 0, unsupported("nii", "samples that are %s are not read", name)
		}
		return meta, 0, rejected("nii", "data type %d is not defined", code)
	}
	if bitpix := int(order.Uint16(head[72:])); bitpix != kind.bits*kind.channels {
		return meta, 0, rejected("nii", "data type %d has %d bits and the header says %d", code, kind.bits*kind.channels, bitpix)
	}
	side := func(i int) int {
		if i > n {
			return 1
		}
		return dim(i)
	}
	p.Header = Header{Shape: raster.Shape{Width: side(1), Height: side(2), Depth: side(3), Channels: kind.channels, Bits: kind.bits, Signed: kind.signed}}
	offset := float(108)
	const last = 1 << 24 // a float counts whole bytes up to here
	if !(offset >= niftiHeader+4 && offset <= last) || offset != math.Trunc(offset) {
		return meta, 0, rejected("nii", "its samples start at %g", offset)
	}
	// xyzt_units, the low three bits: 1 metre, 2 millimetre, 3 micrometre.
	unit := map[byte]float64{0: 1, 1: 1000, 2: 1, 3: 0.001}[head[123]&7]
	for i := range meta.Spacing {
		if v := math.Abs(float(80+4*i)) * unit; i < n && v > 0 && !math.IsInf(v, 0) {
			meta.Spacing[i] = v
		}
	}
	// Where a code says how the volume lies in space, the fields are kept as they are.
	if order.Uint16(head[252:]) != 0 || order.Uint16(head[254:]) != 0 {
		meta.Geometry = niftiGeometry(head, order)
	}
	if slope, inter := float(112), float(116); slope != 0 && (slope != 1 || inter != 0) {
		p.Note = fmt.Sprintf("its values are samples times %g plus %g, and the samples were taken as they are", slope, inter)
	}
	return meta, int64(offset), nil
}

// niftiGeometry copies the fields of [raster.Meta].Geometry: two numbers of 16 bits,
// 18 of 32 bits, and pixdim[0].
func niftiGeometry(head []byte, order binary.ByteOrder) []byte {
	le := binary.LittleEndian
	out := make([]byte, 0, raster.NIfTIGeometry)
	for at := 252; at < 256; at += 2 {
		out = le.AppendUint16(out, order.Uint16(head[at:]))
	}
	for at := 256; at < 328; at += 4 {
		out = le.AppendUint32(out, order.Uint32(head[at:]))
	}
	return le.AppendUint32(out, order.Uint32(head[76:]))
}

// encodeNIfTI writes a single-file volume, little-endian, without gzip.
func encodeNIfTI(m *raster.Image) ([]byte, error) {
	code := int16(-1)
	for c, kind := range niftiTypes {
		if kind.channels == m.Channels && kind.bits == m.Bits && kind.signed == m.Signed {
			code = c
		}
	}
	const side = math.MaxInt16
	if code < 0 || m.Width > side || m.Height > side || m.Depth > side {
		return nil, unsupported("nii", "%s cannot be written, want 8 or 16 bits grey or 8 bits RGB, and sides of up to %d", m.Shape, side)
	}
	b := make([]byte, niftiHeader+4, niftiHeader+4+len(m.Pix))
	le := binary.LittleEndian
	le.PutUint32(b, niftiHeader)
	for i, v := range []int{3, m.Width, m.Height, m.Depth, 1, 1, 1, 1} {
		le.PutUint16(b[40+2*i:], uint16(v))
	}
	le.PutUint16(b[70:], uint16(code))
	le.PutUint16(b[72:], uint16(m.Bits*m.Channels))
	for i, v := range [8]float64{1, m.Meta.Spacing[0], m.Meta.Spacing[1], m.Meta.Spacing[2]} {
		le.PutUint32(b[76+4*i:], math.Float32bits(float32(v)))
	}
	le.PutUint32(b[108:], math.Float32bits(niftiHeader+4))
	le.PutUint32(b[112:], math.Float32bits(1)) // scl_slope
	b[123] = 2                                 // millimetres
	if g := m.Meta.Geometry; len(g) == raster.NIfTIGeometry {
		copy(b[252:328], g)
		copy(b[76:80], g[76:])
	}
	copy(b[344:], "n+1\x00")
	return append(b, m.Pix...), nil
}
