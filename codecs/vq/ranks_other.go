//go:build !amd64

package vq

func rank(up, left []uint32, x int) (place int, least uint32) {
	return rankGo(up, left, up[x]+left[x])
}

func sideKeys(up, left, keys []uint32, _ *[sortedKeys]uint32) uint32 {
	return sideKeysGo(up, left, keys)
}

func next(keys []uint32, from uint32) uint32 { return nextGo(keys, from) }

func belowIn(keys []uint32, t uint32) int { return belowGo(keys, t) }

func keysIn(out, keys []uint32, lo, span uint32) []uint32 { return keysInGo(out, keys, lo, span) }

// compress and pick are for machines with vectorRanks.
func compress(_, _ []uint32, _, _ uint32) int { return 0 }
func pick(*[sortedKeys]uint32, int) uint32    { return 0 }

func differences(out, base, pairs, edge []uint32) { differencesGo(out, base, pairs, edge) }

// findPlaces and findContexts are for machines with vectorRanks.
func findPlaces(*expecting, *edgeOrder, []uint16, []uint16, int) {}
func findContexts(*expecting, []uint8, []uint8, int, int)        {}

func edgeKeys(keys []uint32, words []byte, base []uint32, n, quads int, lower, right uint64, half uint32, minima *[sortedKeys]uint32) uint32 {
	return edgeKeysGo(keys, words, base, n, quads, lower, right, half, minima)
}
