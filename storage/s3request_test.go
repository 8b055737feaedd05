//go:build !nos3

package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/blob"
)

// recorded is a client of HTTP that notes each request and answers that all is well.
type recorded struct{ requests []string }

func (r *recorded) Do(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	text := fmt.Sprintf("%s %s host %q length %d body %q\n", req.Method, req.URL, req.Host, req.ContentLength, body)
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		text += fmt.Sprintf("%s: %q\n", name, req.Header[name])
	}
	r.requests = append(r.requests, text)
	header := http.Header{"Etag": {`"0"`}, "Content-Length": {"0"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: http.NoBody, Request: req}, nil
}

// date is when a request was signed.
func date(request string) string {
	_, rest, _ := strings.Cut(request, "\nX-Amz-Date: ")
	at, _, _ := strings.Cut(rest, "\n")
	return at
}

// optionsS3 are those of the client that a URL is opened with.
func optionsS3(t *testing.T, rawURL string) s3.Options {
	t.Helper()
	b, err := blob.DefaultURLMux().OpenBucket(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	var client *s3.Client
	if !b.As(&client) {
		t.Fatal("no client")
	}
	o := client.Options()
	o.Credentials = aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("key", "secret", ""))
	return o
}

// What is sent is the same, to the last byte of the signature, as what the SDK sends. Only contents on connections of TLS,
// behind which the SDK sends their checksum in chunks of its own, go as on others.
func TestRequestsAreThoseOfTheSDK(t *testing.T) {
	keys := []string{"a", "dir/b.png", "d//e", "/f", "g/", "a b+c", "ä/ö€", "%2F%", "..", "../x", "./y", "q?x=1&y#z", "~*'()!;:@$,", "\x01", strings.Repeat("l", 900)}
	for _, u := range []string{
		"s3://bucket?region=eu-west-1",
		"s3://bucket?region=us-east-1",
		"s3://bucket?region=cn-north-1",
		"s3://dotted.bucket?region=eu-central-1",
		"s3://bucket?region=eu-west-1&use_path_style=true",
		"s3://bucket?region=eu-west-1&dualstack=true",
		"s3://bucket?region=eu-west-1&accelerate=true",
		"s3://bucket?region=eu-west-1&fips=true",
		"s3://bucket?region=us-east-1&endpoint=http://127.0.0.1:9000&use_path_style=true",
		"s3://bucket?region=us-east-1&endpoint=http://127.0.0.1:9000&use_path_style=true&request_checksum_calculation=when_required&response_checksum_validation=when_required",
		"s3://bucket?region=us-east-1&endpoint=http://minio:9000/base/path&use_path_style=true",
		"s3://bucket?region=us-east-1&endpoint=http://minio:9000/base%2520/path/&use_path_style=true",
		"s3://bucket?region=auto&endpoint=https://minio.example.org",
		"s3://bucket?region=us-east-1&endpoint=https://minio.example.org&hostname_immutable=true",
	} {
		o := optionsS3(t, u)
		parsed, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			plain, ours := sentBySDK(t, o, parsed.Host, key), sentByUs(t, o, parsed.Host, key)
			for date(plain[0]) != date(ours[len(ours)-1]) { // they are signed with the second
				plain, ours = sentBySDK(t, o, parsed.Host, key), sentByUs(t, o, parsed.Host, key)
			}
			for i := range plain {
				if plain[i] != ours[i] {
					t.Errorf("%s, key %q: sent\n%s, want\n%s", u, key, ours[i], plain[i])
				}
			}
		}
	}
}

// written is what the requests of these tests write.
func written(bucket, key string) *s3.PutObjectInput {
	return &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader([]byte("content")), ContentType: aws.String("image/webp"),
		Metadata: map[string]string{"a": "b c", "pelmill_source_etag": ""}, IfNoneMatch: aws.String("*"), ServerSideEncryption: "aws:kms", SSEKMSKeyId: aws.String("id")}
}

// sentBySDK has the SDK make one request of each kind and returns them.
func sentBySDK(t *testing.T, o s3.Options, bucket, key string) []string {
	t.Helper()
	r := &recorded{}
	o.HTTPClient = r
	o.APIOptions = append(slices.Clip(o.APIOptions), func(stack *middleware.Stack) error {
		_, err := stack.Build.Remove("ClientRequestID") // is random, and signed
		if stack.ID() == "PutObject" && err == nil {
			err = stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("plainly", plainly), "Signing", middleware.Before)
		}
		return err
	})
	c := s3.New(o)
	_, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err == nil {
		_, err = c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
	}
	if err == nil {
		_, err = c.PutObject(t.Context(), written(bucket, key))
	}
	if err != nil || len(r.requests) != 3 {
		t.Fatalf("%d requests, %v", len(r.requests), err)
	}
	return r.requests
}

