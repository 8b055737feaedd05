//go:build !nos3

package storage

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// onePart is the size in bytes from which gocloud's driver uploads in parts.
const onePart = 16 << 20

// objectsS3 writes objects of one part, and reads any, with the client of a bucket of S3: by the same requests as
// gocloud's driver, without what is around it. For each object that it writes, the driver's transfer manager makes a
// client, a goroutine and a copy of the content.
type objectsS3 struct {
	client         *s3.Client
	bucket, prefix string
	encryption     s3types.ServerSideEncryption
	key            string // of the encryption; empty: none of one's own
}

// directS3 is nil for buckets of other stores.
func directS3(b *blob.Bucket, u *url.URL, prefix string) direct {
	c := &objectsS3{bucket: u.Host, prefix: prefix}
	if !b.As(&c.client) {
		return nil
	}
	c.encryption, c.key = encryptionS3(u)
	return c
}

// name is that of an object in its bucket. gocloud's driver alone knows how it spells those that are not plain.
func (c *objectsS3) name(key string) (name string, plain bool) {
	name = c.prefix + key
	return name, !escaped(name) && !strings.Contains(name, "__0x") && utf8.ValidString(name)
}

func (c *objectsS3) put(ctx context.Context, key string, data []byte, wo *blob.WriterOptions, match string) (done bool, err error) {
	name, plain := c.name(key)
	if len(data) >= onePart || !plain {
		return false, nil
	}
	for k := range wo.Metadata {
		if strings.Contains(k, "__0x") {
			return false, nil
		}
	}
	in := &s3.PutObjectInput{Bucket: &c.bucket, Key: &name, Body: bytes.NewReader(data), ContentType: &wo.ContentType,
		Metadata: make(map[string]string, len(wo.Metadata)), ServerSideEncryption: c.encryption}
	for k, v := range wo.Metadata {
		in.Metadata[k] = url.PathEscape(v)
	}
	if c.key != "" {
		in.SSEKMSKeyId = &c.key
	}
	if wo.IfNotExist {
		every := "*"
		in.IfNoneMatch = &every
	}
	if match != "" {
		match = `"` + match + `"`
		in.IfMatch = &match
	}
	if _, err := c.client.PutObject(ctx, in); err != nil {
		return true, &s3Error{err}
	}
	return true, nil
}

func (c *objectsS3) stat(ctx context.Context, key string) (o Object, metadata map[string]string, done bool, err error) {
	name, plain := c.name(key)
	if !plain {
		return o, nil, false, nil
	}
	head, err := c.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &c.bucket, Key: &name})
	if err != nil {
		return o, nil, true, &s3Error{err}
	}
	if len(head.Metadata) > 0 {
		metadata = make(map[string]string, len(head.Metadata))
	}
	for k, v := range head.Metadata {
		if strings.Contains(k, "%") || strings.Contains(k, "__0x") {
			return o, nil, false, nil
		}
		if text, err := url.PathUnescape(v); err == nil {
			v = text
		}
		metadata[strings.ToLower(k)] = v
	}
	etag := aws.ToString(head.ETag)
	o = Object{Key: key, Size: aws.ToInt64(head.ContentLength), ETag: trimETag(etag), ModTime: aws.ToTime(head.LastModified)}
	if strings.HasPrefix(etag, `"`) && !keyedETag(string(head.ServerSideEncryption), head.SSECustomerAlgorithm) {
		o.MD5 = md5OfETag(o.ETag)
	}
	return o, metadata, true, nil
}

func (c *objectsS3) open(ctx context.Context, key string) (r objectReader, done bool, err error) {
	name, plain := c.name(key)
	if !plain {
		return nil, false, nil
	}
	got, err := c.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &c.bucket, Key: &name})
	if err != nil {
		return nil, true, &s3Error{err}
	}
	return &readerS3{got.Body, got}, true, nil
}

// readerS3 is an object that is read.
type readerS3 struct {
	io.ReadCloser
	object *s3.GetObjectOutput
}

func (r *readerS3) Size() int64        { return aws.ToInt64(r.object.ContentLength) }
func (r *readerS3) ModTime() time.Time { return aws.ToTime(r.object.LastModified) }

// As gives the object as gocloud's driver does.
func (r *readerS3) As(i any) bool {
	p, ok := i.(*s3.GetObjectOutput)
	if ok {
		*p = *r.object
	}
	return ok
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
	case "": // an answer that no error of S3 comes with
		switch httpStatus(e.error) {
		case http.StatusNotFound, http.StatusMovedPermanently:
			return gcerrors.NotFound
		case http.StatusUnauthorized, http.StatusForbidden:
			return gcerrors.PermissionDenied
		}
	}
	return gcerrors.Unknown
}
