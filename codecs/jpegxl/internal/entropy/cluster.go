package entropy

import (
	"math"

	"github.com/pelmill/pelmill/codecs/pool"
)

const (
	// fewTokens is the number of tokens below which a context is no centre.
	fewTokens = 24
)

// Clustering says how clusters are looked for; nil is the default.
type Clustering struct {
	newCluster int64 // what a context's tokens must cost more with every cluster for it to begin one
	most       int   // clusters
	passes     int   // that move contexts to the cluster with the lowest cost
}

var defaultClustering = Clustering{newCluster: 48 * bit, most: 96, passes: 2}

// FastClustering and ThoroughClustering take a part of the time and several times as long.
var (
	FastClustering     = &Clustering{newCluster: 48 * bit, most: 64, passes: 1}
	ThoroughClustering = &Clustering{newCluster: 38 * bit, most: 128, passes: 8}
)

// cluster groups contexts whose distributions are alike: it returns the cluster of each
// context and the tokens of each cluster.
func (how *Clustering) cluster(workers *pool.Pool, hists []histogram) ([]uint8, []histogram) {
	used := make([]int, 0, len(hists))
	for i := range hists {
		if hists[i].total > 0 {
			used = append(used, i)
		}
	}
	of := make([]uint8, len(hists))
	if len(used) == 0 {
		return of, []histogram{{}}
	}
	large := make([]int, 0, len(used))
	for _, i := range used {
		if hists[i].total >= fewTokens {
			large = append(large, i)
		}
	}
	if len(large) == 0 {
		large = used
	}
	centres := how.farthest(workers, hists, large, of)
	for range how.passes {
		centres = reassign(workers, hists, used, of, centres)
	}
	centres = mergeClusters(of, used, centres)
	return numbered(of, used, centres)
}

// farthest takes as centres the largest context, then again and again the one that the
// centres so far suit least, and puts every context to the nearest.
func (how *Clustering) farthest(workers *pool.Pool, hists []histogram, used []int, of []uint8) []histogram {
	least := make([]int64, len(used))
	next := 0
	for j, i := range used {
		least[j] = math.MaxInt64
		if hists[i].total > hists[used[next]].total {
			next = j
		}
	}
	var centres []histogram
	for {
		c := hists[used[next]]
		n := len(centres)
		centres = append(centres, c)
		workers.Spans(len(used), 256, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				if least[j] < how.newCluster && len(used) > 1024 {
					continue // it is near enough, and moves to the best cluster later
				}
				if d := hists[used[j]].distance(&c); d < least[j] {
					least[j] = d
					of[used[j]] = uint8(n)
				}
			}
		})
		least[next] = 0
		for j := range used {
			if least[j] > least[next] {
				next = j
			}
		}
		if least[next] < how.newCluster || len(centres) == how.most {
			return gather(hists, used, of, len(centres))
		}
	}
}

// gather sums the contexts of each cluster.
func gather(hists []histogram, used []int, of []uint8, n int) []histogram {
	counts := make([][]uint32, n)
	for _, i := range used {
		c := &counts[of[i]]
		for len(*c) < len(hists[i].counts) {
			*c = append(*c, 0)
		}
		for s, v := range hists[i].counts {
			(*c)[s] += v
		}
	}
	sums := make([]histogram, n)
	for i := range sums {
		sums[i] = newHistogram(counts[i])
	}
	return sums
}

// reassign moves every context to the cluster whose distribution codes it with the
// fewest bits.
func reassign(workers *pool.Pool, hists []histogram, used []int, of []uint8, centres []histogram) []histogram {
	n := len(centres)
	longest := 0
	for _, i := range used {
		longest = max(longest, len(hists[i].counts))
	}
	const never = 24 * bit // for tokens that a cluster does not have
	costs := make([]int64, n*longest)
	for i, c := range centres {
		for s := range longest {
			costs[i*longest+s] = never
			if s < len(c.counts) && c.counts[s] > 0 {
				costs[i*longest+s] = log2(c.total) - log2(c.counts[s])
			}
		}
	}
	workers.Spans(len(used), 256, func(lo, hi int) {
		for _, i := range used[lo:hi] {
			// The cluster that the context is in comes first: few of the others need be
			// looked at to the end. Equal costs go to the lowest.
			best, at := int64(math.MaxInt64), int(of[i])
			for next := -1; next < n; next++ {
				k := next
				if next < 0 {
					k = at
				}
				if centres[k].total == 0 {
					continue
				}
				cost := int64(0)
				row := costs[k*longest:][:longest]
				for s, c := range hists[i].counts {
					if cost += int64(c) * row[s]; cost > best {
						break
					}
				}
				if cost < best || cost == best && k < at {
					best, at = cost, k
				}
			}
			of[i] = uint8(at)
		}
	})
	return gather(hists, used, of, n)
}

// mergeClusters joins clusters as long as two together cost less, their headers included.
func mergeClusters(of []uint8, used []int, centres []histogram) []histogram {
	n := len(centres)
	into := make([]int, n)
	headers := make([]int64, n)
	for i := range into {
		into[i] = i
		headers[i] = centres[i].header()
	}
	gain := func(i, j int) int64 {
		both := centres[i].plus(&centres[j])
		return centres[i].entropy + centres[j].entropy + headers[i] + headers[j] - both.entropy - both.header()
	}
	gains := make([]int64, n*n)
	for i := range n {
		for j := range i {
			gains[i*n+j] = gain(i, j)
		}
	}
	for {
		best, a, b := int64(0), -1, -1
		for i := range n {
			for j := range i {
				if into[i] == i && into[j] == j && gains[i*n+j] > best {
					best, a, b = gains[i*n+j], i, j
				}
			}
		}
		if a < 0 {
			break
		}
		centres[b] = centres[b].plus(&centres[a])
		headers[b] = centres[b].header()
		into[a] = b
		for k := range n {
			if into[k] == k && k != b {
				gains[max(k, b)*n+min(k, b)] = gain(k, b)
			}
		}
	}
	for _, i := range used {
		k := int(of[i])
		for into[k] != k {
			k = into[k]
		}
		of[i] = uint8(k)
	}
	return centres
}

// numbered gives clusters their numbers in the order of their first context, which is
// what maps of them are coded best with. Contexts without tokens follow the one before.
func numbered(of []uint8, used []int, centres []histogram) ([]uint8, []histogram) {
	number := make([]int, len(centres))
	var kept []histogram
	next := 0
	last := uint8(0)
	for i := range of {
		if next < len(used) && used[next] == i {
			next++
			k := of[i]
			if number[k] == 0 {
				kept = append(kept, centres[k])
				number[k] = len(kept)
			}
			last = uint8(number[k] - 1)
		}
		of[i] = last
	}
	return of, kept
}
