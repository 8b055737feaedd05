package storage

import (
	"context"
	"fmt"
	"os"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Delete removes an object. One that does not exist is no error, as a repeated call cannot tell.
func Delete(ctx context.Context, b *Bucket, key string) error {
	err := b.retry.do(ctx, func(ctx *attempt) error { return b.Bucket.Delete(ctx, key) })
	if err != nil && !IsNotExist(err) {
		return wrap(b, "delete", key, err)
	}
	return nil
}

// DeleteVersion removes the version of an object that has the ETag of o, as Stat, Get and Walk tell it, and no other: any
// other version is an *ExistsError and stays. One that does not exist is no error, as a repeated call cannot tell. The
// store itself decides; a store that ignores the condition leaves the moment between a look at the object and the
// deletion. Files are removed under the lock that replacements take.
func DeleteVersion(ctx context.Context, b *Bucket, o Object) error {
	cond := &condition{match: o.ETag}
	err := b.retry.do(ctx, func(ctx *attempt) error {
		now, metadata, err := stat(ctx, b, o.Key)
		if err != nil {
			return err
		}
		if now.ETag == o.ETag {
			if err = b.DeleteWithOptions(ctx, o.Key, &blob.DeleteOptions{BeforeDelete: cond.set}); gcerrors.Code(err) != gcerrors.FailedPrecondition {
				return err
			}
		}
		return &ExistsError{URL: b.URL, Key: o.Key, Object: now, Metadata: metadata}
	})
	switch exists, ok := err.(*ExistsError); {
	case ok:
		return exists
	case err != nil && (!IsNotExist(err) || Unreachable(err)):
		return wrap(b, "delete", o.Key, err)
	}
	return nil
}

// removeVersion removes a file if it still has the ETag match.
func (f *fileBucket) removeVersion(path, match string) error {
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case fileETag(info) != match:
		return fmt.Errorf("%s: %w", path, errExists)
	}
	return os.Remove(path)
}
