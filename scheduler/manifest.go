package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// partWriter writes entries in parts, each of several frames.
type partWriter struct {
	put     func(part int, data []byte) error
	lines   storage.Lines
	frame   []jobs.Entry
	text    int // about the bytes of the frame's lines
	entries int // of the part; each part of a series counts
	parts   int // written
}

func (w *partWriter) add(e jobs.Entry) error {
	w.entries += max(1, len(e.Parts))
	w.frame = append(w.frame, e)
	if w.text += e.Text(); len(w.frame) < frameEntries && w.text < frameText {
		return nil
	}
	return w.endFrame()
}

func (w *partWriter) endFrame() error {
	if len(w.frame) == 0 {
		return nil
	}
	_, _, err := storage.Frame(&w.lines, w.frame)
	w.frame, w.text = w.frame[:0], 0
	return err
}

// end writes the part, unless it is empty.
func (w *partWriter) end() error {
	if err := w.endFrame(); err != nil || w.entries == 0 {
		return err
	}
	if err := w.put(w.parts, w.lines.Bytes()); err != nil {
		return err
	}
	w.parts++
	w.entries = 0
	w.lines.Reset()
	return nil
}

// entries gives the entries of a manifest in key order, as often as it is called.
type entries func(ctx context.Context, fn func(jobs.Entry) error) error

// parts is a manifest in storage.
func parts(b *storage.Bucket, n int, key func(part int) string) entries {
	return func(ctx context.Context, fn func(jobs.Entry) error) error {
		for i := range n {
			got, err := storage.Get(ctx, b, key(i), largest, nil)
			if err != nil {
				return err
			}
			if err := storage.DecodeLines(got.Data, fn); err != nil {
				return fmt.Errorf("scheduler: %s: %w", key(i), err)
			}
		}
		return nil
	}
}

// manifest is that of a job, of n parts.
func manifest(f folder, n int) entries {
	return parts(f.b, n, func(part int) string { return jobs.Folder(f.id).Manifest(part) })
}

// fromMemory is a manifest in memory.
func fromMemory(all []jobs.Entry) entries {
	return func(ctx context.Context, fn func(jobs.Entry) error) error {
		for _, e := range all {
			if err := fn(e); err != nil {
				return err
			}
		}
		return nil
	}
}

// spool is a manifest on the local disk.
func spool(s *sorter) entries {
	return func(ctx context.Context, fn func(jobs.Entry) error) error {
		in, err := s.sorted()
		if err != nil {
			return err
		}
		for n := 0; ; n++ {
			p, ok, err := in.next()
			if err != nil || !ok {
				return err
			}
			var e jobs.Entry
			if err := json.Unmarshal(p.value, &e); err != nil {
				return fmt.Errorf("scheduler: sorted manifest: %w", err)
			}
			if n%4096 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := fn(e); err != nil {
				return err
			}
		}
	}
}

// sortManifest reads a user's manifest into a sorter, one entry a key, the
// first of equal ones.
func sortManifest(s *sorter, parse func(fn func(jobs.Entry) error) error) error {
	add := spoolTo(s)
	return parse(func(e jobs.Entry) error {
		if ours(e.Key) {
			return nil
		}
		return add(e)
	})
}

// spoolTo adds entries to a sorter.
func spoolTo(s *sorter) func(jobs.Entry) error {
	return func(e jobs.Entry) error {
		value, err := json.Marshal(&e)
		if err != nil {
			return err
		}
		return s.add([]byte(e.Key), value)
	}
}

// storeGiven writes a user's manifest in parts, sorted, under a new job's folder.
func storeGiven(ctx context.Context, f folder, all entries) error {
	var index givenIndex
	w := partWriter{put: func(n int, data []byte) error { return f.put(ctx, jobs.Folder(f.id).Given(n), data, true) }}
	err := all(ctx, func(e jobs.Entry) error {
		index.Entries++
		if len(e.Parts) == 0 && !complete(&e) {
			index.Lacking++
		}
		if err := w.add(e); err != nil || w.entries < partEntries {
			return err
		}
		return w.end()
	})
	if err := errors.Join(err, w.end()); err != nil {
		return err
	}
	index.Parts = w.parts
	return f.putJSON(ctx, givenIndexKey(f.id), index, true)
}
