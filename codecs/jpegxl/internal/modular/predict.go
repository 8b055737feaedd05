package modular

import mathbits "math/bits"

// predictor finds leaf and prediction for the samples of a channel, in their order.
type predictor struct {
	tree     Tree
	channel  *Channel
	weighted *weightedState // nil: not in use
	earlier  []*Channel     // of the same size, the nearest first
	values   []int32        // of the properties
	leaves   []*Node        // by the weighted property, where the tree decides on nothing else
	rows     bool           // weightedRow does what this tree wants
	residual [][]int32      // of each earlier channel: what its clamped gradient leaves, in this row

	y        int
	now      []int32 // row y
	n1, n2   []int32 // the rows above; nil where there is none
	gradient int32   // property 9 of the sample before
}

func newPredictor(tree Tree, h *weights, channels []*Channel, index int) *predictor {
	p := &predictor{tree: tree, channel: channels[index]}
	weighted, earlier := tree.uses()
	if weighted {
		p.weighted = newWeightedState(h, p.channel.Width)
	}
	for i := index - 1; i >= 0 && len(p.earlier) < earlier; i-- {
		if c := channels[i]; c.Width == p.channel.Width && c.Height == p.channel.Height {
			p.earlier = append(p.earlier, c)
		}
	}
	p.values = make([]int32, max(ownProperties+perChannel*earlier, ownProperties))
	if weighted {
		p.leaves = tree.weightedLeaves()
	}
	p.rows = *h == standardWeights && tree.fitsRows()
	if p.rows {
		if p.weighted == nil {
			p.weighted = newWeightedState(h, p.channel.Width)
		}
		for range p.earlier {
			p.residual = append(p.residual, make([]int32, p.channel.Width))
		}
	}
	return p
}

// fitsRows says whether a tree of more than one leaf has only what weightedRow knows.
func (t Tree) fitsRows() bool {
	for _, n := range t {
		switch {
		case n.Property == 8 || n.Property == 13 || n.Property == 14:
			return false
		case n.Property >= ownProperties && (n.Property-ownProperties)%perChannel != 3:
			return false
		case n.Property < 0 && (n.Predictor == 9 || n.Predictor == 13):
			return false
		}
	}
	return len(t) > 1 || t[0].Predictor == PredictWeighted
}

// row begins a row.
func (p *predictor) row(y int) {
	w := p.channel.Width
	at := func(y int) []int32 {
		if y < 0 {
			return nil
		}
		return p.channel.Samples[y*w : (y+1)*w]
	}
	p.y, p.now, p.n1, p.n2 = y, at(y), at(y-1), at(y-2)
	p.gradient = 0
	if p.weighted != nil {
		p.weighted.row(y)
	}
}

// around are the samples near the current one; outside the channel they are replaced
// (H.3).
type around struct{ w, n, nw, ne, nn, ww, nee int32 }

func (p *predictor) around(x int) (a around) {
	if x > 0 {
		a.w = p.now[x-1]
	} else if p.n1 != nil {
		a.w = p.n1[0]
	}
	a.n, a.nw = a.w, a.w
	if p.n1 != nil {
		a.n = p.n1[x]
		if x > 0 {
			a.nw = p.n1[x-1]
		}
	}
	a.ne = a.n
	if p.n1 != nil && x+1 < len(p.n1) {
		a.ne = p.n1[x+1]
	}
	a.ww = a.w
	if x > 1 {
		a.ww = p.now[x-2]
	}
	a.nn = a.n
	if p.n2 != nil {
		a.nn = p.n2[x]
	}
	a.nee = a.ne
	if p.n1 != nil && x+2 < len(p.n1) {
		a.nee = p.n1[x+2]
	}
	return a
}

func abs(v int32) int32 {
	if v < 0 {
		return -v
	}
	return v
}

// properties fills the values that decisions are made on (H.4.1).
func (p *predictor) properties(x int, a *around) (weighted int64) {
	v := p.values
	v[2], v[3] = int32(p.y), int32(x)
	v[4], v[5], v[6], v[7] = abs(a.n), abs(a.w), a.n, a.w
	v[8] = a.w - p.gradient
	p.gradient = a.w + a.n - a.nw
	v[9] = p.gradient
	v[10], v[11], v[12], v[13], v[14] = a.w-a.nw, a.nw-a.n, a.n-a.ne, a.n-a.nn, a.w-a.ww
	if p.weighted != nil {
		weighted, v[PropertyWeighted] = p.weighted.predict(x, a)
	}
	for i, c := range p.earlier {
		earlierProperties(v[ownProperties+perChannel*i:], c, x, p.y)
	}
	return weighted
}

