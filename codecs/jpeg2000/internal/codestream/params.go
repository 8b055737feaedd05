package codestream

import "image"

// Size is the marker segment SIZ (A.5.1). Its rectangles lie on the reference grid.
type Size struct {
	Capabilities uint16          // Rsiz
	Image        image.Rectangle // XOsiz, YOsiz to Xsiz, Ysiz
	TileOrigin   image.Point     // XTOsiz, YTOsiz
	Tile         image.Point     // XTsiz, YTsiz
	Components   []Component
}

// Component is what SIZ says of a component.
type Component struct {
	Bits   int // 1 to 38
	Signed bool
	Step   image.Point // XRsiz, YRsiz: grid points for each sample
}

// The flags of Size.Capabilities.
const (
	PartTwo     = 1 << 15 // extensions of Part 2
	PartFifteen = 1 << 14 // HT code-blocks, see [HTCapabilities]
)

// HTCapabilities is Ccap15 of the marker segment CAP (15444-15, A.3.2).
type HTCapabilities uint16

// The flags of [HTCapabilities]. The low five bits hold the bound of magnitudes.
const (
	HTDeclared      HTCapabilities = 1 << 15 // not all code-blocks are HT
	HTMixed         HTCapabilities = 3 << 14 // also within a tile-component
	HTMultipleSets  HTCapabilities = 1 << 13
	HTRegion        HTCapabilities = 1 << 12 // there may be RGN
	HTHeterogeneous HTCapabilities = 1 << 11
	HTIrreversible  HTCapabilities = 1 << 5
)

// Order is a progression order (Table A.16).
type Order byte

// The progression orders: layer, resolution, component and position in their order.
const (
	LRCP Order = iota
	RLCP
	RPCL
	PCRL
	CPRL
)

func (o Order) String() string {
	if o > CPRL {
		return "?"
	}
	return [...]string{"LRCP", "RLCP", "RPCL", "PCRL", "CPRL"}[o]
}

// Transform is a wavelet transform (Table A.20).
type Transform byte

// The two wavelet transforms of Part 1.
const (
	Irreversible97 Transform = iota
	Reversible53
)

// Params are the parameters of a tile, or those of the main header for all tiles that do
// not set their own.
type Params struct {
	Order  Order
	Layers int  // 1 to 65,535
	MCT    bool // multiple component transform on the first three components (Annex G)
	SOP    bool // SOP marker segments may stand before packets
	EPH    bool // EPH markers end packet headers

	Components []Coding      // as many as Size has
	Changes    []Progression // POC: the progressions one after the other; none: Order alone
}

// Coding is how a component is coded.
type Coding struct {
	Levels    int         // NL, 0 to 32
	BlockExp  image.Point // xcb, ycb: log2 of the sides of a code-block, each 2 to 10, sum at most 12
	Style     BlockStyle
	Transform Transform
	Precincts []image.Point // PPx, PPy by resolution; nil: 15, 15 for all

	Quantization Quantization
	ROIShift     int // s of RGN (A.6.3), 0 without a region of interest
}

// QuantizationStyle is the low part of Sqcd (Table A.28).
type QuantizationStyle byte

// The quantization styles.
const (
	NoQuantization QuantizationStyle = iota
	ScalarDerived
	ScalarExpounded
)

// Quantization is QCD or QCC (A.6.4).
type Quantization struct {
	Style QuantizationStyle
	Guard int    // guard bits, 0 to 7
	Steps []Step // by subband: LL, then HL, LH, HH from the lowest resolution up; the first alone if Style is ScalarDerived
}

// Step is a quantization step: exponent (0 to 31) and mantissa (0 to 2047). Without
// quantization only the exponent counts.
type Step struct{ Exponent, Mantissa int }

// Progression is one entry of POC (A.6.6).
type Progression struct {
	FirstResolution int // RSpoc
	EndResolution   int // REpoc, exclusive
	FirstComponent  int // CSpoc
	EndComponent    int // CEpoc, exclusive
	EndLayer        int // LYEpoc, exclusive
	Order           Order
}

// PrecinctExp returns PPx and PPy of resolution r.
func (c *Coding) PrecinctExp(r int) image.Point {
	if c.Precincts == nil {
		return image.Pt(15, 15)
	}
	return c.Precincts[r]
}

// Step returns the quantization step of subband i, counted as in [Quantization]
// (equation E-5 where it is derived from that of LL).
func (c *Coding) Step(i int) Step {
	q := &c.Quantization
	if q.Style != ScalarDerived {
		return q.Steps[i]
	}
	s := q.Steps[0]
	if i > 0 {
		s.Exponent -= (i - 1) / 3
	}
	return s
}
