package raster

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// Meta is what an image has besides its samples and what should outlive a change of
// the file format. It takes no part in [Image.Hash] and has a hash of its own. Every
// attribute has a name, under which codecs say what they keep and records what a file
// could not keep. Blocks of bytes are nil where the attribute is absent; an image owns
// those of its Meta.
type Meta struct {
	ICC      []byte     // ICC profile
	EXIF     []byte     // EXIF block: a TIFF structure without the prefix of a container; its orientation is 1
	XMP      []byte     // XMP packet, UTF-8
	Density  Density    // of the samples of a 2D image
	Text     []Text     // in the order of the file
	Spacing  [3]float64 // distance between samples along x, y and z in millimetres; 0 where unknown
	Geometry []byte     // how a volume lies in space: the fields of NIfTI-1, see [NIfTIGeometry]

	Animation Animation // of an image with frames: delays and how often it is shown

	// Orientation is the EXIF orientation that has already been applied to the
	// samples, 0 where there was none. It is a note about the file that was read, no
	// attribute.
	Orientation int
}

// Density is how close the samples of a 2D image lie, as the file says it. The zero
// value says that it is not known.
type Density struct {
	X, Y float64 // samples per unit; only their ratio counts where Unit is 0
	Unit Unit
}

// Unit is a unit of length.
type Unit int

// The units of density that file formats have.
const (
	Inch Unit = 1 + iota
	Centimetre
	Metre
)

// Text is a note with a keyword, such as "Author"; Key is empty where the format has no
// keywords. Both are bytes as they stand in the file, which need not be UTF-8.
type Text struct{ Key, Value string }

// NIfTIGeometry is the length of [Meta].Geometry: bytes 252 to 327 of a NIfTI-1 header
// (qform_code to srow_z) in little-endian order, then its pixdim[0] as float32.
const NIfTIGeometry = 76 + 4

// The names of attributes.
const (
	AttributeICC      = "icc"
	AttributeEXIF     = "exif"
	AttributeXMP      = "xmp"
	AttributeDensity  = "density"
	AttributeText     = "text"
	AttributeSpacing  = "spacing"
	AttributeGeometry = "geometry"

	AttributeAnimation = "animation"
)

// Attribute is one named part of a [Meta]. Equal attributes have equal bytes.
type Attribute struct {
	Name string
	Data []byte
}

// Attributes returns what m has, in a fixed order.
func (m *Meta) Attributes() []Attribute {
	var list []Attribute
	add := func(name string, data []byte) {
		if len(data) > 0 {
			list = append(list, Attribute{name, data})
		}
	}
	add(AttributeICC, m.ICC)
	add(AttributeEXIF, m.EXIF)
	add(AttributeXMP, m.XMP)
	if m.Density != (Density{}) {
		add(AttributeDensity, numbers(m.Density.X, m.Density.Y, float64(m.Density.Unit)))
	}
	var text []byte
	for _, t := range m.Text {
		for _, s := range []string{t.Key, t.Value} {
			text = append(binary.LittleEndian.AppendUint64(text, uint64(len(s))), s...)
		}
	}
	add(AttributeText, text)
	if m.Spacing != [3]float64{} {
		add(AttributeSpacing, numbers(m.Spacing[:]...))
	}
	add(AttributeGeometry, m.Geometry)
	add(AttributeAnimation, m.Animation.data())
	return list
}

func numbers(list ...float64) []byte {
	var b []byte
	for _, v := range list {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// Size is the number of bytes of all attributes.
func (m *Meta) Size() int64 {
	n := int64(0)
	for _, a := range m.Attributes() {
		n += int64(len(a.Data))
	}
	return n
}

// Hash is the identity of the attributes: SHA-256, in lower-case hexadecimal, over the
// name, a zero byte, the length as little-endian uint64, and the bytes of each; empty
// where there is none.
func (m *Meta) Hash() string {
	list := m.Attributes()
	if len(list) == 0 {
		return ""
	}
	h := sha256.New()
	for _, a := range list {
		h.Write(binary.LittleEndian.AppendUint64(append([]byte(a.Name), 0), uint64(len(a.Data))))
		h.Write(a.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Lost returns the names of what m has and o has not, or has otherwise, in a fixed
// order. Delays may differ by what a format rounds.
func (m *Meta) Lost(o *Meta) []string {
	var names []string
	has := o.Attributes()
	for _, a := range m.Attributes() {
		found := false
		for _, b := range has {
			found = found || b.Name == a.Name && (bytes.Equal(a.Data, b.Data) || a.Name == AttributeAnimation && m.Animation.same(o.Animation))
		}
		if !found {
			names = append(names, a.Name)
		}
	}
	return names
}