// earlierProperties are those of a channel that was decoded before.
func earlierProperties(v []int32, c *Channel, x, y int) {
	row := c.Samples[y*c.Width:]
	s := row[x]
	var left int32
	if x > 0 {
		left = row[x-1]
	}
	top, corner := left, left
	if y > 0 {
		above := c.Samples[(y-1)*c.Width:]
		top = above[x]
		if x > 0 {
			corner = above[x-1]
		}
	}
	d := s - clampedGradient(left, top, corner)
	v[0], v[1], v[2], v[3] = abs(s), s, abs(d), d
}

// mostWeighted bounds the table of leaves by the weighted property.
const mostWeighted = 1 << 10

// weightedLeaves lists the leaves for the values of the weighted property up to
// mostWeighted on both sides, or nil where the tree decides on more.
func (t Tree) weightedLeaves() []*Node {
	for _, n := range t {
		if n.Property >= 0 && (n.Property != PropertyWeighted || n.Split < -mostWeighted || n.Split >= mostWeighted) {
			return nil
		}
	}
	list := make([]*Node, 2*mostWeighted+1)
	for i := range list {
		n := &t[0]
		for n.Property >= 0 {
			if int32(i)-mostWeighted > n.Split {
				n = &t[n.Child]
			} else {
				n = &t[n.Child+1]
			}
		}
		list[i] = n
	}
	return list
}

// predict returns the leaf and the prediction for the sample at x.
func (p *predictor) predict(x int) (*Node, int64) {
	a := p.around(x)
	if p.leaves != nil {
		weighted, v := p.weighted.predict(x, &a)
		n := p.leaves[max(-mostWeighted, min(v, mostWeighted))+mostWeighted]
		if n.Predictor == PredictWeighted {
			return n, weighted
		}
		return n, predictOne(n.Predictor, &a, weighted)
	}
	weighted := p.properties(x, &a)
	n := &p.tree[0]
	for n.Property >= 0 {
		v := int32(0)
		if n.Property < len(p.values) {
			v = p.values[n.Property]
		}
		if v > n.Split {
			n = &p.tree[n.Child]
		} else {
			n = &p.tree[n.Child+1]
		}
	}
	return n, predictOne(n.Predictor, &a, weighted)
}

// weightedRow goes through row y of a channel whose tree has no more than fitsRows allows,
// with the standard weights: it is what predict and update do for each sample. Sample is
// told leaf and prediction at each place and returns the sample there.
func (p *predictor) weightedRow(y int, sample func(x int, leaf *Node, guess int32) int32) {
	p.row(y)
	s, width := p.weighted, p.channel.Width
	e, above := s.e[:width+2], s.above[:width+2]
	parts, partsAbove := s.s[:width+2], s.sAbove[:width+2]
	var leaves *[2*mostWeighted + 1]*Node
	if p.leaves != nil {
		leaves = (*[2*mostWeighted + 1]*Node)(p.leaves)
	} else {
		p.earlierRow(y)
	}
	now, north := p.now[:width], p.n1
	var w, tw int64
	for x := range now {
		if north != nil && x == 0 {
			w = int64(north[0])
		}
		n, ne := w, w
		if north != nil {
			n = int64(north[x])
			ne = n
			if x+1 < width {
				ne = int64(north[x+1])
			}
		}
		east, west := x, x
		if x < width-1 {
			east = x + 1
		}
		if x > 0 {
			west = x - 1
		}
		pn, pe, pw := &partsAbove[x], &partsAbove[east], &partsAbove[west]
		w0 := weightOf(pn[0]+pe[0]+pw[0], 0)
		w1 := weightOf(pn[1]+pe[1]+pw[1], 1)
		w2 := weightOf(pn[2]+pe[2]+pw[2], 1)
		w3 := weightOf(pn[3]+pe[3]+pw[3], 1)
		tn, tnw, tne := int64(above[x]), int64(above[west]), int64(above[east])
		property := tw
		if abs64(tn) > abs64(property) {
			property = tn
		}
		if abs64(tnw) > abs64(property) {
			property = tnw
		}
		if abs64(tne) > abs64(property) {
			property = tne
		}
		n8, w8, ne8 := n<<3, w<<3, ne<<3
		p0 := w8 + ne8 - n8
		p1 := n8 - (tn+tw+tne)*16>>5
		p2 := w8 - (tn+tw+tnw)*10>>5
		p3 := n8 - (tnw+tn+tne)*7>>5

		log := uint(mathbits.Len32(w0+w1+w2+w3)-5) & 31
		w0, w1, w2, w3 = w0>>log, w1>>log, w2>>log, w3>>log
		sum := w0 + w1 + w2 + w3
		all := int64(sum>>1) - 1 + p0*int64(w0) + p1*int64(w1) + p2*int64(w2) + p3*int64(w3)
		all = all * int64(reciprocals[(sum-1)&63]) >> 24
		if (tn^tw)|(tn^tnw) <= 0 {
			all = max(min(w8, ne8, n8), min(all, max(w8, ne8, n8)))
		}
		var leaf *Node
		guess := int32((all + 3) >> 3)
		if leaves != nil {
			leaf = leaves[max(-mostWeighted, min(int32(property), mostWeighted))+mostWeighted]
		} else {
			leaf = p.leaf(x, int32(property), int32(n), int32(w), int32(ne))
		}
		if leaf.Predictor != PredictWeighted {
			guess = p.other(leaf.Predictor, x, int32(n), int32(w), int32(ne))
		}
		v := sample(x, leaf, guess)

		// When a tree is learned, other bands read this row: samples that are there already are not written.
		if now[x] != v {
			now[x] = v
		}
		w = int64(v)
		v8 := w << 3
		e[x] = int32(all - v8)
		tw = int64(e[x])
		errs := [4]uint32{
			uint32((abs64(p0-v8) + 3) >> 3), uint32((abs64(p1-v8) + 3) >> 3),
			uint32((abs64(p2-v8) + 3) >> 3), uint32((abs64(p3-v8) + 3) >> 3),
		}
		parts[x] = errs
		next := &partsAbove[x+1]
		next[0] += errs[0]
		next[1] += errs[1]
		next[2] += errs[2]
		next[3] += errs[3]
	}
}

