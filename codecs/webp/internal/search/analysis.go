package search

import (
	"slices"
	"sync"

	"github.com/pelmill/pelmill/codecs/webp/internal/entropy"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/transform"
)

// Analysis is what an image looks like before anything is tried, by some of its rows. But
// for repeats it does not depend on the order of pixels.
type Analysis struct {
	pixels  int // that were looked at
	equal   int // pixels that equal their left or upper neighbour
	repeats int // others that, with the next three, occurred before

	// Bits, times 65536, that ideal codes would take for the pixels that do not equal a
	// neighbour: with green subtracted, and also predicted by the mean of the left and
	// the upper neighbour.
	green, spatial uint64

	colours []uint32 // of the whole image; nil for more than 256
}

const (
	repeatBits = 15 // log2 of the entries of the table that finds repeats

	// AnalysisPixels is about how many pixels an analysis looks at, so that it takes no
	// longer for a large image than for a small one.
	AnalysisPixels = 1 << 18
)

// Analyse looks at about most pixels of p, or at all where most is 0. It leaves green and
// spatial to weigh.
func Analyse(p format.Pixels, most int) Analysis {
	a := Analysis{colours: transform.PaletteOf(p.ARGB)}
	a.look(p, analysisRows(p.W, p.H, most))
	return a
}

// SampledRows are the rows of an image of w x h pixels by which IsPhotoBy judges it: those that
// Analyse looks at, and the ones above them. It returns nil where these are most rows.
func SampledRows(w, h, most int) (rows []int) {
	step := analysisRows(w, h, most)
	if step < 4 {
		return nil
	}
	for y := 0; y < h; y += step {
		if y > 0 {
			rows = append(rows, y-1)
		}
		rows = append(rows, y)
	}
	return rows
}

// IsPhotoBy reports what IsPhoto does of an image of which p has the SampledRows. It is sure
// where no other row could change that.
func IsPhotoBy(p format.Pixels) (photo, sure bool) {
	var a Analysis
	a.look(p, 2)
	if !a.IsPhoto() {
		return false, true
	}
	return true, transform.PaletteOf(p.ARGB) == nil
}

// look looks at one of step rows of p.
func (a *Analysis) look(p format.Pixels, step int) {
	memory := repeats.Get().(*repeatMemory)
	defer repeats.Put(memory)
	table := &memory.table
	clear(table[:])
	if p.W <= mostKeys {
		memory.keys = slices.Grow(memory.keys[:0], p.W)[:p.W]
	}
	for y := 0; y < p.H; y += step {
		row := p.ARGB[y*p.W:][:p.W]
		above := row
		if y > 0 {
			above = p.ARGB[(y-1)*p.W:][:p.W]
		}
		a.pixels += len(row)
		// The first pixel has no neighbour to the left in its row: it equals itself there,
		// but for the very first one.
		left := row[0]
		if y == 0 {
			left = ^left
		}
		x := 0
		for ; x+3 < len(row); x++ {
			v := row[x]
			l, t := left, above[x]
			left = v
			if v == l || v == t && y > 0 {
				a.equal++
			} else {
				a.meet(table, analysisKey(row[x:]))
			}
			// The others of a row together, but for its end.
			if x == 0 && y > 0 && p.W <= mostKeys {
				n, pixels := analysisKeys(memory.keys, row, above)
				for _, key := range memory.keys[:n] {
					a.meet(table, key)
				}
				a.equal += pixels - n
				x += pixels
				left = row[x]
			}
		}
		for ; x < len(row); x++ {
			v := row[x]
			if v == left || v == above[x] && y > 0 {
				a.equal++
			}
			left = v
		}
	}
}

// analysisKey is the key of the first of four pixels.
func analysisKey(px []uint32) uint32 {
	key := px[0]*0x9e3779b1 ^ px[1]*0x85ebca6b ^ px[2]*0xc2b2ae35 ^ px[3]*0x27d4eb2f
	return (key ^ key>>15) * 0x2c1b3c6d
}

// meet counts a pixel with a key that occurred before.
func (a *Analysis) meet(table *[1 << repeatBits]uint32, key uint32) {
	at := &table[key>>(32-repeatBits)]
	if *at == key {
		a.repeats++
	}
	*at = key
}

// repeatMemory is what Analyse needs: the keys that occurred, and those of a row.
type repeatMemory struct {
	table [1 << repeatBits]uint32
	keys  []uint32
}

// mostKeys is the widest row whose keys are made together; no image that is taken is wider.
const mostKeys = 1 << 14

