package series

import (
	"bytes"
	"strings"

	"github.com/pelmill/pelmill/internal/container/dicom"
)

// Attributes that say which volume a slice belongs to, and where in it.
const (
	imageType         dicom.Tag = 0x00080008
	echoNumbers       dicom.Tag = 0x00180086
	bValue            dicom.Tag = 0x00189087
	seriesInstance    dicom.Tag = 0x0020000e
	acquisitionNumber dicom.Tag = 0x00200012
	instanceNumber    dicom.Tag = 0x00200013
	imagePosition     dicom.Tag = 0x00200032
	imageOrientation  dicom.Tag = 0x00200037
	frameOfReference  dicom.Tag = 0x00200052
	temporalPosition  dicom.Tag = 0x00200100
	pixelSpacing      dicom.Tag = 0x00280030
	maxAttributeSize            = 1 << 10 // of the values above, bytes
)

// values are the values of those attributes at the top of a data set, without
// padding.
func values(f *dicom.File) map[dicom.Tag]string {
	v := map[dicom.Tag]string{}
	for _, e := range f.Elements {
		switch e.Tag {
		case imageType, echoNumbers, bValue, seriesInstance, acquisitionNumber, instanceNumber, imagePosition, imageOrientation,
			frameOfReference, temporalPosition, pixelSpacing:
			if !e.Undefined && e.End-e.Value <= maxAttributeSize {
				v[e.Tag] = string(bytes.TrimRight(bytes.TrimSpace(f.Set[e.Value:e.End]), "\x00 "))
			}
		}
	}
	return v
}

// decimals reads a decimal string of n values (PS3.5 6.2, DS) as multiples of 1e-6,
// rounded toward zero.
func decimals(s string, n int) ([]int64, bool) {
	parts := strings.Split(s, "\\")
	if len(parts) != n {
		return nil, false
	}
	out := make([]int64, n)
	for i, p := range parts {
		var ok bool
		if out[i], ok = decimal(strings.TrimSpace(p)); !ok {
			return nil, false
		}
	}
	return out, true
}

// most is the largest magnitude that decimal takes, in 1e-6: 1e9 is beyond all
// coordinates in millimetres.
const most = 1_000_000_000_000_000

func decimal(s string) (int64, bool) {
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimLeft(s, "+-")
	mantissa, exponent, scaled := s, 0, false
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, scaled = s[:i], true
		if exponent, scaled = small(s[i+1:]); !scaled {
			return 0, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || len(digits) > 40 {
		return 0, false
	}
	// The value is digits * 10^(exponent - len(fraction)), wanted in 1e-6.
	shift := exponent - len(fraction) + 6
	for ; shift < 0 && digits != ""; shift++ {
		digits = digits[:len(digits)-1]
	}
	if len(strings.TrimLeft(digits, "0")) == 0 {
		shift = 0
	}
	var v int64
	for i := range len(digits) + max(shift, 0) {
		c := byte('0')
		if i < len(digits) {
			c = digits[i]
		}
		if c < '0' || c > '9' {
			return 0, false
		}
		if v = 10*v + int64(c-'0'); v > most {
			return 0, false
		}
	}
	if negative {
		v = -v
	}
	return v, true
}

// small reads an exponent of at most two digits.
func small(s string) (int, bool) {
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimLeft(s, "+-")
	if len(s) < 1 || len(s) > 2 {
		return 0, false
	}
	v := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = 10*v + int(c-'0')
	}
	if negative {
		v = -v
	}
	return v, true
}
