//go:build !nogcs

package storage

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	gcs "cloud.google.com/go/storage"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/gcsblob" // gs://
	"google.golang.org/api/googleapi"
)

func openGCS(ctx context.Context, u, bare *url.URL, _ Retry) (*blob.Bucket, string, error) {
	b, err := blob.DefaultURLMux().OpenBucketURL(ctx, bare)
	if err != nil {
		return nil, "", err
	}
	var client *gcs.Client
	if b.As(&client) {
		// It would otherwise repeat a throttled call until the context ends.
		client.SetRetry(gcs.WithMaxAttempts(1))
	}
	return b, u.Query().Get("universe_domain"), nil // names of buckets are unique in it
}

// asStoredGCS keeps GCS from inflating objects that are marked as gzip: their size would not be that of the bytes.
func asStoredGCS(as func(any) bool) {
	var object **gcs.ObjectHandle
	if as(&object) {
		*object = (*object).ReadCompressed(true)
	}
}

// matchGCS makes a write or a deletion depend on a generation. It does nothing to those of other stores.
func matchGCS(as func(any) bool, etag string) error {
	var object **gcs.ObjectHandle
	if !as(&object) {
		return nil
	}
	generation, err := strconv.ParseInt(etag, 10, 64)
	if err != nil {
		return err
	}
	*object = (*object).If(gcs.Conditions{GenerationMatch: generation})
	return nil
}

// startGCS lets a listing start at a key.
func startGCS(as func(any) bool, key string) {
	var q *gcs.Query
	if as(&q) {
		q.StartOffset = key
	}
}

// etagGCS is the generation of an object that is read, was listed, or is known by its attributes.
func etagGCS(as func(any) bool) (etag string, ok bool) {
	var reader *gcs.Reader
	var attrs gcs.ObjectAttrs
	switch {
	case as(&reader):
		return strconv.FormatInt(reader.Attrs.Generation, 10), true
	case as(&attrs):
		return strconv.FormatInt(attrs.Generation, 10), true
	}
	return "", false
}

// googleStatus returns the status with which Google answered, or 0.
func googleStatus(err error) int {
	var g *googleapi.Error
	if errors.As(err, &g) {
		return g.Code
	}
	return 0
}

// googleReason returns Google's own name for an error, or "".
func googleReason(err error) string {
	var g *googleapi.Error
	if errors.As(err, &g) && len(g.Errors) > 0 {
		return g.Errors[0].Reason
	}
	return ""
}
