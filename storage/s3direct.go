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
	requests       *requestsS3 // for what needs no more than a plain request; nil: the client makes all
	bucket, prefix string
	encryption     s3types.ServerSideEncryption
	key            string // of the encryption; empty: none of one's own
}

// directS3 is nil for buckets of other stores.
func directS3(ctx context.Context, b *blob.Bucket, u *url.URL, prefix string) direct {
	c := &objectsS3{bucket: u.Host, prefix: prefix}
	if !b.As(&c.client) {
		return nil
	}
	c.requests = prepareS3(ctx, c.client, c.bucket)
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
	if len(data) < smallPut {
		switch resp, err := c.requests.send(ctx, putS3, name, data, headerOfPut(in)); {
		case err != nil:
			return true, &s3Error{err}
		case resp != nil:
			drain(resp.Body)
			return true, nil
		}
	}
	if _, err := c.client.PutObject(ctx, in); err != nil {
		return true, &s3Error{err}
	}
	return true, nil
}

// headerOfPut is what of a request to write an object depends on that object, besides its content.
func headerOfPut(in *s3.PutObjectInput) http.Header {
	h := make(http.Header, len(in.Metadata)+4)
	for name, value := range map[string]*string{"Content-Type": in.ContentType, "If-None-Match": in.IfNoneMatch, "If-Match": in.IfMatch,
		"X-Amz-Server-Side-Encryption": (*string)(&in.ServerSideEncryption), "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": in.SSEKMSKeyId} {
		if aws.ToString(value) != "" {
			h[name] = []string{*value}
		}
	}
	for k, v := range in.Metadata {
		h.Set("X-Amz-Meta-"+k, v)
	}
	return h
}

func (c *objectsS3) stat(ctx context.Context, key string) (o Object, metadata map[string]string, done bool, err error) {
	name, plain := c.name(key)
	if !plain {
		return o, nil, false, nil
	}
	var head s3.HeadObjectOutput
	resp, err := c.requests.send(ctx, headS3, name, nil, nil)
	if err != nil {
		return o, nil, true, &s3Error{err}
	}
	if resp != nil {
		resp.Body.Close()
		head.ETag, head.ContentLength, head.LastModified = describedS3(resp)
		head.ServerSideEncryption, head.SSECustomerAlgorithm = encryptedS3(resp)
		for name, values := range resp.Header {
			if k, ok := strings.CutPrefix(name, "X-Amz-Meta-"); ok {
				if head.Metadata == nil {
					head.Metadata = map[string]string{}
				}
				head.Metadata[k] = values[0]
			}
		}
	} else {
		answer, err := c.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &c.bucket, Key: &name})
		if err != nil {
			return o, nil, true, &s3Error{err}
		}
		head = *answer
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
	resp, err := c.requests.send(ctx, getS3, name, nil, nil)
	if err != nil {
		return nil, true, &s3Error{err}
	}
	if resp != nil {
		got := &s3.GetObjectOutput{}
		got.ETag, got.ContentLength, got.LastModified = describedS3(resp)
		got.ServerSideEncryption, got.SSECustomerAlgorithm = encryptedS3(resp)
		if c.requests.summed() {
			resp.Body = summed(resp)
		}
		return &readerS3{resp.Body, got}, true, nil
	}
	got, err := c.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &c.bucket, Key: &name})
	if err != nil {
		return nil, true, &s3Error{err}
	}
	return &readerS3{got.Body, got}, true, nil
}

// describedS3 is what an answer says of an object; nil where it does not.
func describedS3(resp *http.Response) (etag *string, size *int64, modified *time.Time) {
	if text := resp.Header.Get("Etag"); text != "" {
		etag = &text
	}
	if resp.ContentLength >= 0 {
		size = &resp.ContentLength
	}
	if at, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		modified = &at
	}
	return etag, size, modified
}

// encryptedS3 is how an answer says that an object is encrypted.
func encryptedS3(resp *http.Response) (kind s3types.ServerSideEncryption, customer *string) {
	if text := resp.Header.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm"); text != "" {
		customer = &text
	}
	return s3types.ServerSideEncryption(resp.Header.Get("X-Amz-Server-Side-Encryption")), customer
}

// readerS3 is an object that is read.
type readerS3 struct {
	io.ReadCloser
	object *s3.GetObjectOutput
}

// Size is that of the object in bytes, or -1 where the store does not tell it.
func (r *readerS3) Size() int64 {
	if r.object.ContentLength == nil {
		return -1
	}
	return *r.object.ContentLength
}

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
