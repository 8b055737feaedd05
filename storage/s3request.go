//go:build !nos3

package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth"
	"github.com/aws/smithy-go/encoding/httpbinding"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// requestsS3 sends requests for the objects of one bucket. The SDK builds each request anew, by some forty steps and by
// rules about partitions, access points and kinds of buckets, which take several times what signing and sending do; but
// for the objects of one bucket and one client nearly all of a request is always the same. So the SDK prepares one
// request of each kind, which is then repeated with another key, content and metadata, and signs it as it signs its own.
//
// Only a plain success counts, and that an object is missing or is not the one of the request. After any other answer, or
// none, the SDK makes the request itself: it knows all errors, where a bucket has moved to, how far the clock is off, and
// how to try again.
type requestsS3 struct {
	client   aws.HTTPClient
	prepared [3]preparedS3 // by kind
	bucket   url.URL       // scheme, host, and path before that of a key
	sum      bool          // contents are sent with their CRC-32

	signer                               smithyhttp.Signer
	identity                             auth.IdentityResolver
	identityProperties, signerProperties smithy.Properties

	rest atomic.Int64 // until this time, in nanoseconds of Unix, the SDK makes all requests
}

// kindS3 is what a request does with an object.
type kindS3 int

const (
	getS3 kindS3 = iota
	headS3
	putS3
)

// preparedS3 is what all requests of a kind have in common.
type preparedS3 struct {
	method, query string
	header        http.Header
}

const (
	sigV4 = "aws.auth#sigv4"

	// smallPut is the size in bytes from which the SDK writes objects, which asks first whether the store wants them.
	smallPut = 1 << 20

	// restS3 is for how long a bucket's requests are left to the SDK after one that did not succeed: a store that is
	// overloaded, or a clock that is wrong, does not cost two requests each time.
	restS3 = time.Second
)

// errPrepared ends a request that was only to be prepared.
var errPrepared = errors.New("prepared")

// sameS3 are the names of header fields that are the same for all requests of a kind, or that send sets.
var sameS3 = []string{"Accept-Encoding", "Amz-Sdk-Request", "Content-Type", "User-Agent", "X-Amz-Checksum-Mode", "X-Amz-Content-Sha256"}

// summedS3 are those by which the SDK sends the checksum of a content: before it, or after it on connections of TLS.
var summedS3 = []string{"Content-Encoding", "X-Amz-Checksum-Crc32", "X-Amz-Decoded-Content-Length", "X-Amz-Trailer"}

// prepareS3 has the SDK prepare the requests for objects of a bucket, without sending any. It returns nil where they are
// not signed by plain keys, as those to directory buckets are not, or where they have anything that send does not know
// to be the same for all objects.
func prepareS3(ctx context.Context, client *s3.Client, bucket string) *requestsS3 {
	o := client.Options()
	i := slices.IndexFunc(o.AuthSchemes, func(s smithyhttp.AuthScheme) bool { return s.SchemeID() == sigV4 })
	if strings.HasSuffix(bucket, "--x-s3") || len(o.AuthSchemePreference) > 0 || o.ClientLogMode != 0 || o.HTTPClient == nil || i < 0 {
		return nil
	}
	r := &requestsS3{client: o.HTTPClient, signer: o.AuthSchemes[i].Signer(), identity: o.AuthSchemes[i].IdentityResolver(o)}
	if r.signer == nil || r.identity == nil {
		return nil
	}
	const key = "k"
	name, probe := bucket, key
	ok := r.prepare(getS3, key, func(change func(*s3.Options)) error {
		_, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &name, Key: &probe}, change)
		return err
	}) && r.prepare(headS3, key, func(change func(*s3.Options)) error {
		_, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &name, Key: &probe}, change)
		return err
	}) && r.prepare(putS3, key, func(change func(*s3.Options)) error {
		_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &name, Key: &probe, Body: strings.NewReader(key)}, change)
		return err
	})
	if !ok {
		return nil
	}
	return r
}

