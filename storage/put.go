package storage

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// PutOptions say how an object is written. Nil means create-only, without metadata.
type PutOptions struct {
	// Overwrite replaces an object that exists. Without it, and without IfMatch, Put only creates.
	Overwrite bool
	// IfMatch replaces the version of the object that has this ETag, as Stat, Get, Walk and ExistsError tell it, and no
	// other: any other version is an *ExistsError. An object that is gone meanwhile is created. The store itself decides;
	// a store that speaks S3 but ignores If-Match leaves the moment between a look at the object and the write.
	IfMatch string
	// Metadata goes with the object where the store keeps some; folders drop it. Keys are [a-z][a-z0-9_]*, values
	// short ASCII: S3 has room for 2 KB in all. Put adds "sha256" of the content unless it is there.
	Metadata map[string]string
	// SHA256 is that of the content, from callers who have it already; nil: Put computes it.
	SHA256 []byte
	// ContentType is the media type; empty means application/octet-stream.
	ContentType string
	// ModTime is that of what the object was made from; zero: none. A file gets it as its own time, elsewhere it is the
	// metadata "mtime", in seconds with a fraction, where rclone looks for it too.
	ModTime time.Time
	// BeforeStore, where it is not nil, is called by Copy with the SHA-256 and the size of a source that was read to its end,
	// before anything of the copy can be seen. Its error stores nothing.
	BeforeStore func(sha256 string, size int64) error
}

// PutResult tells what is stored now.
type PutResult struct {
	ETag    string
	Size    int64
	MD5     []byte // nil in folders, which know of none
	SHA256  []byte
	Existed bool // the same bytes were there already, and nothing was written
	// Metadata is that of an object that Existed: it tells whose it is. Nil in folders.
	Metadata map[string]string
}

// Put writes an object at once and proves it: after the upload the store's own checksum is compared, or, where it has
// none, the object is read again. Until then Put does not return success; a cancelled or failed upload leaves nothing.
//
// Without Overwrite an object that is there already is left. If it has the same bytes that is a success (Existed), so
// two workers that do the same work do not disturb each other; if it has others it is an *ExistsError. An upload that
// arrived damaged is replaced, but not where somebody else has replaced it by then: that is an *ExistsError too.
func Put(ctx context.Context, b *Bucket, key string, data []byte, opts *PutOptions) (PutResult, error) {
	if opts == nil {
		opts = &PutOptions{}
	}
	sha := opts.SHA256
	if sha == nil {
		sum := sha256.Sum256(data)
		sha = sum[:]
	}
	res := PutResult{Size: int64(len(data)), SHA256: sha}
	if b.kind != "file" {
		sum := md5.Sum(data)
		res.MD5 = sum[:]
	}
	meta := map[string]string{"sha256": hex.EncodeToString(sha)}
	maps.Copy(meta, opts.Metadata)
	carryTime(meta, opts.ModTime)
	cond := &condition{match: opts.IfMatch}
	wo := &blob.WriterOptions{ContentType: opts.ContentType, Metadata: meta, IfNotExist: !opts.Overwrite && opts.IfMatch == "", BeforeWrite: cond.set}
	if wo.ContentType == "" {
		wo.ContentType = "application/octet-stream"
	}
	if b.kind == "gs" {
		wo.BufferSize = min(len(data)+1, 16<<20) // the client would take 16 MB for each small object
	}
	ours := false // what is under the key was written by this call
	err := b.retry.do(ctx, func(ctx *attempt) error {
		ctx.expect(2 * res.Size)
		refused, err := upload(ctx, b, key, data, wo, cond)
		if err != nil {
			return err
		}
		ours = ours || !refused
		now, metadata, err := check(ctx, b, key, data, &res, ours)
		if !ours && errors.Is(err, errMismatch) {
			// A bit that flipped on the way back must not make a stranger of our own object.
			now, metadata, err = check(ctx, b, key, data, &res, ours)
		}
		switch {
		case err == nil:
			if res.ETag = now.ETag; refused && !ours {
				res.Existed, res.Metadata = true, metadata
			}
			return nil
		case IsNotExist(err):
			return fmt.Errorf("store took the object but does not have it (%w): %w", errMismatch, err)
		case !errors.Is(err, errMismatch):
			return err
		case opts.Overwrite:
		case !ours, !cond.wrote(now, metadata, meta):
			return &ExistsError{URL: b.URL, Key: key, Object: now, Metadata: metadata}
		default:
			// The damaged object is this call's own: that version of it is replaced.
			wo.IfNotExist, cond.match = false, now.ETag
		}
		return fmt.Errorf("read back: %w", err)
	})
	if err != nil {
		var exists *ExistsError
		if errors.As(err, &exists) {
			return PutResult{}, exists
		}
		return PutResult{}, wrap(b, "put", key, err)
	}
	return res, nil
}

