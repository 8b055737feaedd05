//go:build nos3

package storage

import (
	"context"
	"net/url"

	"gocloud.dev/blob"
)

func openS3(context.Context, *url.URL, *url.URL, Retry) (*blob.Bucket, string, error) {
	return nil, "", leftOut("s3", "nos3")
}

func directS3(context.Context, *blob.Bucket, *url.URL, string) direct { return nil }

func readAsS3(func(any) bool, string)              {}
func matchS3(func(any) bool, string)               {}
func startS3(func(any) bool, string)               {}
func etagS3(func(any) bool) (etag string, ok bool) { return "", false }
func keyedS3(func(any) bool) (keyed, ok bool)      { return false, false }
func unsigned(error) bool                          { return false }