// prepare notes the request for the object key that do has the SDK make, and reports whether others can be made of it.
func (r *requestsS3) prepare(kind kindS3, key string, do func(change func(*s3.Options)) error) bool {
	var found *authOptions
	var asked *http.Request
	var signingName, region string
	err := do(func(o *s3.Options) {
		found = &authOptions{AuthSchemeResolver: o.AuthSchemeResolver}
		o.AuthSchemeResolver = found
		o.APIOptions = append(slices.Clip(o.APIOptions), func(stack *middleware.Stack) error {
			if _, err := stack.Build.Remove("ClientRequestID"); err != nil { // is another one each time
				return err
			}
			if _, err := stack.Finalize.Remove("GetIdentity"); err != nil { // may ask a server for it
				return err
			}
			_, err := stack.Finalize.Swap("Signing", middleware.FinalizeMiddlewareFunc("Signing",
				func(ctx context.Context, in middleware.FinalizeInput, _ middleware.FinalizeHandler) (out middleware.FinalizeOutput, m middleware.Metadata, err error) {
					if req, ok := in.Request.(*smithyhttp.Request); ok {
						asked = req.Request
					}
					signingName, region = awsmiddleware.GetSigningName(ctx), awsmiddleware.GetSigningRegion(ctx)
					return out, m, errPrepared
				}))
			return err
		})
	})
	if !errors.Is(err, errPrepared) || asked == nil || len(found.options) == 0 {
		return false
	}
	chosen := found.options[0]
	path, ok := strings.CutSuffix(asked.URL.Path, "/"+key)
	if !ok || chosen.SchemeID != sigV4 && chosen.SchemeID != "sigv4" {
		return false
	}
	p := &r.prepared[kind]
	*p = preparedS3{method: asked.Method, query: asked.URL.RawQuery, header: http.Header{}}
	for name, values := range asked.Header {
		switch {
		case slices.Contains(sameS3, name):
			p.header[name] = values
		case slices.Contains(summedS3, name):
			r.sum = true
		case name != "Content-Length":
			return false
		}
	}
	if sum := asked.Header.Get("X-Amz-Trailer"); sum != "" && sum != "x-amz-checksum-crc32" {
		return false
	}
	r.bucket = url.URL{Scheme: asked.URL.Scheme, Host: asked.URL.Host, Path: path, RawPath: strings.TrimSuffix(asked.URL.RawPath, "/"+key)}
	r.identityProperties, r.signerProperties = chosen.IdentityProperties, smithy.Properties{}
	r.signerProperties.SetAll(&chosen.SignerProperties)
	if signingName != "" { // of a resolver that does not know the rules
		smithyhttp.SetSigV4SigningName(&r.signerProperties, signingName)
	}
	if region != "" {
		smithyhttp.SetSigV4SigningRegion(&r.signerProperties, region)
	}
	return true
}

// authOptions keeps what an AuthSchemeResolver says.
type authOptions struct {
	s3.AuthSchemeResolver
	options []*auth.Option
}

func (a *authOptions) ResolveAuthSchemes(ctx context.Context, params *s3.AuthResolverParameters) (options []*auth.Option, err error) {
	a.options, err = a.AuthSchemeResolver.ResolveAuthSchemes(ctx, params)
	return a.options, err
}

