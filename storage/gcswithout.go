//go:build nogcs

package storage

import (
	"context"
	"net/url"

	"gocloud.dev/blob"
)

func openGCS(context.Context, *url.URL, *url.URL, Retry) (*blob.Bucket, string, error) {
	return nil, "", leftOut("gs", "nogcs")
}

func asStoredGCS(func(any) bool)                    {}
func matchGCS(func(any) bool, string) error         { return nil }
func startGCS(func(any) bool, string)               {}
func etagGCS(func(any) bool) (etag string, ok bool) { return "", false }
func googleStatus(error) int                        { return 0 }
func googleReason(error) string                     { return "" }
