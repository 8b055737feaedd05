package entropy

import (
	"math"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
)

// lz77 says which tokens stand for repetitions (C.2.1).
type lz77 struct {
	minSymbol, minLength uint32
	length               config
}

var (
	minSymbols = bits.U32{bits.Value(224), bits.Value(512), bits.Value(4096), bits.Plus(15, 8)}
	minLengths = bits.U32{bits.Value(3), bits.Value(4), bits.Plus(2, 5), bits.Plus(8, 9)}
)

// maxWindow is how far back a repetition reaches.
const maxWindow = 1 << 20

// window holds the integers that were read last. It grows with them.
type window struct {
	values     []uint32 // at most maxWindow; the position of a value is modulo that
	read       int      // integers so far
	left, from int      // of the repetition at work
	multiplier int
}

func newWindow(multiplier int) *window { return &window{multiplier: multiplier} }

func (w *window) put(v uint32) {
	if w.read < maxWindow {
		w.values = append(w.values, v)
	} else {
		w.values[w.read&(maxWindow-1)] = v
	}
	w.read++
}

// next takes the next integer of a repetition. Where nothing was read yet, all are zero.
func (w *window) next() uint32 {
	v := uint32(0)
	if w.from < w.read {
		v = w.values[w.from&(maxWindow-1)]
	}
	w.from++
	w.left--
	w.put(v)
	return v
}

// readRepeated is ReadCluster for codes with LZ77.
func (d *Decoder) readRepeated(cluster int) uint32 {
	w, z := d.lz, d.code.lz77
	if w.left > 0 {
		return w.next()
	}
	token := d.symbol(cluster)
	if token < z.minSymbol {
		v := d.code.configs[cluster].value(d.r, token)
		w.put(v)
		return v
	}
	length := uint64(z.length.value(d.r, token-z.minSymbol)) + uint64(z.minLength)
	last := int(d.code.clusters[len(d.code.clusters)-1])
	distance := w.distance(uint64(d.code.configs[last].value(d.r, d.symbol(last))))
	w.left = int(min(length, math.MaxInt32))
	w.from = w.read - distance
	return w.next()
}

// distance turns a code into a number of integers back: codes below 120 are places in
// the image near the current one (C.3.3).
func (w *window) distance(code uint64) int {
	n := code + 1
	if w.multiplier > 0 {
		if code < uint64(len(nearby)) {
			n = uint64(max(1, int(nearby[code][0])+w.multiplier*int(nearby[code][1])))
		} else {
			n = code + 1 - uint64(len(nearby))
		}
	}
	return int(min(n, uint64(w.read), maxWindow))
}

// nearby are the columns and rows back that the first distance codes stand for: code 0
// is the sample above.
var nearby = [120][2]int8{
	{0, 1}, {1, 0}, {1, 1}, {-1, 1}, {0, 2}, {2, 0}, {1, 2}, {-1, 2},
	{2, 1}, {-2, 1}, {2, 2}, {-2, 2}, {0, 3}, {3, 0}, {1, 3}, {-1, 3},
	{3, 1}, {-3, 1}, {2, 3}, {-2, 3}, {3, 2}, {-3, 2}, {0, 4}, {4, 0},
	{1, 4}, {-1, 4}, {4, 1}, {-4, 1}, {3, 3}, {-3, 3}, {2, 4}, {-2, 4},
	{4, 2}, {-4, 2}, {0, 5}, {3, 4}, {-3, 4}, {4, 3}, {-4, 3}, {5, 0},
	{1, 5}, {-1, 5}, {5, 1}, {-5, 1}, {2, 5}, {-2, 5}, {5, 2}, {-5, 2},
	{4, 4}, {-4, 4}, {3, 5}, {-3, 5}, {5, 3}, {-5, 3}, {0, 6}, {6, 0},
	{1, 6}, {-1, 6}, {6, 1}, {-6, 1}, {2, 6}, {-2, 6}, {6, 2}, {-6, 2},
	{4, 5}, {-4, 5}, {5, 4}, {-5, 4}, {3, 6}, {-3, 6}, {6, 3}, {-6, 3},
	{0, 7}, {7, 0}, {1, 7}, {-1, 7}, {5, 5}, {-5, 5}, {7, 1}, {-7, 1},
	{4, 6}, {-4, 6}, {6, 4}, {-6, 4}, {2, 7}, {-2, 7}, {7, 2}, {-7, 2},
	{3, 7}, {-3, 7}, {7, 3}, {-7, 3}, {5, 6}, {-5, 6}, {6, 5}, {-6, 5},
	{8, 0}, {4, 7}, {-4, 7}, {7, 4}, {-7, 4}, {8, 1}, {8, 2}, {6, 6},
	{-6, 6}, {8, 3}, {5, 7}, {-5, 7}, {7, 5}, {-7, 5}, {8, 4}, {6, 7},
	{-6, 7}, {7, 6}, {-7, 6}, {8, 5}, {7, 7}, {-7, 7}, {8, 6}, {8, 7},
}
