//go:build !nos3

package storage

import (
	"context"
	"fmt"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
)

// encodedKeys lets a client of S3 ask for listings with keys in URL encoding, and decodes them. XML has no form for most
// control characters, which keys may hold: without the encoding the answer cannot be read, or other characters stand in
// their place. A server that does not know the parameter sends keys as they are and does not say that they are encoded.
func encodedKeys(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("EncodedKeys", listEncoded), middleware.Before)
	})
}

func listEncoded(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	list, ok := in.Parameters.(*s3.ListObjectsV2Input)
	if !ok {
		return next.HandleInitialize(ctx, in)
	}
	asked := *list
	asked.EncodingType = s3types.EncodingTypeUrl
	in.Parameters = &asked
	out, meta, err := next.HandleInitialize(ctx, in)
	if answer, ok := out.Result.(*s3.ListObjectsV2Output); ok && err == nil && answer.EncodingType == s3types.EncodingTypeUrl {
		err = decodeKeys(answer)
	}
	return out, meta, err
}

// decodeKeys undoes the URL encoding of the keys and folders of a listing.
func decodeKeys(l *s3.ListObjectsV2Output) error {
	texts := make([]*string, 0, len(l.Contents)+len(l.CommonPrefixes))
	for i := range l.Contents {
		texts = append(texts, l.Contents[i].Key)
	}
	for i := range l.CommonPrefixes {
		texts = append(texts, l.CommonPrefixes[i].Prefix)
	}
	for _, text := range texts {
		if text == nil {
			continue
		}
		plain, err := url.QueryUnescape(*text)
		if err != nil {
			return fmt.Errorf("key %q of a listing in URL encoding: %w", *text, err)
		}
		*text = plain
	}
	return nil
}
