package worker

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/pelmill/pelmill/storage"
)

// put stores the picture file of o under key. What is there is replaced only where the user wants it, nobody reads it and
// no other object of this run has become it: there are no records that could prove that an earlier run made it
// from the same file.
func (d *decompression) put(ctx context.Context, key string, o *object) (storage.PutResult, error) {
	first := !d.opts.Overwrite || d.claims.claim(key, o.entry.Key)
	opts := storage.PutOptions{SHA256: o.fileSum, ModTime: o.origin.ModTime}
	d.own.begin(key)
	put, err := storage.Put(ctx, d.dst, key, o.file, &opts)
	d.own.end(key, err == nil && !put.Existed)
	var exists *storage.ExistsError
	if !d.opts.Overwrite || !errors.As(err, &exists) {
		return put, err
	}
	if !first {
		return put, fmt.Errorf("%w, and another object of this run has that name", exists)
	}
	switch inSource, err := d.sources.InSource(ctx, key); {
	case err != nil:
		return put, err
	case inSource:
		return put, d.sources.refused(key)
	}
	opts.Overwrite = true
	return storage.Put(ctx, d.dst, key, o.file, &opts)
}

// keyClaims says which object of a run was the first to become a key, by hashes of both, as there may be millions. Where two
// hashes are equal, which chance does not bring about, an object is not stored and says so.
type keyClaims struct {
	mu   sync.Mutex
	seed maphash.Seed
	by   map[uint64]uint64
}

// claim reports whether the object at from is the first that becomes key. It may be asked again.
func (c *keyClaims) claim(key, from string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.seed, c.by = maphash.MakeSeed(), map[uint64]uint64{}
	}
	k, f := maphash.String(c.seed, key), maphash.String(c.seed, from)
	by, taken := c.by[k]
	if !taken {
		c.by[k] = f
	}
	return !taken || by == f
}

// ownImages are the picture files of a run that lie in the source of the run, so that
// they are not decompressed themselves.
type ownImages struct {
	overlap storage.Overlap

	mu   sync.Mutex
	turn *sync.Cond
	keys map[string]bool // of the source: true is written, false is being written
	at   string          // the last key of the listing: keys before it are not listed any more
}

func newOwnImages(overlap storage.Overlap) *ownImages {
	if overlap.Unsure {
		overlap = storage.Overlap{}
	}
	w := &ownImages{overlap: overlap, keys: map[string]bool{}}
	w.turn = sync.NewCond(&w.mu)
	return w
}

// begin keeps a key of the target before it is written.
func (w *ownImages) begin(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key, ok := w.sourceKey(key); ok && !w.keys[key] {
		w.keys[key] = false
	}
}

// end says whether an object was created there.
func (w *ownImages) end(key string, created bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key, ok := w.sourceKey(key)
	switch {
	case ok && created:
		w.keys[key] = true
	case !w.keys[key]: // another file may have the same image
		delete(w.keys, key)
	}
	w.turn.Broadcast()
}

// sourceKey is the key under which the listing of the source will show a key of the
// target, if it still comes to it.
func (w *ownImages) sourceKey(key string) (string, bool) {
	if w.overlap.Relation == storage.TargetInside {
		return "", false
	}
	key, ok := w.overlap.SourceKey(key)
	return key, ok && key >= w.at
}

// has reports whether a key of the source is an image of this run, or lies in its
// target. Keys come in order.
func (w *ownImages) has(key string) bool {
	if w.overlap.Relation == storage.TargetInside {
		return strings.HasPrefix(key, w.overlap.Prefix)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = key
	done, there := w.keys[key]
	for there && !done {
		w.turn.Wait()
		done, there = w.keys[key]
	}
	delete(w.keys, key)
	return done
}
