package modular

import "github.com/pelmill/pelmill/codecs/pool"

// fewSamples is the number of samples below which learning a tree takes no time worth
// saving, and the distributions of a fixed one are too many.
const fewSamples = 1 << 13

// fixedCuts divide the values of the weighted property.
var fixedCuts = []int32{-500, -392, -255, -191, -127, -95, -63, -47, -31, -23, -15, -11, -7, -4, -3, -1, 0, 1, 3, 5, 7, 11, 15, 23, 31, 47, 63, 95, 127, 191, 255, 392, 500}

// Fixed returns a tree for streams that is the same for all but small ones: the first
// channel is parted from the others, and each by the error of the weighted predictor.
func Fixed(workers *pool.Pool, streams [][]*Channel) *Decision {
	if count(streams) < fewSamples {
		return Learn(workers, streams)
	}
	each := splits(PropertyWeighted, fixedCuts, PredictWeighted)
	return &Decision{Property: PropertyChannel, Split: 0, Above: each, Below: each}
}

// splits returns a balanced tree over the values of a property, which rise. All leaves have
// one predictor.
func splits(property int, values []int32, predictor int) *Decision {
	if len(values) == 0 {
		return &Decision{Predictor: predictor}
	}
	m := len(values) / 2
	return &Decision{Property: property, Split: values[m],
		Above: splits(property, values[m+1:], predictor),
		Below: splits(property, values[:m], predictor)}
}
