//go:build !nos3

package storage

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

func openS3(ctx context.Context, u, bare *url.URL, r Retry) (*blob.Bucket, string, error) {
	b, err := blob.DefaultURLMux().OpenBucketURL(ctx, bare)
	if err != nil {
		return nil, "", err
	}
	var client *s3.Client
	if !b.As(&client) {
		return b, "", nil
	}
	if b, err = tuneS3(ctx, client, u, r); err != nil {
		return nil, "", err
	}
	if b.As(&client) {
		return b, storeOfS3(client, u), nil
	}
	return b, "", nil
}

func storeOfS3(client *s3.Client, u *url.URL) string {
	if endpoint := u.Query().Get("endpoint"); endpoint != "" {
		return hostOf(endpoint)
	}
	o := client.Options()
	if o.BaseEndpoint != nil {
		return hostOf(*o.BaseEndpoint)
	}
	return amazon(o.Region)
}

// idleConnections is how many connections to the store of a bucket stay open for the next requests. The SDK's 10 are
// fewer than the requests that a worker has side by side, so that most would begin with a connection of their own.
const idleConnections = 128

// tuneS3 opens a bucket again with a client that does not write warnings to standard error, as the SDK's does, and
// that waits as told between its own attempts instead of up to 20 s.
func tuneS3(ctx context.Context, plain *s3.Client, u *url.URL, r Retry) (*blob.Bucket, error) {
	o := plain.Options()
	o.Logger = logging.Nop{}
	if o.Region == "" && u.Query().Get("endpoint") != "" {
		o.Region = "us-east-1" // a service of one's own has one region, and requests are signed for some
	}
	o.Retryer = retry.NewStandard(func(so *retry.StandardOptions) {
		so.MaxAttempts = innerAttempts
		so.RateLimiter = ratelimit.None
		so.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			return rand.N(2 * min(r.Initial<<min(attempt, 16), r.Max)), nil
		})
	})
	if client, ok := o.HTTPClient.(*awshttp.BuildableClient); ok {
		o.HTTPClient = client.WithTransportOptions(func(t *http.Transport) { t.MaxIdleConns, t.MaxIdleConnsPerHost = idleConnections, idleConnections })
	}
	encodedKeys(&o)
	opts := &s3blob.Options{RequestChecksumCalculation: o.RequestChecksumCalculation}
	opts.EncryptionType, opts.KMSEncryptionID = encryptionS3(u)
	return s3blob.OpenBucket(ctx, s3.New(o), u.Host, opts)
}

// readAsS3 has an object read under this very key.
func readAsS3(as func(any) bool, key string) {
	var in *s3.GetObjectInput
	if as(&in) {
		in.Key = &key
	}
}

// matchS3 makes a write or a deletion depend on an ETag. It does nothing to those of other stores.
func matchS3(as func(any) bool, etag string) {
	quoted := `"` + etag + `"`
	var write *transfermanager.UploadObjectInput
	var remove *s3.DeleteObjectInput
	switch {
	case as(&write):
		write.IfMatch = &quoted
	case as(&remove):
		remove.IfMatch = &quoted
	}
}

// startS3 lets a listing start after a key.
func startS3(as func(any) bool, key string) {
	var in *s3.ListObjectsV2Input
	if as(&in) {
		in.StartAfter = &key
	}
}

// etagS3 is the identity of an object that is read or was listed, without quotes.
func etagS3(as func(any) bool) (etag string, ok bool) {
	var reader s3.GetObjectOutput
	var listed s3types.Object
	var tag *string
	switch {
	case as(&reader):
		tag = reader.ETag
	case as(&listed):
		tag = listed.ETag
	}
	if tag == nil {
		return "", false
	}
	return trimETag(*tag), true
}

// keyedS3 reports whether an object, as it is read or by its attributes, is of S3, and whether its ETag is no MD5.
func keyedS3(as func(any) bool) (keyed, ok bool) {
	var read s3.GetObjectOutput
	var head s3.HeadObjectOutput
	switch {
	case as(&read):
		return keyedETag(string(read.ServerSideEncryption), read.SSECustomerAlgorithm), true
	case as(&head):
		return keyedETag(string(head.ServerSideEncryption), head.SSECustomerAlgorithm), true
	}
	return false, false
}

// unsigned reports whether no credentials were found.
func unsigned(err error) bool {
	var signing *v4.SigningError
	return errors.As(err, &signing)
}