// noContent is the SHA-256 of no bytes.
const noContent = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// send makes a request for an object and returns the answer of one that succeeded, whose body the caller closes, or the
// error that the object is not as the request wants it; neither: the SDK is to make the request. more, of names in their
// canonical form, goes into the header.
func (r *requestsS3) send(ctx context.Context, kind kindS3, key string, data []byte, more http.Header) (*http.Response, error) {
	if r == nil || time.Now().UnixNano() < r.rest.Load() {
		return nil, nil
	}
	p := &r.prepared[kind]
	header := make(http.Header, len(p.header)+len(more)+5)
	for name, values := range p.header {
		header[name] = values
	}
	for name, values := range more {
		header[name] = values
	}
	// A key is escaped as the SDK does it, where the path of the bucket is not.
	rawPath, rawKey := r.bucket.RawPath, httpbinding.EscapePath(key, false)
	if rawPath == "" {
		rawPath = r.bucket.Path
	}
	u := &url.URL{Scheme: r.bucket.Scheme, Host: r.bucket.Host, RawQuery: p.query,
		Path: smithyhttp.JoinPath(r.bucket.Path, "/"+key), RawPath: smithyhttp.JoinPath(rawPath, "/"+rawKey)}
	hash := noContent
	if kind == putS3 {
		sum := sha256.Sum256(data)
		hash = hex.EncodeToString(sum[:])
		if r.sum {
			crc := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))
			header["X-Amz-Checksum-Crc32"] = []string{base64.StdEncoding.EncodeToString(crc)}
		}
	}
	header["X-Amz-Content-Sha256"] = []string{hash}
	req := &smithyhttp.Request{Request: &http.Request{Method: p.method, URL: u, Header: header}}
	if kind == putS3 {
		var err error
		if req, err = req.SetStream(bytes.NewReader(data)); err != nil {
			return nil, nil
		}
	}
	identity, err := r.identity.GetIdentity(ctx, r.identityProperties)
	if err != nil {
		return nil, nil
	}
	if r.signer.SignRequest(v4.SetPayloadHash(ctx, hash), req, identity, r.signerProperties) != nil {
		return nil, nil
	}
	sent := req.Build(ctx)
	resp, err := r.client.Do(sent)
	if sent.Body != nil {
		sent.Body.Close() // from now on data belong to the caller, though a connection may still be at them
	}
	if err == nil && resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	if err == nil {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		resp.Body.Close()
		if answer := refusedS3(kind, resp, text); answer != nil {
			return nil, &smithy.OperationError{ServiceID: s3.ServiceID, OperationName: operationsS3[kind], Err: answer}
		}
	}
	if ctx.Err() == nil {
		r.rest.Store(time.Now().Add(restS3).UnixNano())
	}
	return nil, nil
}

// operationsS3 are the names of the kinds of requests in errors.
var operationsS3 = [...]string{getS3: "GetObject", headS3: "HeadObject", putS3: "PutObject"}

// refusedS3 is the error of an answer by which an object is missing, or another one than the request is for; nil: the answer
// says something else. text is its body, which the answer to HEAD does not have.
func refusedS3(kind kindS3, resp *http.Response, text []byte) error {
	var said struct{ Code, Message string }
	if kind != headS3 && xml.Unmarshal(text, &said) != nil {
		return nil
	}
	var err error
	switch {
	case kind == headS3 && resp.StatusCode == http.StatusNotFound:
		err = &s3types.NotFound{}
	case kind == getS3 && resp.StatusCode == http.StatusNotFound && said.Code == "NoSuchKey":
		err = &s3types.NoSuchKey{Message: &said.Message}
	case kind == putS3 && resp.StatusCode == http.StatusPreconditionFailed && said.Code == "PreconditionFailed":
		err = &smithy.GenericAPIError{Code: said.Code, Message: said.Message}
	default:
		return nil
	}
	return &awshttp.ResponseError{RequestID: resp.Header.Get("X-Amz-Request-Id"),
		ResponseError: &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: resp}, Err: err}}
}

// summed reports whether the store is asked for the checksums of objects that are read, as it is unless the bucket's URL says
// otherwise.
func (r *requestsS3) summed() bool { return r.prepared[getS3].header["X-Amz-Checksum-Mode"] != nil }

// drain reads what is left of a short answer, so that its connection can be used again, and closes it.
func drain(body io.ReadCloser) {
	io.CopyN(io.Discard, body, 64<<10)
	body.Close()
}
