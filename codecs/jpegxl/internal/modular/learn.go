package modular

import (
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/entropy"
	"github.com/pelmill/pelmill/codecs/pool"
)

// learnedProperties are those that decisions may be made on (H.4.1): all that weightedRow
// knows but for the sizes of neighbours. learnedPredictors are those that leaves may have;
// of equals the first is taken.
var (
	learnedProperties = [...]int{PropertyChannel, PropertyWeighted, 9, 10, 11, 12, 7, 6, PropertyRow, PropertyColumn, 19, 23}
	learnedPredictors = [...]int{PredictWeighted, PredictGradient, PredictLeft, PredictTop, PredictSelect}
)

const (
	leastSamples = 1 << 15 // that a tree is learned from, where there are as many
	mostSamples  = 1 << 17 // of more than leastSamples a quarter is taken, but no more than these
	nodeSamples  = 1 << 12 // of a node that are looked at first
	bandRows     = 16      // rows of a channel that are looked at together
	warmRows     = 2       // of them, those that only prepare the weighted predictor

	mostCuts     = 31   // values of a property at which samples may be divided
	largestValue = 2048 // values of properties beyond it are taken for it
	mostTokens   = 64   // of residuals

	leastGain = 30 << 16 // that a decision must save in the samples looked at, in 1/65536 bit
)

// nodeCost is about what a node costs in a stream of n samples, in 1/65536 bit. The few
// distributions of small streams cost more than the many of large ones.
func nodeCost(n int) int64 { return min(48<<16+1<<34/int64(n), 128<<16) }

// learnedSample is a sample: the place of each property's value between its cuts, and the
// token of the residual with each predictor.
type learnedSample struct {
	places [len(learnedProperties)]uint8
	tokens [len(learnedPredictors)]uint8
}

// band is rows of a channel.
type band struct {
	channels []*Channel
	index    int // of the channel
	from, to int // rows
	at       int // of its first sample among all
}

// learner is the state of learning.
type learner struct {
	samples []learnedSample
	values  [len(learnedProperties)][]int16
	cuts    [len(learnedProperties)][]int32
	cost    int64 // of a node, in 1/65536 bit for all samples that there are
	scale   int64 // samples that each of those looked at stands for, in 1/256
	counts  [len(learnedProperties)][mostCuts + 1][mostTokens]uint32
}

// Learn returns a tree for streams with channels of the same kinds, learned from some of the
// samples. A node is divided by the decision that saves the most bits, as long as that is
// more than it costs.
func Learn(workers *pool.Pool, streams [][]*Channel) *Decision {
	n := count(streams)
	bands, picked := pick(streams, ceil(n, max(leastSamples, min(n/4, mostSamples))))
	if picked == 0 {
		return &Decision{Predictor: PredictGradient}
	}
	l := &learner{samples: make([]learnedSample, picked), scale: int64(n) << 8 / int64(picked)}
	l.cost = nodeCost(n)
	for q := range l.values {
		l.values[q] = make([]int16, picked)
	}
	workers.Each(len(bands), func(i int) { l.collect(&bands[i]) })
	workers.Each(len(l.values), func(q int) { l.place(q) })
	all := make([]int, len(learnedProperties))
	for q := range all {
		all[q] = q
	}
	return l.divide(l.samples, all)
}

// count is the number of samples of streams.
func count(streams [][]*Channel) (n int) {
	for _, channels := range streams {
		for _, c := range channels {
			n += len(c.Samples)
		}
	}
	return n
}

// pick picks one of so many bands, and returns the number of their samples.
func pick(streams [][]*Channel, step int) (bands []band, samples int) {
	n := 0
	for _, channels := range streams {
		for i, c := range channels {
			for y := 0; y < c.Height; y += bandRows {
				if n++; n%step != 0 {
					continue
				}
				b := band{channels, i, y, min(y+bandRows, c.Height), samples}
				bands = append(bands, b)
				samples += (b.to - b.first()) * c.Width
			}
		}
	}
	return bands, samples
}

// first is the first row whose samples count.
func (b *band) first() int {
	if b.from == 0 {
		return 0
	}
	return min(b.from+warmRows, b.to)
}

// collect finds properties and residuals of the samples of a band.
func (l *learner) collect(b *band) {
	all := Tree{{Property: ownProperties + 2*perChannel - 1, Child: 1}, {Property: -1, Predictor: PredictWeighted}, {Property: -1, Predictor: PredictWeighted}}
	p := newPredictor(all, &standardWeights, b.channels, b.index)
	at := b.at
	v := p.values
	v[PropertyChannel] = int32(b.index)
	for y := b.from; y < b.to; y++ {
		warm := y < b.first()
		row := b.channels[b.index].Samples[y*p.channel.Width:][:p.channel.Width]
		p.weightedRow(y, func(x int, _ *Node, guess int32) int32 {
			s := row[x]
			if warm {
				return s
			}
			for q, property := range learnedProperties {
				l.values[q][at] = int16(max(-largestValue, min(v[property], largestValue)))
			}
			w, n := v[7], v[6]
			nw := w + n - v[9]
			a := around{w: w, n: n, nw: nw}
			tokens := &l.samples[at].tokens
			for k, predictor := range learnedPredictors {
				tokens[k] = uint8(entropy.SymbolOf(bits.Unsigned(s - int32(predictOne(predictor, &a, int64(guess))))))
			}
			at++
			return s
		})
	}
}

