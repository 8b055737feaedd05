package scheduler

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// compact writes the done-lists. What a later record of any job of the target says about a
// target key is what lies there; of the pruned jobs only such records stay, so that the
// order of jobs no longer matters to them. Of verdicts the newest of a key stays. Failures
// are left out: a later job tries them again.
func (r *pruning) compact(ctx context.Context, p *Pruned, dry bool) error {
	mem := memory(r.client.Memory)
	targets, verdicts, stay := mem.sorter(), mem.sorter(), mem.sorter()
	defer targets.close()
	defer verdicts.close()
	defer stay.close()
	deleted, last := r.deleted, 0
	for i := range r.all {
		if r.all[i].ends {
			last = i
		}
	}
	for i := range r.all[:last+1] { // what is older than all that goes says nothing of what lies there now
		for ; len(deleted) > 0 && deleted[0].at.After(r.all[i].wrote()); deleted = deleted[1:] {
			if err := r.gatherDeleted(ctx, deleted[0], &targets); err != nil {
				return err
			}
		}
		if err := r.gather(ctx, i, &targets, &verdicts); err != nil {
			return err
		}
	}
	// Both are in the order of all where keys are equal, so the first one is the newest.
	for _, s := range []*sorter{&targets, &verdicts} {
		if err := newest(s, func(job int, line []byte) error {
			if job == noJob || !r.all[job].ends {
				return nil
			}
			j := &r.all[job]
			var rec record
			if err := json.Unmarshal(line, &rec); err != nil {
				return err
			}
			p.Records++
			return stay.add(append(binary.BigEndian.AppendUint32(nil, uint32(j.list)), rec.Key...), line)
		}); err != nil {
			return err
		}
	}
	if dry {
		return nil
	}
	return r.write(ctx, &stay, p)
}

// noJob stands for a list of deleted results in the place of a job.
const noJob = 1<<32 - 1

// gatherDeleted passes the keys of deleted results to the sorter: older records of them go.
func (r *pruning) gatherDeleted(ctx context.Context, d deletion, targets *sorter) error {
	return d.read(ctx, r.b, func(gone jobs.Deleted) error {
		return targets.add([]byte(gone.Target), binary.BigEndian.AppendUint32(nil, noJob))
	})
}