// plainly makes of a content in chunks, behind which its checksum comes, one that it precedes.
func plainly(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	req := in.Request.(*smithyhttp.Request)
	if req.Header.Get("X-Amz-Trailer") != "" {
		io.Copy(io.Discard, req.GetStream()) // the SDK wants its own checksum at the end
		for _, name := range []string{"X-Amz-Trailer", "X-Amz-Decoded-Content-Length", "Content-Encoding"} {
			req.Header.Del(name)
		}
		sum := sha256.Sum256([]byte("content"))
		hash := hex.EncodeToString(sum[:])
		req.Header.Set("X-Amz-Content-Sha256", hash)
		crc := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte("content")))
		req.Header.Set("X-Amz-Checksum-Crc32", base64.StdEncoding.EncodeToString(crc))
		var err error
		if req, err = req.SetStream(strings.NewReader("content")); err != nil {
			return middleware.FinalizeOutput{}, middleware.Metadata{}, err
		}
		req.ContentLength = int64(len("content"))
		in.Request, ctx = req, v4.SetPayloadHash(ctx, hash)
	}
	return next.HandleFinalize(ctx, in)
}

// sentByUs makes the same requests without the SDK.
func sentByUs(t *testing.T, o s3.Options, bucket, key string) []string {
	t.Helper()
	r := &recorded{}
	o.HTTPClient = r
	requests := prepareS3(t.Context(), s3.New(o), bucket)
	if requests == nil {
		t.Fatalf("requests to %s are not prepared", bucket)
	}
	if len(r.requests) > 0 {
		t.Fatalf("preparing them sent\n%s", r.requests)
	}
	requests.send(t.Context(), getS3, key, nil, nil)
	requests.send(t.Context(), headS3, key, nil, nil)
	requests.send(t.Context(), putS3, key, []byte("content"), headerOfPut(written(bucket, key)))
	if len(r.requests) != 3 {
		t.Fatalf("%d requests", len(r.requests))
	}
	return r.requests
}

// A header field that nobody knows might be another one for each object: such requests are left to the SDK.
func TestUnknownFieldsOfRequests(t *testing.T) {
	o := optionsS3(t, "s3://bucket?region=us-east-1")
	o.APIOptions = append(slices.Clip(o.APIOptions), smithyhttp.AddHeaderValue("X-Amz-Request-Payer", "requester"))
	if prepareS3(t.Context(), s3.New(o), "bucket") != nil {
		t.Error("they are prepared")
	}
}

// Requests that are not signed by plain keys are left to the SDK.
func TestRequestsThatAreNotPrepared(t *testing.T) {
	o := optionsS3(t, "s3://bucket?region=us-east-1")
	for name, c := range map[string]struct {
		bucket string
		change func(o *s3.Options)
	}{
		"directory bucket": {"bucket--use1-az4--x-s3", func(*s3.Options) {}},
		"anonymous":        {"bucket", func(o *s3.Options) { o.Credentials = aws.AnonymousCredentials{} }},
		"access point":     {"arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap", func(*s3.Options) {}},
		"no region":        {"bucket", func(o *s3.Options) { o.Region = "" }},
	} {
		o := o
		c.change(&o)
		if r := prepareS3(t.Context(), s3.New(o), c.bucket); r != nil {
			t.Errorf("%s: prepared as %+v", name, r.prepared)
		}
	}
}

// noKeys are credentials that cannot be had.
type noKeys struct{ err error }

func (n noKeys) Retrieve(context.Context) (aws.Credentials, error) { return aws.Credentials{}, n.err }

// Credentials are looked for with the first request and not before, and without them none is sent.
func TestRequestsWithoutCredentials(t *testing.T) {
	o := optionsS3(t, "s3://bucket?region=us-east-1")
	o.Credentials = noKeys{errors.New("no keys here")}
	sent := &recorded{}
	o.HTTPClient = sent
	requests := prepareS3(t.Context(), s3.New(o), "bucket")
	if requests == nil {
		t.Fatal("not prepared")
	}
	if resp, err := requests.send(t.Context(), headS3, "k", nil, nil); resp != nil || err != nil || len(sent.requests) > 0 {
		t.Errorf("answer %v of requests %q", resp, sent.requests)
	}
}
