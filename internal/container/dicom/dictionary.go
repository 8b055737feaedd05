package dicom

import (
	"cmp"
	"slices"
	"strings"
)

//go:generate go run ./generate dict.py dictionary_table.go

// definition is what PS3.6 says of an element. vr has "US|SS" where the data set decides.
type definition struct {
	tag     uint32
	vr      string
	keyword string
}

// define finds a tag of the standard.
func define(t Tag) (definition, bool) {
	i, ok := slices.BinarySearchFunc(dictionary[:], uint32(t), func(d definition, t uint32) int { return cmp.Compare(d.tag, t) })
	if ok {
		return dictionary[i], true
	}
	for i := range repeating {
		if uint32(t)&repeating[i].mask == repeating[i].tag {
			return repeating[i].definition, true
		}
	}
	return definition{}, false
}

// DictionarySize is the number of elements that the dictionary defines.
func DictionarySize() int { return len(dictionary) + len(repeating) }

// Keyword is the keyword of PS3.6 of a tag: "PixelData". It is empty for private elements and
// for those that the dictionary does not have.
func Keyword(t Tag) string {
	d, _ := define(t)
	return d.keyword
}

// implicitVR is the value representation of an element in a data set without them (PS3.5
// A.1): that of PS3.6, UN where it is not known. signed is the PixelRepresentation of the data
// set that the element belongs to.
func implicitVR(t Tag, signed bool) VR {
	switch {
	case t.groupLength():
		return "UL"
	case t.Private():
		if n := t & 0xffff; n >= 0x10 && n <= 0xff {
			return "LO" // a private creator (PS3.5 7.8.1)
		}
		return "UN"
	}
	d, ok := define(t)
	switch {
	case !ok:
		return "UN"
	case !strings.Contains(d.vr, "|"):
		return VR(d.vr)
	case strings.HasSuffix(d.vr, "OW"): // PS3.5 A.1 has OW for all of these
		return "OW"
	case t == lutDescriptor || !signed:
		return "US"
	}
	return "SS"
}

// lutDescriptor is unsigned whatever the pixels are (PS3.3 C.11.1.1).
const lutDescriptor Tag = 0x00283002
