package storage

import (
	"context"
	"encoding/hex"
	"strings"

	"gocloud.dev/blob"
)

// Stat returns what the store knows of one object, and its metadata (keys in lower case; nil in folders).
func Stat(ctx context.Context, b *Bucket, key string) (Object, map[string]string, error) {
	var o Object
	var metadata map[string]string
	err := b.retry.do(ctx, func(ctx *attempt) error {
		var err error
		o, metadata, err = stat(ctx, b, key)
		return err
	})
	if err != nil {
		return Object{}, nil, wrap(b, "stat", key, err)
	}
	return o, metadata, nil
}

// stat is Stat in one attempt.
func stat(ctx context.Context, b *Bucket, key string) (Object, map[string]string, error) {
	if b.direct != nil {
		if o, metadata, done, err := b.direct.stat(ctx, key); done {
			return o, metadata, err
		}
	}
	a, err := b.Attributes(ctx, key)
	if err != nil {
		return Object{}, nil, err
	}
	return statOf(b, key, a), a.Metadata, nil
}

// statOf brings attributes into the form that listings have.
func statOf(b *Bucket, key string, a *blob.Attributes) Object {
	o := Object{Key: key, Size: a.Size, ETag: trimETag(a.ETag), ModTime: a.ModTime, MD5: a.MD5}
	if keyed, _ := keyedS3(a.As); keyed {
		o.MD5 = nil
	}
	if generation, ok := etagGCS(a.As); ok {
		o.ETag = generation
	}
	return o
}

// keyedETag reports whether S3 encrypts the object in a way that makes its ETag no MD5 of the content, though it
// looks like one.
func keyedETag(encryption string, customer *string) bool {
	return strings.HasPrefix(encryption, "aws:kms") || customer != nil && *customer != ""
}

// md5OfETag returns the MD5 that an ETag of S3 is for objects uploaded in one piece, else nil.
func md5OfETag(etag string) []byte {
	sum, err := hex.DecodeString(etag)
	if err != nil || len(sum) != 16 {
		return nil
	}
	return sum
}
