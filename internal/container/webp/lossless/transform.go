package lossless

import "encoding/binary"

// Kinds of transforms (RFC 9649, 3.5).
const (
	predictor      = 0
	crossColour    = 1
	subtractGreen  = 2
	colourIndexing = 3
)

// transform is one transform as the bitstream describes it.
type transform struct {
	kind  int
	width int    // of the image that it was applied to
	bits  uint   // of the side of a tile; of colourIndexing, of how many pixels share one
	pix   []byte // of the tiles, or the colours
}

// transform reads a transform of an image.
func (d *decoder) transform(width, height int) (t transform, ok bool) {
	t = transform{kind: int(d.take(2)), width: width}
	switch t.kind {
	case predictor, crossColour:
		t.bits = uint(d.take(3)) + 2
		if t.pix, ok = d.image(tiles(width, t.bits), tiles(height, t.bits)); !ok {
			return t, false
		}
		for i := 1; t.kind == predictor && i < len(t.pix); i += 4 {
			if t.pix[i]&15 >= predictors {
				return t, false // decoders differ
			}
		}
	case colourIndexing:
		n := int(d.take(8)) + 1
		switch {
		case n <= 2:
			t.bits = 3
		case n <= 4:
			t.bits = 2
		case n <= 16:
			t.bits = 1
		}
		pix, ok := d.image(n, 1)
		if !ok {
			return t, false
		}
		for i := 4; i < len(pix); i++ {
			pix[i] += pix[i-4]
		}
		// Indices beyond the colours are transparent black.
		t.pix = make([]byte, 4*256)
		copy(t.pix, pix)
	}
	return t, true
}

// invert undoes the transforms, the last one first.
func invert(pix []byte, transforms []transform, height int) []byte {
	for n := len(transforms); n > 0; {
		if t := &transforms[n-1]; t.kind == colourIndexing {
			pix = t.colours(pix, height)
			n--
			continue
		}
		// Transforms up to the next change of the width run together. Each is one row behind the one before, as a
		// predictor needs the row above as it was before the following transform.
		m := n
		for m > 0 && transforms[m-1].kind != colourIndexing {
			m--
		}
		stages := transforms[m:n]
		for y := 0; y < height+len(stages)-1; y++ {
			undo(pix, 0, stages, y, height)
		}
		n = m
	}
	return pix
}

// undo undoes the transforms of rows of which pix has those from the given one on: the last one of row y, and each other one of
// the row before.
func undo(pix []byte, from int, transforms []transform, y, height int) {
	for k := range transforms {
		t := &transforms[len(transforms)-1-k]
		row := y - k
		if row < 0 || row >= height {
			continue
		}
		line := 4 * t.width
		at := (row - from) * line
		switch t.kind {
		case predictor:
			t.predicted(pix, at, row)
		case crossColour:
			t.coloured(pix[at:][:line], row)
		case subtractGreen:
			addGreen(pix[at:][:line])
		}
	}
}

// colours puts colours in the places of indices (RFC 9649, 3.5.4), of which several may share a pixel.
func (t *transform) colours(pix []byte, height int) []byte {
	if t.bits == 0 {
		for i := 0; i < len(pix); i += 4 {
			copy(pix[i:i+4], t.pix[4*int(pix[i+1]):])
		}
		return pix
	}
	out := make([]byte, 4*t.width*height)
	across := tiles(t.width, t.bits)
	wide := uint(8) >> t.bits
	for y := range height {
		for x := range t.width {
			packed := pix[4*(y*across+x>>t.bits)+1]
			index := packed >> (wide * uint(x&(1<<t.bits-1))) & (1<<wide - 1)
			copy(out[4*(y*t.width+x):][:4], t.pix[4*int(index):])
		}
	}
	return out
}

// packGo takes alpha out of pixels, to which green is added first where it was subtracted. Both may begin at the same place.
func packGo(out, rgba []byte, green bool) {
	for i := 0; i < len(rgba)/4; i++ {
		p := rgba[4*i : 4*i+4 : 4*i+4]
		r, g, b := p[0], p[1], p[2]
		if green {
			r, b = r+g, b+g
		}
		o := out[3*i : 3*i+3 : 3*i+3]
		o[0], o[1], o[2] = r, g, b
	}
}

func addGreenGo(row []byte) {
	for i := 0; i < len(row); i += 4 {
		p := row[i : i+4 : i+4]
		p[0] += p[1]
		p[2] += p[1]
	}
}

// coloured undoes the colour transform of a row (RFC 9649, 3.5.2).
func (t *transform) coloured(row []byte, y int) {
	multipliers := t.pix[4*(y>>t.bits)*tiles(t.width, t.bits):]
	side := 4 << t.bits
	whole := len(row) / side
	addColours(row, multipliers, whole, side)
	if rest := len(row) - whole*side; rest > 0 {
		addColours(row[whole*side:], multipliers[4*whole:], 1, rest)
	}
}