// repeats are memories of Analyse that nobody uses: new ones take longer to make than a small image takes to look at.
var repeats = sync.Pool{New: func() any { return new(repeatMemory) }}

// analysisRows is of how many rows of w x h pixels an analysis of about most pixels looks at one.
func analysisRows(w, h, most int) int {
	if most == 0 {
		return 1
	}
	return max(1, (w*h+most-1)/most)
}

// weigh adds green and spatial to what Analyse has found of the same pixels.
func (a *Analysis) weigh(p format.Pixels, most int) {
	var h [2][4][256]uint32
	step := analysisRows(p.W, p.H, most)
	for y := 0; y < p.H; y += step {
		row := p.ARGB[y*p.W:][:p.W]
		above := row
		if y > 0 {
			above = p.ARGB[(y-1)*p.W:][:p.W]
		}
		left := row[0]
		for x, v := range row {
			l, t := left, above[x]
			left = v
			if v == l && (x > 0 || y > 0) || v == t && y > 0 {
				continue
			}
			g := transform.SubtractGreenFrom(v)
			s := transform.Subtract(g, transform.Average(transform.SubtractGreenFrom(l), transform.SubtractGreenFrom(t)))
			for n, u := range [...]uint32{g, s} {
				h[n][0][u>>24]++
				h[n][1][u>>16&255]++
				h[n][2][u>>8&255]++
				h[n][3][u&255]++
			}
		}
	}
	a.green, a.spatial = 0, 0
	for n, out := range []*uint64{&a.green, &a.spatial} {
		for k := range h[n] {
			*out += entropy.IdealBits(h[n][k][:])
		}
	}
}

// The limits below came with the code for graphics and are to tell the Kodak photographs
// from 32 graphics (screens, drawings, diagrams). The history has no measurement of them one
// by one. They decide about size and time, never about what a file decodes to.

// IsPhoto reports whether the image is coded without backward references, because few would
// pay: fewer than 2 of 5 pixels equal a neighbour, fewer than one in 8 of the others repeats
// what was before, and there are more than 256 colours.
func (a *Analysis) IsPhoto() bool {
	return 5*a.equal < 2*a.pixels && 8*a.repeats < a.pixels-a.equal && a.colours == nil
}

// mayBePhoto reports whether the image may become smaller without backward references: they
// cannot reach what residuals would, unless 3 of 4 pixels equal a neighbour.
func (a *Analysis) mayBePhoto() bool { return a.equal < 3*a.pixels/4 }

// groupTiles is log2 of the side of the tiles of a graphic's entropy image: small where
// residuals are coded, large where 9 of 10 pixels equal a neighbour and a tile has few
// symbols.
func (a *Analysis) groupTiles(kind int) int {
	switch {
	case kind == format.PredictorTransform:
		return 3
	case a.equal*10 < a.pixels*9:
		return 4
	}
	return 5
}

// log2 of the sides of tiles that effort 9 tries for the entropy image.
const (
	smallestGroupTile = 3
	largestGroupTile  = 6
)

// strategies are those that are worth trying, or all of them.
func (a *Analysis) strategies(all bool) []strategy {
	palette := strategy{kind: format.ColourIndexing, order: transform.ByNeed}
	tiled := strategy{kind: format.PredictorTransform, predictor: 3, colour: 5}
	one := strategy{kind: format.PredictorTransform, predictor: oneMode}
	if all {
		list := []strategy{
			{kind: format.SubtractGreen},
			{kind: noTransform},
			{kind: format.PredictorTransform, predictor: 2, colour: 4},
			tiled,
			{kind: format.PredictorTransform, predictor: 4, colour: 5},
			one,
		}
		if a.colours != nil {
			list = append(list, palette,
				strategy{kind: format.ColourIndexing, order: transform.ByValue},
				strategy{kind: format.ColourIndexing, order: transform.ByNeighbours})
		}
		return list
	}
	// Of the pixels that do not equal a neighbour, those that repeat what was before cost
	// about nothing without a predictor; with one, an eighth of them do.
	others := uint64(max(1, a.pixels-a.equal))
	direct := a.green / others * (others - uint64(a.repeats))
	spatial := a.spatial / others * (others - others/8)
	switch {
	case len(a.colours) > 0 && len(a.colours) <= 16: // several pixels share one
		return []strategy{palette}
	case spatial < direct && a.repeats*8 > int(others):
		return []strategy{tiled, one}
	case spatial < direct:
		return []strategy{tiled}
	case a.colours != nil && a.green > others*9<<entropy.Log2Bits: // more than an index of 8 bits and its share of the palette
		return []strategy{palette}
	}
	return []strategy{{kind: format.SubtractGreen}}
}
