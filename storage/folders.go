package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"gocloud.dev/blob"
)

// Folders gives the names of what lies directly below prefix, which ends in "/", and has more below it, in order. A
// prefix or bucket without anything gives none.
func Folders(ctx context.Context, b *Bucket, prefix string) ([]string, error) {
	var names []string
	err := b.retry.do(ctx, func(ctx *attempt) error {
		names = nil
		all := b.List(&blob.ListOptions{Prefix: prefix, Delimiter: "/"})
		for {
			o, err := all.Next(ctx)
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case o.IsDir:
				names = append(names, path.Base(o.Key))
			}
		}
	})
	if IsNotExist(err) && !Unreachable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("storage: list %s: %w", b.URL, err)
	}
	return names, nil
}
