package scheduler

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
)

// Retry submits a new job for the objects of an ended job that failed or were
// rejected, which are judged anew, with its specification, which mutate may change; nil changes
// nothing. With classes only those are taken that have an error of one of them.
func (c *Client) Retry(ctx context.Context, target, id string, classes []string, mutate func(*jobs.Spec)) (jobs.Spec, error) {
	b, spec, err := c.job(ctx, target, id)
	if err != nil {
		return spec, err
	}
	report, err := c.Report(ctx, target, id)
	if err != nil {
		return spec, err
	}
	if report.FailedList == "" {
		return spec, fmt.Errorf("scheduler: job %s has nothing to try again: %w", id, ErrNothing)
	}
	if err := storedOptions(c.Codecs, &spec); err != nil {
		return spec, err
	}
	if report.FailedList != jobs.Folder(id).Failed() {
		return spec, fmt.Errorf("scheduler: the report of job %s names the list %q, want %q", id, report.FailedList, jobs.Folder(id).Failed())
	}
	spec.Target = b.URL
	spec.ID, spec.Token, spec.Created, spec.Parent, spec.Manifest = "", "", time.Time{}, id, ""
	spec.Filter, spec.Again = jobs.Filter{}, []jobs.Outcome{jobs.OutcomeRejected}
	if mutate != nil {
		mutate(&spec)
	}
	list, err := openObject(ctx, b, report.FailedList)
	if err != nil {
		return spec, err
	}
	if len(classes) == 0 {
		return c.Submit(ctx, spec, list, JSONL)
	}
	return c.submit(ctx, spec, func(source string, fn func(jobs.Entry) error) error {
		some, found := ofClasses(list, classes)
		defer some.Close()
		if err := parseManifest(some, JSONL, source, sitekey.NewReader(ctx, b), fn); err != nil {
			return err
		}
		if found.Load() == 0 {
			return fmt.Errorf("scheduler: no object of job %s failed with %s: %w", id, strings.Join(classes, " or "), ErrNothing)
		}
		return nil
	})
}

// ofClasses gives those lines of a list of failures that have an error of one of the classes, and counts them. The caller
// closes it.
func ofClasses(list io.Reader, classes []string) (some io.ReadCloser, found *atomic.Int64) {
	some, to := io.Pipe()
	found = new(atomic.Int64)
	go func() {
		lines := bufio.NewScanner(list)
		lines.Buffer(make([]byte, 16<<10), jobs.MaxFrameText)
		for lines.Scan() {
			var r struct {
				Class string `json:"class"`
			}
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				to.CloseWithError(fmt.Errorf("scheduler: list of failures: %w", err))
				return
			}
			if !slices.Contains(classes, r.Class) {
				continue
			}
			found.Add(1)
			if _, err := to.Write(append(lines.Bytes(), '\n')); err != nil {
				return
			}
		}
		to.CloseWithError(lines.Err())
	}()
	return some, found
}

// ErrNothing: there is nothing to do.
var ErrNothing = errors.New("nothing to do")
