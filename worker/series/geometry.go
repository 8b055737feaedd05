package series

import (
	"math/big"
	"slices"
)

// measure counts the gaps of a volume, and whether it is tilted. Neither changes what
// becomes of it: stored values are coded, without regard to distances.
func (p *Plan) measure(stack []*slice) {
	p.Gaps += gaps(stack)
	if tilted(stack) {
		p.Tilted++
	}
}

// gaps counts the distances between slices that are at least 1.5 times the median one.
func gaps(stack []*slice) (n int) {
	var distances []*big.Int
	for i := 1; i < len(stack); i++ {
		distances = append(distances, new(big.Int).Sub(stack[i].along, stack[i-1].along))
	}
	sorted := slices.SortedFunc(slices.Values(distances), (*big.Int).Cmp)
	limit := new(big.Int).Mul(sorted[len(sorted)/2], big.NewInt(3))
	for _, d := range distances {
		if new(big.Int).Lsh(d, 1).Cmp(limit) >= 0 {
			n++
		}
	}
	return n
}

// tiltTolerance is how far positions of upright slices may lie apart in their plane, in
// 1e-3 mm: decimal strings are rounded.
const tiltTolerance = 10

// tilted reports whether positions move in the plane of the slices from one to the next.
func tilted(stack []*slice) bool {
	o := stack[0].orientation
	for _, axis := range [][]int64{o[:3], o[3:]} {
		unit := [3]*big.Int{}
		for i := range unit {
			unit[i] = new(big.Int).Mul(big.NewInt(axis[i]), big.NewInt(1e6))
		}
		for i := 1; i < len(stack); i++ {
			d := new(big.Int).Sub(project(stack[i].position, unit), project(stack[i-1].position, unit))
			if d.CmpAbs(big.NewInt(tiltTolerance)) > 0 {
				return true
			}
		}
	}
	return false
}
