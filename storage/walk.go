package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"gocloud.dev/blob"
)

// pageSize is the number of objects that a listing asks a store for at once if nothing is said, the most that S3 gives.
const pageSize = 1000

// Object is what a listing tells of an object without asking for it.
type Object struct {
	Key     string
	Size    int64     // bytes
	ETag    string    // changes with the content: ETag of S3 and Azure without quotes, generation of GCS, time and size of a file
	ModTime time.Time // last written
	MD5     []byte    // of the content, where the store lists one; on S3 not for multipart or KMS-encrypted objects
}

// WalkOptions say where a listing starts. The zero value lists everything except pelmill's own objects.
type WalkOptions struct {
	Prefix     string // only keys that start so; keys below .pelmill/ are listed only if the prefix starts with that
	StartAfter string // only keys greater than this
	Token      []byte // of the last Page that was dealt with, from the same URL and options; goes before StartAfter
	PageSize   int    // objects of a page at most, up to 1,000; 0: 1,000
}

// Page is up to 1,000 objects in key order. Token continues right after it, in this or another process; after the
// last page it continues with nothing.
type Page struct {
	Objects []Object
	Token   []byte
	Links   int64 // symbolic links of a folder that were met since the page before and not followed
}

// walkToken is the content of Page.Token.
type walkToken struct {
	After  string `json:"after,omitempty"`  // in folders the last key, elsewhere StartAfter of the options
	Native []byte `json:"native,omitempty"` // the store's own token
	Done   bool   `json:"done,omitempty"`
}

// Walk lists a bucket in the byte order of keys and calls fn with each page. It never yields directory markers
// (objects of no bytes whose key ends in "/"), temporary files, or, unless asked for by prefix, objects of pelmill's
// own. A page may be empty. The order is that of the store; S3 directory buckets have none. An error of fn ends the
// walk and is returned as it is. A folder that does not exist is an error for which IsNotExist holds.
func Walk(ctx context.Context, b *Bucket, opts *WalkOptions, fn func(Page) error) error {
	var o WalkOptions
	if opts != nil {
		o = *opts
	}
	if o.PageSize <= 0 || o.PageSize > pageSize {
		o.PageSize = pageSize
	}
	at := walkToken{After: o.StartAfter}
	if len(o.Token) > 0 {
		at = walkToken{}
		if err := json.Unmarshal(o.Token, &at); err != nil {
			return fmt.Errorf("storage: list %s: token %.40q: %w", b.URL, o.Token, err)
		}
	}
	if at.Done {
		return nil
	}
	if b.kind == "file" {
		return walkFiles(ctx, b, o, at, fn)
	}
	for {
		page, next, err := listPage(ctx, b, o, at)
		if err != nil {
			return fmt.Errorf("storage: list %s: %w", b.URL, err)
		}
		page.Token, _ = json.Marshal(next)
		if err := fn(page); err != nil || next.Done {
			return err
		}
		at = next
	}
}

func hidden(o WalkOptions, key string, size int64) bool {
	if strings.HasSuffix(key, "/") && size == 0 {
		return true
	}
	return strings.HasPrefix(key, ownDir) && !strings.HasPrefix(o.Prefix, ownDir)
}

func walkFiles(ctx context.Context, b *Bucket, o WalkOptions, at walkToken, fn func(Page) error) error {
	var fnErr error
	page := Page{Objects: make([]Object, 0, o.PageSize)}
	w := fileWalk{ctx: ctx, f: &fileBucket{dir: b.dir, links: b.links}, prefix: o.Prefix, after: at.After, skipOwn: !strings.HasPrefix(o.Prefix, ownDir)}
	flush := func(t walkToken) error {
		page.Token, _ = json.Marshal(t)
		page.Links, w.skipped = w.skipped, 0
		fnErr = fn(page)
		page = Page{Objects: make([]Object, 0, o.PageSize)}
		return fnErr
	}
	w.yield = func(key string, info fs.FileInfo) error {
		if len(page.Objects) == o.PageSize {
			if err := flush(walkToken{After: page.Objects[o.PageSize-1].Key}); err != nil {
				return err
			}
		}
		page.Objects = append(page.Objects, Object{Key: key, Size: info.Size(), ETag: fileETag(info), ModTime: info.ModTime()})
		return nil
	}
	err := w.run()
	if fnErr != nil {
		return fnErr
	}
	if err != nil {
		return fmt.Errorf("storage: list %s: %w", b.URL, err)
	}
	return flush(walkToken{Done: true})
}

// listPage gets the page after at, normally in one call of the store.
func listPage(ctx context.Context, b *Bucket, o WalkOptions, at walkToken) (Page, walkToken, error) {
	token := blob.FirstPageToken
	switch {
	case at.Native != nil:
		token = at.Native
	case at.After != "" && b.kind == "mem":
		token = []byte(b.prefix + at.After)
	}
	lo := &blob.ListOptions{Prefix: o.Prefix}
	if at.After != "" {
		// The same call belongs to each token, so this is set on later pages too. Azure cannot start at a key.
		lo.BeforeList = func(as func(any) bool) error {
			startS3(as, b.prefix+at.After)
			startGCS(as, b.prefix+at.After)
			return nil
		}
	}
	var list []*blob.ListObject
	var native []byte
	err := b.retry.do(ctx, func(ctx *attempt) (err error) {
		list, native, err = b.ListPage(ctx, token, o.PageSize, lo)
		return err
	})
	if err != nil {
		return Page{}, at, err
	}
	page := Page{Objects: make([]Object, 0, len(list))}
	for _, l := range list {
		if l.Key > at.After && !hidden(o, l.Key, l.Size) {
			page.Objects = append(page.Objects, objectOf(l))
		}
	}
	return page, walkToken{After: at.After, Native: native, Done: native == nil}, nil
}

func objectOf(l *blob.ListObject) Object {
	etag, _ := etagAs(l.As)
	return Object{Key: l.Key, Size: l.Size, ModTime: l.ModTime, MD5: l.MD5, ETag: etag}
}

// trimETag removes what only some answers of one store put around an ETag.
func trimETag(s string) string { return strings.Trim(strings.TrimPrefix(s, "W/"), `"`) }