// upload writes an object as the condition allows. refused: another one is there, which stays.
func upload(ctx context.Context, b *Bucket, key string, data []byte, wo *blob.WriterOptions, cond *condition) (refused bool, err error) {
	if cond.match != "" {
		now, _, err := stat(ctx, b, key)
		switch {
		case IsNotExist(err) && !Unreachable(err):
			wo.IfNotExist, cond.match = true, ""
		case err != nil:
			return false, err
		case now.ETag != cond.match:
			return true, nil
		}
	}
	done := false
	if b.direct != nil {
		done, err = b.direct.put(ctx, key, data, wo, cond.match)
	}
	if !done {
		err = b.Upload(ctx, key, bytes.NewReader(data), wo)
	}
	switch {
	case err == nil:
		return false, nil
	case (wo.IfNotExist || cond.match != "") && (gcerrors.Code(err) == gcerrors.FailedPrecondition || driverCode(err) == gcerrors.FailedPrecondition):
		return true, nil
	case cond.match != "" && IsNotExist(err) && !Unreachable(err):
		return false, fmt.Errorf("object to replace is gone (%w): %w", errMismatch, err) // the next attempt creates it
	}
	return false, err
}

// readBuffers are what objects are read back into.
var readBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// check compares the object under key with data: by size, then by the MD5 that the store computed, else by reading.
// What Azure lists as MD5 was computed by it only if it was not sent along, as we do not.
func check(ctx context.Context, b *Bucket, key string, data []byte, want *PutResult, ours bool) (Object, map[string]string, error) {
	now, metadata, err := stat(ctx, b, key)
	if err != nil {
		return Object{}, nil, err
	}
	if b.kind == "azblob" && !ours {
		now.MD5 = nil
	}
	switch {
	case now.Size != want.Size:
		return now, metadata, fmt.Errorf("%d bytes stored, want %d: %w", now.Size, want.Size, errMismatch)
	case now.MD5 != nil && bytes.Equal(now.MD5, want.MD5):
		return now, metadata, nil
	case now.MD5 != nil:
		return now, metadata, fmt.Errorf("MD5 %x stored, want %x: %w", now.MD5, want.MD5, errMismatch)
	}
	r, err := b.NewReader(ctx, key, asStored)
	if err != nil {
		return now, metadata, err
	}
	defer r.Close()
	buffer := readBuffers.Get().(*[256 << 10]byte)
	defer readBuffers.Put(buffer)
	buf := buffer[:min(len(data)+1, len(buffer))]
	for rest := data; ; {
		n, err := r.Read(buf)
		if n > len(rest) || !bytes.Equal(buf[:n], rest[:n]) {
			return now, metadata, fmt.Errorf("other content from byte %d on: %w", len(data)-len(rest), errMismatch)
		}
		rest = rest[n:]
		switch {
		case errors.Is(err, io.EOF) && len(rest) == 0:
			return now, metadata, nil
		case errors.Is(err, io.EOF):
			return now, metadata, fmt.Errorf("%d of %d bytes came back: %w", len(data)-len(rest), len(data), io.ErrUnexpectedEOF)
		case err != nil:
			return now, metadata, err
		}
	}
}
