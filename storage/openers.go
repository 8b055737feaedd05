package storage

import (
	"context"
	"fmt"
	"net/url"

	"gocloud.dev/blob"
)

// opener opens a bucket of one kind of store. u is its URL, bare the same without the prefix. store names where it lies, so
// that equal names mean one store: the host that its client talks to, in one spelling. Regions, path style and whatever
// else chooses no store do not count.
type opener func(ctx context.Context, u, bare *url.URL, r Retry) (b *blob.Bucket, store string, err error)

// openers are those of the schemes that need a client. What else of the package knows a client is in the same files as
// they are, which the build tags nos3, nogcs and noazure replace by twins that know none: programs get smaller by
// stores that nobody uses.
var openers = map[string]opener{"s3": openS3, "gs": openGCS, "azblob": openAzure}

// leftOut is the error of a store that the build leaves out.
func leftOut(scheme, tag string) error {
	return fmt.Errorf("this program was built without %s:// (build tag %s)", scheme, tag)
}
