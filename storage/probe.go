package storage

import "context"

// Probe finds out whether a bucket takes a write of so many bytes now: it writes an object under key, replacing one
// that is there, and deletes it. Its error is that of [Put]; an object that cannot be deleted again is no error.
func Probe(ctx context.Context, b *Bucket, key string, size int64) error {
	_, err := Put(ctx, b, key, make([]byte, size), &PutOptions{Overwrite: true})
	if err != nil {
		return err
	}
	Delete(ctx, b, key)
	return nil
}
