package scheduler

import (
	"context"
	"encoding/hex"
	"errors"
	"path"

	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/internal/sitekey"
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
		err := inOrder(ctx, len(batch), func(ctx context.Context, i int) (string, error) { return seriesKey(ctx, hash, source, &batch[i]) },
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

// openSeriesHash reads the key of a target that names of series are made with, so that nobody who sees such a name in a log or a
// report finds out by trying which UID it has. It is made at first; dry, it is one of this process alone then.
func openSeriesHash(ctx context.Context, target *storage.Bucket, dry bool) (*sitekey.Key, error) {
	key, err := sitekey.Open(ctx, target, jobs.SeriesKey, !dry)
	if dry && errors.Is(err, sitekey.ErrNone) {
		return sitekey.OfProcess(), nil
	}
	return key, err
}

// seriesKey is the key of the series that an object belongs to; empty where its
// beginning does not say.
func seriesKey(ctx context.Context, hash *sitekey.Key, source *storage.Bucket, e *jobs.Entry) (string, error) {
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
			return "", withoutName(err, e.Key)
		}
		return "", nil // it fails as an object of its own, with the reason
	}
	uid, err := dicom.SeriesUID(head)
	if err != nil || uid == "" {
		return "", nil
	}
	sum := hash.Sum(uid)
	return rootSeries + "-" + hex.EncodeToString(sum[:16]), nil
}
