package webp

import (
	"context"
	"math"

	"github.com/pelmill/pelmill/codecs/internal/crew"
)

// canvas is a picture on a device and what has been chosen for it so far. The methods
// that choose are passes: every tile takes what costs it least by prices that are the
// same for all, the device applies the choice to the picture, and the caller makes the
// next prices from the counts. A pass does not depend on the order of tiles, which is
// why it gives the same on every device.
//
// Tables hold as many prices for each group, in turn, as symbols says. Where a device
// fails, the methods return anything of the right size, and result the error.
type canvas interface {
	size() (w, h int)

	// symbols is how many a group has.
	symbols() int

	// fill gives all tiles of 1<<bits the same mode.
	fill(bits int, mode uint8)

	// predict chooses the modes of tiles of 1<<bits by own, what each of them costs,
	// and tables, through the multipliers there are: see the function predict. It
	// returns how many tiles took each mode.
	predict(bits int, own *[predictors]uint32, tables []uint16) (counts [predictors]uint32)

	// recolour chooses the multipliers of tiles of 1<<bits: see the function colours.
	// It starts from those there are, if of the same size. It returns how many
	// tiles took each value of red-to-blue, green-to-blue and green-to-red.
	recolour(bits, skip int, steps []int, own *multiplierPrices, tables []uint16) (counts [3][256]uint32)

	// tilePrices returns the price of each tile of 1<<bits by one table.
	tilePrices(bits int, table []uint16) []uint32

	// setGroups sets the group of each tile. The canvas owns g.of from then on.
	setGroups(g groups)

	// assign moves tiles to other groups: see the function assign. It returns the
	// tiles in each group.
	assign(own []uint32, near int, tables []uint16) (counts []uint32)

	// remap moves the tiles of each group k to group to[k], of n.
	remap(to []uint16, n int)

	// histograms counts the symbols of each group.
	histograms() []uint32

	result() (*choices, error)
}

// device makes canvases.
type device interface {
	// canvas takes over a picture as it was loaded, and subtracts green (RFC 9649, 4.3).
	canvas(p pixels) (canvas, error)
}

// choices is what was chosen for a picture, and the picture it leaves.
type choices struct {
	modeBits    int
	modes       []uint8      // of tiles of 1<<modeBits
	multipliers *multipliers // nil: no colour transform
	groups      groups
	pixels      pixels
	packer      packer // see stream
}

// firstMode is the mode whose residuals make the first prices: Select, which does well
// everywhere.
const firstMode = 11

var colourSteps = []int{16, 8, 4, 2, 1}

// search is one picture's way through the passes of a plan.
type search struct {
	crew   *crew.Crew
	canvas canvas
	plan   plan

	modePrices       [predictors]uint32
	multiplierPrices multiplierPrices
	tables           []uint16
	groups           int // how many
	groupPrices      []uint32
}

// transforms chooses modes and multipliers by one table for all.
func (s *search) transforms(ctx context.Context) error {
	p := &s.plan
	s.canvas.fill(p.predictor, firstMode)
	for k := range s.modePrices {
		s.modePrices[k] = 950
	}
	for i := range s.multiplierPrices {
		for j := range s.multiplierPrices[i] {
			s.multiplierPrices[i][j] = 3 << priceBits
		}
		s.multiplierPrices[i][0] = 0
	}
	for range p.modePasses {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.price(prices)
		s.modes()
	}
	if p.colour > 0 {
		for range p.colourPasses {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.price(prices)
			s.colours()
		}
	}
	return nil
}

func (s *search) modes() {
	counts := s.canvas.predict(s.plan.predictor, &s.modePrices, s.tables)
	idealPrices32(counts[:], s.modePrices[:])
}

func (s *search) colours() {
	counts := s.canvas.recolour(s.plan.colour, s.plan.skip, colourSteps, &s.multiplierPrices, s.tables)
	for i := range counts {
		idealPrices(counts[i][:], s.multiplierPrices[i][:])
	}
}

// price makes the tables of all groups from their histograms.
func (s *search) price(by func(hist []uint32, out []uint16)) {
	hist := s.canvas.histograms()
	n := s.canvas.symbols()
	s.tables = make([]uint16, len(hist))
	s.crew.Spans(len(hist), n, func(lo, hi int) { by(hist[lo:hi], s.tables[lo:hi]) })
}

func idealPrices32(counts, out []uint32) {
	short := make([]uint16, len(counts))
	idealPrices(counts, short)
	for i, v := range short {
		out[i] = uint32(v)
	}
}

// grouping chooses groups, and with them anew modes and multipliers.
func (s *search) grouping(ctx context.Context) error {
	p := &s.plan
	w, h := s.canvas.size()
	n := groupsFor(p.groups, w, h, p.group)
	if n < 2 {
		return nil
	}
	s.price(prices)
	start := s.canvas.tilePrices(p.group, s.tables)
	g := groups{p.group, n, startGroups(start, n)}
	counts := make([]uint32, n)
	for _, k := range g.of {
		counts[k]++
	}
	s.canvas.setGroups(g)
	s.groupPrices = make([]uint32, n)
	for i := range p.groupPasses + p.joint {
		if err := ctx.Err(); err != nil {
			return err
		}
		by := prices
		if i >= p.groupPasses {
			s.price(codePrices)
			s.modes()
			if i < p.groupPasses+p.jointColours {
				s.price(codePrices)
				s.colours()
			}
			by = codePrices
		}
		s.price(by)
		idealPrices32(counts, s.groupPrices)
		for k, c := range counts {
			if c == 0 {
				s.groupPrices[k] = math.MaxUint32 / 2
			}
		}
		counts = s.canvas.assign(s.groupPrices, p.near, s.tables)
	}
	return nil
}

// groupsFor is how many groups a picture starts with.
func groupsFor(most, w, h, bits int) int {
	return max(1, min(most, tiles(w, bits)*tiles(h, bits)/64))
}

// photo returns the stream of a picture without copies and colour cache: subtract
// green, predictor, colour transform and groups as the plan of the effort says. p is
// changed.
func photo(ctx context.Context, c *crew.Crew, d device, p pixels, plan plan) (*stream, error) {
	v, err := d.canvas(p)
	if err != nil {
		return nil, err
	}
	s := &search{crew: c, canvas: v, plan: plan}
	if err := s.transforms(ctx); err != nil {
		return nil, err
	}
	if err := s.grouping(ctx); err != nil {
		return nil, err
	}
	found, err := v.result()
	if err != nil {
		return nil, err
	}
	return &stream{
		width: p.w, height: p.h,
		transforms: append([]transform{{kind: subtractGreen}}, found.transforms(p.w, p.h)...),
		pixels:     found.pixels,
		groups:     found.groups,
		packer:     found.packer,
	}, nil
}

// transforms returns the predictor and the colour transform.
func (c *choices) transforms(w, h int) []transform {
	modes := pixels{tiles(w, c.modeBits), tiles(h, c.modeBits), make([]uint32, len(c.modes))}
	for i, k := range c.modes {
		modes.argb[i] = opaqueBlack | uint32(k)<<8
	}
	list := []transform{{predictorTransform, c.modeBits, modes}}
	if m := c.multipliers; m != nil {
		list = append(list, transform{colourTransform, m.bits, pixels{m.columns, len(m.of) / m.columns, m.of}})
	}
	return list
}
