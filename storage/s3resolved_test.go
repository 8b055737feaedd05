//go:build !nos3

package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
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

// What is sent is the same, to the last byte of the signature, as where the SDK resolves each request.
func TestResolvedRequestsAreThoseOfTheSDK(t *testing.T) {
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
		known := resolveS3(t.Context(), s3.New(o), parsed.Host)
		if known == nil {
			t.Errorf("%s is not resolved", u)
			continue
		}
		for _, key := range keys {
			plain, short := send(t, o, parsed.Host, key), send(t, o, parsed.Host, key, known.shorten)
			for date(plain[0]) != date(short[len(short)-1]) { // they are signed with the second
				plain, short = send(t, o, parsed.Host, key), send(t, o, parsed.Host, key, known.shorten)
			}
			for i := range plain {
				if plain[i] != short[i] {
					t.Errorf("%s, key %q: sent\n%s, want\n%s", u, key, short[i], plain[i])
				}
			}
		}
	}
}

// send makes one request of each kind and returns them.
func send(t *testing.T, o s3.Options, bucket, key string, api ...func(*middleware.Stack) error) []string {
	t.Helper()
	r := &recorded{}
	o.HTTPClient = r
	o.APIOptions = append(slices.Clip(o.APIOptions), func(stack *middleware.Stack) error {
		_, err := stack.Build.Remove("ClientRequestID") // is random, and signed
		return err
	})
	o.APIOptions = append(o.APIOptions, api...)
	c := s3.New(o)
	_, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key, Range: aws.String("bytes=1-")})
	if err == nil {
		_, err = c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
	}
	if err == nil {
		_, err = c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader([]byte("content")),
			ContentType: aws.String("image/webp"), Metadata: map[string]string{"a": "b c"}, IfNoneMatch: aws.String("*")})
	}
	if err != nil || len(r.requests) != 3 {
		t.Fatalf("%d requests, %v", len(r.requests), err)
	}
	return r.requests
}

// The steps that shorten knows are those of this SDK: others would leave requests as they are, and slow.
func TestRequestsAreShortened(t *testing.T) {
	o := optionsS3(t, "s3://bucket?region=us-east-1&endpoint=http://127.0.0.1:9000&use_path_style=true")
	known := resolveS3(t.Context(), s3.New(o), "bucket")
	seen := 0
	send(t, o, "bucket", "k", known.shorten, func(stack *middleware.Stack) error {
		seen++
		steps := append(stack.Serialize.List(), stack.Finalize.List()...)
		if slices.Contains(steps, "ResolveAuthScheme") || slices.Contains(steps, "ResolveEndpoint") {
			t.Errorf("%s: %v", stack.ID(), steps)
		}
		return nil
	})
	if seen != 3 {
		t.Errorf("%d requests", seen)
	}
}

// A step that nobody knows stays, and with it all others.
func TestUnknownStepsOfRequestsStay(t *testing.T) {
	o := optionsS3(t, "s3://bucket?region=us-east-1")
	known := resolveS3(t.Context(), s3.New(o), "bucket")
	ran := 0
	step := middleware.SerializeMiddlewareFunc("unknown", func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (middleware.SerializeOutput, middleware.Metadata, error) {
		ran++
		return next.HandleSerialize(ctx, in)
	})
	send(t, o, "bucket", "k", func(stack *middleware.Stack) error { return stack.Serialize.Add(step, middleware.After) }, known.shorten)
	if ran != 3 {
		t.Errorf("the step ran for %d of 3 requests", ran)
	}
}

// Requests that are not signed by plain keys are resolved one by one.
func TestNotResolvedOnce(t *testing.T) {
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
		if known := resolveS3(t.Context(), s3.New(o), c.bucket); known != nil {
			t.Errorf("%s: resolved as %+v", name, known)
		}
	}
}

// noKeys are credentials that cannot be had.
type noKeys struct{ err error }

func (n noKeys) Retrieve(context.Context) (aws.Credentials, error) { return aws.Credentials{}, n.err }

// Credentials are looked for with the first request and not before, and their error is that of the SDK.
func TestResolvedWithoutCredentials(t *testing.T) {
	o := optionsS3(t, "s3://bucket?region=us-east-1")
	o.Credentials = noKeys{errors.New("no keys here")}
	known := resolveS3(t.Context(), s3.New(o), "bucket")
	if known == nil {
		t.Fatal("not resolved")
	}
	bucket, key := "bucket", "k"
	var texts []string
	for _, api := range [][]func(*middleware.Stack) error{nil, {known.shorten}} {
		o := o
		o.APIOptions = append(slices.Clip(o.APIOptions), api...)
		_, err := s3.New(o).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
		texts = append(texts, fmt.Sprint(err))
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "no keys here") {
		t.Errorf("%q, want %q", texts[1], texts[0])
	}
}
