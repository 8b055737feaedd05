package jobs

import (
	"path"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/jobs/class"
)

// Medical reports whether the keys of a record may name a patient: the source was read as DICOM or NIfTI, or its name
// or that of a part says so.
func (r *Result) Medical() bool {
	if r.KeyHash != "" || medicalFormat(r.SourceFormat) || medicalName(r.Key) {
		return true
	}
	return slices.ContainsFunc(r.Parts, func(p Part) bool { return medicalName(p.Key) })
}

// Medical reports the same of damage.
func (d *Damage) Medical() bool {
	return d.KeyHash != "" || medicalFormat(d.Format) || medicalName(d.Key) || slices.ContainsFunc(d.Parts, medicalName)
}

func medicalFormat(format string) bool {
	return hasPrefixFold(format, "dicom") || hasPrefixFold(format, "nifti") || format == "nii"
}

var medicalExtensions = [...]string{".dcm", ".dicom", ".nii", ".hdr", "dicomdir"}

func medicalName(key string) bool {
	if hasSuffixFold(key, ".gz") {
		key = key[:len(key)-len(".gz")]
	}
	for _, ext := range medicalExtensions {
		if hasSuffixFold(key, ext) {
			return true
		}
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

// Names are what of the record of a medical image may name a patient, as they are sealed: see [Result].Sealed.
type Names struct {
	Key    string `json:"key"`
	Target string `json:"target,omitempty"`
	Error  string `json:"error,omitempty"` // where it may hold a key
	Note   string `json:"note,omitempty"`  // where it may hold a key
	Parts  []Part `json:"parts,omitempty"`
}

// Names gives those of r.
func (r *Result) Names() Names {
	n := Names{Key: r.Key, Target: r.Target, Parts: r.Parts}
	if r.errorNames() {
		n.Error = r.Error
	}
	if r.names(r.Note) {
		n.Note = r.Note
	}
	return n
}

// errorNames reports whether the text of the error may hold a key. Texts about the content of a file never do; those of
// storage, and of codecs that have failed, may.
func (r *Result) errorNames() bool {
	return r.Error != "" && (r.Outcome == OutcomeFailed || r.Class == class.Key || r.names(r.Error))
}

// names reports whether a text holds the name of the source, of a part or of the result.
func (r *Result) names(text string) bool {
	if text == "" {
		return false
	}
	holds := func(key string) bool { return key != "" && strings.Contains(text, path.Base(key)) }
	return holds(r.Key) || holds(r.Target) || slices.ContainsFunc(r.Parts, func(p Part) bool { return holds(p.Key) })
}

// Written is r as it stands in files: that of a medical image without its [Names], which are in Sealed.
func (r Result) Written() Result {
	if r.KeyHash == "" {
		return r
	}
	n := r.Names()
	if n.Error != "" {
		r.Error = ""
	}
	if n.Note != "" {
		r.Note = ""
	}
	r.Key, r.Target, r.Parts = "", "", nil
	return r
}

// Shown is r as people and programs see it: that of a medical image with hashes in place of keys. where says where a text
// is that may hold a key.
func (r Result) Shown(where string) Result {
	if r.KeyHash == "" {
		return r
	}
	hidden, parts := r.errorNames(), slices.Clone(r.Parts)
	for i := range parts {
		parts[i].Key = ""
	}
	r = r.Written()
	if r.Parts = parts; hidden {
		r.Error = r.Class + "; " + where
	}
	return r
}
