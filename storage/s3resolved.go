//go:build !nos3

package storage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// resolvedS3 is where the objects of a bucket are and how requests for them are signed. The SDK finds both out for each
// request anew, by rules about partitions, access points and kinds of buckets, which takes more than signing does; but
// for the objects of one bucket and one client the answer is always the same. It is found by the SDK itself, and the SDK
// signs, in the same way as without.
type resolvedS3 struct {
	bucket   url.URL // scheme, host, and path before that of a key
	signer   smithyhttp.Signer
	identity auth.IdentityResolver

	identityProperties, signerProperties smithy.Properties
}

const sigV4 = "aws.auth#sigv4"

// errResolved ends a request that was only to be resolved.
var errResolved = errors.New("resolved")

// resolveS3 has the SDK prepare a request for an object of a bucket, without sending it. It returns nil where requests
// are not signed by plain keys, as those to directory buckets are not, or where anything is set that might make a
// difference from one request to the next.
func resolveS3(ctx context.Context, client *s3.Client, bucket string) *resolvedS3 {
	o := client.Options()
	if strings.HasSuffix(bucket, "--x-s3") || len(o.AuthSchemePreference) > 0 || o.ClientLogMode != 0 {
		return nil
	}
	const key = "k"
	name, probe := bucket, key
	found := &authOptions{AuthSchemeResolver: o.AuthSchemeResolver}
	var asked url.URL
	var signingName, region string
	_, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &name, Key: &probe}, func(o *s3.Options) {
		o.AuthSchemeResolver = found
		o.APIOptions = append(slices.Clip(o.APIOptions), func(stack *middleware.Stack) error {
			if _, err := stack.Finalize.Remove("GetIdentity"); err != nil { // which may ask a server for it
				return err
			}
			_, err := stack.Finalize.Swap("Signing", middleware.FinalizeMiddlewareFunc("Signing",
				func(ctx context.Context, in middleware.FinalizeInput, _ middleware.FinalizeHandler) (out middleware.FinalizeOutput, m middleware.Metadata, err error) {
					if req, ok := in.Request.(*smithyhttp.Request); ok {
						asked = *req.URL
					}
					signingName, region = awsmiddleware.GetSigningName(ctx), awsmiddleware.GetSigningRegion(ctx)
					return out, m, errResolved
				}))
			return err
		})
	})
	path, ok := strings.CutSuffix(asked.Path, "/"+key)
	if !errors.Is(err, errResolved) || !ok || len(found.options) == 0 {
		return nil
	}
	chosen := found.options[0]
	i := slices.IndexFunc(o.AuthSchemes, func(s smithyhttp.AuthScheme) bool { return s.SchemeID() == sigV4 })
	if chosen.SchemeID != sigV4 && chosen.SchemeID != "sigv4" || i < 0 {
		return nil
	}
	r := &resolvedS3{bucket: url.URL{Scheme: asked.Scheme, Host: asked.Host, Path: path, RawPath: strings.TrimSuffix(asked.RawPath, "/"+key)},
		signer: o.AuthSchemes[i].Signer(), identity: o.AuthSchemes[i].IdentityResolver(o), identityProperties: chosen.IdentityProperties}
	if r.signer == nil || r.identity == nil {
		return nil
	}
	r.signerProperties.SetAll(&chosen.SignerProperties)
	if signingName != "" { // of a resolver that does not know the rules
		smithyhttp.SetSigV4SigningName(&r.signerProperties, signingName)
	}
	if region != "" {
		smithyhttp.SetSigV4SigningRegion(&r.signerProperties, region)
	}
	return r
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

// serializeSteps are those of the SDK that [resolvedS3.shorten] keeps or knows to do nothing for a bucket that is resolved.
var serializeSteps = []string{
	"putBucketContext", "setOperationInput", "ResolveEndpoint", "S3:ProcessARNResource", "S3:ObjectLambdaEndpoint", "serializeImmutableHostnameBucket",
	"OperationSerializer", "S3:UpdateEndpoint", "S3:RemoveBucketFromPathMiddleware", "isExpressUserAgent",
}

// shorten has requests for an object use what is known. It leaves those as they are that consist of other steps than it
// knows.
func (r *resolvedS3) shorten(stack *middleware.Stack) error {
	switch stack.ID() {
	case "GetObject", "HeadObject", "PutObject":
	default:
		return nil
	}
	// Between these are steps for endpoints, for access points and for buckets that are named by an ARN.
	var needed [3]middleware.SerializeMiddleware
	for i, id := range [len(needed)]string{"putBucketContext", "setOperationInput", "OperationSerializer"} {
		var ok bool
		if needed[i], ok = stack.Serialize.Get(id); !ok {
			return nil
		}
	}
	for _, id := range stack.Serialize.List() {
		if !slices.Contains(serializeSteps, id) {
			return nil
		}
	}
	if _, ok := stack.Finalize.Get("ResolveEndpointV2"); !ok {
		return nil
	}
	if _, err := stack.Finalize.Swap("Signing", (*signedS3)(r)); err != nil {
		return nil
	}
	stack.Finalize.Swap("ResolveEndpointV2", (*locatedS3)(r))
	for _, id := range []string{"ResolveAuthScheme", "GetIdentity", "disableHTTPS", "setLegacyContextSigningOptions"} {
		stack.Finalize.Remove(id)
	}
	stack.Serialize.Clear()
	for _, step := range needed {
		stack.Serialize.Add(step, middleware.After)
	}
	return nil
}

// locatedS3 sends a request to where its bucket is. It has the name of the step that it replaces, beside which others
// place theirs, as the transfer manager does.
type locatedS3 resolvedS3

func (*locatedS3) ID() string { return "ResolveEndpointV2" }

func (r *locatedS3) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (out middleware.FinalizeOutput, m middleware.Metadata, err error) {
	req, ok := in.Request.(*smithyhttp.Request)
	if !ok {
		return out, m, fmt.Errorf("unknown transport type %T", in.Request)
	}
	rawPath := r.bucket.RawPath
	if rawPath == "" && req.URL.RawPath != "" {
		rawPath = r.bucket.Path
	}
	req.URL.Scheme, req.URL.Host = r.bucket.Scheme, r.bucket.Host
	req.URL.Path = smithyhttp.JoinPath(r.bucket.Path, req.URL.Path)
	req.URL.RawPath = smithyhttp.JoinPath(rawPath, req.URL.RawPath)
	return next.HandleFinalize(ctx, in)
}

// signedS3 signs a request.
type signedS3 resolvedS3

func (*signedS3) ID() string { return "Signing" }

func (r *signedS3) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (out middleware.FinalizeOutput, m middleware.Metadata, err error) {
	req, ok := in.Request.(*smithyhttp.Request)
	if !ok {
		return out, m, fmt.Errorf("unexpected transport type %T", in.Request)
	}
	identity, err := r.identity.GetIdentity(ctx, r.identityProperties)
	if err != nil {
		return out, m, fmt.Errorf("get identity: %w", err)
	}
	if err := r.signer.SignRequest(ctx, req, identity, r.signerProperties); err != nil {
		return out, m, fmt.Errorf("sign request: %w", err)
	}
	return next.HandleFinalize(ctx, in)
}
