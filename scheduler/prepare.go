package scheduler

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

const (
	partEntries  = 100_000   // of a part of a manifest, to the next page of the listing
	frameEntries = 1000      // of a frame in a part
	frameText    = 16 << 20  // bytes after which a frame ends that holds fewer entries, as those of series are long
	listedAtMost = 1_000_000 // objects between two checkpoints of a listing, whatever the filters leave
	statAtMost   = 1000      // entries of a user's manifest that are looked up one by one
	keptEntries  = 5000      // of a manifest that is planned from memory
	keptText     = 2 << 20   // bytes of their keys and what else they hold
)

// listing is how far the listing of a source has come: listing.json.
type listing struct {
	Parts    int       `json:"parts"`              // of the manifest, written
	Token    []byte    `json:"token,omitempty"`    // of the listing, right after the last part
	LastKey  string    `json:"last_key,omitempty"` // of the last part
	Objects  int64     `json:"objects"`
	Bytes    int64     `json:"bytes"`
	Filtered int64     `json:"filtered"`
	Links    int64     `json:"links,omitempty"`    // symbolic links, which are not followed
	InPlace  bool      `json:"in_place,omitempty"` // the target is the source
	Done     bool      `json:"done,omitempty"`
	At       time.Time `json:"at"`
}

// check reports what no listing has.
func (l *listing) check() error {
	if l.Parts < 0 || l.Parts > jobs.MaxChunks || l.Objects < 0 || l.Bytes < 0 || l.Filtered < 0 || l.Links < 0 {
		return fmt.Errorf("scheduler: listing of %d objects of %d bytes in %d parts, %d filtered", l.Objects, l.Bytes, l.Parts, l.Filtered)
	}
	return nil
}

// givenIndex says how large a user's manifest is: given/index.json.
type givenIndex struct {
	Parts   int   `json:"parts"`
	Entries int64 `json:"entries"`
	Lacking int64 `json:"lacking"` // objects, those of series left out, without etag, which is looked up in the source
}

// check reports what no index has.
func (g *givenIndex) check() error {
	if g.Parts < 0 || g.Parts > jobs.MaxChunks || g.Entries < 0 || g.Lacking < 0 || g.Lacking > g.Entries {
		return fmt.Errorf("scheduler: given manifest of %d entries, %d incomplete, in %d parts", g.Entries, g.Lacking, g.Parts)
	}
	return nil
}

func givenIndexKey(id string) string { return jobs.Folder(id).Dir() + jobs.Given + "index.json" }

// ours reports whether a key is in a folder of pelmill's own, of this target or
// of one that lies in the source.
func ours(key string) bool {
	return strings.HasPrefix(key, jobs.Root) || strings.Contains(key, "/"+jobs.Root)
}

// preparation lists a source into a manifest.
type preparation struct {
	spec    *jobs.Spec
	source  *storage.Bucket
	nested  string   // folder of the source that is the target, with a slash; empty where there is none
	results *results // in the source; nil where the target's do not lie there
	filter  *filter
	at      listing
	seen    int64 // objects since the last checkpoint

	add        func(jobs.Entry) error
	full       func() bool  // the current part is
	checkpoint func() error // ends the part and writes down at
}

// newPreparation looks how source and target overlap. witness is a key that the
// target has: in doubt it is looked up in the source. It is empty where there is none.
// close must be called.
func newPreparation(ctx context.Context, buckets *storage.Buckets, codecs []codec.Codec, spec *jobs.Spec, source, target *storage.Bucket, witness string) (*preparation, error) {
	f, err := newFilter(spec.Filter, spec.Created)
	if err != nil {
		return nil, err
	}
	p := &preparation{spec: spec, source: source, filter: f, full: func() bool { return false }}
	p.checkpoint = func() error { return nil }
	var overlap storage.Overlap
	if witness != "" {
		overlap, err = buckets.Resolve(ctx, source, target, witness)
	} else if overlap, err = storage.Compare(source, target); overlap.Unsure {
		overlap = storage.Overlap{}
	}
	if err != nil {
		return nil, err
	}
	p.at.InPlace = overlap.Relation == storage.Same
	switch overlap.Relation {
	case storage.TargetInside:
		p.nested = overlap.Prefix
	case storage.Same, storage.SourceInside:
		p.results, err = findResults(ctx, codecs, source, target, spec.ID, overlap)
	}
	return p, err
}

func (p *preparation) close() { p.results.close() }

