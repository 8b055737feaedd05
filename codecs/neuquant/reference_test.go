package neuquant

import "sort"

// The slow, obviously right versions that the steps are compared with: Dekker's program
// with its own variables, and the refinement and the mapping as README.md says them, on
// ints and without any table that is not in the text.

// refColour is R, G, B, A.
type refColour [4]int

func refColours(p *problem) (list []refColour) {
	for i := range p.n() {
		list = append(list, refUnpack(p.at(i)))
	}
	return list
}

func refUnpack(v uint32) refColour {
	return refColour{int(v & 255), int(v >> 8 & 255), int(v >> 16 & 255), int(v >> 24)}
}

func refPack(list []refColour) (out []uint32) {
	for _, c := range list {
		out = append(out, uint32(c[0]|c[1]<<8|c[2]<<16|c[3]<<24))
	}
	return out
}

func refAbs(a int) int {
	if a < 0 {
		return -a
	}
	return a
}

// refTrain is the training with frequencies and biases as Dekker has them.
func refTrain(p []refColour, k, sample int, opaque bool) []refColour {
	type neuron struct {
		c          [4]int
		freq, bias int
	}
	net := make([]neuron, k)
	for i := range net {
		v := i << 12 / k
		net[i] = neuron{c: [4]int{v, v, v, v}, freq: 65536 / k}
		if opaque {
			net[i].c[3] = 255 << 4
		}
	}
	total := len(p)
	if 3*total < 1509 {
		sample = 1
	}
	samples := max(1, total/sample)
	delta := max(1, samples/100)
	alphadec := 30 + (sample-1)/3
	alpha := 1024
	radius := (k >> 3) << 6
	step := 1
	if 3*total >= 1509 {
		step = 503
		for _, prime := range []int{487, 491, 499} {
			if 3*total%prime != 0 {
				step = prime
			}
		}
	}
	pos := 0
	for done := 1; done <= samples; done++ {
		rad := radius >> 6
		if rad <= 1 {
			rad = 0
		}
		var v [4]int
		for t := range v {
			v[t] = p[pos][t] * 16
		}
		w1, w2, least1, least2 := -1, -1, 0, 0
		for i := range net {
			d := 0
			for t := range v {
				d += refAbs(net[i].c[t] - v[t])
			}
			if w1 < 0 || d < least1 {
				w1, least1 = i, d
			}
			if e := d - net[i].bias>>12; w2 < 0 || e < least2 {
				w2, least2 = i, e
			}
		}
		for i := range net {
			f := net[i].freq >> 10
			net[i].freq -= f
			net[i].bias += f << 10
		}
		net[w1].freq += 64
		net[w1].bias -= 65536
		for i := range net {
			d := refAbs(i - w2)
			for t := range v {
				x := net[i].c[t] - v[t]
				if d == 0 {
					net[i].c[t] -= alpha * x / 1024
				} else if d < rad {
					net[i].c[t] -= alpha * ((rad*rad - d*d) * 256 / (rad * rad)) * x / (1 << 18)
				}
			}
		}
		pos += step
		for pos >= total {
			pos -= total
		}
		if done%delta == 0 {
			alpha -= alpha / alphadec
			radius -= radius / 30
		}
	}
	out := make([]refColour, k)
	for i := range out {
		for t := range out[i] {
			out[i][t] = min(255, max(0, (net[i].c[t]+8)>>4))
		}
		if opaque {
			out[i][3] = 255
		}
	}
	return out
}

func refDistance(a, b refColour) (d int) {
	for t := range a {
		d += (a[t] - b[t]) * (a[t] - b[t])
	}
	return d
}

// refNearest is the first entry of least distance, its distance, and the least of the
// others'.
func refNearest(c refColour, entries []refColour) (at, d1, d2 int) {
	at, d1, d2 = 0, refDistance(c, entries[0]), -1
	for k, e := range entries[1:] {
		d := refDistance(c, e)
		if d < d1 {
			at, d1 = k+1, d
		}
	}
	for k, e := range entries {
		if d := refDistance(c, e); k != at && (d2 < 0 || d < d2) {
			d2 = d
		}
	}
	return at, d1, d2
}

type refBin struct {
	number, w int
	sum, c    [4]int
}

