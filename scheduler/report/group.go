package report

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// group is what became of the objects that have something in common.
type group struct {
	name            string
	objects, stored int64 // stored: compressed or kept
	in, out         int64 // bytes of sources and results of stored
}

func (g *group) add(r *jobs.Result) {
	g.objects++
	switch r.Outcome {
	case jobs.OutcomeCompressed:
		g.stored, g.in, g.out = g.stored+1, g.in+r.Size, g.out+r.TargetSize
	case jobs.OutcomeKept:
		g.stored, g.in, g.out = g.stored+1, g.in+r.Size, g.out+r.Size
	}
}

func (g *group) plus(o group) {
	g.objects, g.stored, g.in, g.out = g.objects+o.objects, g.stored+o.stored, g.in+o.in, g.out+o.out
}

// larger orders groups by the bytes of their sources, then by name.
func larger(a, b group) int {
	return cmp.Or(cmp.Compare(b.in, a.in), cmp.Compare(b.objects, a.objects), cmp.Compare(a.name, b.name))
}

// device is what one kind of device has done.
type device struct {
	group
	raw     int64   // bytes of samples
	seconds float64 // of encoding, summed over objects
}

func (d *device) add(r *jobs.Result) {
	d.group.add(r)
	d.raw += r.RawBytes
	d.seconds += r.Seconds["encode"]
}

// within gives the entry of a name in a map of at most mostKinds, and after that the one
// of all others.
func within[T any](m map[string]*T, name string) *T {
	v, ok := m[name]
	if !ok {
		if len(m) >= mostKinds {
			name = otherKinds
		}
		if v, ok = m[name]; !ok {
			v = new(T)
			m[name] = v
		}
	}
	return v
}

// typeOf is the format of a source as its reader calls it, else the extension of its key.
func typeOf(r *jobs.Result) string {
	if r.SourceFormat != "" {
		return r.SourceFormat
	}
	ext := strings.ToLower(path.Ext(path.Base(r.Key)))
	if len(ext) < 2 || len(ext) > 9 {
		return "no extension"
	}
	return ext
}

// deepest is the number of levels of folders that are looked at.
const deepest = 4

// folders adds objects up by the folder at a depth; an object in a folder above counts there.
// Records in key order end a folder for good, so that only the open folders, one in another,
// and the largest ended ones are kept.
type folders struct {
	depth int
	root  group   // of objects in no folder
	open  []group // folders that have not ended, each in the one before
	top   []group // the largest ended ones
	rest  group
	count int64 // of folders with objects
}

func (f *folders) add(r *jobs.Result) {
	dir := r.Key[:strings.LastIndexByte(r.Key, '/')+1]
	for n := len(f.open); n > 0 && !strings.HasPrefix(dir, f.open[n-1].name); n-- {
		f.end(f.open[n-1])
		f.open = f.open[:n-1]
	}
	level, end := len(f.open), 0
	if level > 0 {
		end = len(f.open[level-1].name)
	}
	for ; level < f.depth; level++ {
		slash := strings.IndexByte(dir[end:], '/')
		if slash < 0 {
			break
		}
		end += slash + 1
		f.open = append(f.open, group{name: strings.Clone(dir[:end])})
	}
	if level == 0 {
		f.root.add(r)
		return
	}
	f.open[level-1].add(r)
}

// end files a folder that has ended.
func (f *folders) end(g group) {
	if g.objects == 0 {
		return
	}
	if i := slices.IndexFunc(f.top, func(t group) bool { return t.name == g.name }); i >= 0 {
		f.top[i].plus(g) // records were not in key order
		slices.SortFunc(f.top, larger)
		return
	}
	f.count++
	i, _ := slices.BinarySearchFunc(f.top, g, larger)
	if f.top = slices.Insert(f.top, i, g); len(f.top) > listed {
		f.rest.plus(f.top[listed])
		f.top = f.top[:listed]
	}
}

// close ends all folders.
func (f *folders) close() {
	for _, g := range f.open {
		f.end(g)
	}
	f.open = nil
	if f.root.objects > 0 {
		root := f.root
		root.name, f.root = "(no folder)", group{}
		f.end(root)
	}
}

func identical(psnr float64) bool { return psnr >= raster.Identical }
