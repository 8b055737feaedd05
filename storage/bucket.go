package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	lru "github.com/hashicorp/golang-lru/v2"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
)

// Bucket is a gocloud bucket plus what our functions need to know of its kind. It belongs to the Buckets that
// opened it, which closes it; it is safe for concurrent use.
type Bucket struct {
	*blob.Bucket
	URL string // canonical, without secrets

	kind   string // scheme of the URL
	store  string // in which the bucket lies, see storeOf
	name   string // of the bucket in its store; empty for folders
	dir    string // root of a file bucket, absolute
	links  *links // how its links are followed; nil: not at all
	prefix string // what blob.PrefixedBucket puts before every key, "" or ending in "/"
	retry  Retry
	direct direct // nil: everything goes through Bucket
}

// direct is the client of a store without gocloud before it, which has spans, metrics, a finalizer and copies for each request.
// done reports whether it takes such an object at all; others are left to gocloud's driver.
type direct interface {
	// put writes an object as the options and the ETag to match say, in one request.
	put(ctx context.Context, key string, data []byte, wo *blob.WriterOptions, match string) (done bool, err error)
	// stat is what [Stat] returns.
	stat(ctx context.Context, key string) (o Object, metadata map[string]string, done bool, err error)
	// open opens a whole object.
	open(ctx context.Context, key string) (r objectReader, done bool, err error)
}

// objectReader reads an object; a [blob.Reader] is one.
type objectReader interface {
	io.ReadCloser
	Size() int64
	ModTime() time.Time
	As(i any) bool
}

// Kind returns "file", "mem", "s3", "gs" or "azblob".
func (b *Bucket) Kind() string { return b.kind }

// Dir returns the folder of a file bucket, "" for the other kinds.
func (b *Bucket) Dir() string { return b.dir }

// Buckets opens each bucket once for as long as anybody holds it, and keeps those opened last, so that who asks again and again
// for one that nobody holds finds its connections. It is safe for concurrent use.
type Buckets struct {
	// Retry bounds how temporary errors are tried again. It is read when a bucket is opened.
	Retry Retry

	// S3Endpoint is where s3:// buckets are whose URL names no endpoint, see [ParseEndpoint]; empty: AWS, or what the
	// SDK's own variables say. It is read when a bucket is opened.
	S3Endpoint string

	// Allow says what Open may open; nil: everything. It must be set before Buckets is shared.
	Allow *Policy

	// CopyLinks names the one folder whose links are followed; nil: none. It is read when a bucket is opened.
	CopyLinks *CopyLinks

	again atomic.Int64

	mu     sync.Mutex
	open   map[string]weak.Pointer[Bucket] // by URL; some may be of buckets that are gone
	most   int                             // of open, at which those that are gone are looked for
	recent *lru.Cache[string, *Bucket]     // that were opened last, by URL
	mems   map[string]*memBucket
	closed bool
}

// keptBuckets bounds the buckets that are kept although nobody holds them: a process that runs for long may see a new target with
// every job. Nothing of a bucket has to be closed: connections that nobody uses end by themselves.
const keptBuckets = 64

// NewBuckets returns an empty set of buckets with default settings.
func NewBuckets() *Buckets {
	recent, err := lru.New[string, *Bucket](keptBuckets)
	if err != nil {
		panic(err) // the bound is not below 1
	}
	return &Buckets{open: map[string]weak.Pointer[Bucket]{}, most: 2 * keptBuckets, recent: recent, mems: map[string]*memBucket{}}
}

// Open returns the bucket at a path or URL, the same one for the same canonical URL while anybody holds it. It does not look
// whether the bucket exists; a folder is created by the first Put. What Allow forbids is a *NotAllowedError.
func (bs *Buckets) Open(ctx context.Context, rawURL string) (*Bucket, error) {
	if err := bs.Allow.Check(rawURL); err != nil {
		return nil, err
	}
	u, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if bs.closed {
		return nil, fmt.Errorf("storage: open %s: buckets are closed", u)
	}
	if b := bs.open[u.String()].Value(); b != nil {
		bs.recent.Add(b.URL, b)
		return b, nil
	}
	b := &Bucket{URL: u.String(), kind: u.Scheme, retry: bs.Retry.withDefaults()}
	b.retry.again = &bs.again
	if err := bs.dial(ctx, b, u); err != nil {
		return nil, fmt.Errorf("storage: open %s: %w", u, err)
	}
	bs.forget()
	bs.open[b.URL] = weak.Make(b)
	bs.recent.Add(b.URL, b)
	return b, nil
}

// forget drops the entries of buckets that are gone, once there are twice as many as were left the last time. The lock is held.
func (bs *Buckets) forget() {
	if len(bs.open) < bs.most {
		return
	}
	maps.DeleteFunc(bs.open, func(_ string, b weak.Pointer[Bucket]) bool { return b.Value() == nil })
	bs.most = max(2*keptBuckets, 2*len(bs.open))
}

func (bs *Buckets) dial(ctx context.Context, b *Bucket, u *url.URL) error {
	if u.Scheme == "file" {
		b.dir = filepath.FromSlash(u.Path)
		b.links = bs.CopyLinks.of(b.URL)
		b.Bucket = blob.NewBucket(newFileBucket(b.dir, b.links))
		return nil
	}
	if p := strings.Trim(u.Path, "/"); p != "" {
		b.prefix = p + "/"
	}
	b.name = u.Host
	if u.Scheme == "mem" {
		m := bs.mems[u.Host]
		if m == nil {
			m = &memBucket{objects: map[string]*memObject{}}
			bs.mems[u.Host] = m
		}
		b.Bucket = blob.NewBucket(driver.NewPrefixedBucket(m, b.prefix))
		return nil
	}
	u = bs.atEndpoint(*u)
	bare := *u
	bare.Path = ""
	inner, store, err := openers[u.Scheme](ctx, u, &bare, b.retry)
	if err != nil {
		return err
	}
	b.store = store
	b.Bucket = inner
	b.direct = directS3(ctx, inner, u, b.prefix)
	if b.prefix != "" {
		b.Bucket = blob.PrefixedBucket(inner, b.prefix)
	}
	return nil
}

// innerAttempts is how often the client of S3 makes one request, such as a part of an upload, before Retry starts the
// whole operation again.
const innerAttempts = 3

// Retries returns how often operations on its buckets were tried again so far. What the clients of the stores try again
// inside one attempt does not count.
func (bs *Buckets) Retries() int64 { return bs.again.Load() }

// Close closes all buckets. Memory buckets are lost.
func (bs *Buckets) Close() error {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.closed = true
	var errs []error
	for _, open := range bs.open {
		if b := open.Value(); b != nil {
			errs = append(errs, b.Bucket.Close())
		}
	}
	clear(bs.open)
	bs.recent.Purge()
	clear(bs.mems)
	return errors.Join(errs...)
}
