package scheduler

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// largest bounds every object of a job's folder that is read whole.
const largest = 1 << 30

// folder is a job's folder in its target. before, which is nil but in tests, is
// called with the key of every write; its error stands for a process that was
// killed right before or, with the key followed by "!", right after.
type folder struct {
	b      *storage.Bucket
	id     string
	before func(key string) error
}

func (f folder) put(ctx context.Context, key string, data []byte, overwrite bool) error {
	if f.before != nil {
		if err := f.before(key); err != nil {
			return storage.RefusedWrite(err, int64(len(data)))
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	contentType := "application/json"
	switch {
	case strings.HasSuffix(key, ".zst"):
		contentType = "application/zstd"
	case strings.HasSuffix(key, ".html"):
		contentType = "text/html; charset=utf-8"
	}
	if _, err := storage.Put(ctx, f.b, key, data, &storage.PutOptions{Overwrite: overwrite, ContentType: contentType}); err != nil {
		return storage.RefusedWrite(err, int64(len(data)))
	}
	if f.before != nil {
		return f.before(key + "!")
	}
	return nil
}

func (f folder) putJSON(ctx context.Context, key string, v any, overwrite bool) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("scheduler: write %s: %w", key, err)
	}
	return f.put(ctx, key, append(data, '\n'), overwrite)
}

// getJSON reads an object; ok is false where there is none.
func getJSON[T any](ctx context.Context, b *storage.Bucket, key string) (v T, ok bool, err error) {
	return getJSONWithin[T](ctx, b, key, jobs.MaxPlan)
}

// getJSONWithin reads an object of at most so many bytes.
func getJSONWithin[T any](ctx context.Context, b *storage.Bucket, key string, most int64) (v T, ok bool, err error) {
	got, err := storage.Get(ctx, b, key, most, nil)
	if storage.IsNotExist(err) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	if v, err = parseJSON[T](key, got.Data); err != nil {
		return v, false, fmt.Errorf("scheduler: %s: %s: %w", b.URL, key, err)
	}
	return v, true, nil
}

// parseJSON reads the object at key, and checks what can be checked of it: that no
// number is impossible and that it is of the job in whose folder it lies.
func parseJSON[T any](key string, data []byte) (v T, err error) {
	if err := json.Unmarshal(data, &v); err != nil {
		return v, err
	}
	own := key
	switch v := any(&v).(type) {
	case *jobs.Spec:
		own, err = jobs.Folder(v.ID).Spec(), v.Check()
	case *jobs.Plan:
		own, err = jobs.Folder(v.Job).Plan(), v.Check()
	case *jobs.Report:
		own, err = jobs.Folder(v.Job).Report(), v.Check()
	case *listing:
		err = v.check()
	case *givenIndex:
		err = v.check()
	}
	if err == nil && own != key {
		err = fmt.Errorf("it belongs to %s", own)
	}
	return v, err
}

// exists reports whether there is an object.
func exists(ctx context.Context, b *storage.Bucket, key string) (bool, error) {
	_, _, err := storage.Stat(ctx, b, key)
	if storage.IsNotExist(err) {
		return false, nil
	}
	return err == nil, err
}

// walk lists what starts with prefix; a bucket that does not exist is empty.
func walk(ctx context.Context, b *storage.Bucket, prefix, after string, fn func(storage.Object) error) error {
	err := storage.Walk(ctx, b, &storage.WalkOptions{Prefix: prefix, StartAfter: after}, func(p storage.Page) error {
		for _, o := range p.Objects {
			if err := fn(o); err != nil {
				return err
			}
		}
		return nil
	})
	if storage.IsNotExist(err) && !storage.Unreachable(err) {
		return nil
	}
	return err
}

var errEnough = errors.New("enough")

// jobIDs gives the ids of all jobs of a target, oldest first, with a listing of folders, not of their contents.
func jobIDs(ctx context.Context, b *storage.Bucket) ([]string, error) {
	ids, err := storage.Folders(ctx, b, jobs.JobsDir)
	ids = slices.DeleteFunc(ids, func(id string) bool { return !jobs.ValidID(id) })
	slices.Sort(ids)
	return ids, err
}