// gather passes the records of job i to the sorters.
func (r *pruning) gather(ctx context.Context, i int, targets, verdicts *sorter) error {
	j := &r.all[i]
	job := binary.BigEndian.AppendUint32(nil, uint32(i))
	for line, err := range records(ctx, r.b, j.spec.ID, true) {
		var rec record
		if err == nil {
			err = json.Unmarshal(line, &rec)
		}
		switch {
		case err != nil:
			return fmt.Errorf("scheduler: prune: records of job %s: %w", j.spec.ID, err)
		case rec.Key == "" || rec.Outcome == jobs.OutcomeFailed:
			continue
		case rec.Target != "":
			value := job
			if j.ends {
				value = slices.Concat(job, line)
			}
			err = targets.add([]byte(rec.Target), value)
		case j.ends:
			err = verdicts.add(append(binary.BigEndian.AppendUint32(nil, uint32(j.list)), rec.Key...), slices.Concat(job, line))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newest calls fn with the job and line of the first value of each key.
func newest(s *sorter, fn func(job int, line []byte) error) error {
	in, err := s.sorted()
	if err != nil {
		return err
	}
	var last []byte
	for first := true; ; first = false {
		p, ok, err := in.next()
		if err != nil || !ok {
			return err
		}
		if !first && bytes.Equal(p.key, last) {
			continue
		}
		last = append(last[:0], p.key...)
		if err := fn(int(binary.BigEndian.Uint32(p.value)), p.value[4:]); err != nil {
			return err
		}
	}
}

// write writes the done-lists from records in the order of lists and keys.
func (r *pruning) write(ctx context.Context, stay *sorter, p *Pruned) error {
	in, err := stay.sorted()
	if err != nil {
		return err
	}
	var list *doneList
	defer func() {
		if list != nil {
			list.merged.wait()
		}
	}()
	number := -1
	for {
		rec, ok, err := in.next()
		if err != nil {
			return err
		}
		if list != nil && (!ok || int(binary.BigEndian.Uint32(rec.key)) != number) {
			if err := list.end(ctx); err != nil {
				return err
			}
			p.Lists = append(p.Lists, list.spec.ID)
			list = nil
		}
		if !ok {
			return nil
		}
		if list == nil {
			number = int(binary.BigEndian.Uint32(rec.key))
			if list, err = r.newList(ctx, number); err != nil {
				return err
			}
		}
		if err := list.add(ctx, rec.value); err != nil {
			return err
		}
	}
}

// newList begins the done-list of that number.
func (r *pruning) newList(ctx context.Context, number int) (*doneList, error) {
	l := &doneList{f: folder{b: r.b, before: r.before}, sum: newTally(), names: newNames(ctx, r.b)}
	l.merged.names = l.names.Reader
	for i := range r.all {
		j := &r.all[i]
		if !j.ends || j.list != number {
			continue
		}
		if l.spec.Created.Before(j.spec.Created) {
			created := j.spec.Created
			pruned := l.spec.Pruned
			l.spec = listSpec(j.spec)
			l.spec.Created, l.spec.Pruned = created, pruned
		}
		l.spec.Pruned += max(1, j.spec.Pruned)
		if l.finished.Before(j.finished) {
			l.finished = j.finished
		}
	}
	for l.spec.ID == "" {
		id := jobs.NewID(l.spec.Created)
		taken := false
		err := walk(ctx, r.b, jobs.Folder(id).Dir(), "", func(storage.Object) error {
			taken = true
			return errEnough
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
		if !taken {
			l.spec.ID = id
		}
	}
	l.f.id = l.spec.ID
	id := l.spec.ID
	l.chunks = chunkWriter{objects: jobs.MaxChunkObjects, bytes: 1 << 40, put: func(part int, data []byte) error {
		return l.f.put(ctx, jobs.Folder(id).Chunks(part), data, false)
	}}
	l.merged.put = func(part int, data []byte) error {
		key := jobs.Folder(id).Merged(part)
		l.results = append(l.results, key)
		return l.f.put(ctx, key, data, false)
	}
	return l, nil
}

// doneList writes the folder of a job that is done: a plan with chunks, a shard of records
// for each, the merged records, and a report.
type doneList struct {
	f        folder
	spec     jobs.Spec
	finished time.Time
	chunks   chunkWriter
	merged   merging
	results  []string
	names    *names
	sum      *tally
	shard    []byte // lines of the chunk at work
	counts   jobs.Counts
	written  int // shards
	bytes    int64
}

func (l *doneList) add(ctx context.Context, line []byte) error {
	var r jobs.Result
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("scheduler: prune: %w", err)
	}
	e := jobs.Entry{Key: r.Key, Size: r.Size, ETag: r.ETag, ModTime: r.ModTime, Parts: r.Parts}
	if r.Outcome == jobs.OutcomeCompressed {
		e.PlannedTarget = r.Target
	}
	before := len(l.chunks.chunks)
	if err := l.chunks.add(e); err != nil {
		return err
	}
	if len(l.chunks.chunks) > before { // the chunk before this record has ended
		if err := l.endShard(ctx); err != nil {
			return err
		}
	}
	line, err := l.names.line(ctx, &r, line)
	if err != nil {
		return err
	}
	l.shard = append(append(l.shard, line...), '\n')
	l.counts.Add(&r)
	l.bytes += max(r.Size, 0)
	l.sum.count(&r)
	return l.merged.add(append(slices.Clone(line), '\n'))
}

// endShard writes the shard of the chunk that has ended.
func (l *doneList) endShard(ctx context.Context) error {
	head, err := json.Marshal(jobs.Shard{Job: l.spec.ID, Chunk: l.written, Worker: "prune", Counts: l.counts, At: l.finished})
	if err != nil {
		return err
	}
	data, err := storage.AppendFrame(nil, slices.Concat(head, []byte("\n"), l.shard))
	if err != nil {
		return err
	}
	err = l.f.put(ctx, jobs.Folder(l.spec.ID).Result(l.written), data, false)
	l.written++
	l.shard, l.counts = l.shard[:0], jobs.Counts{}
	return err
}

// end writes the rest, the specification last.
func (l *doneList) end(ctx context.Context) error {
	err := l.chunks.end()
	if err == nil {
		err = l.chunks.endPart()
	}
	if err == nil {
		err = l.endShard(ctx)
	}
	if err == nil {
		err = l.merged.end()
	}
	if err != nil {
		return err
	}
	id := jobs.Folder(l.spec.ID)
	plan := jobs.Plan{Job: l.spec.ID, Objects: l.sum.counts.Objects, Bytes: l.bytes, Chunks: l.chunks.chunks, At: l.finished}
	report := jobs.Report{
		Job: l.spec.ID, State: jobs.StateDone, Reason: fmt.Sprintf("what is left of %d pruned jobs", l.spec.Pruned),
		Source: l.spec.Source, Target: l.spec.Target, Codec: l.spec.Codec, Version: l.spec.Version, Options: l.spec.Options,
		Chunks: len(plan.Chunks), Attempted: len(plan.Chunks), Counts: l.sum.counts, Left: l.sum.left, Classes: l.sum.classes, Dropped: l.sum.dropped, Second: l.sum.second,
		Results: l.results, Finished: l.finished,
	}
	for _, o := range []struct {
		key string
		v   any
	}{{id.Plan(), plan}, {id.Report(), report}, {id.Spec(), l.spec}} {
		if err := l.f.putJSON(ctx, o.key, o.v, false); err != nil {
			return err
		}
	}
	return nil
}
