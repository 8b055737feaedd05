package pcwt

import (
	"slices"

	"github.com/pelmill/pelmill/gpu"
)

// Levels along z on a device: the planes of the slices stay where they are, and what is stored first is told by frames.

// storedOrder is the order in which slices are stored: those that levels along z leave low, then the high ones of the last level,
// and so on.
func storedOrder(list []int, levels int) []int {
	if levels == 0 {
		return list
	}
	low, high := everySecond(list)
	return append(storedOrder(low, levels-1), high...)
}

// everySecond are the even and the odd ones of a list.
func everySecond(list []int) (even, odd []int) {
	for i, v := range list {
		if i%2 == 0 {
			even = append(even, v)
		} else {
			odd = append(odd, v)
		}
	}
	return even, odd
}

// alongSlices transforms the planes of all volumes that have levels along z: forward with sign 1, back with -1.
func (b *modelBatch) alongSlices(sign int32) error {
	steps := make([][]deviceLift, 2*maxZLevels) // one after the other
	for file, h := range b.headers {
		if h.zLevels == 0 {
			continue
		}
		pictures := b.picturesOf(file)
		for level := range h.zLevels {
			for odd := range 2 {
				// Odd slices go first forward, and last levels last.
				at := 2*level + 1 - odd
				if sign < 0 {
					at = len(steps) - 1 - at
				}
				steps[at] = append(steps[at], b.lifts(h.shape.Channels, pictures, odd == 1, sign)...)
			}
			pictures, _ = everySecond(pictures)
		}
	}
	for _, list := range steps {
		if len(list) == 0 {
			continue
		}
		sizes := make([]extent, len(list))
		for i := range list {
			sizes[i].pixels = int(list[i].Count)
		}
		at, err := put(b.deviceSteps, list)
		if err != nil {
			return err
		}
		if err := launch(b.deviceSteps, "pcwt_lift", sizes, &listParams{at}); err != nil {
			return err
		}
	}
	return nil
}

// picturesOf are the slices of a file in the order of the image. Frames and pictures of a file have the same places.
func (b *modelBatch) picturesOf(file int) (list []int) {
	first := slices.IndexFunc(b.frames, func(f frame) bool { return f.file == file })
	for z := range b.headers[file].shape.Depth {
		list = append(list, first+z)
	}
	return list
}

// lifts is a step of lifting on the odd or the even slices of a list of at least two.
func (b *modelBatch) lifts(channels int, pictures []int, odd bool, sign int32) (list []deviceLift) {
	first := 0
	if odd {
		first = 1
	}
	for c := range channels {
		at := func(i int) gpu.Ptr { return b.images.plane(pictures[mirrored(i, len(pictures))], c) }
		for i := first; i < len(pictures); i += 2 {
			list = append(list, deviceLift{
				To: at(i), Before: at(i - 1), After: at(i + 1), Count: uint64(b.images.sizes[pictures[i]].pixels), OfLow: flag(!odd), Sign: sign,
			})
		}
	}
	return list
}
