//go:build !nos3

package storage

import (
	"bytes"
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// onePart is the size in bytes from which gocloud's driver uploads in parts.
const onePart = 16 << 20

// putterS3 writes objects of one part with the client of a bucket of S3: the same request as that of gocloud's driver,
// without the transfer manager around it, which makes a client, a goroutine and a copy of the content for each object.
// It is nil for buckets of other stores.
func putterS3(b *blob.Bucket, u *url.URL, prefix string) putter {
	var client *s3.Client
	if !b.As(&client) {
		return nil
	}
	encryption, key := encryptionS3(u)
	bucket := u.Host
	return func(ctx context.Context, name string, data []byte, wo *blob.WriterOptions, match string) (bool, error) {
		name = prefix + name
		if len(data) >= onePart || escaped(name) || strings.Contains(name, "__0x") || !utf8.ValidString(name) {
			return false, nil // gocloud's driver knows how it spells such keys
		}
		for k := range wo.Metadata {
			if strings.Contains(k, "__0x") {
				return false, nil
			}
		}
		in := &s3.PutObjectInput{Bucket: &bucket, Key: &name, Body: bytes.NewReader(data), ContentType: &wo.ContentType,
			Metadata: make(map[string]string, len(wo.Metadata)), ServerSideEncryption: encryption}
		for k, v := range wo.Metadata {
			in.Metadata[k] = url.PathEscape(v)
		}
		if key != "" {
			in.SSEKMSKeyId = &key
		}
		if wo.IfNotExist {
			every := "*"
			in.IfNoneMatch = &every
		}
		if match != "" {
			match = `"` + match + `"`
			in.IfMatch = &match
		}
		if _, err := client.PutObject(ctx, in); err != nil {
			return true, &s3Error{err}
		}
		return true, nil
	}
}

// encryptionS3 is how a bucket's URL has objects encrypted.
func encryptionS3(u *url.URL) (kind s3types.ServerSideEncryption, key string) {
	for _, known := range kind.Values() {
		if strings.EqualFold(string(known), u.Query().Get("ssetype")) {
			kind = known
		}
	}
	return kind, u.Query().Get("kmskeyid")
}

// s3Error is an error of the client of S3 that did not come through gocloud.
type s3Error struct{ error }

func (e *s3Error) Unwrap() error { return e.error }

// errorKind is the code that gocloud's driver for S3 gives the error.
func (e *s3Error) errorKind() gcerrors.ErrorCode {
	switch errorCode(e.error) {
	case "NoSuchBucket", "NoSuchKey", "NotFound", "ObjectNotInActiveTierError":
		return gcerrors.NotFound
	case "PreconditionFailed":
		return gcerrors.FailedPrecondition
	case "AccessDenied", "Forbidden":
		return gcerrors.PermissionDenied
	}
	return gcerrors.Unknown
}
