package storage

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// GetResult is a whole object.
type GetResult struct {
	Data    []byte
	Size    int64
	ModTime time.Time // to the second in S3, GCS and Azure
	ETag    string
}

// Get reads a whole object into memory.
//
// An object of more than limit bytes (negative: no limit) is a *TooLargeError before anything is read. As many bytes
// arrive as the store announced, and with the MD5 that it lists or sends along, or it is an error; a connection that breaks is taken
// up again where it broke, and is not given up while it brings more. With want, which is what a listing said (zero fields are not looked at), an object that is
// no longer that one is ErrChanged. A file that changed while it was read is ErrChanged too; without want it is read again.
func Get(ctx context.Context, b *Bucket, key string, limit int64, want *Object) (GetResult, error) {
	return GetInto(ctx, b, key, limit, want, func(n int64) []byte { return make([]byte, n) })
}

// GetInto is Get into memory of the caller's: alloc returns n bytes of any content, and is called again where an attempt
// begins anew. After an error nothing is written to any of it any more.
func GetInto(ctx context.Context, b *Bucket, key string, limit int64, want *Object, alloc func(n int64) []byte) (GetResult, error) {
	if limit < 0 {
		limit = math.MaxInt64
	}
	if want == nil {
		want = &Object{}
	}
	var got GetResult
	var part []byte // what has arrived of the object that got describes
	furthest := 0   // most that ever had
	err := b.retry.do(ctx, func(ctx *attempt) error {
		r, err := openReader(ctx, b, key, int64(len(part)))
		if err != nil && len(part) > 0 && gcerrors.Code(err) != gcerrors.Unknown {
			part = nil // gone or shorter by now: the next attempt says what is there
			return errors.Join(errMismatch, err)
		}
		if err != nil {
			return err
		}
		defer r.Close()
		now := GetResult{Size: r.Size(), ModTime: r.ModTime(), ETag: readerETag(r)}
		if now.Size < 0 {
			return fmt.Errorf("%w: store does not tell its size", errUnsupported)
		}
		if now.Size > limit {
			return &TooLargeError{URL: b.URL, Key: key, Size: now.Size, Limit: limit}
		}
		ctx.expect(now.Size)
		if err := changed(b, want, now); err != nil {
			return err
		}
		if part != nil && (now.ETag != got.ETag || now.Size != got.Size || !now.ModTime.Equal(got.ModTime)) {
			part = nil
			return fmt.Errorf("object changed while it was read: %w", errMismatch)
		}
		if part == nil {
			part = alloc(now.Size)[:0:now.Size]
		}
		got = now
		n, err := io.ReadFull(r, part[len(part):cap(part)])
		part = part[:len(part)+n]
		if len(part) > furthest {
			furthest = len(part)
			ctx.advance()
		}
		if err == nil || errors.Is(err, io.EOF) && int64(len(part)) == now.Size {
			if err := atEnd(b, r); err != nil {
				part = nil
				return err
			}
			err = verify(ctx, b, key, r, want, now, part)
			if err != nil {
				part = nil
			}
			return err
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%d of %d bytes arrived: %w", len(part), now.Size, io.ErrUnexpectedEOF)
		}
		return err
	})
	if err != nil {
		return GetResult{}, wrap(b, "get", key, err)
	}
	got.Data = part
	return got, nil
}

// atEnd reads the end behind the last byte of an object, with which the vendors' clients say that it does not have the
// checksum that the store keeps.
func atEnd(b *Bucket, r io.Reader) error {
	if b.kind == "file" || b.kind == "mem" {
		return nil
	}
	var more [1]byte
	switch _, err := io.ReadFull(r, more[:]); {
	case err == nil:
		return fmt.Errorf("more bytes than announced: %w", errMismatch)
	case !errors.Is(err, io.EOF):
		return errors.Join(errMismatch, err)
	}
	return nil
}

// openReader opens an object from offset on. On S3 gocloud asks for some keys in an escaped form, which is that of
// objects written through it; objects of others have the key itself.
func openReader(ctx context.Context, b *Bucket, key string, offset int64) (objectReader, error) {
	if b.direct != nil && offset == 0 {
		if r, done, err := b.direct.open(ctx, key); done {
			return r, err
		}
	}
	r, err := b.NewRangeReader(ctx, key, offset, -1, asStored)
	if b.kind != "s3" || !escaped(key) || !IsNotExist(err) {
		return r, err
	}
	whole := b.prefix + key
	return b.NewRangeReader(ctx, key, offset, -1, &blob.ReaderOptions{BeforeRead: func(as func(any) bool) error {
		readAsS3(as, whole)
		return nil
	}})
}

// escaped reports whether gocloud's driver for S3 escapes a key: control characters, and the slash of "../".
func escaped(key string) bool {
	return strings.Contains(key, "../") || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' })
}

