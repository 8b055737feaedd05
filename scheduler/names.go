package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// names opens and seals what may name patients in the records of a target.
type names struct {
	*sitekey.Reader
	*sitekey.Writer
}

func newNames(ctx context.Context, b *storage.Bucket) *names {
	return &names{sitekey.NewReader(ctx, b), sitekey.NewWriter(b)}
}

// line is a record as it is written: given, unless that has names of a medical image.
func (n *names) line(ctx context.Context, r *jobs.Result, given []byte) ([]byte, error) {
	if !r.Medical() {
		return given, nil
	}
	if err := n.Result(ctx, r); err != nil {
		return nil, err
	}
	written := r.Written()
	line, err := json.Marshal(&written)
	if err != nil {
		return nil, fmt.Errorf("scheduler: record of a medical image: %w", err)
	}
	return line, nil
}

// namelessError is an error about an object, whose text has a hash in place of a key that may name a patient.
type namelessError struct {
	text string
	err  error
}

func (e *namelessError) Error() string { return e.text }
func (e *namelessError) Unwrap() error { return e.err }

// withoutName hides the key of an object in the text of an error, which ends in logs, in Redis and in the report of a job, where the
// name says that it is a medical image, or does not say what it is.
func withoutName(err error, key string) error {
	object := jobs.Result{Key: key}
	if err == nil || !object.Medical() && jobs.KindOf(key) != "other" {
		return err
	}
	hash, text := sitekey.OfProcess().Name(key), err.Error()
	for _, name := range []string{key, path.Base(key), url.PathEscape(path.Base(key))} {
		text = strings.ReplaceAll(text, name, hash)
	}
	return &namelessError{text, err}
}

// outOfOrder is the error of a listing in which key comes after last.
func outOfOrder(listing, key, last string) error {
	err := fmt.Errorf("%s is not in key order, %q comes after %q", listing, key, last)
	return withoutName(withoutName(err, key), last)
}
