package neuquant

// A key is a squared distance of two colours, less than 2^18, above the index of an
// entry. The least key is the nearest entry with the lowest index.
const indexBits = 8

func distance(a, b uint32) uint32 {
	d0 := int32(a&255) - int32(b&255)
	d1 := int32(a>>8&255) - int32(b>>8&255)
	d2 := int32(a>>16&255) - int32(b>>16&255)
	d3 := int32(a>>24) - int32(b>>24)
	return uint32(d0*d0 + d1*d1 + d2*d2 + d3*d3)
}

// finder answers which entry is nearest.
type finder struct {
	entries []uint32
	vectors vectors // the same for the vector kernel, where there is one
}

func newFinder(entries []uint32) *finder { return &finder{entries, newVectors(entries)} }

// twoGo sets keys to the least key of each of the colours, and seconds to the least of
// the other entries; that is all ones where there is one entry.
func (f *finder) twoGo(colours, keys, seconds []uint32) {
	for i, v := range colours {
		first, second := ^uint32(0), ^uint32(0)
		for k, e := range f.entries {
			key := distance(v, e)<<indexBits | uint32(k)
			if key < first {
				first, second = key, first
			} else if key < second {
				second = key
			}
		}
		keys[i], seconds[i] = first, second
	}
}

// nearest is the entry nearest to one colour.
func (f *finder) nearest(v uint32) uint8 {
	var key, second [1]uint32
	f.two([]uint32{v}, key[:], second[:])
	return uint8(key[0])
}
