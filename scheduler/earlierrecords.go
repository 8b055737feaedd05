package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// record is what planning needs of a [jobs.Result].
type record struct {
	Key          string       `json:"key"`
	KeyHash      string       `json:"key_hash,omitempty"` // of a medical image
	SourceFormat string       `json:"source_format,omitempty"`
	Size         int64        `json:"size"`
	Outcome      jobs.Outcome `json:"outcome"`
	Target       string       `json:"target,omitempty"`
	TargetSize   int64        `json:"target_size,omitempty"`
	TargetMD5    string       `json:"target_md5,omitempty"`
	TargetSHA256 string       `json:"target_sha256,omitempty"`
	Fingerprint  string       `json:"fingerprint,omitempty"`
	Verdict      string       `json:"verdict,omitempty"`
	Class        string       `json:"class,omitempty"`
	Error        string       `json:"error,omitempty"`
	Job          string       `json:"of_job,omitempty"` // whose record it is; records themselves do not say
}

// intent reports whether a record is only what a process was about to store, see intents.
func (r *record) intent() bool { return r.Fingerprint == "" && r.TargetSHA256 != "" }

// openAtOnce is the number of earlier jobs whose records are read side by side.
// The records of all older ones go through a sort on the local disk first.
const openAtOnce = 8

// earlier gives the other jobs of a target with the same source, newest first. past may be nil.
//
// A prune writes a list of what jobs have done before it takes them away. So when a job has gone since the folders were
// listed, they are listed again: where it was, the list is now.
func earlier(ctx context.Context, b *storage.Bucket, spec *jobs.Spec, past *pastJobs) ([]jobs.Spec, error) {
	var out []jobs.Spec
	seen := map[string]bool{spec.ID: true}
	for gone := true; gone; {
		all, err := jobIDs(ctx, b)
		if err != nil {
			return nil, err
		}
		ids := slices.DeleteFunc(all, func(id string) bool { return seen[id] })
		gone = false
		err = inOrder(ctx, len(ids), func(ctx context.Context, i int) (*jobs.Spec, error) {
			return past.spec(ctx, b, ids[i])
		}, func(i int, s *jobs.Spec) error {
			seen[ids[i]] = true
			if s == nil {
				gone = true
			} else if jobs.SameSource(s.Source, spec.Source) {
				out = append(out, *s)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	// Ids are in order to the second only.
	slices.SortStableFunc(out, func(a, b jobs.Spec) int { return b.Created.Compare(a.Created) })
	return out, nil
}

// records gives the lines of a job's records that are JSON of a [jobs.Result],
// in key order: of the merged files where there are any, else of its shards.
// With partial, a job that is not done also gives what workers left of chunks
// without a shard.
func records(ctx context.Context, b *storage.Bucket, id string, partial bool) iter.Seq2[[]byte, error] {
	return recordsWithin(ctx, b, id, partial, nil, nil)
}

// recordsWithin is [records] of the keys in the ranges, by what past, which may be nil, remembers.
func recordsWithin(ctx context.Context, b *storage.Bucket, id string, partial bool, want *keyRanges, past *pastJobs) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		fn := func(line []byte) error {
			if !yield(line, nil) {
				return errEnough
			}
			return nil
		}
		whole := false // all that was read is there, so that the job had no more
		report, ok, err := past.report(ctx, b, id)
		switch {
		case err != nil:
		case ok && len(report.Results) > 0 && !(partial && report.State != jobs.StateDone):
			whole = true
			for _, key := range report.Results {
				if !strings.HasPrefix(key, jobs.Folder(id).Dir()) {
					err = fmt.Errorf("scheduler: the report of job %s names records in %q, which is not its folder", id, key)
					break
				}
				if err = past.lines(ctx, b, key, want, fn); err != nil {
					break
				}
			}
		case !ok || report.State != jobs.StateDone || report.Attempted > 0:
			err = shardLines(ctx, b, id, partial, within(want, fn))
		default:
			whole = true
		}
		if err == nil && !whole || storage.IsNotExist(err) {
			// Prune takes the specification away first: what was read may be a part.
			if there, serr := exists(ctx, b, jobs.Folder(id).Spec()); serr != nil || !there {
				past.forget(b, id)
				err = cmp.Or(serr, fmt.Errorf("scheduler: job %s: %w", id, errPruned))
			}
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// errPruned ends the reading of a job that is being pruned; what it had is in another one,
// so that whoever reads begins again.
var errPruned = errors.New("it was pruned meanwhile: try again")

// shardLines gives the lines of all shards without their headers and, with
// partial, of the partial records of chunks without a shard.
func shardLines(ctx context.Context, b *storage.Bucket, id string, partial bool, fn func(line []byte) error) error {
	type chunk struct {
		n   int
		key string
	}
	done, err := shards(ctx, b, id)
	if err != nil {
		return err
	}
	var part []int
	if partial {
		err = walk(ctx, b, jobs.Folder(id).Dir()+"partial/", "", func(o storage.Object) error {
			if n, ok := jobs.ParseResultKey(o.Key); ok {
				part = append(part, n)
			}
			return nil
		})
		if err != nil {
			return err
		}
		slices.Sort(part)
	}
	var all []chunk
	for len(done)+len(part) > 0 {
		switch {
		case len(part) == 0 || len(done) > 0 && done[0] <= part[0]:
			if len(part) > 0 && part[0] == done[0] {
				part = part[1:]
			}
			all = append(all, chunk{done[0], jobs.Folder(id).Result(done[0])})
			done = done[1:]
		default:
			all = append(all, chunk{part[0], jobs.Folder(id).Partial(part[0])})
			part = part[1:]
		}
	}
	names := sitekey.NewReader(ctx, b)
	return inOrder(ctx, len(all), func(ctx context.Context, i int) (lines [][]byte, err error) {
		err = rawLinesWith(ctx, b, names, all[i].key, func(line []byte) error {
			if !isHeader(line) {
				lines = append(lines, append([]byte(nil), line...))
			}
			return nil
		})
		if storage.IsNotExist(err) && !storage.Unreachable(err) {
			return nil, nil // a partial object that became a shard meanwhile
		}
		if all[i].key != jobs.Folder(id).Result(all[i].n) {
			err = errors.Join(err, sortByKey(lines))
		}
		return lines, err
	}, func(_ int, lines [][]byte) error {
		for _, line := range lines {
			if err := fn(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// sortByKey brings records into the order of their keys: workers may write those
// of a partial object as they come.
func sortByKey(lines [][]byte) error {
	keys := make(map[*byte]string, len(lines))
	for _, line := range lines {
		var v struct {
			Key string `json:"key"`
		}
		if err := json.Unmarshal(line, &v); err != nil {
			return fmt.Errorf("scheduler: records of an earlier job: %w", err)
		}
		keys[&line[0]] = v.Key
	}
	slices.SortStableFunc(lines, func(a, b []byte) int { return strings.Compare(keys[&a[0]], keys[&b[0]]) })
	return nil
}

// isHeader tells the line of a [jobs.Shard] from that of a [jobs.Result].
func isHeader(line []byte) bool {
	const start = `{"job":`
	return len(line) >= len(start) && string(line[:len(start)]) == start
}

// keyRecords are the records of one key, newest first.
type keyRecords struct {
	key     string
	records []record
}

// earlierRecords gives the records of all earlier jobs, key by key. close must be
// called.
type earlierRecords struct {
	heads   []recordStream // newest job first
	older   sorter
	intents []*sorter // of heads
}

type recordStream struct {
	rec  record
	ok   bool
	next func() (record, error, bool)
	stop func()
}

// history is what earlier jobs of a target say.
type history struct {
	specs []jobs.Spec // of the jobs, newest first
	past  *pastJobs   // may be nil
	want  *keyRanges  // of the records; nil: all
}

// openEarlier opens the records of earlier jobs.
func openEarlier(ctx context.Context, b *storage.Bucket, h history, mem memory) (*earlierRecords, error) {
	l := &earlierRecords{older: mem.sorter()}
	for i, s := range h.specs {
		if err := l.openIntents(ctx, b, s.ID, i < openAtOnce, mem); err != nil {
			l.close()
			return nil, err
		}
		if i < openAtOnce {
			l.open(decoded(s.ID, recordsWithin(ctx, b, s.ID, true, h.want, h.past)))
			continue
		}
		for rec, err := range decoded(s.ID, recordsWithin(ctx, b, s.ID, true, h.want, h.past)) {
			var value []byte
			if err == nil {
				value, err = json.Marshal(&rec)
			}
			if err == nil {
				err = l.older.add([]byte(rec.Key), value)
			}
			if err != nil {
				l.close()
				return nil, err
			}
		}
	}
	if len(h.specs) > openAtOnce {
		in, err := l.older.sorted()
		if err != nil {
			l.close()
			return nil, err
		}
		l.open(stored(in))
	}
	for i := range l.heads {
		if err := l.heads[i].advance(); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// openIntents opens what a job was about to store, as newer than its records: in a stream
// of its own, or among those of older jobs.
func (l *earlierRecords) openIntents(ctx context.Context, b *storage.Bucket, id string, own bool, mem memory) error {
	if !own {
		return intents(ctx, b, id, &l.older)
	}
	s := mem.sorter()
	if err := intents(ctx, b, id, &s); err != nil || len(s.index)+len(s.runs) == 0 {
		s.close()
		return err
	}
	l.intents = append(l.intents, &s)
	in, err := s.sorted()
	if err == nil {
		l.open(stored(in))
	}
	return err
}

// stored gives the records that a sorter holds.
func stored(in stream) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for {
			p, ok, err := in.next()
			var rec record
			if err == nil && ok {
				err = json.Unmarshal(p.value, &rec)
			}
			if !ok && err == nil || !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// decoded parses lines of a job, and leaves out what says nothing of a result.
func decoded(job string, lines iter.Seq2[[]byte, error]) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for line, err := range lines {
			var rec record
			if err == nil {
				err = json.Unmarshal(line, &rec)
			}
			if err != nil {
				yield(rec, fmt.Errorf("scheduler: records of an earlier job: %w", err))
				return
			}
			rec.Job = job
			if rec.Key != "" && !yield(rec, nil) {
				return
			}
		}
	}
}

func (l *earlierRecords) open(seq iter.Seq2[record, error]) {
	h := recordStream{}
	h.next, h.stop = iter.Pull2(seq)
	l.heads = append(l.heads, h)
}

func (h *recordStream) advance() error {
	rec, err, ok := h.next()
	if err != nil {
		return err
	}
	h.rec, h.ok = rec, ok
	return nil
}

// next gives the records of the next key.
func (l *earlierRecords) next() (p keyRecords, ok bool, err error) {
	for i := range l.heads {
		if h := &l.heads[i]; h.ok && (!ok || h.rec.Key < p.key) {
			p.key, ok = h.rec.Key, true
		}
	}
	for i := range l.heads {
		h := &l.heads[i]
		for h.ok && h.rec.Key == p.key {
			p.records = append(p.records, h.rec)
			if err := h.advance(); err != nil {
				return keyRecords{}, false, err
			}
			if h.ok && h.rec.Key < p.key {
				return keyRecords{}, false, fmt.Errorf("scheduler: records of an earlier job are not in key order: %q after %q", h.rec.Key, p.key)
			}
		}
	}
	return p, ok, nil
}

func (l *earlierRecords) close() {
	for i := range l.heads {
		l.heads[i].stop()
	}
	for _, s := range l.intents {
		s.close()
	}
	l.older.close()
}

// valid gives the newest record that says that the work on e is done, if its result
// is still there, which the caller looks up: a result with its fingerprint, or a
// verdict that would be the same again. A record whose target a newer one of the same
// key took over says nothing. An intent of the very content that a record has takes nothing
// over: its process was killed after the record was stored and before the intent was removed.
func valid(records []record, spec *jobs.Spec, e jobs.Entry) (rec record, ok bool) {
	fingerprint := spec.Fingerprint(e)
	var newer []record
	taken := func(r *record) bool {
		return slices.ContainsFunc(newer, func(n record) bool {
			return n.Target == r.Target && !(n.intent() && n.TargetSHA256 == r.TargetSHA256)
		})
	}
	for _, r := range records {
		if r.Outcome != jobs.OutcomeCompressed && r.Outcome != jobs.OutcomeKept || taken(&r) {
			continue
		}
		copied := r.Target != "" || spec.Larger != "copy"
		if r.Fingerprint == fingerprint && (r.Outcome == jobs.OutcomeCompressed || copied && !slices.Contains(spec.Again, jobs.OutcomeKept)) {
			return r, true
		}
		if r.Target != "" {
			newer = append(newer, r)
		}
	}
	verdict, quality := spec.Verdict(e), spec.QualityVerdict(e)
	for _, r := range records {
		copied := r.Target != "" || spec.Others != "copy"
		if (r.Verdict == verdict || r.Verdict == quality) && copied && !slices.Contains(spec.Again, r.Outcome) && !taken(&r) {
			return r, true
		}
	}
	return record{}, false
}
