package dicom

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/raster"
)

// Native returns the native pixel data as all frames of samples that are interleaved and
// little-endian, BitsAllocated each. It shares the bytes of the file where they are that.
func (f *File) Native() []byte {
	m, e := &f.Image, f.PixelElement()
	pix := f.Set[e.Value:e.End]
	if f.Syntax.Encoding.Order == binary.BigEndian && e.VR != "OB" {
		pix = swapped(pix) // 8-bit samples too, of which OW has two in a word (PS3.5 A.3)
	}
	pix = pix[:m.Frames*m.FrameBytes()]
	if m.Planar == 0 || m.Samples == 1 {
		return pix
	}
	out := make([]byte, len(pix))
	for i := range m.Frames {
		n := m.FrameBytes()
		Interleave(out[i*n:(i+1)*n], pix[i*n:(i+1)*n], m.Samples, m.Allocated/8)
	}
	return out
}

// swapped returns words of 16 bits with their bytes exchanged. A byte that is left over stays.
func swapped(b []byte) []byte {
	out := make([]byte, len(b))
	for i := 0; i+1 < len(b); i += 2 {
		out[i], out[i+1] = b[i+1], b[i]
	}
	if len(b)&1 == 1 {
		out[len(b)-1] = b[len(b)-1]
	}
	return out
}

// Interleave makes of planes, one for each of the samples of size bytes, pixels.
func Interleave(dst, planes []byte, samples, size int) {
	n := len(planes) / (samples * size)
	for s := range samples {
		plane := planes[s*n*size:][:n*size]
		for i := range n {
			copy(dst[(i*samples+s)*size:][:size], plane[i*size:])
		}
	}
}

// planes is the inverse of Interleave.
func planes(dst, pixels []byte, samples, size int) {
	n := len(pixels) / (samples * size)
	for s := range samples {
		plane := dst[s*n*size:][:n*size]
		for i := range n {
			copy(plane[i*size:][:size], pixels[(i*samples+s)*size:])
		}
	}
}

// Raster returns native frames, as [File.Native] has them, as an image of BitsStored bits. It may share
// memory with pix. Where bits above BitsStored are anything but the extension of a
// sample, the error is a [*LeftAlone]: an encapsulated syntax has no place for them (PS3.5 8.1.1
// and A.4).
func (m *Image) Raster(pix []byte) (*raster.Image, error) {
	if !m.extended(pix) {
		return nil, leave(ReasonPadding, "bits above the %d bits stored of %d are in use", m.Stored, m.Allocated)
	}
	img := &raster.Image{Shape: m.Shape(), Pix: pix}
	if m.Allocated == 16 && m.Stored <= 8 {
		img.Pix = make([]byte, len(pix)/2)
		for i := range img.Pix {
			img.Pix[i] = pix[2*i]
		}
	}
	return img, nil
}

// Containers is the inverse of Raster: samples of BitsAllocated bits.
func (m *Image) Containers(img *raster.Image) []byte {
	if m.Allocated == 8 || m.Stored > 8 {
		return img.Pix
	}
	pix := make([]byte, 2*len(img.Pix))
	for i, v := range img.Pix {
		pix[2*i] = v
		if m.Signed {
			pix[2*i+1] = byte(int8(v) >> 7)
		}
	}
	return pix
}

// extended reports whether every sample is that of BitsStored bits, extended by zeros or by its sign.
// With 2^(BitsStored-1) added, a sample extended by its sign is one extended by zeros.
func (m *Image) extended(pix []byte) bool {
	free := m.Allocated - m.Stored
	if free == 0 {
		return true
	}
	bias := uint64(0)
	if m.Signed {
		bias = 1 << (m.Stored - 1)
	}
	unit := uint64(0x0101010101010101) // 1 in each sample
	if m.Allocated == 16 {
		unit = 0x0001000100010001
	}
	tops, bias, high := unit<<(m.Allocated-1), unit*bias, unit*(1<<m.Allocated-1<<m.Stored)
	all := uint64(0)
	for ; len(pix) >= 8; pix = pix[8:] {
		all |= addEach(binary.LittleEndian.Uint64(pix), bias, tops)
	}
	if len(pix) > 0 {
		var rest [8]byte
		copy(rest[:], pix)
		x := addEach(binary.LittleEndian.Uint64(rest[:]), bias, tops)
		all |= x & (1<<(8*len(pix)) - 1)
	}
	return all&high == 0
}

// addEach adds numbers side by side in words, each modulo its own range. tops are the highest bits of the numbers.
func addEach(x, y, tops uint64) uint64 { return (x&^tops + y&^tops) ^ (x^y)&tops }

// Shell is the file without the bytes of its native pixel data: what stands before them and
// behind them. ok is false where the pixel data do not stand in the file as they are.
func (f *File) Shell() (prefix, suffix []byte, ok bool) {
	e := f.PixelElement()
	if e == nil || e.Undefined || f.Syntax.Deflated {
		return nil, nil, false
	}
	return f.Data[:f.Meta.End+e.Value], f.Data[f.Meta.End+e.End:], true
}

// Unnative is the inverse of [File.Native]: the bytes of the pixel data of f, made of samples
// that are interleaved and little-endian. What f has behind its frames is not among them, but for the
// byte that shares a word of big-endian data with the last sample.
func (f *File) Unnative(pix []byte) []byte {
	m := &f.Image
	out := pix
	if m.Planar == 1 && m.Samples > 1 {
		out = make([]byte, len(pix))
		for i, n := 0, m.FrameBytes(); i < len(pix); i += n {
			planes(out[i:i+n], pix[i:i+n], m.Samples, m.Allocated/8)
		}
	}
	if f.Syntax.Encoding.Order == binary.BigEndian && f.PixelElement().VR != "OB" {
		n := len(out)
		if n&1 == 1 {
			out = append(out[:n:n], f.Set[f.PixelElement().End-2])
		}
		out = swapped(out)
	}
	return out
}
