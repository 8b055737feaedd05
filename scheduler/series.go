package scheduler

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// seriesEntry makes the entry of a series as the user named it, from those of its
// parts. It is bad where its name or a part is.
func seriesEntry(key string, parts []jobs.Entry, folder bool) jobs.Entry {
	e := givenEntry(key, folder)
	for _, p := range parts {
		if e.Bad == "" && p.Bad != "" {
			e.Bad = fmt.Sprintf("a part of the series %.80q: %s", key, p.Bad)
		}
		e.Parts = append(e.Parts, jobs.Part{Key: p.Key, Size: p.Size, ETag: p.ETag, ModTime: p.ModTime, Pin: p.Pin})
	}
	e.Sum()
	return e
}

// distinct gives one entry a key: the first of equal objects, and a series with the
// parts of all entries that have its key, in their order.
func distinct(all entries) entries {
	return func(ctx context.Context, fn func(jobs.Entry) error) error {
		var held *joined
		flush := func() error {
			if held == nil {
				return nil
			}
			e := held.entry()
			held = nil
			return fn(e)
		}
		err := all(ctx, func(e jobs.Entry) error {
			if held != nil && held.Key == e.Key {
				held.join(e)
				return nil
			}
			err := flush()
			held = &joined{Entry: e}
			return err
		})
		if err == nil {
			err = flush()
		}
		return err
	}
}

// longestSeries bounds what is kept of a series that is bad, in bytes: one that is
// good has fewer.
const longestSeries = 4 << 20

// joined is an entry that others of the same key may add to.
type joined struct {
	jobs.Entry
	seen map[string]bool // keys of the parts; nil: not made yet
}

func (j *joined) join(e jobs.Entry) {
	switch {
	case len(j.Parts) == 0 && len(e.Parts) == 0:
		return // the same object once more
	case len(j.Parts) == 0 || len(e.Parts) == 0:
		if j.Bad == "" {
			j.Bad = fmt.Sprintf("the manifest names %.80q as an object and as a series", j.Key)
		}
		return
	}
	if j.Bad == "" {
		j.Bad = e.Bad
	}
	if j.seen == nil {
		j.seen = make(map[string]bool)
		for _, p := range j.Parts {
			j.seen[p.Key] = true
		}
	}
	for _, p := range e.Parts {
		if !j.seen[p.Key] && len(j.Parts) <= jobs.MaxParts {
			j.seen[p.Key] = true
			j.Parts = append(j.Parts, p)
		}
	}
}

// entry checks a series that is complete. One that no line may hold keeps no part.
func (j *joined) entry() jobs.Entry {
	e := j.Entry
	if len(e.Parts) == 0 {
		return e
	}
	unplanned := e
	unplanned.PlannedTarget = "" // of a repair; it has an extension, which is not known here
	if err := unplanned.Check(""); err != nil && e.Bad == "" {
		e.Bad = err.Error()
	}
	if len(e.Parts) > jobs.MaxParts || e.Text() > longestSeries {
		e.Parts, e.Size = nil, -1
	}
	e.Sum()
	return e
}

// unusable says why an entry of a user's manifest names what cannot be or is no
// source; empty where it can. owned: a part is a result of a job.
func (p *preparation) unusable(e *jobs.Entry, owned bool) string {
	for _, o := range e.Objects() {
		if err := p.source.CheckKey(o.Key); err != nil {
			return err.Error()
		}
		if p.skip(o.Key) {
			return fmt.Sprintf("the part %.200q of the series lies in a folder of pelmill's own or in the target", o.Key)
		}
	}
	if owned {
		return "a part of the series is a result that pelmill made"
	}
	return ""
}

// resultsInSeries finds the lines of a user's manifest that are series with a
// result among their parts. Results are known in key order and parts come in any,
// so the parts are sorted first.
func (p *preparation) resultsInSeries(ctx context.Context, all entries) (bitset, error) {
	if p.results == nil {
		return nil, nil
	}
	var owned bitset
	parts := sorter{memory: p.results.sorted.memory}
	defer parts.close()
	line := int64(-1)
	err := all(ctx, func(e jobs.Entry) error {
		line++
		for _, part := range e.Parts {
			value, err := json.Marshal(&part)
			if err != nil {
				return fmt.Errorf("scheduler: series %q: %w", e.Key, err)
			}
			if err := parts.add([]byte(part.Key), append(binary.BigEndian.AppendUint64(nil, uint64(line)), value...)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	in, err := parts.sorted()
	if err != nil {
		return nil, err
	}
	again, err := p.results.again()
	if err != nil {
		return nil, err
	}
	last, made := "", false // several series may share a part
	for {
		pair, ok, err := in.next()
		if err != nil || !ok {
			return owned, err
		}
		var part jobs.Part
		if err := json.Unmarshal(pair.value[8:], &part); err != nil {
			return nil, fmt.Errorf("scheduler: sorted parts: %w", err)
		}
		if part.Key != last {
			last = part.Key
			if made, err = again.has(ctx, storage.Object{Key: part.Key, Size: part.Size, ModTime: part.ModTime}); err != nil {
				return nil, err
			}
		}
		if made {
			owned.set(int64(binary.BigEndian.Uint64(pair.value)))
		}
	}
}
