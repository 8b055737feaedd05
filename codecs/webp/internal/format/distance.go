package format

// MaxLength is the longest backward reference, in pixels, that is written. RFC 9649,
// 3.6.2.2, would allow 4096; with one less a length fits into 12 bits.
const MaxLength = 4095

// MaxDistance is the largest distance in pixels: that of distance code 2^20, the highest
// there is (RFC 9649, 3.6.2.2).
const MaxDistance = 1<<20 - 120

// nearest lists (dx, dy) of the distance codes 1 to 120 (RFC 9649, 3.6.2.2), as in the
// RFC's table: pixels to the left and rows above.
var nearest = [120][2]int8{
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

// NearDistance is the distance in pixels that a code up to 120 stands for in an image
// of width w.
func NearDistance(code, w int) int {
	d := nearest[code-1]
	return max(1, int(d[0])+int(d[1])*w)
}

// DistanceCodes has, by distance in pixels, the lowest of the distance codes 1 to 120 that
// stand for it, or 0 where none does.
type DistanceCodes []uint8

// NewDistanceCodes returns those of an image of width w.
func NewDistanceCodes(w int) DistanceCodes {
	out := make(DistanceCodes, 7*w+9)
	for code := 120; code > 0; code-- {
		out[NearDistance(code, w)] = uint8(code)
	}
	return out
}

// Code is the lowest distance code of a distance in pixels.
func (c DistanceCodes) Code(distance int) uint32 {
	if distance < len(c) && c[distance] != 0 {
		return uint32(c[distance])
	}
	return uint32(distance) + 120
}
