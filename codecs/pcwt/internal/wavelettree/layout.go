package wavelettree

// Orientation is the kind of a band. Its first letter is the horizontal direction.
type Orientation int

const (
	LL Orientation = iota
	HL
	LH
	HH
)

// Layout is the geometry of the bands of a plane.
type Layout struct {
	Width, Height int
	Params
	Bands        []Band // as they are coded: LL, HL, LH, HH of level L, HL, LH, HH of level L-1 ...
	Coefficients int    // of all bands
	Elements     int
}

// Band is the place of a band in a plane's arrays of coefficients and of MQDs.
type Band struct {
	Orientation  Orientation
	Level        int // 1 is the finest
	Width        int // coefficients that the transform gives
	Height       int
	Columns      int // elements; a row of coefficients is 2 Columns long
	Rows         int
	At           int // first coefficient
	ElementsAt   int // first MQD
	GroupColumns int // groups in a row
	GroupRows    int
	Parent       int // the band one level up, or -1
	Child        int // the band one level down, or -1
}

// Groups is the number of groups of the band.
func (b *Band) Groups() int { return b.GroupColumns * b.GroupRows }

// NewLayout lays out the bands of a plane.
func NewLayout(width, height int, p Params) *Layout {
	l := &Layout{Width: width, Height: height, Params: p}
	for level := p.Levels; level >= 1; level-- {
		if level == p.Levels {
			l.add(LL, level, -1)
		}
		for o := HL; o <= HH; o++ {
			parent := -1
			if level < p.Levels {
				parent = len(l.Bands) - 3
				l.Bands[parent].Child = len(l.Bands)
			}
			l.add(o, level, parent)
		}
	}
	return l
}

func (l *Layout) add(o Orientation, level, parent int) {
	w, h := l.Size(level - 1)
	b := Band{
		Orientation: o, Level: level, Parent: parent, Child: -1,
		Width: half(w), Height: half(h), Columns: half(half(w)), Rows: half(half(h)),
		At: l.Coefficients, ElementsAt: l.Elements,
	}
	b.GroupColumns = (b.Columns + l.GroupColumns - 1) / l.GroupColumns
	b.GroupRows = (b.Rows + l.GroupRows - 1) / l.GroupRows
	l.Bands = append(l.Bands, b)
	l.Coefficients += 4 * b.Columns * b.Rows
	l.Elements += b.Columns * b.Rows
}

// half rounds up.
func half(n int) int { return (n + 1) / 2 }

// Size is the width and height of the samples after the given number of levels: those of the image for 0.
func (l *Layout) Size(levels int) (width, height int) {
	width, height = l.Width, l.Height
	for range levels {
		width, height = half(width), half(height)
	}
	return width, height
}

// LevelBands are the indices of the bands of a level, in the order of coding: from first to last-1.
func (l *Layout) LevelBands(level int) (first, last int) {
	if level == l.Levels {
		return 0, 4
	}
	first = 1 + 3*(l.Levels-level)
	return first, first + 3
}

// Section is the groups of a band of a plane.
type Section struct {
	Plane, Band int
	First       int // number of its first group among those of all planes
}

// Sections are those of all planes in the order of coding, for levels from L to the given one, and the number of their
// groups.
func (l *Layout) Sections(planes, finest int) (list []Section, groups int) {
	for level := l.Levels; level >= finest; level-- {
		first, last := l.LevelBands(level)
		for plane := range planes {
			for band := first; band < last; band++ {
				list = append(list, Section{plane, band, groups})
				groups += l.Bands[band].Groups()
			}
		}
	}
	return list, groups
}

// span is the elements of a group: columns x0 to x1-1, rows y0 to y1-1 of its band.
type span struct{ x0, x1, y0, y1 int }

func (l *Layout) span(b *Band, group int) span {
	x, y := group%b.GroupColumns*l.GroupColumns, group/b.GroupColumns*l.GroupRows
	return span{x, min(b.Columns, x+l.GroupColumns), y, min(b.Rows, y+l.GroupRows)}
}
