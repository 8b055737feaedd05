package codecs

import (
	"fmt"
	"slices"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// Auto is the name of no codec: a job that asks for it has the codec chosen for each of its sources, by
// [Resolved.Choose]. All choices are lossless and write files of a standard.
const Auto = "auto"

// choiceVersion rises whenever [Resolved.Choose] chooses otherwise.
const choiceVersion = 1

// The choices, as names with options. A source of a format that a codec keeps as it is goes to that codec, a medical
// one to JPEG 2000, and any other to the first of the general ones that takes such images.
var (
	exactChoices   = []string{"jpegxl"}
	generalChoices = []string{"webp", "jpeg2000"}
	medicalChoice  = "jpeg2000"                 // of single images, and of the frames of DICOM files, which stay DICOM
	volumeChoice   = "jpeg2000"                 // of volumes, with volumeOptions
	volumeOptions  = []string{"container=jp3d"} // Part 10 of the standard
)

// medicalFormats are formats as imageio names them.
var medicalFormats = []string{"dicom", "nii"}

// choices are what a job with [Auto] has in the place of a codec.
type choices struct {
	exact, general  []Resolved
	medical, volume Resolved
	version         int
}

// resolveAuto finds all codecs that may be chosen. Its version is the sum of theirs, so that it rises whenever the files of
// one of them change, and of choiceVersion.
func resolveAuto(list []codec.Codec, version int, options string) (Resolved, error) {
	if options != "" {
		return Resolved{}, fmt.Errorf("codec %s has no options, and %q are given: it has those of each codec at their defaults, so name the codec that is to have others", Auto, options)
	}
	c := &choices{version: choiceVersion}
	counted := map[string]bool{}
	one := func(name string, pairs ...string) (r Resolved, err error) {
		if r, err = Resolve(list, name, 0, codec.JoinPairs(pairs)); err == nil && !counted[name] {
			counted[name] = true
			c.version += r.Codec.Info().Version
		}
		return r, err
	}
	some := func(names []string) (out []Resolved, err error) {
		for _, name := range names {
			r, err := one(name)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		return out, nil
	}
	var err error
	if c.exact, err = some(exactChoices); err == nil {
		c.general, err = some(generalChoices)
	}
	if err == nil {
		c.medical, err = one(medicalChoice)
	}
	if err == nil {
		c.volume, err = one(volumeChoice, volumeOptions...)
	}
	if err != nil {
		return Resolved{}, fmt.Errorf("codec %s: %w", Auto, err)
	}
	if version != 0 && version != c.version {
		return Resolved{}, fmt.Errorf("%w: version %d of codec %s is asked for and this program has version %d", ErrUnable, version, Auto, c.version)
	}
	return Resolved{Options: noOptions{}, choices: c}, nil
}

// noOptions are the options of [Auto].
type noOptions struct{}

func (noOptions) String() string { return "" }

// AutoTitle says in one line for people what [Auto] does.
const AutoTitle = "the lossless standard codec of each source's kind: JPEG to jpegxl, 8-bit pictures to webp, others to jpeg2000, and DICOM stays DICOM"

// info describes what all choices have in common.
func (c *choices) info() codec.Info {
	return codec.Info{Name: Auto, Title: AutoTitle, Version: c.version, Lossless: true}
}

func (c *choices) all() []Resolved { return slices.Concat(c.exact, c.general, []Resolved{c.volume}) }

// Choices are the codecs, with options, that may be chosen for a source: r itself, or each one of [Auto].
func (r Resolved) Choices() []Resolved {
	if r.choices == nil {
		return []Resolved{r}
	}
	return r.choices.all()
}

// Extensions are those that results can have. None of them ends with another one.
func (r Resolved) Extensions() []string {
	var list []string
	for _, c := range r.Choices() {
		if ext := c.Info().Extension; !slices.Contains(list, ext) {
			list = append(list, ext)
		}
	}
	return list
}

// Frames reports whether results of DICOM files are DICOM files, with the keys of their sources.
func (r Resolved) Frames() bool {
	return slices.ContainsFunc(r.Choices(), func(c Resolved) bool {
		_, ok := c.Options.(codec.FrameOptions)
		return ok
	})
}

// Choose gives the codec for a source by its header alone, so that every worker and every plan chooses the same: format is
// that of the file, as imageio names it, and s the shape of its image. What the codec does not take after all is not
// offered to another one: the reason that it gives is the right one.
func (r Resolved) Choose(format string, s raster.Shape) Resolved {
	c := r.choices
	if c == nil {
		return r
	}
	for _, e := range c.exact {
		if e.Codec.(codec.SourceCodec).SourceFormat() == format {
			return e
		}
	}
	switch {
	case format == medicalFormats[0]:
		return c.medical
	case s.Depth > 1 && !s.Frames:
		return c.volume
	case slices.Contains(medicalFormats, format):
		return c.medical
	}
	for _, g := range c.general {
		if s.Depth == 1 && g.Info().Check(s) == nil {
			return g
		}
	}
	return c.general[0]
}
