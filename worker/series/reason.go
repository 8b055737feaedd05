package series

import (
	"fmt"
	"strings"
)

// Reason says why a file is in no volume.
type Reason string

// Reasons of files that are images by themselves.
const (
	FewSlices  Reason = "slices of a shape, spacing and orientation that fewer than 8 have"
	FewFrames  Reason = "files of several frames, but fewer than 8"
	Localizer  Reason = "localizers"
	NoPosition Reason = "slices without position or orientation"
	Repeated   Reason = "slices at positions that other slices have"
)

// Reasons of files that are kept whole.
const (
	NoImage    Reason = "no DICOM images, or damaged"
	Compressed Reason = "files with compressed data"
	Inexact    Reason = "files that would not come back bit by bit"
)

// Reasons says how many files are in no volume, and why; it is empty where all are.
func (p *Plan) Reasons() string {
	var out []string
	for _, r := range []Reason{FewSlices, FewFrames, Localizer, NoPosition, Repeated, NoImage, Compressed, Inexact} {
		if n := p.reasons[r]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, r))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d files are in no volume: %s", p.Alone+p.Whole, len(p.files), strings.Join(out, ", "))
}
