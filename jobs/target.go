package jobs

import (
	"path"
	"strings"
)

// extensions are those of the formats that package imageio reads and that codecs
// write, and of the ones that are called so elsewhere. The name of a result
// depends on them, so an extension that is added gives results of later jobs
// other names than those of earlier ones.
var extensions = []string{
	".nii.gz", // before .gz could be taken for an extension of its own

	".png", ".apng",
	".jpg", ".jpeg", ".jpe", ".jfif",
	".tif", ".tiff",
	".pnm", ".pbm", ".pgm", ".ppm", ".pam",
	".bmp", ".dib",
	".gif",
	".webp",
	".nii",
	".dcm", ".dicom",
	".jp2", ".j2k", ".j2c", ".jpc", ".jpf", ".jpx", ".jph", ".jhc", ".jp3d",
	".jxl",
	".vq",
	".pcwt",
}

// Stem is a key without its extension, if that is one of a format that pelmill
// knows or the given one of the job's codec, in any letter case. What follows the last dot of another name is part of
// it: "1.2.840.113619.5" is a whole name. A leading dot of the last element is
// part of the name too.
func Stem(key, extension string) string {
	base := path.Base(key)
	ends := func(ext string) bool {
		n := len(base) - len(ext)
		return n > 0 && ext != "" && strings.EqualFold(base[n:], ext)
	}
	for _, ext := range extensions {
		if ends(ext) {
			return key[:len(key)-len(ext)]
		}
	}
	if ends(extension) {
		return key[:len(key)-len(extension)]
	}
	return key
}

// earlierStem is a key without what follows the last dot of its last element, as
// earlier versions made the names of results.
func earlierStem(key string) string {
	ext := path.Ext(key)
	if ext == "" || path.Base(key) == ext {
		return key
	}
	return strings.TrimSuffix(key, ext)
}

// TargetKey is where the result of e goes. It follows from the source key: that
// with the codec's extension in place of its own or, where the plan found that
// another source would get the same name, the full key with the extension behind.
func (e Entry) TargetKey(extension string) string {
	full := e.Key + extension
	switch {
	case e.Full || e.PlannedTarget == full:
		return full
	case e.PlannedTarget != "" && e.PlannedTarget == e.EarlierTargetKey(extension):
		return e.PlannedTarget
	}
	return Stem(e.Key, extension) + extension
}

// EarlierTargetKey is where earlier versions put the result of e: they took what
// follows the last dot of a name for its extension, whatever it was.
func (e Entry) EarlierTargetKey(extension string) string {
	if e.Full {
		return e.Key + extension
	}
	return earlierStem(e.Key) + extension
}

// Extensions are those that results of a job can have: that of its codec or, where a codec
// is chosen for each source, one for each of them. What a source gets is known when it was
// read. None of them ends with another, so that results with different ones never share a
// key.
type Extensions []string

// Stem is a key without its extension, if that is one of a format that pelmill knows or
// one of x. It does not depend on which of x a result gets.
func (x Extensions) Stem(key string) string {
	for _, extension := range x {
		if stem := Stem(key, extension); stem != key {
			return stem
		}
	}
	return key
}

// Cut is the key of a result without its extension, if that is one of x.
func (x Extensions) Cut(target string) (stem string, ok bool) {
	for _, extension := range x {
		if stem, ok = strings.CutSuffix(target, extension); ok {
			return stem, true
		}
	}
	return "", false
}

// TargetKeys are where the result of e can go, see [Entry.TargetKey].
func (e Entry) TargetKeys(x Extensions) []string {
	keys := make([]string, len(x))
	for i, extension := range x {
		keys[i] = e.TargetKey(extension)
	}
	return keys
}
