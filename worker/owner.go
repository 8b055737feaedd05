package worker

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// owners finds the job that an object of a target belongs to where the object
// does not say it: by the chunks of the jobs' plans, which are in key order, so a
// few reads find a key, and by the records of ended jobs. It is asked only about
// objects that stand in the way of a result, which come in key order as well;
// so what was read last answers most questions.
type owners struct {
	codecs []codec.Codec
	states jobStates
	plans  plans

	listed *cache[jobList] // by target
	opened *cache[*openPlan]
	chunks *cache[[]jobs.Entry]
	shards *cache[shardRecords]
}

func newOwners(codecs []codec.Codec, states jobStates, plans plans) *owners {
	return &owners{codecs: codecs, states: states, plans: plans,
		listed: newCache[jobList](keptLists).checking(func(l jobList) bool { return time.Since(l.at) < stateTime }),
		opened: newCache[*openPlan](keptPlans),
		chunks: newCache[[]jobs.Entry](keptFrames),
		shards: newCache[shardRecords](keptFrames).checking(func(s shardRecords) bool { return s.whole }),
	}
}

// jobList is what storage lists of the jobs of a target.
type jobList struct {
	ids []string // newest first
	at  time.Time
}

// shardRecords are the records of a chunk by the key of their source.
type shardRecords struct {
	records map[string]written
	whole   bool // the chunk is done: they do not change
}

// openPlan is the plan of a job. It does not change.
type openPlan struct {
	chunks     []jobs.Chunk
	extensions jobs.Extensions // of its results; none where this build does not know
	copies     bool            // sources that do not become smaller go to the target too

	mu    sync.Mutex
	first map[int]string // key of chunks that were read
}

// chunkKey names a chunk of a job in caches.
func chunkKey(b *storage.Bucket, id string, chunk int) string {
	return strconv.Itoa(chunk) + " " + jobKey(b, id)
}

// Bounds of what owners keeps.
const (
	keptLists  = 64
	keptPlans  = 64
	keptFrames = 32 // of up to 1,000 entries
	namedJobs  = 32 // newest ended jobs among which the owner of an object is looked for
)

// found is a job that an object belongs to, and its record where the job has ended.
type found struct {
	jobState
	record written
}

// written is what a record says of a result.
type written struct {
	Key          string
	Target       string
	TargetSize   int64
	TargetSHA256 string
}

// of gives the job that the object under key belongs to: another one than c's
// that has not ended and has key among its targets, else an ended one that
// recorded something of this size there; nil where there is none. With the
// SHA-256 of what is there, only jobs of other sources count, and of the ended
// ones those that recorded just that.
func (o *owners) of(ctx context.Context, c *chunk, key string, size int64, sum string) (*found, error) {
	ids, err := o.list(ctx, c.target)
	if err != nil {
		return nil, err
	}
	var ended []jobState
	for _, id := range ids {
		if id == c.task.Job {
			continue
		}
		st, err := o.states.of(ctx, c.target, id)
		switch {
		case err != nil:
			return nil, err
		case st.spec.ID != id, st.idle, sum != "" && jobs.SameSource(st.spec.Source, c.spec.Source):
			continue
		case !st.unfinished:
			if len(ended) < namedJobs {
				ended = append(ended, st)
			}
			continue
		}
		at, has, err := o.has(ctx, c.target, &st.spec, key)
		if err != nil {
			return nil, err
		}
		if !has {
			continue
		}
		switch r, recorded, err := o.record(ctx, c.target, st.spec.ID, at); {
		case err != nil:
			return nil, err
		case !recorded || r.Target == key:
			return &found{jobState: st}, nil
		}
	}
	if c.spec.Overwrite {
		return nil, nil // whose it was does not matter
	}
	for _, st := range ended {
		at, has, err := o.has(ctx, c.target, &st.spec, key)
		if err != nil {
			return nil, err
		}
		if !has {
			continue
		}
		r, recorded, err := o.record(ctx, c.target, st.spec.ID, at)
		if err != nil {
			return nil, err
		}
		if recorded && r.Target == key && r.TargetSize == size && (sum == "" || r.TargetSHA256 == sum) {
			return &found{st, r}, nil
		}
	}
	return nil, nil
}

// list gives the ids of the jobs of a target, newest first.
func (o *owners) list(ctx context.Context, b *storage.Bucket) ([]string, error) {
	l, err := o.listed.get(ctx, b.URL, func(ctx context.Context) (jobList, error) {
		l := jobList{at: time.Now()}
		names, err := storage.Folders(ctx, b, jobs.JobsDir)
		if err != nil {
			return l, err
		}
		for _, name := range slices.Backward(names) {
			if jobs.ValidID(name) {
				l.ids = append(l.ids, name)
			}
		}
		return l, nil
	})
	return l.ids, err
}

// plannedObject is one of a plan: a chunk, and the key of the source.
type plannedObject struct {
	chunk int
	key   string
}