// asStored reads what is stored, as no store should change it.
var asStored = &blob.ReaderOptions{BeforeRead: func(as func(any) bool) error {
	asStoredGCS(as)
	return nil
}}

// changed compares what a listing said with what is there.
func changed(b *Bucket, want *Object, now GetResult) error {
	modTime := want.ModTime
	if b.kind != "file" && b.kind != "mem" {
		modTime = modTime.Truncate(time.Second) // HTTP dates have no fractions, listings do
	}
	switch {
	case want.Size != 0 && want.Size != now.Size:
		return fmt.Errorf("%w: %d bytes, were %d", ErrChanged, now.Size, want.Size)
	case want.ETag != "" && now.ETag != "" && want.ETag != now.ETag:
		return fmt.Errorf("%w: etag %s, was %s", ErrChanged, now.ETag, want.ETag)
	case !want.ModTime.IsZero() && want.ETag == "" && !now.ModTime.Equal(modTime):
		return fmt.Errorf("%w: modified %s, was %s", ErrChanged, now.ModTime, want.ModTime)
	}
	return nil
}

// verify proves that the bytes are those of the object: a file must not have changed meanwhile, and where a store
// lists an MD5, or gives one with what is read, the bytes must have it.
func verify(ctx context.Context, b *Bucket, key string, r objectReader, want *Object, now GetResult, data []byte) error {
	if b.kind == "file" {
		a, err := b.Attributes(ctx, key)
		switch {
		case err != nil && !IsNotExist(err):
			return err
		case err == nil && a.ETag == now.ETag:
			return nil
		case want.Size == 0 && want.ETag == "" && want.ModTime.IsZero():
			return fmt.Errorf("file changed while it was read: %w", errMismatch) // the next attempt reads what is there then
		}
		return fmt.Errorf("%w: while it was read", ErrChanged)
	}
	sum := want.MD5
	if keyed, ok := keyedS3(r.As); ok {
		sum = nil
		if !keyed {
			sum = md5OfETag(now.ETag)
		}
	}
	var stored storedMD5
	if sum == nil && r.As(&stored) {
		sum = stored.MD5
	}
	if sum == nil {
		return nil
	}
	if got := md5.Sum(data); string(got[:]) != string(sum) {
		return fmt.Errorf("MD5 %x, store lists %x: %w", got, sum, errMismatch)
	}
	return nil
}

// storedMD5 is what a driver of this package fills through As on a reader: the MD5 of the whole object that the store
// gives with what is read.
type storedMD5 struct{ MD5 []byte }

// readerETag returns the identity of the object being read, in the form that listings have it.
func readerETag(r objectReader) string {
	etag, _ := etagAs(r.As)
	return etag
}

// etagAs is the identity of an object, of a reader or of a listing, where its driver has one of its own.
func etagAs(as func(any) bool) (etag string, ok bool) {
	var own etagOf
	if as(&own) {
		return own.ETag, true
	}
	if etag, ok = etagS3(as); ok {
		return etag, ok
	}
	return etagGCS(as)
}

// Sum reads a whole object, of any size, and gives its SHA-256 in lower-case hexadecimal and its length in bytes.
func Sum(ctx context.Context, b *Bucket, key string) (sum string, size int64, err error) {
	err = b.retry.do(ctx, func(ctx *attempt) error {
		d, n, err := sumOf(ctx, b, key)
		sum, size = hex.EncodeToString(d.sha256), n
		return err
	})
	if err != nil {
		return "", 0, wrap(b, "sum", key, err)
	}
	return sum, size, nil
}

// GetRange reads length bytes from offset on, all of them: an object that ends before is an error.
func GetRange(ctx context.Context, b *Bucket, key string, offset, length int64) ([]byte, error) {
	var data []byte
	err := b.retry.do(ctx, func(ctx *attempt) error {
		ctx.expect(length)
		r, err := b.NewRangeReader(ctx, key, offset, length, asStored)
		if err != nil {
			return err
		}
		defer r.Close()
		if r.Size() < offset+length {
			return fmt.Errorf("%w: %d bytes, wanted %d from %d on", errPastEnd, r.Size(), length, offset)
		}
		data = make([]byte, length)
		n, err := io.ReadFull(r, data)
		if errors.Is(err, io.EOF) && length > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil && length > 0 {
			return fmt.Errorf("%d of %d bytes arrived: %w", n, length, err)
		}
		return nil
	})
	if err != nil {
		return nil, wrap(b, "get range of", key, err)
	}
	return data, nil
}

// errPastEnd means that a range is not within the object; callers have no use for it but the text.
var errPastEnd = errors.New("object is too short")

// wrap adds to an error what the caller asked for.
func wrap(b *Bucket, what, key string, err error) error {
	return fmt.Errorf("storage: %s: %s %q: %w", b.URL, what, key, err)
}
