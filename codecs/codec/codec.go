// Package codec defines the seam between pelmill and its codecs: what a codec
// is, what it takes and gives, and the two ways in which an image can be wrong
// for it. Codec packages import it; the list of codecs is in the parent package.
package codec

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/raster"
)

// Codec turns images into files and back. All methods are safe for concurrent
// use. A Codec holds no state: two calls with equal arguments give equal bytes,
// on every device, in every batch and with any number of threads.
type Codec interface {
	// Info describes the codec.
	Info() Info

	// Options reads key=value pairs. No pairs give the defaults. The error
	// names the offending pair and what is allowed.
	Options(pairs []string) (Options, error)

	// Encode answers item i of items with item i of the result. An item that
	// cannot be encoded carries its own error, an [*UnsupportedError] where the
	// codec does not take such an image, and does no harm to its neighbours.
	// Encode does not keep or change what the items hold. opts is a value from
	// the same codec's Options, nil for the defaults. When ctx ends, the items
	// not yet done carry its error.
	Encode(ctx context.Context, run Run, items []Item, opts Options) []Encoded

	// Decode is the inverse, for files of this codec. Damaged items carry a
	// [*FormatError]. assets may be nil; files that refer to an asset then fail.
	Decode(ctx context.Context, run Run, files [][]byte, assets Assets) []Decoded

	// Header reads from a file's headers what is to come, the memory included that
	// decoding takes, without decoding anything. Its errors are those of Decode.
	Header(file []byte) (Header, error)

	// Memory says what the codec holds for an image of the shape s, or for m, which
	// may be nil and otherwise has that shape: that may be less. Where m has no samples
	// only its attributes count. opts is as for Encode.
	Memory(s raster.Shape, m *raster.Image, opts Options) Memory
}

// Info is what a codec says of itself.
type Info struct {
	Name      string // as on the command line: "vq"
	Title     string // one line for people
	Extension string // of files, with the dot: ".vq"
	MediaType string
	Also      []string // other extensions that its files may have, see [FileOptions]
	Version   int      // rises whenever the bytes of any file change; part of the fingerprint
	Lossless  bool     // with every option set, except where [LossyOptions] say otherwise
	Accepts   Accepts
	Floor     float64  // dB; a lossy result of a lower PSNR is no success unless the user says otherwise; far below what good ones have
	Compares  bool     // Decode compares on a device, see [Run.Originals]
	Keeps     []string // names of the attributes of [raster.Meta] that files hold and Decode gives back unchanged
	Options   []OptionInfo
}

// Accepts says which images a codec takes.
type Accepts struct {
	Channels []int // allowed channel counts
	MinBits  int
	MaxBits  int
	Signed   bool
	Slices   bool // takes volumes and frame sequences
	Frames   bool // takes frame sequences, if not volumes
	MaxSide  int  // largest width, height and depth
	Instead  Instead
}

// Instead says for each reason to refuse an image what would work: the end of a
// sentence, "convert them to 8 bits first". Empty where there is nothing to say.
type Instead struct {
	Bits, Signed, Slices, Side string
}

// OptionInfo documents one option of a codec.
type OptionInfo struct {
	Key, Default, Values, Help string
}

// Check returns an [*UnsupportedError] that says in one sentence why the codec
// does not take images of shape s, or nil.
func (info Info) Check(s raster.Shape) error {
	a := info.Accepts
	refuse := func(instead, format string, args ...any) error {
		if instead != "" {
			format += ": " + strings.ReplaceAll(instead, "%", "%%")
		}
		return Unsupportedf(info.Name+": "+format, args...)
	}
	switch {
	case s.Bits < a.MinBits || s.Bits > a.MaxBits:
		if a.MinBits == a.MaxBits {
			return refuse(a.Instead.Bits, "%d-bit samples; %s takes %d-bit samples only", s.Bits, info.Name, a.MaxBits)
		}
		return refuse(a.Instead.Bits, "%d-bit samples; %s takes %d to %d bits", s.Bits, info.Name, a.MinBits, a.MaxBits)
	case s.Signed && !a.Signed:
		return refuse(a.Instead.Signed, "signed samples; %s takes unsigned samples only", info.Name)
	case s.Depth > 1 && !a.Slices && !(a.Frames && s.Frames):
		return refuse(a.Instead.Slices, "%d slices; %s takes single pictures only", s.Depth, info.Name)
	case a.MaxSide > 0 && max(s.Width, s.Height, s.Depth) > a.MaxSide:
		return refuse(a.Instead.Side, "%s; %s takes at most %d samples along a side", s, info.Name, a.MaxSide)
	}
	for _, c := range a.Channels {
		if c == s.Channels {
			return nil
		}
	}
	if s.Alpha() {
		return Unsupportedf("%s: the picture is partly transparent and %s has no alpha channel", info.Name, info.Name)
	}
	return Unsupportedf("%s: %d channels; %s takes %s", info.Name, s.Channels, info.Name, strings.Trim(fmt.Sprint(a.Channels), "[]"))
}

