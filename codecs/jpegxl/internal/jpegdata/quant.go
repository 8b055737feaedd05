package jpegdata

import "slices"

// latch notes which table of quantisation a component has: the one that is defined when
// its first scan begins (T.81, B.2.4.1).
func (r *reader) latch(component int) {
	if index := r.file.Components[component].Quant; r.latched[component] == 0 && index <= 3 {
		r.latched[component] = r.quant[index]
	}
}

// resolveTables turns the number of each component's table of quantisation into its place.
//
// The format has values of those tables only that components use, takes for a component
// the first one with its number, and holds three. Files that differ, those of Go's
// image/jpeg with one component for example, keep their segments DQT as bytes between
// segments, and only the tables in use are listed.
func (r *reader) resolveTables() error {
	f := r.file
	used := make([]bool, len(f.Quant))
	regular := len(f.Quant) <= maxTables
	for i := range f.Components {
		c := &f.Components[i]
		if r.latch(i); r.latched[i] == 0 {
			return malformed("a component has no table of quantisation")
		}
		place := r.latched[i] - 1
		first := slices.IndexFunc(f.Quant, func(t QuantTable) bool { return int(t.Index) == c.Quant })
		if f.Quant[first].Values == f.Quant[place].Values {
			place = first
		}
		regular = regular && place == first
		used[place] = true
		c.Quant = place
	}
	for i, u := range used {
		if !u && (i == 0 || f.Quant[i].Values != f.Quant[i-1].Values) {
			regular = false
		}
	}
	if !regular {
		f.listUsed(used)
		return r.keepSegments()
	}
	return nil
}

// listUsed leaves only the tables in the list that components use.
func (f *File) listUsed(used []bool) {
	places := make([]int, len(used))
	var list []QuantTable
	for i, u := range used {
		places[i] = len(list)
		if u {
			list = append(list, f.Quant[i])
			list[len(list)-1].Last = true
		}
	}
	f.Quant = list
	for i := range f.Components {
		f.Components[i].Quant = places[f.Components[i].Quant]
	}
}

// keepSegments makes the segments DQT bytes between segments.
func (r *reader) keepSegments() error {
	f := r.file
	markers, gaps, segments := f.Markers, f.Between, r.quantSegments
	f.Markers, f.Between = nil, nil
	for _, m := range markers {
		switch m {
		case dqt:
			if segments[0][0] != 0xff {
				return unsupported("its segments DQT are irregular")
			}
			f.addBetween(segments[0])
			segments = segments[1:]
		case between:
			f.addBetween(gaps[0])
			gaps = gaps[1:]
		default:
			f.Markers = append(f.Markers, m)
		}
	}
	return nil
}
