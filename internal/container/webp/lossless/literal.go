package lossless

// How many bits the tables of literals are looked up with. More bits find more literals, in tables that less often are in
// the nearest cache.
const (
	greenBits   = 8
	literalBits = 9 // red and blue together
)

// literalTable is what the kernel decodes most literals of a group with: by one look-up for green and one for red
// and blue together. Each of them waits for the length that the one before it found. The lengths of red and blue lie
// apart from their symbols, for which nothing waits: what is waited for in all groups of a photograph then is in the
// nearest cache.
type literalTable struct {
	greens         [1 << greenBits]uint16   // the length of a code, or long, and the symbol in the upper half
	redBlueLengths [1 << literalBits]uint8  // of both codes together, or long
	redBlues       [1 << literalBits]uint32 // a pixel without green; of what is long, red and in the place of green its entry in a first table
	codes          [3]code                  // green, red and blue, for what is long
	alpha          uint32                   // of all literals, in its place in a pixel
	coded          uint32                   // 1: alpha has a code, and the kernel stops before the group
	_              [8]uint32
}

// long marks what has more bits than the table, and what is no literal.
const long = 1 << 7

// tableBytes is the size of a literalTable.
const tableBytes = 2<<greenBits + 5<<literalBits + 64

// leastPixels is how many pixels an image has for each of its groups, at least, that has tables for literals: so
// many that they soon repay their making. Tests set it to 0.
var leastPixels = 2048

// literalTables makes the tables of all groups. It returns nil where they are not worth their making, or would take
// more than Decode says.
func (s *scan) literalTables() []literalTable {
	pixels := s.width * s.height
	// Tables that grow have room for a quarter more than they need at most.
	if !vector || pixels < leastPixels*len(s.all) || 5*len(s.tables)+tableBytes*len(s.all) > 2*pixels+tablesOverhead {
		return nil
	}
	made := s.scratch.literalTables(len(s.all))
	for i := range made {
		s.fill(&made[i], &s.all[i])
	}
	return made
}

// fill makes the tables of a group.
func (d *decoder) fill(t *literalTable, g *group) {
	t.codes = [3]code{g.green, g.red, g.blue}
	if t.coded = min(g.alpha.mask, 1); t.coded != 0 {
		return
	}
	t.alpha = d.tables[g.alpha.at] >> 8 << 24
	greens := d.tables[g.green.at:][:g.green.mask+1]
	for i := range t.greens {
		// What goes on in a second table has more bits.
		e := greens[uint32(i)&g.green.mask]
		t.greens[i] = uint16(e&(31|longer) | over(e>>8, literals-1) | e>>8<<8)
	}
	// What goes on in a second table is long, though nine bits may hold it: that is seldom.
	reds, blues := d.tables[g.red.at:][:g.red.mask+1], d.tables[g.blue.at:][:g.blue.mask+1]
	for i := range t.redBlues {
		red := reds[uint32(i)&g.red.mask]
		blue := blues[uint32(i)>>(red&31)&g.blue.mask]
		n := red&31 + blue&31
		n |= over(n, literalBits) | (red|blue)&longer
		t.redBlueLengths[i] = uint8(n)
		second := blue >> 8 << 16
		if n >= long {
			second = red & (31 | longer) << 8
		}
		t.redBlues[i] = red>>8&255 | second | t.alpha
	}
}

// over is long where n is more than most, and 0 elsewhere. Branches on what codes are like would seldom be predicted.
func over(n, most uint32) uint32 { return (most - n) >> 31 << 7 }
