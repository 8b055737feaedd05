package wavelet

// Transform computes with a filter, and owns the memory that this takes. Several goroutines
// need one each.
type Transform[T Sample] struct {
	filter *Filter[T]
	order  Order

	rows    [ringRows]line[T]
	work    line[T]
	out     []T    // a row on its way to a sink
	scratch [2][]T // LL bands between levels
}

// ringRows is the number of rows that are in work at a time: more than the sum of the steps' reaches and
// the last one's, which is 9 for 13/7-T, and a power of two.
const ringRows = 16

// New makes a transform for one goroutine at a time.
func New[T Sample](filter *Filter[T], order Order) *Transform[T] {
	return &Transform[T]{filter: filter, order: order}
}

// ForwardLevel splits src into bands, which must not overlap it. Parities are those of the
// coordinates of the first sample.
func (t *Transform[T]) ForwardLevel(bands Bands[T], src Plane[T], px, py int) {
	t.ForwardRows(bands, src, px, py, 0, src.Height)
}

// ForwardRows is the part of ForwardLevel that writes the rows of bands to which the rows from
// first to last-1 of src correspond: row y of src becomes row y/2 of LL and HL, or of LH and HH. Parts may be
// computed at the same time, by a transform each.
func (t *Transform[T]) ForwardRows(bands Bands[T], src Plane[T], px, py, first, last int) {
	t.ForwardFrom(bands, src.Width, src.Height, src.Row, px, py, first, last)
}

// ForwardFrom is ForwardRows of a plane that need not be in memory: source returns its row y, until the next call.
// It is called once for each row that is wanted, in their order.
func (t *Transform[T]) ForwardFrom(bands Bands[T], width, height int, source func(y int) []T, px, py, first, last int) {
	if width == 0 || height == 0 {
		return
	}
	t.layOut(width, px)
	load := func(y int, row *line[T]) {
		row.split(source(y))
		if t.order == RowsFirst {
			t.forwardLine(row)
		}
	}
	direct := t.filter.splitRow != nil && t.order == ColumnsFirst && px == 0 && width > 1
	store := func(y int, row *line[T]) {
		low, high := bands.rows(y, py)
		if direct {
			t.filter.splitRow(low, high, row.low(), row.high())
			return
		}
		if t.order == ColumnsFirst {
			row = t.workOn(row)
			t.forwardLine(row)
		}
		copy(low, row.low())
		copy(high, row.high())
	}
	t.columns(height, py, first, last, true, load, store)
}

// InverseLevel joins bands to dst, which must not overlap them.
func (t *Transform[T]) InverseLevel(dst Plane[T], bands Bands[T], px, py int) {
	t.InverseRows(dst, bands, px, py, 0, dst.Height)
}

// InverseRows is the part of InverseLevel that writes the rows from first to last-1 of dst. Parts may be computed at the
// same time, by a transform each.
func (t *Transform[T]) InverseRows(dst Plane[T], bands Bands[T], px, py, first, last int) {
	t.inverseRows(bands, dst.Width, dst.Height, px, py, first, last, func(y int, row *line[T]) { row.join(dst.Row(y)) })
}

// InverseTo is InverseRows for a plane that need not be in memory: sink takes its row y, which is the transform's again
// after the call.
func (t *Transform[T]) InverseTo(width, height int, sink func(y int, row []T), bands Bands[T], px, py, first, last int) {
	if cap(t.out) < width {
		t.out = make([]T, width)
	}
	t.inverseRows(bands, width, height, px, py, first, last, func(y int, row *line[T]) {
		out := t.out[:width]
		row.join(out)
		sink(y, out)
	})
}

func (t *Transform[T]) inverseRows(bands Bands[T], width, height int, px, py, first, last int, joined func(y int, row *line[T])) {
	if width == 0 || height == 0 {
		return
	}
	t.layOut(width, px)
	direct := t.filter.joinRow != nil && t.order == ColumnsFirst && px == 0 && width > 1
	load := func(y int, row *line[T]) {
		low, high := bands.rows(y, py)
		if direct {
			t.filter.joinRow(row.low(), row.high(), low, high)
			return
		}
		copy(row.low(), low)
		copy(row.high(), high)
		if t.order == ColumnsFirst {
			t.inverseLine(row)
		}
	}
	store := func(y int, row *line[T]) {
		if t.order == RowsFirst {
			row = t.workOn(row)
			t.inverseLine(row)
		}
		joined(y, row)
	}
	t.columns(height, py, first, last, false, load, store)
}

// rows are the rows of two bands to which row y of the plane corresponds.
func (b *Bands[T]) rows(y, parity int) (low, high []T) {
	if (y+parity)&1 == 0 {
		return b.LL.Row(y >> 1), b.HL.Row(y >> 1)
	}
	return b.LH.Row(y >> 1), b.HH.Row(y >> 1)
}

func (t *Transform[T]) layOut(width, parity int) {
	for i := range t.rows {
		t.rows[i].layOut(width, parity)
	}
	t.work.layOut(width, parity)
}

// workOn copies a row that columns still need.
func (t *Transform[T]) workOn(row *line[T]) *line[T] {
	copy(t.work.samples, row.samples)
	return &t.work
}
