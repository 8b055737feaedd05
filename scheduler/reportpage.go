package scheduler

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/pelmill/pelmill/internal/build"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/report"
	"github.com/pelmill/pelmill/storage"
)

// putReport writes report.html and then report.json, which ends the job. A page that
// cannot be made is no reason to have no report.
func (d *drive) putReport(ctx context.Context, totals jobs.Report, page *report.Page) error {
	data, err := json.Marshal(totals)
	if err != nil {
		return fmt.Errorf("scheduler: report: %w", err)
	}
	data = append(data, '\n')
	f := jobs.Folder(d.f.id)
	page.File(f.Report(), int64(len(data)), hexSum(sha256.Sum256(data)))
	html, err := page.Render(report.Job{Spec: d.spec, Report: totals, HashKeys: d.s.opts.HashKeys, Version: build.Version()})
	if err != nil {
		d.log.Error("report.html is not written", "error", err)
	} else if err := d.f.put(ctx, f.ReportPage(), html, true); err != nil {
		return err
	}
	return d.f.put(ctx, f.Report(), data, true)
}

func hexSum(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:]) }

// ReportPage makes the page about a job that has ended, as report.html beside its report is
// made: in one pass over its records and in bounded memory. hashKeys puts hashes in place of
// object keys; of DICOM and NIfTI sources they are there anyway.
func (c *Client) ReportPage(ctx context.Context, target, id string, hashKeys bool) ([]byte, error) {
	b, spec, err := c.job(ctx, target, id)
	if err != nil {
		return nil, err
	}
	key := jobs.Folder(id).Report()
	got, err := storage.Get(ctx, b, key, jobs.MaxPlan, nil)
	if err != nil {
		return nil, err
	}
	totals, err := parseJSON[jobs.Report](key, got.Data)
	if err != nil {
		return nil, fmt.Errorf("scheduler: %s: %s: %w", b.URL, key, err)
	}
	page := report.New()
	for _, key := range totals.Results {
		if !strings.HasPrefix(key, jobs.Folder(id).Dir()) {
			return nil, fmt.Errorf("scheduler: the report of job %s names records in %q, which is not its folder", id, key)
		}
		if err := pageRecords(ctx, b, key, page); err != nil {
			return nil, err
		}
	}
	if err := pageChunks(ctx, b, id, page); err != nil {
		return nil, err
	}
	if totals.FailedList == jobs.Folder(id).Failed() {
		if err := hashed(ctx, b, totals.FailedList, page, func(r io.Reader) error { return nil }); err != nil {
			return nil, err
		}
	}
	page.File(key, int64(len(got.Data)), hexSum(sha256.Sum256(got.Data)))
	return page.Render(report.Job{Spec: spec, Report: totals, HashKeys: hashKeys, Version: build.Version()})
}

// StoredReportPage gives report.html of a job that has ended, made anew where there is none.
// With hashKeys it is always made anew, as a stored one may have keys.
func (c *Client) StoredReportPage(ctx context.Context, target, id string, hashKeys bool) ([]byte, error) {
	b, _, err := c.job(ctx, target, id)
	if err != nil {
		return nil, err
	}
	if !hashKeys {
		got, err := storage.Get(ctx, b, jobs.Folder(id).ReportPage(), report.MaxBytes, nil)
		if err == nil {
			return got.Data, nil
		}
		if !storage.IsNotExist(err) || storage.Unreachable(err) {
			return nil, err
		}
	}
	return c.ReportPage(ctx, target, id, hashKeys)
}

// pageRecords adds the records of a merged file.
func pageRecords(ctx context.Context, b *storage.Bucket, key string, page *report.Page) error {
	names := sitekey.NewReader(ctx, b)
	return hashed(ctx, b, key, page, func(r io.Reader) error {
		return storage.EachLine(r, opened(names, func(line []byte) error {
			var rec jobs.Result
			if err := json.Unmarshal(line, &rec); err != nil {
				return err
			}
			if err := names.Complete(&rec); err != nil {
				return err
			}
			page.Record(&rec)
			return nil
		}))
	})
}

// hashed reads an object with read and to its end, and adds its name, size and hash.
func hashed(ctx context.Context, b *storage.Bucket, key string, page *report.Page, read func(io.Reader) error) error {
	object, err := openObject(ctx, b, key)
	if err != nil {
		return err
	}
	sum := sha256.New()
	in := io.TeeReader(object, sum)
	err = read(in)
	if _, rest := io.Copy(io.Discard, in); cmp.Or(err, rest) != nil {
		return fmt.Errorf("scheduler: %s: %s: %w", b.URL, key, cmp.Or(err, rest))
	}
	page.File(key, object.size, hexSum([sha256.Size]byte(sum.Sum(nil))))
	return nil
}

// pageChunks adds the headers of a job's shards, which say when its chunks were done.
func pageChunks(ctx context.Context, b *storage.Bucket, id string, page *report.Page) error {
	chunks, err := shards(ctx, b, id)
	if err != nil {
		return err
	}
	return inOrder(ctx, len(chunks), func(ctx context.Context, i int) (jobs.Shard, error) {
		key := jobs.Folder(id).Result(chunks[i])
		o, _, err := storage.Stat(ctx, b, key)
		if err != nil {
			return jobs.Shard{}, err
		}
		return header(ctx, b, o)
	}, func(_ int, h jobs.Shard) error {
		page.Chunk(&h)
		return nil
	})
}
