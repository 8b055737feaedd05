package modular

import (
	"cmp"
	"slices"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/entropy"
	"github.com/pelmill/pelmill/codecs/pool"
)

// searchedProperties and searchedPredictors are those that [Search] looks at: all but the
// stream, two earlier channels, and all predictors; of equals the first is taken.
var (
	searchedProperties = [...]int{PropertyChannel, PropertyWeighted, 9, 10, 11, 12, 7, 6, PropertyRow, PropertyColumn, 19, 23, 4, 5, 8, 13, 14, 16, 17, 18, 20, 21, 22}
	searchedPredictors = [...]int{PredictWeighted, PredictGradient, PredictLeft, PredictTop, PredictSelect, PredictAverage, 7, 8, 9, 10, 11, 12, 13, PredictZero}
)

const (
	mostSearched    = 1 << 23 // samples that a tree is searched with
	splitPredictors = 8       // that a decision is weighed with, on each side: the best ones of the node
)

// search is the state of [Search]. Samples are numbers: places and tokens have their values.
type search struct {
	workers *pool.Pool
	places  [len(searchedProperties)][]uint8
	tokens  [len(searchedPredictors)][]uint8
	cuts    [len(searchedProperties)][]int32
	cost    int64 // of a node, in 1/65536 bit, for the samples that are looked at
}

// Search returns a tree as [Learn] does, with smaller streams and for about ten times as long:
// it looks at all samples, and weighs a decision with the best predictor on either side.
func Search(workers *pool.Pool, streams [][]*Channel) *Decision {
	n := count(streams)
	bands, picked := pick(streams, max(1, ceil(n, mostSearched)))
	if picked == 0 {
		return &Decision{Predictor: PredictGradient}
	}
	s := &search{workers: workers, cost: nodeCost(n) * int64(picked) / int64(n)}
	for k := range s.tokens {
		s.tokens[k] = make([]uint8, picked)
	}
	var values [len(searchedProperties)][]int16
	for q := range values {
		values[q] = make([]int16, picked)
	}
	workers.Each(len(bands), func(i int) { s.collect(&bands[i], &values) })
	workers.Each(len(values), func(q int) {
		var places placeTable
		s.cuts[q] = places.cut(values[q])
		s.places[q] = make([]uint8, picked)
		for i, v := range values[q] {
			s.places[q][i] = places[int(v)+largestValue]
		}
		values[q] = nil
	})
	samples := make([]int32, picked)
	for i := range samples {
		samples[i] = int32(i)
	}
	properties := make([]int, len(searchedProperties))
	for q := range properties {
		properties[q] = q
	}
	return s.divide(samples, properties)
}

// collect finds properties and residuals of the samples of a band.
func (s *search) collect(b *band, values *[len(searchedProperties)][]int16) {
	all := Tree{{Property: ownProperties + 2*perChannel - 1, Child: 1}, {Property: -1, Predictor: PredictWeighted}, {Property: -1, Predictor: PredictWeighted}}
	p := newPredictor(all, &standardWeights, b.channels, b.index)
	p.values[PropertyChannel] = int32(b.index)
	at := b.at
	for y := b.from; y < b.to; y++ {
		p.row(y)
		for x, v := range p.now {
			near := p.around(x)
			weighted := p.properties(x, &near)
			p.update(x, v)
			if y < b.first() {
				continue
			}
			for q, property := range searchedProperties {
				value := int32(0)
				if property < len(p.values) {
					value = p.values[property]
				}
				values[q][at] = int16(max(-largestValue, min(value, largestValue)))
			}
			for k, predictor := range searchedPredictors {
				s.tokens[k][at] = uint8(entropy.SymbolOf(bits.Unsigned(v - int32(predictOne(predictor, &near, weighted)))))
			}
			at++
		}
	}
}

// candidate is a predictor, by its place among those searched, with the residuals that it
// leaves at a node.
type candidate struct {
	place  int
	counts [mostTokens]uint32
	sum    int64 // of n*log2(n) of counts
	raw    int64 // bits behind the tokens, in 1/65536
	cost   int64
}

