package storage

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

var (
	errMemNotFound = errors.New("no such object")
	errExists      = errors.New("object exists")
	errUnsupported = errors.New("not supported by this kind of bucket")
)

// memBucket is a gocloud driver over a map. gocloud's own sorts all keys for each page of a listing, which takes
// quarter of an hour for a million objects, and cannot be shared between two prefixes.
type memBucket struct {
	mu      sync.Mutex
	objects map[string]*memObject
	sorted  []string // all keys in order; nil after a key was added or removed
	clock   int64    // last modification time given, in nanoseconds; times are unique so that ETags are
}

// memObject is never changed once it is in the map.
type memObject struct {
	data  []byte
	attrs driver.Attributes
}

func (m *memBucket) ErrorCode(err error) gcerrors.ErrorCode { return driverCode(err) }
func (m *memBucket) As(any) bool                            { return false }
func (m *memBucket) ErrorAs(error, any) bool                { return false }
func (m *memBucket) Close() error                           { return nil }

func (m *memBucket) get(key string) (*memObject, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.objects[key]
	if o == nil {
		return nil, errMemNotFound
	}
	return o, nil
}

func (m *memBucket) put(o *memObject, key string, createOnly bool, cond *condition) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.objects[key]
	switch {
	case old != nil && createOnly:
		return errExists
	case cond.match != "" && old == nil:
		return errMemNotFound
	case cond.match != "" && old.attrs.ETag != cond.match:
		return errExists
	}
	m.clock = max(m.clock+1, time.Now().UnixNano())
	o.attrs.ModTime = time.Unix(0, m.clock)
	o.attrs.CreateTime = o.attrs.ModTime
	o.attrs.ETag = fmt.Sprintf("%x-%x", m.clock, len(o.data))
	m.objects[key] = o
	cond.made = o.attrs.ETag
	if old == nil {
		m.sorted = nil
	}
	return nil
}

func (m *memBucket) Attributes(_ context.Context, key string) (*driver.Attributes, error) {
	o, err := m.get(key)
	if err != nil {
		return nil, err
	}
	a := o.attrs
	a.Metadata = maps.Clone(a.Metadata)
	return &a, nil
}

func (m *memBucket) ListPaged(_ context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sorted == nil {
		m.sorted = slices.Sorted(maps.Keys(m.objects))
	}
	size := opts.PageSize
	if size <= 0 {
		size = pageSize
	}
	after := string(opts.PageToken)
	i, _ := slices.BinarySearch(m.sorted, max(opts.Prefix, after))
	page := &driver.ListPage{}
	for ; i < len(m.sorted) && strings.HasPrefix(m.sorted[i], opts.Prefix); i++ {
		key := m.sorted[i]
		// A token that ends in the delimiter names a whole collapsed folder.
		if after != "" && (key == after || opts.Delimiter != "" && strings.HasSuffix(after, opts.Delimiter) && strings.HasPrefix(key, after)) {
			continue
		}
		if len(page.Objects) == size {
			page.NextPageToken = []byte(page.Objects[size-1].Key)
			break
		}
		if folder, ok := collapse(key, opts.Prefix, opts.Delimiter); ok {
			page.Objects = append(page.Objects, &driver.ListObject{Key: folder, IsDir: true})
			after = folder
			continue
		}
		a := &m.objects[key].attrs
		page.Objects = append(page.Objects, &driver.ListObject{Key: key, Size: a.Size, ModTime: a.ModTime, MD5: a.MD5, AsFunc: asETag(a.ETag)})
	}
	return page, nil
}

// collapse returns the "folder" that a listing with a delimiter shows instead of key.
func collapse(key, prefix, delimiter string) (string, bool) {
	if delimiter == "" {
		return "", false
	}
	i := strings.Index(key[len(prefix):], delimiter)
	if i < 0 {
		return "", false
	}
	return key[:len(prefix)+i+len(delimiter)], true
}

// etagOf is what the drivers of this package fill through As on listed objects and readers, as gocloud's own
// structures have no place for it there.
type etagOf struct{ ETag string }

func asETag(etag string) func(any) bool {
	return func(i any) bool {
		e, ok := i.(*etagOf)
		if ok {
			e.ETag = etag
		}
		return ok
	}
}

type memReader struct {
	io.Reader
	attrs driver.ReaderAttributes
	as    func(any) bool
}

func (r *memReader) Close() error                         { return nil }
func (r *memReader) Attributes() *driver.ReaderAttributes { return &r.attrs }
func (r *memReader) As(i any) bool                        { return r.as(i) }

func (m *memBucket) NewRangeReader(_ context.Context, key string, offset, length int64, opts *driver.ReaderOptions) (driver.Reader, error) {
	o, err := m.get(key)
	if err != nil {
		return nil, err
	}
	if opts.BeforeRead != nil {
		if err := opts.BeforeRead(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	data := o.data[min(offset, int64(len(o.data))):]
	if length >= 0 {
		data = data[:min(length, int64(len(data)))]
	}
	return &memReader{bytes.NewReader(data), driver.ReaderAttributes{ContentType: o.attrs.ContentType, ModTime: o.attrs.ModTime, Size: o.attrs.Size}, asETag(o.attrs.ETag)}, nil
}

type memWriter struct {
	bytes.Buffer
	ctx    context.Context
	m      *memBucket
	key    string
	object memObject
	create bool
	cond   *condition
}

func (m *memBucket) NewTypedWriter(ctx context.Context, key, contentType string, opts *driver.WriterOptions) (driver.Writer, error) {
	if key == "" {
		return nil, errors.New("empty key")
	}
	w := &memWriter{ctx: ctx, m: m, key: key, create: opts.IfNotExist, cond: &condition{}}
	if opts.BeforeWrite != nil {
		if err := opts.BeforeWrite(takeCondition(&w.cond)); err != nil {
			return nil, err
		}
	}
	w.object.attrs = driver.Attributes{ContentType: contentType, Metadata: maps.Clone(opts.Metadata)}
	return w, nil
}

func (w *memWriter) Close() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.object.data = bytes.Clone(w.Bytes())
	sum := md5.Sum(w.object.data)
	w.object.attrs.MD5, w.object.attrs.Size = sum[:], int64(len(w.object.data))
	return w.m.put(&w.object, w.key, w.create, w.cond)
}

func (m *memBucket) Copy(_ context.Context, dst, src string, _ *driver.CopyOptions) error {
	o, err := m.get(src)
	if err != nil {
		return err
	}
	c := *o
	return m.put(&c, dst, false, &condition{})
}

func (m *memBucket) Delete(_ context.Context, key string, opts *driver.DeleteOptions) error {
	cond, err := deleteCondition(opts)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch old := m.objects[key]; {
	case old == nil:
		return errMemNotFound
	case cond.match != "" && old.attrs.ETag != cond.match:
		return errExists
	}
	delete(m.objects, key)
	m.sorted = nil
	return nil
}

func (m *memBucket) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errUnsupported
}