func refBins(p []refColour, opaque bool) (list []refBin) {
	of := map[int]*refBin{}
	for _, c := range p {
		number := (c[0]>>2)<<12 | (c[1]>>2)<<6 | c[2]>>2
		if !opaque {
			number = (c[0]>>3)<<13 | (c[1]>>3)<<8 | (c[2]>>3)<<3 | c[3]>>5
		}
		b := of[number]
		if b == nil {
			b = &refBin{number: number}
			of[number] = b
		}
		b.w++
		for t := range c {
			b.sum[t] += c[t]
		}
	}
	for _, b := range of {
		b.c = refMean(b.sum, b.w)
		list = append(list, *b)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].number < list[j].number })
	return list
}

func refMean(sum [4]int, n int) (m refColour) {
	for t := range m {
		m[t] = (sum[t] + n/2) / n
	}
	return m
}

// refRefine is the refinement in place.
func refRefine(bins []refBin, entries []refColour, passes int) {
	n := len(entries)
	for pass := 0; pass < passes; pass++ {
		cnt, err, loss := make([]int, n), make([]int, n), make([]int, n)
		sum, tt, qq := make([][4]int, n), make([][4]int, n), make([][4]int, n)
		of := make([]int, len(bins))
		for i, b := range bins {
			a, d1, d2 := refNearest(b.c, entries)
			of[i] = a
			cnt[a] += b.w
			err[a] += b.w * d1
			loss[a] += b.w * (d2 - d1)
			for t := range b.c {
				sum[a][t] += b.sum[t]
				tt[a][t] += b.w * b.c[t]
				qq[a][t] += b.w * b.c[t] * b.c[t]
			}
		}
		for k := range entries {
			if cnt[k] > 0 {
				entries[k] = refMean(sum[k], cnt[k])
			} else {
				loss[k] = -1
			}
		}
		most := n >> (2 + pass)
		if pass == passes-1 {
			most = 0
		}
		lo, hi := make([]int, n), make([]int, n)
		for k := range entries {
			lo[k], hi[k] = k, k
		}
		sort.SliceStable(lo, func(i, j int) bool { return loss[lo[i]] < loss[lo[j]] })
		sort.SliceStable(hi, func(i, j int) bool { return err[hi[i]] > err[hi[j]] })
		wasLo, wasHi := map[int]bool{}, map[int]bool{}
		pairs := 0
		for i := range n {
			if err[hi[i]] == 0 || lo[i] == hi[i] || wasHi[lo[i]] || wasLo[hi[i]] {
				break
			}
			if cnt[lo[i]] > 0 && (i >= most || 2*loss[lo[i]] > err[hi[i]]) {
				break
			}
			wasLo[lo[i]], wasHi[hi[i]] = true, true
			pairs++
		}
		for i := range pairs {
			k := hi[i]
			axis, spread := 0, -1
			var q [4]int
			for t := range q {
				q[t] = tt[k][t] / cnt[k]
				if v := qq[k][t] - 2*q[t]*tt[k][t] + cnt[k]*q[t]*q[t]; v > spread {
					axis, spread = t, v
				}
			}
			var na, nb int
			var sa, sb [4]int
			for j, b := range bins {
				if of[j] != k {
					continue
				}
				for t := range b.sum {
					if b.c[axis] <= q[axis] {
						sa[t] += b.sum[t]
					} else {
						sb[t] += b.sum[t]
					}
				}
				if b.c[axis] <= q[axis] {
					na += b.w
				} else {
					nb += b.w
				}
			}
			if na > 0 && nb > 0 {
				entries[k], entries[lo[i]] = refMean(sa, na), refMean(sb, nb)
			}
		}
	}
}

// refSolve is a whole solution.
func refSolve(p *problem, o *Options) (entries []uint32, index []uint8) {
	colours := refColours(p)
	var e []refColour
	if p.entries == 1 {
		var sum [4]int
		for _, c := range colours {
			for t := range c {
				sum[t] += c[t]
			}
		}
		e = []refColour{refMean(sum, len(colours))}
	} else {
		e = refTrain(colours, p.entries, o.sample, p.opaque)
		refRefine(refBins(colours, p.opaque), e, o.refine)
	}
	for _, c := range colours {
		at, _, _ := refNearest(c, e)
		index = append(index, uint8(at))
	}
	return refPack(e), index
}