// place chooses the cuts of a property and finds the samples' places.
func (l *learner) place(q int) {
	var places placeTable
	l.cuts[q] = places.cut(l.values[q])
	for i, v := range l.values[q] {
		l.samples[i].places[q] = places[int(v)+largestValue]
	}
}

// placeTable holds the place between cuts of each value of a property, from -largestValue on.
type placeTable [2*largestValue + 1]uint8

// cut chooses cuts that leave about equal numbers of values between them.
func (p *placeTable) cut(values []int16) (cuts []int32) {
	var counts [len(p)]int
	for _, v := range values {
		counts[int(v)+largestValue]++
	}
	sum := 0
	for v, c := range counts {
		n := len(cuts)
		p[v] = uint8(n)
		if sum += c; c > 0 && n < mostCuts && sum < len(values) && sum*(mostCuts+1) >= len(values)*(n+1) {
			cuts = append(cuts, int32(v)-largestValue)
		}
	}
	return cuts
}

// divide returns the tree of some of the samples, which it sorts by their leaves.
func (l *learner) divide(samples []learnedSample, properties []int) *Decision {
	step := max(1, len(samples)/nodeSamples)
	k := bestPredictor(samples, step)
	leaf := &Decision{Predictor: learnedPredictors[k]}
	if len(samples) < 16 {
		return leaf
	}
	q, cut, useful := l.split(samples, properties, k, step)
	if q < 0 && step > 1 {
		q, cut, useful = l.split(samples, properties, k, 1)
	}
	if q < 0 {
		return leaf
	}
	at := 0
	for i := range samples {
		if int(samples[i].places[q]) <= cut {
			samples[at], samples[i] = samples[i], samples[at]
			at++
		}
	}
	return &Decision{Property: learnedProperties[q], Split: l.cuts[q][cut], Below: l.divide(samples[:at], useful), Above: l.divide(samples[at:], useful)}
}

// bestPredictor returns the predictor whose residuals cost least in some of the samples.
func bestPredictor(samples []learnedSample, step int) int {
	var counts [len(learnedPredictors)][mostTokens]uint32
	for i := 0; i < len(samples); i += step {
		for k, t := range samples[i].tokens {
			counts[k][t%mostTokens]++
		}
	}
	best, lowest := 0, int64(0)
	for k := range counts {
		cost := int64(0)
		for t, c := range counts[k] {
			cost += int64(c)*rawBits(t)<<16 - entropy.NLog(c)
		}
		if k == 0 || cost < lowest {
			best, lowest = k, cost
		}
	}
	return best
}

// rawBits is the number of bits behind a token.
func rawBits(t int) int64 {
	if t < 16 {
		return 0
	}
	return int64(t-16)/4 + 2
}

// split returns the property and the cut that save the most bits, or -1. It looks at one of
// step samples. Useful properties are those that are worth a look again among the samples
// on either side.
func (l *learner) split(samples []learnedSample, properties []int, k, step int) (property, at int, useful []int) {
	var all [mostTokens]uint32
	for i := 0; i < len(samples); i += step {
		all[samples[i].tokens[k]%mostTokens]++
	}
	longest := 0
	base, total := int64(0), uint32(0)
	for t, c := range all {
		base += entropy.NLog(c)
		total += c
		if c > 0 {
			longest = t + 1
		}
	}
	property = -1
	least := max(l.cost<<8/(l.scale*int64(step)), leastGain)
	whole := entropy.NLog(total) - base
	if whole < least {
		return property, at, nil
	}
	for _, q := range properties {
		for b := range l.cuts[q] {
			clear(l.counts[q][b][:longest])
		}
	}
	for i := 0; i < len(samples); i += step {
		s := &samples[i]
		t := s.tokens[k] % mostTokens
		for _, q := range properties {
			l.counts[q][s.places[q]%(mostCuts+1)][t]++
		}
	}
	best := least
	for _, q := range properties {
		most := int64(0)
		var below [mostTokens]uint32
		above := all
		n := uint32(0)
		low, high := int64(0), base
		for b := range l.cuts[q] {
			moved := n
			for t, c := range l.counts[q][b][:longest] {
				if c == 0 {
					continue
				}
				t %= mostTokens
				low += entropy.NLog(below[t]+c) - entropy.NLog(below[t])
				high += entropy.NLog(above[t]-c) - entropy.NLog(above[t])
				below[t] += c
				above[t] -= c
				n += c
			}
			if n == moved || n == total {
				continue
			}
			// What one distribution costs, less what two do.
			gain := whole - (entropy.NLog(n) - low) - (entropy.NLog(total-n) - high)
			most = max(most, gain)
			if gain > best {
				best, property, at = gain, q, b
			}
		}
		if most >= least/2 {
			useful = append(useful, q)
		}
	}
	return property, at, useful
}

func ceil(a, b int) int { return (a + b - 1) / b }
