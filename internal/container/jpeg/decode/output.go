package decode

// output turns the samples of components into rows of pixels. Rows follow the
// decoded ones at a distance, because upsampling looks at the row below:
//
//	row of MCUs   i-1        i          i+1
//	            |----------|----------|----------|
//	ring        |   kept   | decoded  |            in samples of each component
//	emitted     ..................^                 all but the last vMax rows
type output struct {
	next    int // first row that is not in pix yet
	convert func(to []byte, lines *[4][]byte)
}

// emit writes the rows of pixels that are known once a row of MCUs is decoded.
func (d *decoder) emit(row int) {
	end := min(d.height, (row+1)*8*d.vMax-d.vMax)
	if row == d.mcuRows-1 {
		end = d.height
	}
	pixel := min(len(d.components), 3)
	var lines [4][]byte
	for ; d.out.next < end; d.out.next++ {
		y := d.out.next
		for i := range d.components {
			lines[i] = d.components[i].upsampled(y)
		}
		d.out.convert(d.pix[y*d.width*pixel:(y+1)*d.width*pixel], &lines)
	}
}

// finish writes what is kept as coefficients.
func (d *decoder) finish() error {
	if !d.multiple {
		return nil
	}
	smooth := d.smoothing()
	for row := range d.mcuRows {
		for i := range d.components {
			c := &d.components[i]
			switch {
			case c.quant == nil:
				// The file holds no scan of it.
				for k := range c.rows {
					c.rows[k] = 128
				}
			case smooth:
				d.smoothRow(c, row)
			default:
				d.inverseRow(c, row)
			}
		}
		d.emit(row)
	}
	return nil
}

func (d *decoder) inverseRow(c *component, row int) {
	for y := row * c.v; y < min((row+1)*c.v, c.blocksHigh); y++ {
		for x := range c.blocksWide {
			c.inverse(c.coefficient(x, y), x, y)
		}
	}
}

// coefficient returns block x, y of the component.
func (c *component) coefficient(x, y int) *[64]int16 {
	return (*[64]int16)(c.coefficients[64*(y*c.paddedWide+x):])
}
