package storage

import (
	"context"
	"fmt"
	"os"
)

// Append adds data to the end of an object of a folder, which it creates. What one call adds stays together and survives
// the process; a loss of power may take it or leave a part of it. Other stores have no such thing: that is an error.
func Append(ctx context.Context, b *Bucket, key string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.kind != "file" {
		return wrap(b, "append to", key, errUnsupported)
	}
	f := &fileBucket{dir: b.dir, links: b.links}
	dir, base, err := f.folderOf(key, true)
	if err != nil {
		return wrap(b, "append to", key, err)
	}
	defer dir.close()
	file, err := os.OpenFile(dir.file(base), os.O_WRONLY|os.O_APPEND|os.O_CREATE|noFollow, 0o666)
	if err != nil {
		return wrap(b, "append to", key, dir.named(err))
	}
	n, err := file.Write(data)
	if err == nil && n < len(data) {
		err = fmt.Errorf("%d of %d bytes written", n, len(data))
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return wrap(b, "append to", key, dir.named(err))
	}
	return nil
}

// AppendSynced is [Append] that survives a loss of power: the file is synced, and when it is new the entries of its
// folders are, too.
func AppendSynced(ctx context.Context, b *Bucket, key string, data []byte) error {
	if err := Append(ctx, b, key, data); err != nil {
		return err
	}
	f := &fileBucket{dir: b.dir, links: b.links}
	dir, base, err := f.folderOf(key, false)
	if err != nil {
		return wrap(b, "append to", key, err)
	}
	defer dir.close()
	file, err := os.OpenFile(dir.file(base), os.O_WRONLY|noFollow, 0)
	if err != nil {
		return wrap(b, "append to", key, dir.named(err))
	}
	defer file.Close()
	if err = file.Sync(); err == nil {
		err = dir.sync()
	}
	if err != nil {
		return wrap(b, "append to", key, dir.named(err))
	}
	return nil
}