// addColoursGo adds colours to tiles of side bytes. Multipliers are 4 bytes for each of them: red to blue, green to blue,
// green to red.
func addColoursGo(row, multipliers []byte, tiles, side int) {
	for n := range tiles {
		greenToRed, greenToBlue, redToBlue := int32(int8(multipliers[4*n+2])), int32(int8(multipliers[4*n+1])), int32(int8(multipliers[4*n]))
		tile := row[n*side:][:side]
		for i := 0; i < len(tile); i += 4 {
			p := tile[i : i+4 : i+4]
			green := int32(int8(p[1]))
			p[0] += byte(greenToRed * green >> 5)
			p[2] += byte(greenToBlue*green>>5) + byte(redToBlue*int32(int8(p[0]))>>5)
		}
	}
}

// predictors is how many predictors there are (RFC 9649, 3.5.1).
const predictors = 14

// predicted undoes the predictors of row y, which lies behind the one above it in pix.
func (t *transform) predicted(pix []byte, at, y int) {
	line := 4 * t.width
	row := pix[at:][:line]
	if y == 0 {
		row[3]--
		predictGo(1, row[4:], row, nil)
		return
	}
	// The row above goes on with the first pixel of the row itself, which is above and to the right of the last.
	up := pix[at-line:][:line+4]
	for i := range 4 {
		row[i] += up[i]
	}
	modes := t.pix[4*(y>>t.bits)*tiles(t.width, t.bits)+1:]
	side := 4 << t.bits
	part := func(from, to int) {
		predict(int(modes[4*(from/side)]&15), row[from:to], row[from-4:], up[from-4:])
	}
	// The first tile lacks the first pixel, and the last one may be narrower.
	first, last := min(line, side), line/side*side
	part(4, first)
	if first < last {
		predictTiles(row[first-4:], up[first-4:], modes[4:], (last-first)/side, side)
	}
	if last >= first && last < line {
		part(last, line)
	}
}

// predictTilesGo adds predictions to tiles of side bytes. Left begins one pixel before them, and up one pixel before what is
// above them. Modes are 4 bytes apart.
func predictTilesGo(left, up, modes []byte, tiles, side int) {
	for i := range tiles {
		at := i * side
		predict(int(modes[4*i]&15), left[4+at:4+at+side], left[at:], up[at:])
	}
}

// predictGo adds predictions to the pixels of row. Left begins one pixel before it, and up one pixel before what is above it.
func predictGo(mode int, row, left, up []byte) {
	le := binary.LittleEndian
	l := le.Uint32(left)
	if mode == 0 {
		for i := 3; i < len(row); i += 4 {
			row[i]--
		}
		return
	}
	if mode == 1 {
		for i := 0; i < len(row); i += 4 {
			l = add(le.Uint32(row[i:]), l)
			le.PutUint32(row[i:], l)
		}
		return
	}
	up = up[: len(row)+8 : len(row)+8]
	tl, t := le.Uint32(up), le.Uint32(up[4:])
	for i := 0; i < len(row); i += 4 {
		tr := le.Uint32(up[i+8:])
		var p uint32
		switch mode {
		case 2:
			p = t
		case 3:
			p = tr
		case 4:
			p = tl
		case 5:
			p = average(average(l, tr), t)
		case 6:
			p = average(l, tl)
		case 7:
			p = average(l, t)
		case 8:
			p = average(tl, t)
		case 9:
			p = average(t, tr)
		case 10:
			p = average(average(l, tl), average(t, tr))
		case 11:
			p = selected(l, t, tl)
		case 12:
			p = full(l, t, tl)
		case 13:
			p = half(average(l, t), tl)
		}
		l = add(le.Uint32(row[i:]), p)
		le.PutUint32(row[i:], l)
		tl, t = t, tr
	}
}

// add adds pixels byte by byte.
func add(a, b uint32) uint32 {
	const odd = 0x00ff00ff
	return (a&odd+b&odd)&odd | (a&^odd+b&^odd)&^odd
}

// average is the mean of pixels byte by byte, rounded down.
func average(a, b uint32) uint32 { return a&b + (a^b)>>1&0x7f7f7f7f }

// selected is the one of left and above that is nearer to left + above - above left, in the sum over the channels.
func selected(l, t, tl uint32) uint32 {
	var toL, toT int32
	for s := 0; s < 32; s += 8 {
		a, b, c := int32(l>>s&255), int32(t>>s&255), int32(tl>>s&255)
		toL += abs(b - c)
		toT += abs(a - c)
	}
	if toL < toT {
		return l
	}
	return t
}

// full is left + above - above left, held to 0 and 255.
func full(l, t, tl uint32) (p uint32) {
	for s := 0; s < 32; s += 8 {
		v := int32(l>>s&255) + int32(t>>s&255) - int32(tl>>s&255)
		p |= uint32(min(max(v, 0), 255)) << s
	}
	return p
}

// half goes from above left to the mean of left and above, and half as far again.
func half(mean, tl uint32) (p uint32) {
	for s := 0; s < 32; s += 8 {
		a, b := int32(mean>>s&255), int32(tl>>s&255)
		p |= uint32(min(max(a+(a-b)/2, 0), 255)) << s
	}
	return p
}

func abs(v int32) int32 { return max(v, -v) }
