package neuquant

import "slices"

// merged is colours that have become one.
type merged struct {
	moments
	colour [4]int32 // the mean, in 1/16
	part   int
	near   int    // of those behind it, the one with which it costs the least to be merged; -1: none
	cost   uint64 // of that, see merged.with
}

// merge sets the entries to what is left of the colours when the two whose merger costs
// least, of a part each time, are merged until there are as many as entries (Ward,
// "Hierarchical grouping to optimize an objective function", 1963). Where there are hardly
// more colours than entries nothing comes nearer to the best.
func (x *exactly) merge() {
	var list []merged
	for part := range x.part {
		p := &x.part[part]
		for i, v := range p.colours {
			m := merged{part: part}
			m.add(v, uint64(p.weights[i]))
			m.place()
			list = append(list, m)
		}
	}
	live := make([]int, len(list)) // the numbers of those that are left, rising
	for i := range live {
		live[i] = i
	}
	for at := range live {
		nearest(list, live[at:])
	}
	for len(live) > len(x.entries) {
		a := -1
		for _, i := range live {
			if list[i].near >= 0 && (a < 0 || list[i].cost < list[a].cost) {
				a = i
			}
		}
		if a < 0 {
			break
		}
		b := list[a].near
		list[a].join(&list[b].moments)
		list[a].place()
		at, _ := slices.BinarySearch(live, b)
		live = slices.Delete(live, at, at+1)
		for at, i := range live {
			switch m := &list[i]; {
			case i == a || m.near == a || m.near == b:
				nearest(list, live[at:])
			case i < a:
				m.offer(list, a)
			}
		}
	}
	var of [2][]uint32
	for _, i := range live {
		of[list[i].part] = append(of[list[i].part], list[i].mean())
	}
	x.entries, x.first = append(of[0], of[1]...), len(of[0])
}

func (s *moments) join(o *moments) {
	s.w += o.w
	for t := range s.s {
		s.s[t] += o.s[t]
		s.q[t] += o.q[t]
	}
}

func (m *merged) place() {
	for t, s := range m.s {
		m.colour[t] = int32((16*s + m.w/2) / m.w)
	}
}

// with is what the sum of squared errors grows by where two become one, in 1/4096.
func (m *merged) with(o *merged) uint64 {
	d := uint64(0)
	for t, v := range m.colour {
		e := int64(v - o.colour[t])
		d += uint64(e * e)
	}
	return 16 * m.w * o.w / (m.w + o.w) * d
}

// nearest finds which of the others in live is the nearest to the first.
func nearest(list []merged, live []int) {
	m := &list[live[0]]
	m.near = -1
	for _, k := range live[1:] {
		m.offer(list, k)
	}
}

// offer takes k, which lies behind m, as its nearest where it is, the lowest of equals.
func (m *merged) offer(list []merged, k int) {
	if o := &list[k]; o.part == m.part {
		if cost := m.with(o); m.near < 0 || cost < m.cost || cost == m.cost && k < m.near {
			m.near, m.cost = k, cost
		}
	}
}