// has finds the object of a job's plan that has a target key.
func (o *owners) has(ctx context.Context, b *storage.Bucket, spec *jobs.Spec, key string) (at plannedObject, found bool, err error) {
	plan, err := o.open(ctx, b, spec)
	if err != nil || plan == nil {
		return plannedObject{}, false, err
	}
	// A source of this target is called stem, or begins with stem and a dot: its
	// extension is cut off, and that of the codec behind it. A copy has key itself.
	stem, ok := plan.extensions.Cut(key)
	switch {
	case ok:
	case plan.extensions == nil:
		stem = strings.TrimSuffix(key, path.Ext(key))
	default:
		stem = key
	}
	n := sort.Search(len(plan.chunks), func(i int) bool {
		if err != nil {
			return true
		}
		var first string
		first, err = o.first(ctx, b, spec.ID, plan, i)
		return first > stem
	})
	for i := max(n-1, 0); i < len(plan.chunks) && err == nil; i++ {
		var entries []jobs.Entry
		if entries, err = o.entries(ctx, b, spec.ID, plan, i); storage.IsNotExist(err) && !storage.Unreachable(err) {
			return plannedObject{}, false, nil // the job was pruned meanwhile
		} else if err != nil {
			break
		}
		for _, e := range entries {
			switch {
			case e.Key > stem+"/": // '/' follows '.'
				return plannedObject{}, false, nil
			case plan.names(e, key), e.Key == key && plan.copies:
				return plannedObject{i, e.Key}, true, nil
			}
		}
	}
	return plannedObject{}, false, err
}

// names reports whether key is the target of e, also by the rule of earlier versions.
func (p *openPlan) names(e jobs.Entry, key string) bool {
	extensions := p.extensions
	if extensions == nil {
		extensions = jobs.Extensions{path.Ext(key)}
	}
	for _, extension := range extensions {
		if e.TargetKey(extension) == key || e.EarlierTargetKey(extension) == key {
			return true
		}
	}
	return false
}

// open reads a plan. It is nil where the job has none yet: it has no results.
func (o *owners) open(ctx context.Context, b *storage.Bucket, spec *jobs.Spec) (*openPlan, error) {
	plan, err := o.opened.get(ctx, jobKey(b, spec.ID), func(ctx context.Context) (*openPlan, error) {
		chunks, err := o.plans.of(ctx, b, spec.ID)
		if err != nil {
			return nil, err
		}
		plan := &openPlan{chunks: chunks, copies: spec.Copies(), first: map[int]string{}}
		if r, err := codecs.Resolve(o.codecs, spec.Codec, 0, spec.Options); err == nil {
			plan.extensions = r.Extensions()
			plan.copies = plan.copies || r.Frames() // results of DICOM files have the keys of their sources too
		}
		return plan, nil
	})
	if errors.Is(err, errNoJob) {
		return nil, nil
	}
	return plan, err
}

// first gives the first key of a chunk.
func (o *owners) first(ctx context.Context, b *storage.Bucket, id string, plan *openPlan, chunk int) (string, error) {
	plan.mu.Lock()
	key, ok := plan.first[chunk]
	plan.mu.Unlock()
	if ok {
		return key, nil
	}
	entries, err := o.entries(ctx, b, id, plan, chunk)
	if err != nil || len(entries) == 0 {
		return "", err
	}
	plan.mu.Lock()
	defer plan.mu.Unlock()
	plan.first[chunk] = entries[0].Key
	return entries[0].Key, nil
}

// entries reads a chunk. What it gives must not be changed.
func (o *owners) entries(ctx context.Context, b *storage.Bucket, id string, plan *openPlan, chunk int) ([]jobs.Entry, error) {
	return o.chunks.get(ctx, chunkKey(b, id, chunk), func(ctx context.Context) ([]jobs.Entry, error) {
		entries, err := readEntries(ctx, b, id, plan.chunks[chunk])
		if err != nil {
			err = fmt.Errorf("worker: chunk %d of job %s: %w", chunk, id, err)
		}
		return entries, err
	})
}

// record gives what a job recorded of an object.
func (o *owners) record(ctx context.Context, b *storage.Bucket, id string, of plannedObject) (r written, ok bool, err error) {
	shard, err := o.shards.get(ctx, chunkKey(b, id, of.chunk), func(ctx context.Context) (shardRecords, error) {
		return readRecords(ctx, b, id, of.chunk)
	})
	r, ok = shard.records[of.key]
	return r, ok, err
}

// readRecords reads the records of a chunk, or those that it has so far.
func readRecords(ctx context.Context, b *storage.Bucket, id string, chunk int) (shardRecords, error) {
	shard := shardRecords{records: map[string]written{}, whole: true}
	got, err := storage.Get(ctx, b, jobs.Folder(id).Result(chunk), maxShard, nil)
	if storage.IsNotExist(err) {
		shard.whole = false
		got, err = storage.Get(ctx, b, jobs.Folder(id).Partial(chunk), maxShard, nil)
	}
	if storage.IsNotExist(err) {
		return shard, nil
	}
	if err != nil {
		return shard, err
	}
	_, err = parseShard(got.Data, sitekey.NewReader(ctx, b), func(r *jobs.Result) {
		shard.records[r.Key] = written{r.Key, r.Target, r.TargetSize, r.TargetSHA256}
	})
	return shard, err
}
