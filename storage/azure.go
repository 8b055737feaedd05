//go:build !noazure

package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

func openAzure(ctx context.Context, u, bare *url.URL, _ Retry) (*blob.Bucket, string, error) {
	b, err := blob.DefaultURLMux().OpenBucketURL(ctx, bare)
	if err != nil {
		return nil, "", err
	}
	var client *container.Client
	if !b.As(&client) {
		return b, "", nil
	}
	// The account is in the host's name or, in emulators, the path's first element.
	address, _, _ := strings.Cut(client.URL(), "?")
	store := hostOf(strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/"+u.Host))
	return blob.NewBucket(&azureBucket{client}), store, nil
}

// azureAnswer returns the status and the code with which Azure answered, or nothing.
func azureAnswer(err error) (status int, code string) {
	var a *azcore.ResponseError
	if errors.As(err, &a) {
		return a.StatusCode, a.ErrorCode
	}
	return 0, ""
}

// azureBucket is a gocloud driver over the client that gocloud's own driver opened. That one writes names with one of
// "#%?\ in another spelling, so it cannot read such blobs of other programs and lists them in another order than that
// of keys, and its Writer panics when an upload fails.
type azureBucket struct{ client *container.Client }

// azureSingle is the size up to which a blob is uploaded in one request, for which Azure computes the MD5.
const azureSingle = 256 << 20

func (z *azureBucket) ErrorCode(err error) gcerrors.ErrorCode {
	switch httpStatus(err) {
	case http.StatusNotFound:
		return gcerrors.NotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return gcerrors.PermissionDenied
	case http.StatusConflict:
		if errorCode(err) == "BlobAlreadyExists" {
			return gcerrors.FailedPrecondition
		}
	case http.StatusPreconditionFailed:
		return gcerrors.FailedPrecondition
	}
	return driverCode(err)
}

func (z *azureBucket) As(any) bool             { return false }
func (z *azureBucket) ErrorAs(error, any) bool { return false }
func (z *azureBucket) Close() error            { return nil }

func (z *azureBucket) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	p, err := z.client.NewBlobClient(key).GetProperties(ctx, nil)
	if err != nil {
		return nil, azureError(err)
	}
	a := &driver.Attributes{ContentType: value(p.ContentType), Size: value(p.ContentLength), MD5: p.ContentMD5, ModTime: value(p.LastModified),
		CreateTime: value(p.CreationTime), ETag: string(value(p.ETag)), Metadata: map[string]string{}}
	for k, v := range p.Metadata {
		a.Metadata[k] = value(v)
		if plain, err := url.PathUnescape(value(v)); err == nil {
			a.Metadata[k] = plain
		}
	}
	return a, nil
}

// value is what a pointer of the SDK points to, or zero.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (z *azureBucket) ListPaged(ctx context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	size := int32(opts.PageSize)
	if size <= 0 {
		size = pageSize
	}
	var marker *string
	if len(opts.PageToken) > 0 {
		m := string(opts.PageToken)
		marker = &m
	}
	include := container.ListBlobsInclude{Metadata: true}
	page := &driver.ListPage{}
	add := func(items []*container.BlobItem, next *string) {
		for _, i := range items {
			// Accounts with a hierarchy list their folders as blobs of no bytes.
			if i.Name == nil || i.Properties == nil || strings.EqualFold(value(i.Metadata["hdi_isfolder"]), "true") {
				continue
			}
			page.Objects = append(page.Objects, &driver.ListObject{Key: *i.Name, Size: value(i.Properties.ContentLength), ModTime: value(i.Properties.LastModified),
				MD5: i.Properties.ContentMD5, AsFunc: asETag(trimETag(string(value(i.Properties.ETag))))})
		}
		page.NextPageToken = []byte(value(next))
	}
	if opts.Delimiter != "" {
		resp, err := z.client.NewListBlobsHierarchyPager(opts.Delimiter, &container.ListBlobsHierarchyOptions{Prefix: &opts.Prefix, Marker: marker, MaxResults: &size, Include: include}).NextPage(ctx)
		if err != nil {
			return nil, azureError(err)
		}
		add(resp.Segment.BlobItems, resp.NextMarker)
		for _, p := range resp.Segment.BlobPrefixes {
			page.Objects = append(page.Objects, &driver.ListObject{Key: value(p.Name), IsDir: true})
		}
		return page, nil
	}
	resp, err := z.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &opts.Prefix, Marker: marker, MaxResults: &size, Include: include}).NextPage(ctx)
	if err != nil {
		return nil, azureError(err)
	}
	add(resp.Segment.BlobItems, resp.NextMarker)
	return page, nil
}

type azureReader struct {
	io.ReadCloser
	attrs driver.ReaderAttributes
	as    func(any) bool
}

func (r *azureReader) Attributes() *driver.ReaderAttributes { return &r.attrs }
func (r *azureReader) As(i any) bool                        { return r.as(i) }

