package dicom

// Syntax is a transfer syntax (PS3.5, chapter 10 and annex A).
type Syntax struct {
	UID  string
	Name string // for people

	Encoding Encoding
	Deflated bool
	Coding   Coding
}

// Coding is how pixel data are coded.
type Coding int

// The codings. Lossy ones, and those of which a file does not say whether they are, are one.
const (
	Native Coding = iota
	RLE
	JPEGLossless
	JPEGLSLossless
	JPEG2000Lossless
	Lossy
)

// Encapsulated reports whether pixel data are fragments.
func (s *Syntax) Encapsulated() bool { return s.Coding != Native }

// The transfer syntaxes that the rewriter writes.
const (
	ExplicitLittle = "1.2.840.10008.1.2.1"
	JPEG2000       = "1.2.840.10008.1.2.4.90"  // without loss only
	HTJ2KRPCL      = "1.2.840.10008.1.2.4.202" // without loss only, in the order RPCL
)

var syntaxes = []Syntax{
	{UID: "1.2.840.10008.1.2", Name: "Implicit VR Little Endian", Encoding: implicitLittle},
	{UID: ExplicitLittle, Name: "Explicit VR Little Endian"},
	{UID: "1.2.840.10008.1.2.1.98", Name: "Encapsulated Uncompressed Explicit VR Little Endian", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.1.99", Name: "Deflated Explicit VR Little Endian", Deflated: true},
	{UID: "1.2.840.10008.1.2.2", Name: "Explicit VR Big Endian", Encoding: explicitBig},
	{UID: "1.2.840.10008.1.2.4.50", Name: "JPEG Baseline (Process 1)", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.51", Name: "JPEG Extended (Process 2 and 4)", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.57", Name: "JPEG Lossless (Process 14)", Coding: JPEGLossless},
	{UID: "1.2.840.10008.1.2.4.70", Name: "JPEG Lossless (Process 14, Selection Value 1)", Coding: JPEGLossless},
	{UID: "1.2.840.10008.1.2.4.80", Name: "JPEG-LS Lossless", Coding: JPEGLSLossless},
	{UID: "1.2.840.10008.1.2.4.81", Name: "JPEG-LS Near-lossless", Coding: Lossy},
	{UID: JPEG2000, Name: "JPEG 2000 (Lossless Only)", Coding: JPEG2000Lossless},
	{UID: "1.2.840.10008.1.2.4.91", Name: "JPEG 2000", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.92", Name: "JPEG 2000 Part 2 Multi-component (Lossless Only)", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.93", Name: "JPEG 2000 Part 2 Multi-component", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.94", Name: "JPIP Referenced", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.95", Name: "JPIP Referenced Deflate", Coding: Lossy, Deflated: true},
	{UID: "1.2.840.10008.1.2.4.100", Name: "MPEG2 Main Profile / Main Level", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.101", Name: "MPEG2 Main Profile / High Level", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.102", Name: "MPEG-4 AVC/H.264 High Profile / Level 4.1", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.103", Name: "MPEG-4 AVC/H.264 BD-compatible High Profile / Level 4.1", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.104", Name: "MPEG-4 AVC/H.264 High Profile / Level 4.2 For 2D Video", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.105", Name: "MPEG-4 AVC/H.264 High Profile / Level 4.2 For 3D Video", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.106", Name: "MPEG-4 AVC/H.264 Stereo High Profile / Level 4.2", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.107", Name: "HEVC/H.265 Main Profile / Level 5.1", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.108", Name: "HEVC/H.265 Main 10 Profile / Level 5.1", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.110", Name: "JPEG XL Lossless", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.111", Name: "JPEG XL JPEG Recompression", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.112", Name: "JPEG XL", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.4.201", Name: "High-Throughput JPEG 2000 (Lossless Only)", Coding: JPEG2000Lossless},
	{UID: HTJ2KRPCL, Name: "High-Throughput JPEG 2000 with RPCL Options (Lossless Only)", Coding: JPEG2000Lossless},
	{UID: "1.2.840.10008.1.2.4.203", Name: "High-Throughput JPEG 2000", Coding: Lossy},
	{UID: "1.2.840.10008.1.2.5", Name: "RLE Lossless", Coding: RLE},
}

// SyntaxOf is the transfer syntax with the given UID.
func SyntaxOf(uid string) (Syntax, bool) {
	for _, s := range syntaxes {
		if s.UID == uid {
			if s.Encoding.Order == nil {
				s.Encoding = explicitLittle
			}
			return s, true
		}
	}
	return Syntax{}, false
}
