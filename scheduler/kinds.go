package scheduler

import (
	"cmp"
	"context"
	"slices"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/jobs"
)

// kindTally gathers by kind what is to do and what its sample becomes, for a job that has
// the codec chosen for each of its sources: a mixed archive has few objects of some kinds,
// which a sample of the whole would miss. nil is a job with one codec.
type kindTally map[string]*kindOfSample

type kindOfSample struct {
	jobs.Kind
	in, out int64   // bytes of the sample, and of its results; a source that gets none counts for itself
	seconds float64 // of one core
}

// kinds counts what is to do by kind.
func (p *planning) kinds(ctx context.Context, found *objectStatus) (kindTally, error) {
	if p.resolved.Codec != nil {
		return nil, nil
	}
	t := kindTally{}
	line := int64(-1)
	err := p.all(ctx, func(e jobs.Entry) error {
		if line++; !found.done.has(line) {
			name := jobs.KindOf(e.Key)
			if t[name] == nil {
				t[name] = &kindOfSample{Kind: jobs.Kind{Name: name}}
			}
			t[name].Objects++
			t[name].Bytes += max(e.Size, 0)
		}
		return nil
	})
	return t, err
}

// sorted gives the kinds in the order of their bytes, the most first.
func (t kindTally) sorted() []*kindOfSample {
	list := make([]*kindOfSample, 0, len(t))
	for _, k := range t {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *kindOfSample) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// share divides a sample of n objects among the kinds: equally, and at least one for each.
func (t kindTally) share(n int) map[string]int {
	shares := map[string]int{}
	for given := -1; given != 0; {
		given = 0
		for _, k := range t.sorted() {
			if has := shares[k.Name]; int64(has) < k.Objects && (n > 0 || has == 0) {
				shares[k.Name]++
				given++
				n--
			}
		}
	}
	return shares
}

// pick calls take with the objects of the sample until it returns false: spread evenly over
// all, or over each kind and then the first of each kind, the second of each, and so on.
func (p *planning) pick(ctx context.Context, kinds kindTally, total int64, leaveOut func(line int64) bool, take func(jobs.Entry) (more bool, err error)) error {
	if kinds == nil {
		return pick(ctx, p.all, total, p.spec.Sample, leaveOut, take)
	}
	shares := kinds.share(p.spec.Sample)
	seen, chosen := map[string]int64{}, map[string][]jobs.Entry{}
	line, most := int64(-1), 0
	err := p.all(ctx, func(e jobs.Entry) error {
		if line++; leaveOut(line) {
			return nil
		}
		kind := jobs.KindOf(e.Key)
		have, want := int64(len(chosen[kind])), int64(shares[kind])
		// The middle of each of so many equal ranges.
		if have < want && seen[kind] == (2*have+1)*kinds[kind].Objects/(2*want) {
			chosen[kind] = append(chosen[kind], e)
			most = max(most, len(chosen[kind]))
		}
		seen[kind]++
		return nil
	})
	if err != nil {
		return err
	}
	for i := range most {
		for _, k := range kinds.sorted() {
			if i < len(chosen[k.Name]) {
				more, err := take(chosen[k.Name][i])
				if err != nil || !more {
					return err
				}
			}
		}
	}
	return nil
}

// add counts an object of the sample: by is what was chosen for it, data are the bytes of its
// result, and a reason says why it gets none.
func (t kindTally) add(key string, by *codecs.Resolved, size, data int64, seconds float64, reason error) {
	k := t[jobs.KindOf(key)]
	if k == nil {
		return
	}
	k.Sampled++
	k.in += size
	if reason != nil {
		k.Failed++
		k.out += size
		return
	}
	k.out += min(size, data)
	k.seconds += seconds
	if name := by.Info().Name; !slices.Contains(k.Codecs, name) {
		k.Codecs = append(k.Codecs, name)
		slices.Sort(k.Codecs)
	}
}

// expect puts the kinds into an estimate, with the saving and the time of all of them.
func (t kindTally) expect(est *jobs.Estimate) {
	var in, out int64
	est.CoreSeconds = 0
	for _, k := range t.sorted() {
		k.BytesOut = k.Bytes
		if k.in > 0 {
			k.BytesOut = int64(float64(k.Bytes) / float64(k.in) * float64(k.out))
			est.CoreSeconds += k.seconds * float64(k.Bytes) / float64(k.in)
		}
		in, out = in+k.Bytes, out+k.BytesOut
		est.Kinds = append(est.Kinds, k.Kind)
	}
	est.Saving = 0
	if in > 0 {
		est.Saving = 1 - float64(out)/float64(in)
	}
}
