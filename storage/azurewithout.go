//go:build noazure

package storage

import (
	"context"
	"net/url"

	"gocloud.dev/blob"
)

func openAzure(context.Context, *url.URL, *url.URL, Retry) (*blob.Bucket, string, error) {
	return nil, "", leftOut("azblob", "noazure")
}

func azureAnswer(error) (status int, code string) { return 0, "" }
