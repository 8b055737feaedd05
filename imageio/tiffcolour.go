package imageio

// checkColour finds the channels of the image and which samples of the file
// they are.
func (t *tiffPage) checkColour(dir *tiffDirectory) error {
	t.photometric = int(dir.value(tagPhotometric, t.assumed()))
	colours := 1
	switch t.photometric {
	case tiffWhiteIsZero, tiffBlackIsZero:
		if t.photometric == tiffWhiteIsZero && t.signed {
			return unsupported("tiff", "white at zero with signed samples is not read")
		}
	case tiffRGB:
		colours = 3
	case tiffYCbCr:
		if t.compression != tiffJPEG {
			return unsupported("tiff", "YCbCr without JPEG compression is not read")
		}
		colours = 3
	case tiffPalette:
		if t.bits > 8 || t.signed {
			return unsupported("tiff", "a palette with samples of %d bits is not read", t.bits)
		}
		t.colours = dir.fields[tagColorMap]
		if int(t.colours.Count) != 3<<t.bits || t.colours.Type != 3 {
			return rejected("tiff", "its palette does not fit its samples")
		}
	case tiffCMYK:
		const inksCMYK = 1
		if t.bits != 8 || t.signed || dir.value(tagInkSet, inksCMYK) != inksCMYK {
			return unsupported("tiff", "inks other than CMYK with 8 bits are not read")
		}
		colours = 4
	case -1:
		return rejected("tiff", "it does not say what its samples mean")
	default:
		return unsupported("tiff", "colour space %d is not read", t.photometric)
	}
	if t.samples < colours {
		return unsupported("tiff", "%d samples per pixel in colour space %d are not read", t.samples, t.photometric)
	}
	t.keep(dir, colours)
	t.channels = t.kept
	switch {
	case t.photometric == tiffPalette:
		t.channels += 2
	case t.photometric == tiffCMYK:
		t.channels--
	}
	t.outBits = t.bits
	if t.photometric == tiffPalette || colours == 1 && !t.alpha && !t.signed && (t.bits == 1 || t.bits == 2 || t.bits == 4) {
		t.outBits = 8
	}
	return nil
}

// assumed is the colour space of a page that does not name one: as libtiff has it
// for one sample per pixel, and -1 for more, of which libtiff would show but one.
func (t *tiffPage) assumed() int64 {
	switch {
	case t.samples > 1:
		return -1
	case t.compression == tiffG3 || t.compression == tiffG4:
		return tiffWhiteIsZero
	}
	return tiffBlackIsZero
}

// keep finds the samples that become channels: the colours, and the first other
// one that is said to be alpha. An extra sample without a stated meaning may be
// anything, such as near infrared; taken for alpha it would hide the colours.
func (t *tiffPage) keep(dir *tiffDirectory, colours int) {
	t.slots = make([]int, t.samples)
	t.kept, t.planes = colours, colours
	for i := range t.slots {
		t.slots[i] = -1
		switch {
		case i < colours:
			t.slots[i] = i
		case t.alpha:
		default:
			kind := dir.at(tagExtraSamples, i-colours)
			if kind == tiffPremultiplied || kind == tiffStraight || kind == tiffStraightOther {
				t.slots[i] = colours
				t.kept++
				t.planes = i + 1
				t.alpha = true
				t.premultiplied = kind == tiffPremultiplied && !t.signed && t.photometric != tiffPalette
			}
		}
	}
}