// candidates are the predictors with the lowest costs, the lowest first, and longest is one
// more than the largest token of all.
func (s *search) candidates(samples []int32) (list []candidate, longest int) {
	list = make([]candidate, len(searchedPredictors))
	for k := range list {
		c := &list[k]
		c.place = k
		tokens := s.tokens[k]
		for _, i := range samples {
			c.counts[tokens[i]%mostTokens]++
		}
		for t, n := range c.counts {
			c.sum += entropy.NLog(n)
			c.raw += int64(n) * rawBits(t) << 16
			if n > 0 {
				longest = max(longest, t+1)
			}
		}
		c.cost = entropy.NLog(uint32(len(samples))) - c.sum + c.raw
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	return list[:splitPredictors], longest
}

// divide returns the tree of some of the samples, which it sorts by their leaves.
func (s *search) divide(samples []int32, properties []int) *Decision {
	list, longest := s.candidates(samples)
	leaf := &Decision{Predictor: searchedPredictors[list[0].place]}
	least := max(s.cost, leastGain)
	if len(samples) < 16 || list[0].cost < least {
		return leaf
	}
	gains, cuts := make([]int64, len(properties)), make([]int, len(properties))
	weigh := func(i int) { gains[i], cuts[i] = s.weigh(samples, properties[i], list, longest) }
	if len(samples) >= nodeSamples {
		s.workers.Each(len(properties), weigh)
	} else {
		for i := range properties {
			weigh(i)
		}
	}
	best := -1
	var useful []int
	for i, gain := range gains {
		if gain > least && (best < 0 || gain > gains[best]) {
			best = i
		}
		if gain >= least/2 {
			useful = append(useful, properties[i])
		}
	}
	if best < 0 {
		return leaf
	}
	q, at := properties[best], 0
	for i, sample := range samples {
		if int(s.places[q][sample]) <= cuts[best] {
			samples[at], samples[i] = samples[i], samples[at]
			at++
		}
	}
	return &Decision{Property: searchedProperties[q], Split: s.cuts[q][cuts[best]], Below: s.divide(samples[:at], useful), Above: s.divide(samples[at:], useful)}
}

// weigh returns the cut of a property that saves the most bits, and how many.
func (s *search) weigh(samples []int32, q int, list []candidate, longest int) (gain int64, at int) {
	cuts := len(s.cuts[q])
	total := uint32(len(samples))
	var counts [mostCuts + 1][mostTokens]uint32
	var low, high [mostCuts]int64 // of the best predictor on either side of a cut
	var below [mostCuts]uint32    // samples
	places := s.places[q]
	for k := range list {
		c := &list[k]
		for b := range cuts {
			clear(counts[b][:longest])
		}
		tokens := s.tokens[c.place]
		for _, i := range samples {
			counts[places[i]%(mostCuts+1)][tokens[i]%mostTokens]++
		}
		var left [mostTokens]uint32
		right := c.counts
		n := uint32(0)
		leftSum, rightSum := int64(0), c.sum
		leftRaw, rightRaw := int64(0), c.raw
		for b := range cuts {
			for t, c := range counts[b][:longest] {
				if c == 0 {
					continue
				}
				t %= mostTokens
				leftSum += entropy.NLog(left[t]+c) - entropy.NLog(left[t])
				rightSum += entropy.NLog(right[t]-c) - entropy.NLog(right[t])
				left[t] += c
				right[t] -= c
				n += c
				raw := int64(c) * rawBits(t) << 16
				leftRaw += raw
				rightRaw -= raw
			}
			l, r := entropy.NLog(n)-leftSum+leftRaw, entropy.NLog(total-n)-rightSum+rightRaw
			if k == 0 {
				low[b], high[b], below[b] = l, r, n
				continue
			}
			low[b], high[b] = min(low[b], l), min(high[b], r)
		}
	}
	moved := uint32(0)
	for b, n := range below[:cuts] {
		if n == moved || n == total {
			continue
		}
		moved = n
		if g := list[0].cost - low[b] - high[b]; g > gain {
			gain, at = g, b
		}
	}
	return gain, at
}
