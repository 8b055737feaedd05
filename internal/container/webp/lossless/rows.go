package lossless

// An image without backward references, as photographs mostly are, needs of its coded pixels only the rows whose transforms
// are not all undone. They then stay in the nearest caches, and no more than the samples is written to memory.

// windowRows is how many rows are decoded before their transforms are undone.
const windowRows = 8

// RGB decodes the pixels without alpha: bytes R, G, B. What holds for Decode holds for it.
func (s *Stream) RGB() ([]byte, bool) {
	if s.rowByRow() {
		return s.rows()
	}
	rgba, ok := s.Decode()
	if !ok {
		return nil, false
	}
	// What is written behind a pixel has been read.
	pack(rgba, rgba, false)
	return rgba[: 3*s.Width*s.Height : 3*s.Width*s.Height], true
}

// rowByRow reports whether rows can be decoded one by one, and in no more memory than Decode says.
func (s *Stream) rowByRow() bool {
	for i := range s.all {
		if !s.all[i].literal {
			return false
		}
	}
	for i := range s.transforms {
		if s.transforms[i].kind == colourIndexing {
			return false
		}
	}
	return 4*(windowRows+len(s.transforms)) <= 3*s.Height
}

// rows decodes an image row by row.
func (s *Stream) rows() ([]byte, bool) {
	d, line := &s.decoder, 4*s.Width
	pix := s.memory(s.Width, 3)
	stages, green := s.transforms, false
	if len(stages) > 0 && stages[0].kind == subtractGreen {
		stages, green = stages[1:], true
	}
	// Each transform but the first that is undone is one row behind the one before, and a predictor needs one more.
	behind, late := len(stages), max(len(stages)-1, 0)
	window := d.scratch.pixels(s.Width, windowRows+behind)
	scan := scan{decoder: d, pix: window, width: s.Width, height: s.Height, all: s.all, side: 4 << s.TileBits}
	scan.tabled = scan.literalTables()
	// In the window row y lies behind the rows before it that transforms still need.
	for y := 0; y < s.Height; y += windowRows {
		n := min(windowRows, s.Height-y)
		scan.at = behind * line
		for k := range n {
			ok := false
			if s.Numbers == nil {
				ok = scan.run(0, scan.at+line) && !d.exhausted()
			} else {
				ok = scan.row(s.Numbers, uint(s.TileBits), 0, y+k)
			}
			if !ok {
				return nil, false
			}
		}
		last := y + n
		if last == s.Height {
			last += late
		}
		for k := y; k < last; k++ {
			undo(window, y-behind, stages, k, s.Height)
			if done := k - late; done >= 0 {
				pack(pix[3*s.Width*done:], window[(done-y+behind)*line:][:line], green)
			}
		}
		copy(window, window[n*line:][:behind*line])
	}
	return pix, !d.exhausted()
}