// skip reports whether an object of the source is in a folder of pelmill's own,
// or in the target that lies in the source.
func (p *preparation) skip(key string) bool {
	return ours(key) || p.nested != "" && strings.HasPrefix(key, p.nested)
}

// take passes an entry through the filters. Entries must come in key order.
func (p *preparation) take(e jobs.Entry) error {
	p.seen++
	if e.Key <= p.at.LastKey {
		return outOfOrder("scheduler: the listing of "+p.spec.Source, e.Key, p.at.LastKey)
	}
	p.at.LastKey = e.Key
	if e.Bad == "" && !p.filter.keep(e.Key, e.Size, e.ModTime) {
		p.at.Filtered++
		return nil
	}
	p.at.Objects++
	p.at.Bytes += max(e.Size, 0)
	return p.add(e)
}

// list walks the source from where the listing has come.
func (p *preparation) list(ctx context.Context) error {
	err := storage.Walk(ctx, p.source, &storage.WalkOptions{Token: p.at.Token}, func(page storage.Page) error {
		for _, o := range page.Objects {
			if p.skip(o.Key) {
				continue
			}
			if made, err := p.results.has(ctx, o); err != nil {
				return err
			} else if made {
				continue
			}
			if err := p.take(jobs.Entry{Key: o.Key, Size: o.Size, ETag: o.ETag, ModTime: o.ModTime}); err != nil {
				return err
			}
		}
		p.at.Links += page.Links
		p.at.Token = page.Token
		if p.full() || p.seen >= listedAtMost {
			p.seen = 0
			return p.checkpoint()
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.at.Done = true
	return p.checkpoint()
}

// fromGiven goes through a user's manifest from where the listing has come, and
// completes it from the source: with a request an entry where few are lacking,
// else with one listing.
func (p *preparation) fromGiven(ctx context.Context, all entries, lacking int64) error {
	owned, err := p.resultsInSeries(ctx, all)
	if err != nil {
		return err
	}
	var batch []jobs.Entry
	fill := func(ctx context.Context, batch []jobs.Entry) error { return p.lookUp(ctx, batch, false) }
	if lacking > statAtMost {
		next, stop := iter.Pull2(objects(ctx, p.source, p.at.LastKey))
		defer stop()
		var o storage.Object
		fill = func(ctx context.Context, batch []jobs.Entry) error {
			for i := range batch {
				e := &batch[i]
				if len(e.Parts) > 0 || complete(e) {
					continue
				}
				for o.Key < e.Key {
					var err error
					var ok bool
					if o, err, ok = next(); err != nil {
						return err
					} else if !ok {
						o.Key = "\xff\xff\xff\xff" // above every key, all of which are UTF-8
					}
				}
				found(e, 0, o, o.Key == e.Key)
			}
			return p.lookUp(ctx, batch, true)
		}
	}
	flush := func() error {
		if err := fill(ctx, batch); err != nil {
			return err
		}
		for _, e := range batch {
			if !e.Missing && len(e.Parts) == 0 {
				made, err := p.results.has(ctx, storage.Object{Key: e.Key, Size: e.Size, ModTime: e.ModTime})
				if err != nil {
					return err
				}
				if made {
					continue
				}
			}
			if err := p.take(e); err != nil {
				return err
			}
		}
		batch = batch[:0]
		if p.full() {
			return p.checkpoint()
		}
		return nil
	}
	resume, line := p.at.LastKey, int64(-1)
	err = all(ctx, func(e jobs.Entry) error {
		if line++; e.Key <= resume || len(e.Parts) == 0 && p.skip(e.Key) {
			return nil
		}
		if e.Bad == "" {
			e.Bad = p.unusable(&e, owned.has(line))
		}
		if batch = append(batch, e); len(batch) < frameEntries {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	p.at.Done = true
	return p.checkpoint()
}

// lookUp completes the objects of a batch that lack an etag, or only those of
// series, with a request each.
func (p *preparation) lookUp(ctx context.Context, batch []jobs.Entry, seriesOnly bool) error {
	type object struct {
		entry *jobs.Entry
		n     int // of the entry's objects
		key   string
	}
	var lacking []object
	for i := range batch {
		e := &batch[i]
		if complete(e) || seriesOnly && len(e.Parts) == 0 {
			continue
		}
		for n, o := range e.Objects() {
			if o.ETag == "" {
				lacking = append(lacking, object{e, n, o.Key})
			}
		}
	}
	type answer struct {
		o   storage.Object
		ok  bool
		bad string
	}
	return inOrder(ctx, len(lacking), func(ctx context.Context, i int) (answer, error) {
		o, _, err := storage.Stat(ctx, p.source, lacking[i].key)
		if storage.IsNotExist(err) && !storage.Unreachable(err) {
			return answer{}, nil
		}
		if storage.NoPlace(err) {
			return answer{bad: err.Error()}, nil
		}
		return answer{o: o, ok: err == nil}, withoutName(err, lacking[i].key)
	}, func(i int, a answer) error {
		if a.bad != "" {
			lacking[i].entry.Bad = a.bad
		} else {
			found(lacking[i].entry, lacking[i].n, a.o, a.ok)
		}
		return nil
	})
}

// complete reports whether nothing of an entry need be looked up in the source.
func complete(e *jobs.Entry) bool {
	if e.Bad != "" {
		return true
	}
	for _, o := range e.Objects() {
		if o.ETag == "" {
			return false
		}
	}
	return true
}

// found completes object n of an entry with what the source has.
func found(e *jobs.Entry, n int, o storage.Object, ok bool) {
	p := e.Objects()[n]
	if ok {
		p.Size, p.ETag, p.ModTime = o.Size, o.ETag, o.ModTime
	}
	p.Missing = !ok
	e.Observe(n, p)
}

// objects is a listing to pull from.
func objects(ctx context.Context, b *storage.Bucket, after string) iter.Seq2[storage.Object, error] {
	return func(yield func(storage.Object, error) bool) {
		err := storage.Walk(ctx, b, &storage.WalkOptions{StartAfter: after}, func(page storage.Page) error {
			for _, o := range page.Objects {
				if !yield(o, nil) {
					return errEnough
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(storage.Object{}, err)
		}
	}
}

// prepare writes a job's manifest, continuing where a killed process stopped.
// It gives the listing where that is complete, and the manifest: from memory where it is small and was listed here, as planning reads it
// two to four times.
// part is the number of entries after which a part of the manifest ends.
func prepare(ctx context.Context, f folder, spec *jobs.Spec, buckets *storage.Buckets, codecs []codec.Codec, source *storage.Bucket, part int) (listing, entries, error) {
	at, _, err := getJSON[listing](ctx, f.b, jobs.Folder(f.id).Listing())
	if err != nil || at.Done {
		return at, manifest(f, at.Parts), err
	}
	p, err := newPreparation(ctx, buckets, codecs, spec, source, f.b, jobs.Folder(f.id).Spec())
	if err != nil {
		return at, nil, err
	}
	defer p.close()
	at.InPlace = p.at.InPlace
	p.at = at
	// Parts that a killed process wrote after its last checkpoint are written
	// again, from a listing that may have changed.
	dir, after := jobs.Folder(f.id).Dir()+"manifest/", ""
	if at.Parts > 0 {
		after = jobs.Folder(f.id).Manifest(at.Parts - 1)
	}
	if err := f.remove(ctx, dir, after); err != nil {
		return at, nil, err
	}
	w := &partWriter{parts: at.Parts, put: func(n int, data []byte) error {
		return f.put(ctx, jobs.Folder(f.id).Manifest(n), data, false)
	}}
	kept, keeps, text := []jobs.Entry(nil), at.Parts == 0, 0
	p.add = func(e jobs.Entry) error {
		if text += e.Text(); keeps && len(kept) < keptEntries && text <= keptText {
			kept = append(kept, e)
		} else {
			kept, keeps = nil, false
		}
		return w.add(e)
	}
	p.full = func() bool { return w.entries >= part }
	p.checkpoint = func() error {
		if err := w.end(); err != nil {
			return err
		}
		p.at.Parts, p.at.At = w.parts, time.Now().UTC()
		return f.putJSON(ctx, jobs.Folder(f.id).Listing(), p.at, true)
	}
	if spec.Manifest == "" {
		err = p.list(ctx)
	} else {
		var index givenIndex
		var ok bool
		index, ok, err = getJSON[givenIndex](ctx, f.b, givenIndexKey(f.id))
		if err == nil && !ok {
			err = fmt.Errorf("scheduler: the manifest of job %s is gone: no %s", f.id, givenIndexKey(f.id))
		}
		if err == nil {
			all := parts(f.b, index.Parts, func(n int) string { return jobs.Folder(f.id).Given(n) })
			err = p.fromGiven(ctx, all, index.Lacking)
		}
	}
	if keeps {
		return p.at, fromMemory(kept), err
	}
	return p.at, manifest(f, p.at.Parts), err
}