// corner is the sample above and to the left of x (H.3).
func (p *predictor) corner(x int, w int32) int32 {
	if p.n1 == nil || x == 0 {
		return w
	}
	return p.n1[x-1]
}

// leaf walks the tree for the sample at x.
func (p *predictor) leaf(x int, weighted, n, w, ne int32) *Node {
	nw := p.corner(x, w)
	v := (*[ownProperties]int32)(p.values)
	v[2], v[3], v[4], v[5], v[6], v[7] = int32(p.y), int32(x), abs(n), abs(w), n, w
	v[9], v[10], v[11], v[12], v[15] = w+n-nw, w-nw, nw-n, n-ne, weighted
	for i, r := range p.residual {
		p.values[ownProperties+perChannel*i+3] = r[x]
	}
	at := &p.tree[0]
	for at.Property >= 0 {
		next := at.Child + 1
		if at.Property < len(p.values) && p.values[at.Property] > at.Split || at.Property >= len(p.values) && 0 > at.Split {
			next = at.Child
		}
		at = &p.tree[next]
	}
	return at
}

// other is the prediction of another predictor than the weighted one.
func (p *predictor) other(predictor, x int, n, w, ne int32) int32 {
	a := around{n: n, w: w, ne: ne, nw: p.corner(x, w)}
	return int32(predictOne(predictor, &a, 0))
}

// earlierRow fills the residuals of row y of the earlier channels.
func (p *predictor) earlierRow(y int) {
	for i, out := range p.residual {
		c := p.earlier[i]
		row := c.Samples[y*c.Width:][:c.Width]
		if y == 0 {
			left := int32(0)
			for x, s := range row {
				out[x] = s - left
				left = s
			}
			continue
		}
		above := c.Samples[(y-1)*c.Width:][:c.Width]
		left, corner := int32(0), int32(0)
		for x, s := range row {
			out[x] = s - clampedGradient(left, above[x], corner)
			left, corner = s, above[x]
		}
	}
}

// update tells the weighted predictor the sample.
func (p *predictor) update(x int, v int32) {
	if p.weighted != nil {
		p.weighted.update(x, v)
	}
}

func clampedGradient(w, n, nw int32) int32 {
	low, high := min(w, n), max(w, n)
	switch {
	case nw > high:
		return low
	case nw < low:
		return high
	}
	return w + n - nw
}

// predictOne is one of the predictors (H.5.2).
func predictOne(predictor int, a *around, weighted int64) int64 {
	w, n, nw, ne := int64(a.w), int64(a.n), int64(a.nw), int64(a.ne)
	switch predictor {
	case PredictLeft:
		return w
	case PredictTop:
		return n
	case PredictAverage:
		return (w + n) / 2
	case PredictSelect:
		p := w + n - nw
		if abs64(p-w) < abs64(p-n) {
			return w
		}
		return n
	case PredictGradient:
		return int64(clampedGradient(a.w, a.n, a.nw))
	case PredictWeighted:
		return weighted
	case 7:
		return ne
	case 8:
		return nw
	case 9:
		return int64(a.ww)
	case 10:
		return (w + nw) / 2
	case 11:
		return (nw + n) / 2
	case 12:
		return (n + ne) / 2
	case 13:
		return (6*n - 2*int64(a.nn) + 7*w + int64(a.ww) + int64(a.nee) + 3*ne + 8) / 16
	}
	return 0
}

func abs64(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