// Dropped returns the names of the attributes of m that the codec's files do not hold.
func (info Info) Dropped(m *raster.Meta) []string {
	var names []string
	for _, a := range m.Attributes() {
		if !slices.Contains(info.Keeps, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Options are one codec's validated options.
type Options interface {
	// String is the canonical form: every key that changes the bytes, sorted,
	// with its value, "block=4x4 n=256". It is part of the fingerprint, and its
	// fields, split at spaces, are accepted by the codec's Options again.
	String() string
}

// LossyOptions is implemented by the options of a lossless codec that can also be set
// to change images.
type LossyOptions interface {
	Options

	// Lossy says whether images come back changed with these options.
	Lossy() bool
}

// KeepsImages says whether images come back whole from the codec with opts, nil for
// the defaults.
func (info Info) KeepsImages(opts Options) bool {
	l, ok := opts.(LossyOptions)
	return info.Lossless && (!ok || !l.Lossy())
}

// MinPSNR is the floor in decibels for results with opts, nil for the defaults; 0 where
// images come back whole.
func (info Info) MinPSNR(opts Options) float64 {
	if info.KeepsImages(opts) {
		return 0
	}
	return info.With(opts).Floor
}

// FileOptions is implemented by the options of a codec that can be set to make files of
// another kind.
type FileOptions interface {
	Options

	// Files returns the codec's info as it is with these options: Extension and
	// MediaType, Accepts and Keeps where the files hold other images or other
	// attributes, and Floor where another quality is asked for.
	Files(Info) Info
}

// With returns info as it is with opts, nil for the defaults.
func (info Info) With(opts Options) Info {
	if f, ok := opts.(FileOptions); ok {
		return f.Files(info)
	}
	return info
}

// Ending returns the codec's extension that key, a file name or an object's key, ends
// with, whatever its letter case; empty where there is none.
func (info Info) Ending(key string) string {
	for _, ext := range append([]string{info.Extension}, info.Also...) {
		if n := len(key) - len(ext); n >= 0 && strings.EqualFold(key[n:], ext) {
			return ext
		}
	}
	return ""
}

// Encoded is the answer to one image of a batch: Data, or Err.
type Encoded struct {
	Data  []byte
	Facts []Field // what the record should keep of the file; names in lower case, no image content
	Err   error

	// Expect is what a Decode of Data may be given as [Run.Expect]; nil: there is nothing.
	Expect any

	// Decoded are the digests of the image that Data decodes to, as a device made them; nil: there are none. See [Run.Digests].
	Decoded *Digests
}

// Digests are those of an image that a device has, and the host does not have yet.
type Digests struct {
	Image [sha256.Size]byte // what raster.Image.Hash is in hexadecimal

	// Samples is the CRC-32C of Pix that begins with 0 and ends as it is.
	Samples uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Are reports whether d is of m: whether the samples have the checksum of those that the device had. It takes a tenth of the time
// of the hash. The caller knows that m has the shape of the image.
func (d *Digests) Are(m *raster.Image) bool {
	return d != nil && ^crc32.Update(^uint32(0), castagnoli, m.Pix) == d.Samples
}

// Decoded is the answer to one file of a batch: Image, or Err.
type Decoded struct {
	Image  *raster.Image
	Err    error
	Second Second

	// Compared is how the image differs from the original of [Run.Originals], as a device has found that decoded it; nil: it has not
	// compared them. Image has no samples then, unless they were asked for.
	Compared *Comparison
}

// Comparison is how an image differs from another one of its shape.
type Comparison struct {
	Identical  bool    // no sample differs
	PSNR, SSIM float64 // what [raster.Quality] gives
}

// Second says whether a decoder of other authors made the same image of a file as the codec's own. It is
// kept in records.
type Second string

const (
	SecondNone    Second = ""         // the codec has no such decoder for the file
	SecondLeftOut Second = "left out" // it has, but the file is not of the share that both decode
	SecondAgreed  Second = "agreed"   // both made the same image; where they do not, Err says so
)

// Field is one line of a description.
type Field struct {
	Name, Value string
}

// Assets finds a shared object, such as a codebook, by the SHA-256 of its bytes
// in lower-case hexadecimal. The caller does not change the bytes.
type Assets func(ctx context.Context, sha256 string) ([]byte, error)

// SharedOptions is implemented by options that may refer to an asset which many
// files share. Options that need one are not ready for Encode until WithAsset.
type SharedOptions interface {
	Options

	// Want says which asset is still missing.
	Want() Want

	// WithAsset checks data and returns options that use it. Their String names
	// the asset by its hash ("codebook=sha256:..."), and their Want is Ready or,
	// after a parse of that String, the hash again.
	WithAsset(data []byte) (Options, error)
}

// Want says what options need before they can be used: nothing (the zero
// value), an asset trained on a sample of the job's images, the contents of a
// file or object that the user named, or the asset with a known hash.
type Want struct {
	Trained bool
	Path    string
	SHA256  string
}

// Trainer is implemented by codecs that can make an asset from sample images.
type Trainer interface {
	// Train makes an asset for opts. Images that the codec does not take are
	// left out; it is an error if none remains. The same sample in the same
	// order gives the same bytes.
	Train(ctx context.Context, run Run, sample []*raster.Image, opts Options) ([]byte, error)
}

// AssetReader is implemented by codecs whose assets can be described.
type AssetReader interface {
	// Asset says what the asset data holds. Its errors are those of Decode; it is a
	// [*FormatError] where data is no asset of the codec.
	Asset(data []byte) ([]Field, error)
}

// FormatError says that a file is damaged or not of the codec's format.
type FormatError struct{ Reason string }

func (e *FormatError) Error() string { return e.Reason }

// Malformedf returns a [*FormatError].
func Malformedf(format string, args ...any) error {
	return &FormatError{fmt.Sprintf(format, args...)}
}

// UnsupportedError says that an image or file is valid but not one that the
// codec handles.
type UnsupportedError struct{ Reason string }

func (e *UnsupportedError) Error() string { return e.Reason }

// Unsupportedf returns an [*UnsupportedError].
func Unsupportedf(format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...)}
}
