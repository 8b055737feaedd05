package series

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"github.com/pelmill/pelmill/raster"
)

// MinSlices is the least that a volume of several files has.
const MinSlices = 8

// Instance is a file of a series.
type Instance struct {
	Key     string
	ModTime time.Time
	Data    []byte
}

// Plan says what becomes of the files of a series.
type Plan struct {
	Volumes int // images that are volumes; they come first, the largest of them as the first
	Images  int // in all
	Alone   int // files that are images by themselves
	Whole   int // files that are kept whole
	Gaps    int // places in volumes where slices are missing, by the distances of the others
	Tilted  int // volumes whose positions do not lie along the normal of their slices

	files   []Instance
	slices  []*slice   // by file; nil: kept whole
	images  [][]*slice // by image
	reasons map[Reason]int
}

// Group reads the headers of files. Equal files in another order give an equal plan, but
// for the order of the files.
func Group(files []Instance) *Plan {
	p := &Plan{files: files, slices: make([]*slice, len(files)), reasons: map[Reason]int{}}
	var single, alone []*slice
	for i := range files {
		s, why := openSlice(files[i].Data)
		if s == nil {
			p.Whole++
			p.reasons[why]++
			continue
		}
		s.file, p.slices[i] = i, s
		switch {
		case s.image.Frames >= MinSlices:
			p.images = append(p.images, []*slice{s})
		case s.image.Frames > 1:
			s.reason, alone = FewFrames, append(alone, s)
		case s.localizer:
			s.reason, alone = Localizer, append(alone, s)
		case s.orientation == nil || s.position == nil:
			s.reason, alone = NoPosition, append(alone, s)
		default:
			s.reason, single = FewSlices, append(single, s)
		}
	}
	for _, stack := range stacks(single) {
		if len(stack) < MinSlices {
			alone = append(alone, stack...)
			continue
		}
		p.measure(stack)
		p.images = append(p.images, stack)
	}
	slices.SortStableFunc(p.images, func(a, b []*slice) int { return cmp.Compare(samples(b), samples(a)) })
	p.Volumes, p.Alone = len(p.images), len(alone)
	slices.SortStableFunc(alone, func(a, b *slice) int { return cmp.Compare(a.file, b.file) })
	for _, s := range alone {
		p.images = append(p.images, []*slice{s})
		p.reasons[s.reason]++
	}
	p.Images = len(p.images)
	return p
}

func samples(stack []*slice) (n int) {
	for _, s := range stack {
		n += s.raster.Samples()
	}
	return n
}

// stacks parts slices into volumes, of whatever number of slices.
func stacks(all []*slice) (out [][]*slice) {
	slices.SortStableFunc(all, func(a, b *slice) int {
		return cmp.Or(cmp.Compare(a.group, b.group), slices.Compare(a.orientation, b.orientation))
	})
	for len(all) > 0 {
		var rest, same []*slice
		for _, s := range all {
			if s.group == all[0].group && parallel(s.orientation, all[0].orientation) {
				same = append(same, s)
			} else {
				rest = append(rest, s)
			}
		}
		n := normal(same[0].orientation)
		for _, s := range same {
			s.along = project(s.position, n)
		}
		order(same)
		if repeats(same) {
			out = append(out, byRepeat(same)...)
		} else {
			out = append(out, same)
		}
		all = rest
	}
	return out
}

// cosineTolerance is how much direction cosines of parallel slices may differ, in 1e-6.
const cosineTolerance = 100

func parallel(a, b []int64) bool {
	for i := range a {
		if d := a[i] - b[i]; d > cosineTolerance || d < -cosineTolerance {
			return false
		}
	}
	return true
}

// normal is the vector product of the row's and the column's direction, in 1e-12.
func normal(o []int64) (n [3]*big.Int) {
	for i := range n {
		j, k := (i+1)%3, (i+2)%3
		a := new(big.Int).Mul(big.NewInt(o[j]), big.NewInt(o[3+k]))
		b := new(big.Int).Mul(big.NewInt(o[k]), big.NewInt(o[3+j]))
		n[i] = a.Sub(a, b)
	}
	return n
}

// project is the scalar product of a position and a normal, in 1e-3: what differs by
// less than a micrometre lies at one position.
func project(position []int64, n [3]*big.Int) *big.Int {
	sum := new(big.Int)
	for i := range n {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(position[i]), n[i]))
	}
	unit := big.NewInt(1e15)
	return sum.Div(sum.Add(sum, big.NewInt(5e14)), unit)
}

func order(s []*slice) {
	slices.SortStableFunc(s, func(a, b *slice) int {
		return cmp.Or(a.along.Cmp(b.along), cmp.Compare(a.number, b.number), cmp.Compare(a.instance, b.instance))
	})
}

// repeats reports whether two slices that are in order lie at one position.
func repeats(s []*slice) bool {
	for i := 1; i < len(s); i++ {
		if s[i].along.Cmp(s[i-1].along) == 0 {
			return true
		}
	}
	return false
}

// byRepeat parts slices, some of which lie at one position: first by what else they say of
// themselves, and then each next one at a position goes to the next volume.
func byRepeat(all []*slice) (out [][]*slice) {
	parts := map[string][]*slice{}
	var names []string
	for _, s := range all {
		s.reason = Repeated
		if parts[s.repeat] == nil {
			names = append(names, s.repeat)
		}
		parts[s.repeat] = append(parts[s.repeat], s)
	}
	slices.Sort(names)
	for _, name := range names {
		var volumes [][]*slice
		for _, s := range parts[name] {
			i := slices.IndexFunc(volumes, func(v []*slice) bool { return v[len(v)-1].along.Cmp(s.along) != 0 })
			if i < 0 {
				volumes, i = append(volumes, nil), len(volumes)
			}
			volumes[i] = append(volumes[i], s)
		}
		out = append(out, volumes...)
	}
	return out
}

// Shape is the shape of image i.
func (p *Plan) Shape(i int) raster.Shape {
	s := p.images[i][0].raster.Shape
	s.Depth = 0
	for _, other := range p.images[i] {
		s.Depth += other.raster.Depth
	}
	return s
}

// Image makes image i.
func (p *Plan) Image(i int) *raster.Image {
	m := raster.Make(p.Shape(i))
	at := m.Pix
	for _, s := range p.images[i] {
		at = at[copy(at, s.raster.Pix):]
	}
	return m
}