func (z *azureBucket) NewRangeReader(ctx context.Context, key string, offset, length int64, opts *driver.ReaderOptions) (driver.Reader, error) {
	if opts.BeforeRead != nil {
		if err := opts.BeforeRead(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	if length == 0 { // Azure takes no length for "to the end"
		a, err := z.Attributes(ctx, key)
		if err != nil {
			return nil, err
		}
		return &azureReader{http.NoBody, driver.ReaderAttributes{ContentType: a.ContentType, ModTime: a.ModTime, Size: a.Size}, asETag(trimETag(a.ETag))}, nil
	}
	resp, err := z.client.NewBlobClient(key).DownloadStream(ctx, &azblob.DownloadStreamOptions{Range: azblob.HTTPRange{Offset: offset, Count: max(length, 0)}})
	if err != nil {
		return nil, azureError(err)
	}
	attrs := driver.ReaderAttributes{ContentType: value(resp.ContentType), ModTime: value(resp.LastModified), Size: value(resp.ContentLength)}
	if _, total, ok := strings.Cut(value(resp.ContentRange), "/"); ok {
		if attrs.Size, err = strconv.ParseInt(total, 10, 64); err != nil {
			resp.Body.Close()
			return nil, err
		}
	}
	sum := resp.ContentMD5
	if resp.ContentRange != nil {
		sum = resp.BlobContentMD5 // the other one is that of the range
	}
	etag := asETag(trimETag(string(value(resp.ETag))))
	return &azureReader{resp.Body, attrs, func(i any) bool {
		if stored, ok := i.(*storedMD5); ok {
			stored.MD5 = sum
			return true
		}
		return etag(i)
	}}, nil
}

// azureWriter uploads in Close, or, through gocloud's Bucket.Upload, without a copy of the content.
type azureWriter struct {
	ctx    context.Context
	client *blockblob.Client
	opts   blockblob.UploadOptions
	buf    bytes.Buffer
	sent   bool
	err    error // of Upload; gocloud looks at the class of Close's errors only
}

func (z *azureBucket) NewTypedWriter(ctx context.Context, key, contentType string, opts *driver.WriterOptions) (driver.Writer, error) {
	if key == "" {
		return nil, errors.New("empty key")
	}
	cond := &condition{}
	if opts.BeforeWrite != nil {
		if err := opts.BeforeWrite(takeCondition(&cond)); err != nil {
			return nil, err
		}
	}
	w := &azureWriter{ctx: ctx, client: z.client.NewBlockBlobClient(key)}
	w.opts.HTTPHeaders = &azblob.HTTPHeaders{BlobContentType: &contentType}
	w.opts.Metadata = map[string]*string{}
	for k, v := range opts.Metadata {
		escaped := url.PathEscape(v)
		w.opts.Metadata[k] = &escaped
	}
	switch {
	case opts.IfNotExist:
		none := azcore.ETagAny
		w.opts.AccessConditions = &azblob.AccessConditions{ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfNoneMatch: &none}}
	case cond.match != "":
		quoted := azcore.ETag(`"` + cond.match + `"`)
		w.opts.AccessConditions = &azblob.AccessConditions{ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfMatch: &quoted}}
	}
	return w, nil
}

func (w *azureWriter) Write(p []byte) (int, error) { return w.buf.Write(p) }

func (w *azureWriter) Upload(r io.Reader) error {
	w.sent = true
	if s, ok := r.(*bytes.Reader); ok && s.Size() <= azureSingle {
		_, w.err = w.client.Upload(w.ctx, streaming.NopCloser(s), &w.opts)
		return nil
	}
	_, w.err = w.client.UploadStream(w.ctx, r, &blockblob.UploadStreamOptions{BlockSize: 8 << 20, Concurrency: 4,
		HTTPHeaders: w.opts.HTTPHeaders, Metadata: w.opts.Metadata, AccessConditions: w.opts.AccessConditions})
	return nil
}

func (w *azureWriter) Close() error {
	if err := w.ctx.Err(); err != nil && !w.sent {
		return err
	}
	if !w.sent {
		w.Upload(bytes.NewReader(w.buf.Bytes()))
	}
	return azureError(w.err)
}

func (z *azureBucket) Delete(ctx context.Context, key string, opts *driver.DeleteOptions) error {
	cond, err := deleteCondition(opts)
	if err != nil {
		return err
	}
	var o azblob.DeleteOptions
	if cond.match != "" {
		quoted := azcore.ETag(`"` + cond.match + `"`)
		o.AccessConditions = &azblob.AccessConditions{ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfMatch: &quoted}}
	}
	_, err = z.client.NewBlobClient(key).Delete(ctx, &o)
	return azureError(err)
}

func (z *azureBucket) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errUnsupported
}

func (z *azureBucket) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errUnsupported
}

// responseError is an error of Azure in one line; the SDK's own is a page.
type responseError struct{ *azcore.ResponseError }

func (e responseError) Error() string {
	return strings.TrimSpace("Azure answered " + strconv.Itoa(e.StatusCode) + " " + e.ErrorCode)
}

func (e responseError) Unwrap() error { return e.ResponseError }

func azureError(err error) error {
	var r *azcore.ResponseError
	if errors.As(err, &r) {
		return responseError{r}
	}
	return err
}