// delete deletes an object; that it is gone already is no error.
func (f folder) delete(ctx context.Context, key string) error {
	if f.before != nil {
		if err := f.before("-" + key); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return storage.RefusedWrite(storage.Delete(ctx, f.b, key), 0)
}

// deleteVersion deletes one version of an object, see [storage.DeleteVersion].
func (f folder) deleteVersion(ctx context.Context, o storage.Object) error {
	if f.before != nil {
		if err := f.before("-" + o.Key); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return storage.RefusedWrite(storage.DeleteVersion(ctx, f.b, o), 0)
}

// remove deletes every object below a prefix.
func (f folder) remove(ctx context.Context, prefix, after string) error {
	var keys []string
	err := walk(ctx, f.b, prefix, after, func(o storage.Object) error {
		keys = append(keys, o.Key)
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := storage.Delete(ctx, f.b, key); err != nil {
			return storage.RefusedWrite(err, 0)
		}
	}
	return nil
}

// shards gives the chunks that have a result shard, in order.
func shards(ctx context.Context, b *storage.Bucket, id string) ([]int, error) {
	var out []int
	err := walk(ctx, b, jobs.Folder(id).Results(), "", func(o storage.Object) error {
		if n, ok := jobs.ParseResultKey(o.Key); ok {
			out = append(out, n)
		}
		return nil
	})
	slices.Sort(out) // numbers above 999,999 are longer and out of place in a listing
	return out, err
}

const readers = 16 // objects of a job's folder that are fetched at once

// inOrder calls fetch for 0 to n-1, some at once and ahead, and use with each
// answer in order. The first error ends it; everything it started has ended
// when it returns.
func inOrder[T any](ctx context.Context, n int, fetch func(ctx context.Context, i int) (T, error), use func(i int, v T) error) error {
	type answer struct {
		v   T
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var ring [readers]chan answer
	start := func(i int) {
		ch := make(chan answer, 1)
		ring[i%readers] = ch
		wg.Go(func() {
			v, err := fetch(ctx, i)
			ch <- answer{v, err}
		})
	}
	for i := range min(n, readers) {
		start(i)
	}
	for i := range n {
		a := <-ring[i%readers]
		if a.err != nil {
			return a.err
		}
		if i+readers < n {
			start(i + readers)
		}
		if err := use(i, a.v); err != nil {
			return err
		}
	}
	return nil
}

// rangeReader reads an object in pieces, each with the retries of storage.
type rangeReader struct {
	ctx      context.Context
	b        *storage.Bucket
	key      string
	at, size int64
	piece    []byte
}

const pieceSize = 4 << 20

func openObject(ctx context.Context, b *storage.Bucket, key string) (*rangeReader, error) {
	o, _, err := storage.Stat(ctx, b, key)
	if err != nil {
		return nil, err
	}
	return &rangeReader{ctx: ctx, b: b, key: key, size: o.Size}, nil
}

func (r *rangeReader) Read(p []byte) (int, error) {
	if len(r.piece) == 0 {
		n := min(pieceSize, r.size-r.at)
		if n == 0 {
			return 0, io.EOF
		}
		var err error
		if r.piece, err = storage.GetRange(r.ctx, r.b, r.key, r.at, n); err != nil {
			return 0, err
		}
		r.at += n
	}
	n := copy(p, r.piece)
	r.piece = r.piece[n:]
	return n, nil
}

// rawLines inflates an object of JSON lines of a target piece by piece and gives its lines, those of medical images with
// the names that are sealed in them; a line is valid until the next.
func rawLines(ctx context.Context, b *storage.Bucket, key string, fn func(line []byte) error) error {
	return rawLinesWith(ctx, b, sitekey.NewReader(ctx, b), key, fn)
}

// rawLinesWith is [rawLines] for who reads many objects of a target.
func rawLinesWith(ctx context.Context, b *storage.Bucket, names *sitekey.Reader, key string, fn func(line []byte) error) error {
	r, err := openObject(ctx, b, key)
	if err != nil {
		return err
	}
	if err := storage.EachLine(r, opened(names, fn)); err != nil {
		return fmt.Errorf("scheduler: read %s: %s: %w", b.URL, key, err)
	}
	return nil
}

// opened passes lines of records on with the names that are sealed in them.
func opened(names *sitekey.Reader, fn func(line []byte) error) func(line []byte) error {
	return func(line []byte) error {
		line, err := names.Line(line)
		if err != nil {
			return err
		}
		return fn(line)
	}
}

// plainLines is [rawLines] for an object that is not compressed.
func plainLines(ctx context.Context, b *storage.Bucket, key string, fn func(line []byte) error) error {
	r, err := openObject(ctx, b, key)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 16<<10), jobs.MaxFrameText)
	fn = opened(sitekey.NewReader(ctx, b), fn)
	for lines.Scan() {
		if len(lines.Bytes()) > 0 {
			if err := fn(lines.Bytes()); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("scheduler: read %s: %s: %w", b.URL, key, err)
	}
	return nil
}
