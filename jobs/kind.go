package jobs

import (
	"path"
	"strings"
)

// Kind is what a plan expects of the objects whose names end alike, of a job that has the
// codec chosen for each of its sources. Names say what is to come before anything is read;
// what the files really are is found by reading the sample.
type Kind struct {
	Name     string   `json:"kind"`      // a format as imageio names it, or "other"
	Objects  int64    `json:"objects"`   // to do
	Bytes    int64    `json:"bytes"`     // of these
	BytesOut int64    `json:"bytes_out"` // expected of their results, and of sources that get none; of a kind that is not in the sample those of the sources
	Sampled  int      `json:"sampled"`
	Failed   int      `json:"failed,omitempty"` // of Sampled
	Codecs   []string `json:"codecs,omitempty"` // that were chosen for the sample, in the order of their names
}

// kinds are the kinds by the extension in lower case.
var kinds = map[string]string{
	".png": "png", ".apng": "png",
	".jpg": "jpeg", ".jpeg": "jpeg", ".jpe": "jpeg", ".jfif": "jpeg",
	".tif": "tiff", ".tiff": "tiff",
	".pnm": "pnm", ".pbm": "pnm", ".pgm": "pnm", ".ppm": "pnm", ".pam": "pnm",
	".bmp": "bmp", ".dib": "bmp",
	".gif": "gif", ".webp": "webp",
	".nii": "nii",
	".dcm": "dicom", ".dicom": "dicom",
	".jp2": "jpeg2000", ".j2k": "jpeg2000", ".j2c": "jpeg2000", ".jpc": "jpeg2000", ".jpf": "jpeg2000", ".jpx": "jpeg2000", ".jph": "jpeg2000", ".jhc": "jpeg2000",
}

// KindOf is the [Kind] of a key by its name; "other" where that says nothing, as it does
// of many DICOM files.
func KindOf(key string) string {
	name := strings.ToLower(path.Base(key))
	if strings.HasSuffix(name, ".nii.gz") {
		return "nii"
	}
	if kind := kinds[path.Ext(name)]; kind != "" {
		return kind
	}
	return "other"
}
