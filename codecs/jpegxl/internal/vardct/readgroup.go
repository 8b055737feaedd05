package vardct

import (
	mathbits "math/bits"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/entropy"
)

// readGroup reads the AC coefficients of a group.
func (d *decoder) readGroup(r *bits.Reader, a area) error {
	set := int(r.Read(clog2(d.sets)))
	if set >= d.sets {
		return malformed("a group has the set of distributions %d of %d", set, d.sets)
	}
	g := &groupReader{decoder: d, r: r, d: d.ac.Decoder(r, 0)}
	g.clusters = d.ac.Clusters()[set*allContexts*d.blocks.count:]
	return g.read(a)
}

// groupReader decodes the AC coefficients of a group.
type groupReader struct {
	*decoder
	r        *bits.Reader
	d        *entropy.Decoder
	clusters []uint8
	values   []int16 // of the group
	block    dense
}

func (g *groupReader) read(a area) error {
	g.values = g.takeSpare()
	err := g.coefficients(a)
	if err == nil {
		g.keep(a)
	}
	g.giveSpare(g.values)
	return err
}

func (d *decoder) takeSpare() []int16 {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	n := len(d.spare)
	if n == 0 {
		return nil
	}
	v := d.spare[n-1]
	d.spare = d.spare[:n-1]
	return v[:0]
}

func (d *decoder) giveSpare(v []int16) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.spare = append(d.spare, v)
}

// keep appends the values of a group to those of the file.
func (g *groupReader) keep(a area) {
	g.mutex.Lock()
	base := uint32(len(g.file.Values))
	g.file.Values = append(g.file.Values, g.values...)
	g.mutex.Unlock()
	for c := range g.planes {
		p := &g.planes[c]
		if p.Component == nil {
			continue
		}
		in := a.of(p)
		for y := in.y0; y < in.y1; y++ {
			row := p.Blocks[y*p.Wide+in.x0 : y*p.Wide+in.x1]
			for i := range row {
				row[i].Start += base
			}
		}
	}
}

func (g *groupReader) coefficients(a area) error {
	buckets := make([]uint8, a.wide()*a.high())
	offsets := g.dcOffsets()
	g.buckets(g.blocks, a, buckets, &offsets)
	var counts [3][2][groupBlocks]uint8
	var maps [3][]uint8
	for c := range maps {
		maps[c] = g.blocks.of(c)
	}
	for y := a.y0; y < a.y1; y++ {
		for x := a.x0; x < a.x1; x++ {
			for _, c := range codingOrder {
				p := &g.planes[c]
				sx, sy := x>>p.hshift, y>>p.vshift
				if sx<<p.hshift != x || sy<<p.vshift != y {
					continue
				}
				gx, gy := sx-a.x0>>p.hshift, sy-a.y0>>p.vshift
				row := counts[c][gy&1][:]
				var above []uint8
				if gy > 0 {
					above = counts[c][1-gy&1][:]
				}
				context := int(maps[c][buckets[(y-a.y0)*a.wide()+x-a.x0]])
				count := g.d.ReadCluster(int(g.clusters[context+g.blocks.count*countContext(predictCount(row, above, gx))]))
				if count > 63 || count > 0 && p.Component == nil {
					return malformed("a block has %d coefficients", count)
				}
				row[gx] = uint8(count)
				if p.Component == nil {
					continue
				}
				if err := g.readBlock(&g.orders[c], context, int(count)); err != nil {
					return err
				}
				if factor := g.chroma.of(c, sx, sy); factor != 0 {
					luma := &g.planes[1].Blocks[sy*p.Wide+sx]
					g.block.addLuma(luma, g.values[luma.Start:], factor, &g.chroma.scale[index(c)], 1)
				}
				b := &p.Blocks[sy*p.Wide+sx]
				b.Mask, b.Start = g.block.mask, uint32(len(g.values))
				for m := b.Mask; m != 0; m &= m - 1 {
					g.values = append(g.values, g.block.values[mathbits.TrailingZeros64(m)])
				}
			}
		}
		if err := g.r.Err(); err != nil {
			return err
		}
	}
	return g.d.End()
}

// readBlock reads the coefficients of a block.
func (g *groupReader) readBlock(order *[64]uint8, context, left int) error {
	n := g.blocks.count
	clusters := g.clusters[n*countContexts+coefContexts*context:][:coefContexts]
	b := &g.block
	b.mask = 0
	before := 1
	if left > 4 {
		before = 0
	}
	for k := 1; left > 0; k++ {
		if left > 64-k {
			return malformed("a block has more coefficients than there are")
		}
		u := g.d.ReadCluster(int(clusters[int(leftContext[left]+placeContext[k])+before]))
		before = 0
		if u != 0 {
			if u > 2*maxAC {
				return malformed("a coefficient is too large")
			}
			place := order[k] & 63
			b.values[place] = int16(bits.Signed(u))
			b.mask |= 1 << place
			before = 1
			left--
		}
	}
	return nil
}
