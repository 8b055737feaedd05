package neuquant

import (
	"slices"
	"sort"
)

// The refinement by exact counts as README.md says it, slow and on ints.

// refCounted is a colour of part 1 or 2 and how often it occurs, or an entry.
type refCounted struct {
	c       refColour
	part, w int
}

// refExactly sets the entries of parts 1 and 2, where there are pixels of them.
func refExactly(parts [3][]refColour, entries *[3][]refColour, passes int) {
	var list, start []refCounted
	for k := 1; k <= 2; k++ {
		at := map[refColour]int{}
		for _, c := range parts[k] {
			if _, ok := at[c]; !ok {
				at[c] = len(list)
				list = append(list, refCounted{c, k, 0})
			}
			list[at[c]].w++
		}
		for _, e := range entries[k] {
			if len(parts[k]) > 0 {
				start = append(start, refCounted{e, k, 0})
			}
		}
	}
	colours := len(list)
	if len(parts[0]) > 0 {
		colours++
	}
	best, least := refMoves(list, start, passes)
	if least > 0 && colours <= 1024 {
		if other, sum := refMoves(list, refMerged(list, len(start)), passes); sum < least {
			best = other
		}
	}
	for k := 1; k <= 2; k++ {
		if len(parts[k]) > 0 {
			entries[k] = nil
		}
	}
	for _, e := range best {
		entries[e.part] = append(entries[e.part], e.c)
	}
}

// refGroup is the number, the mean and the error of colours, and by how far they spread.
func refGroup(list []refCounted) (w int, mean refColour, floor [4]int, err int, spread [4]int) {
	var s, q [4]int
	for _, c := range list {
		w += c.w
		for t, v := range c.c {
			s[t] += c.w * v
			q[t] += c.w * v * v
		}
	}
	if w == 0 {
		return
	}
	for t := range s {
		floor[t] = s[t] / w
		spread[t] = (w*q[t] - s[t]*s[t] + w - 1) / w
		err += spread[t]
	}
	return w, refMean(s, w), floor, err, spread
}

func refMoves(list, entries []refCounted, passes int) (best []refCounted, least int) {
	least = -1
	for pass := 0; ; pass++ {
		n := len(entries)
		groups, loss, sum := make([][]refCounted, n), make([]int, n), 0
		for _, c := range list {
			var of []refColour
			var numbers []int
			for k, e := range entries {
				if e.part == c.part {
					of, numbers = append(of, e.c), append(numbers, k)
				}
			}
			at, d1, d2 := refNearest(c.c, of)
			k := numbers[at]
			groups[k] = append(groups[k], c)
			sum += c.w * d1
			if loss[k] += c.w * (d2 - d1); d2 < 0 {
				loss[k] = 1 << 62
			}
		}
		if least < 0 || sum < least {
			best, least = slices.Clone(entries), sum
		}
		if sum == 0 || pass == passes {
			return best, least
		}
		before := slices.Clone(entries)
		low, high, gain := make([]refColour, n), make([]refColour, n), make([]int, n)
		for k, g := range groups {
			w, mean, floor, err, spread := refGroup(g)
			if w == 0 {
				continue
			}
			entries[k].c = mean
			axis := 0
			for t := range spread {
				if spread[t] > spread[axis] {
					axis = t
				}
			}
			var sides [2][]refCounted
			for _, c := range g {
				i := 0
				if c.c[axis] > floor[axis] {
					i = 1
				}
				sides[i] = append(sides[i], c)
			}
			w0, m0, _, e0, _ := refGroup(sides[0])
			w1, m1, _, e1, _ := refGroup(sides[1])
			if w0 > 0 && w1 > 0 {
				low[k], high[k], gain[k] = m0, m1, max(0, err-e0-e1)
			}
		}
		moved := false
		if pass < passes-2 {
			from, to := make([]int, n), make([]int, n)
			for k := range entries {
				from[k], to[k] = k, k
			}
			sort.SliceStable(from, func(i, j int) bool { return loss[from[i]] < loss[from[j]] })
			sort.SliceStable(to, func(i, j int) bool { return gain[to[i]] > gain[to[j]] })
			left, grown, kept := map[int]bool{}, map[int]bool{}, map[int]int{}
			for _, e := range entries {
				kept[e.part]++
			}
			var next []refCounted
			for i := range min(n, max(1, n>>(2+pass/4))) {
				a, b := from[i], to[i]
				if loss[a] >= gain[b] || grown[a] || left[b] || a == b {
					break
				}
				if kept[entries[a].part] == 1 {
					continue
				}
				kept[entries[a].part]--
				left[a], grown[b], moved = true, true, true
				entries[b].c = low[b]
				next = append(next, refCounted{high[b], entries[b].part, 0})
			}
			var rest []refCounted
			for k, e := range entries {
				if !left[k] {
					rest = append(rest, e)
				}
			}
			entries = append(rest, next...)
			sort.SliceStable(entries, func(i, j int) bool { return entries[i].part < entries[j].part })
		}
		if !moved && slices.Equal(before, entries) {
			return best, least
		}
	}
}

// refMerged merges the two colours whose merger costs least until n are left.
func refMerged(list []refCounted, n int) []refCounted {
	type cluster struct {
		sum     [4]int
		w, part int
	}
	var all []cluster
	for _, c := range list {
		m := cluster{w: c.w, part: c.part}
		for t, v := range c.c {
			m.sum[t] = c.w * v
		}
		all = append(all, m)
	}
	cost := func(a, b cluster) (d int) {
		for t := range a.sum {
			v := (16*a.sum[t]+a.w/2)/a.w - (16*b.sum[t]+b.w/2)/b.w
			d += v * v
		}
		return 16 * a.w * b.w / (a.w + b.w) * d
	}
	for len(all) > n {
		a, b, least := -1, -1, 0
		for i := range all {
			for k := i + 1; k < len(all); k++ {
				if all[i].part != all[k].part {
					continue
				}
				if c := cost(all[i], all[k]); a < 0 || c < least {
					a, b, least = i, k, c
				}
			}
		}
		if a < 0 {
			break
		}
		for t := range all[a].sum {
			all[a].sum[t] += all[b].sum[t]
		}
		all[a].w += all[b].w
		all = slices.Delete(all, b, b+1)
	}
	var out []refCounted
	for _, c := range all {
		out = append(out, refCounted{refMean(c.sum, c.w), c.part, 0})
	}
	return out
}
