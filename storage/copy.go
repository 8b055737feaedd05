package storage

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Copy copies an object of any size to another bucket, as [Put] writes one: only onto a free key or onto the version that
// opts.IfMatch names, and proven by reading it again. Its memory does not grow with the object. from, where it is not nil,
// is what a listing said of the source; a source that is no longer that one is ErrChanged.
func Copy(ctx context.Context, src *Bucket, key string, dst *Bucket, to string, from *Object, opts *PutOptions) (PutResult, error) {
	if opts == nil {
		opts = &PutOptions{}
	}
	if from == nil {
		from = &Object{}
	}
	var res PutResult
	wrote := "" // SHA-256 of what a call of this function has written
	err := dst.retry.do(ctx, func(ctx *attempt) error {
		cond := &condition{match: opts.IfMatch}
		metadata := maps.Clone(opts.Metadata)
		if metadata == nil {
			metadata = map[string]string{}
		}
		carryTime(metadata, opts.ModTime)
		wo := &blob.WriterOptions{ContentType: "application/octet-stream", Metadata: metadata, IfNotExist: !opts.Overwrite && opts.IfMatch == "", BeforeWrite: cond.set}
		sum, size, refused, err := stream(ctx, src, key, dst, to, from, wo, cond, opts.BeforeStore)
		if err != nil {
			return err
		}
		if !refused {
			wrote = hex.EncodeToString(sum.sha256)
		} else if sum, size, err = sumOf(ctx, src, key); err != nil {
			return err
		}
		there, _, err := sumOf(ctx, dst, to)
		if err != nil {
			return err
		}
		now, found, err := stat(ctx, dst, to)
		if err != nil {
			return err
		}
		same := string(there.sha256) == string(sum.sha256)
		switch {
		case !same && refused && wrote == "":
			return &ExistsError{URL: dst.URL, Key: to, Object: now, Metadata: found}
		case !same:
			return fmt.Errorf("read back: SHA-256 %x, want %x: %w", there.sha256, sum.sha256, errMismatch)
		}
		res = PutResult{ETag: now.ETag, Size: size, MD5: sum.md5, SHA256: sum.sha256}
		if refused && wrote == "" {
			res.Existed, res.Metadata = true, found
		}
		return nil
	})
	var exists *ExistsError
	if errors.As(err, &exists) {
		return PutResult{}, exists
	}
	if err != nil {
		return PutResult{}, wrap(dst, "copy to", to, err)
	}
	return res, nil
}

// digests are those of an object.
type digests struct{ md5, sha256 []byte }

// stream writes the bytes of one object to another one, as the condition allows. refused: another one is there.
func stream(ctx *attempt, src *Bucket, key string, dst *Bucket, to string, from *Object, wo *blob.WriterOptions, cond *condition,
	beforeStore func(sha256 string, size int64) error) (sum digests, size int64, refused bool, err error) {
	if cond.match != "" {
		now, _, err := stat(ctx, dst, to)
		switch {
		case IsNotExist(err) && !Unreachable(err):
			wo.IfNotExist, cond.match = true, ""
		case err != nil:
			return sum, 0, false, err
		case now.ETag != cond.match:
			return sum, 0, true, nil
		}
	} else if wo.IfNotExist {
		// A look first: the bytes of a large object need not travel in vain.
		if there, err := dst.Exists(ctx, to); err != nil || there {
			return sum, 0, there, err
		}
	}
	r, err := openReader(ctx, src, key, 0)
	if err != nil {
		return sum, 0, false, err
	}
	defer r.Close()
	now := GetResult{Size: r.Size(), ModTime: r.ModTime(), ETag: readerETag(r)}
	if err := changed(src, from, now); err != nil {
		return sum, 0, false, err
	}
	ctx.expect(4 * now.Size)
	m, s := md5.New(), sha256.New()
	counted := &counter{want: now.Size, r: io.TeeReader(r, io.MultiWriter(m, s))}
	if beforeStore != nil {
		counted.end = func() error { return beforeStore(hex.EncodeToString(s.Sum(nil)), now.Size) }
	}
	err = dst.Upload(ctx, to, counted, wo)
	switch {
	case err != nil && gcerrors.Code(err) == gcerrors.FailedPrecondition && (wo.IfNotExist || cond.match != ""):
		return sum, 0, true, nil
	case err != nil:
		return sum, 0, false, err
	case counted.n != now.Size:
		return sum, 0, false, fmt.Errorf("%d of %d bytes arrived: %w", counted.n, now.Size, io.ErrUnexpectedEOF)
	}
	return digests{m.Sum(nil), s.Sum(nil)}, counted.n, false, nil
}

// counter counts the bytes that are read through it. An end before as many as it wants is an error, upon which nothing
// is stored, and so is that of end, which is called at the end where it is not nil.
type counter struct {
	r       io.Reader
	n, want int64
	end     func() error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if errors.Is(err, io.EOF) && c.n < c.want {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.EOF) && c.end != nil {
		if failed := c.end(); failed != nil {
			err = failed
		}
		c.end = nil
	}
	return n, err
}

// sumOf reads an object.
func sumOf(ctx *attempt, b *Bucket, key string) (sum digests, size int64, err error) {
	r, err := openReader(ctx, b, key, 0)
	if err != nil {
		return sum, 0, err
	}
	defer r.Close()
	ctx.expect(r.Size())
	m, s := md5.New(), sha256.New()
	size, err = io.Copy(io.MultiWriter(m, s), r)
	if err == nil && size != r.Size() {
		err = fmt.Errorf("%d of %d bytes arrived: %w", size, r.Size(), io.ErrUnexpectedEOF)
	}
	return digests{m.Sum(nil), s.Sum(nil)}, size, err
}
