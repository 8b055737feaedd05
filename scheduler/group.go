package scheduler

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"

	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// What [Client.Submit] takes for a format where there is no manifest: the source is
// listed, and its objects become the parts of series.
const (
	// GroupFolders makes a series of the objects of each folder, under the key of the
	// folder, and of those in no folder one with the key "series".
	GroupFolders = "group-folders"

	// GroupHeaders reads the beginning of each object, with a request each, and makes a
	// series of native images with one Series Instance UID. Its key is made of a keyed hash of that,
	// with [jobs.SeriesKey] of the target. Other objects stay what they are.
	GroupHeaders = "group-headers"
)

// Groups reports whether a format is one of those.
func Groups(format string) bool { return format == GroupFolders || format == GroupHeaders }

// rootSeries is the key of the series of objects in no folder.
const rootSeries = "series"

// group lists the source of a job and passes its objects, those that the job's filter
// leaves, to fn as series of one part each; [distinct] joins them. With dry nothing is
// written.
func (c *Client) group(ctx context.Context, spec jobs.Spec, format string, dry bool, fn func(jobs.Entry) error) error {
	source, err := c.Buckets.Open(ctx, spec.Source)
	if err != nil {
		return err
	}
	target, err := c.Buckets.Open(ctx, spec.Target)
	if err != nil {
		return err
	}
	p, err := newPreparation(ctx, c.Buckets, c.Codecs, &spec, source, target, "")
	if err != nil {
		return err
	}
	defer p.close()
	if format == GroupFolders {
		p.add = func(e jobs.Entry) error { return fn(seriesEntry(folderSeries(e.Key), []jobs.Entry{e}, false)) }
		return p.list(ctx)
	}
	hash, err := openSeriesHash(ctx, target, dry)
	if err != nil {
		return err
	}
	var batch []jobs.Entry
	flush := func() error {
		err := inOrder(ctx, len(batch), func(ctx context.Context, i int) (string, error) { return hash.series(ctx, source, &batch[i]) },
			func(i int, key string) error {
				if key == "" {
					return fn(batch[i])
				}
				return fn(seriesEntry(key, []jobs.Entry{batch[i]}, false))
			})
		batch = batch[:0]
		return err
	}
	p.add = func(e jobs.Entry) error {
		if batch = append(batch, e); len(batch) < frameEntries {
			return nil
		}
		return flush()
	}
	if err := p.list(ctx); err != nil {
		return err
	}
	return flush()
}

func folderSeries(key string) string {
	if dir := path.Dir(key); dir != "." && dir != "/" {
		return dir
	}
	return rootSeries
}

// seriesHash is the secret of keyed hashes: nobody who sees the name of a series in a log
// or a report finds out by trying which UID it has.
type seriesHash [32]byte

// openSeriesHash reads the secret of a target, and makes it at first; dry, one for this
// process alone.
func openSeriesHash(ctx context.Context, target *storage.Bucket, dry bool) (h seriesHash, err error) {
	got, err := storage.Get(ctx, target, jobs.SeriesKey, 1<<10, nil)
	if storage.IsNotExist(err) {
		rand.Read(h[:])
		if dry {
			return h, nil
		}
		_, err = storage.Put(ctx, target, jobs.SeriesKey, []byte(hex.EncodeToString(h[:])+"\n"), nil)
		var exists *storage.ExistsError
		if !errors.As(err, &exists) {
			return h, err
		}
		got, err = storage.Get(ctx, target, jobs.SeriesKey, 1<<10, nil)
	}
	if err != nil {
		return h, err
	}
	if n, err := hex.Decode(h[:], bytes.TrimSpace(got.Data)); err != nil || n != len(h) {
		return h, fmt.Errorf("scheduler: %s of the target is no key of 64 hexadecimal digits", jobs.SeriesKey)
	}
	return h, nil
}

// series is the key of the series that an object belongs to; empty where its
// beginning does not say.
func (h *seriesHash) series(ctx context.Context, source *storage.Bucket, e *jobs.Entry) (string, error) {
	if e.Size == 0 || e.Bad != "" {
		return "", nil
	}
	n := int64(dicom.SeriesBytes)
	if e.Size > 0 {
		n = min(n, e.Size)
	}
	head, err := storage.GetRange(ctx, source, e.Key, 0, n)
	if err != nil {
		if storage.Unreachable(err) {
			return "", err
		}
		return "", nil // it fails as an object of its own, with the reason
	}
	uid, err := dicom.SeriesUID(head)
	if err != nil || uid == "" {
		return "", nil
	}
	m := hmac.New(sha256.New, h[:])
	m.Write([]byte(uid))
	return rootSeries + "-" + hex.EncodeToString(m.Sum(nil)[:16]), nil
}
