package worker

import (
	"net/url"
	"path"
	"strings"

	"github.com/pelmill/pelmill/jobs"
)

// namelessError is an error of a chunk for the queue and the log, whose text has hashes in place of keys that may name
// patients.
type namelessError struct {
	text string
	err  error
}

func (e *namelessError) Error() string { return e.text }
func (e *namelessError) Unwrap() error { return e.err }

// nameless hides keys of medical images in the text of an error of the chunk, and those of objects that were not read yet
// and whose names do not say what they are.
func (c *chunk) nameless(err error) error {
	if err == nil || len(c.records) != len(c.entries) {
		return err
	}
	text := err.Error()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.entries {
		r := c.records[i]
		if r == nil {
			r = &jobs.Result{Key: c.entries[i].Key, Parts: c.entries[i].Parts}
		}
		if !r.Medical() && (c.records[i] != nil || jobs.KindOf(r.Key) != "other") {
			continue
		}
		for _, part := range append([]jobs.Part{{Key: r.Key}}, r.Parts...) {
			for _, name := range []string{part.Key, path.Base(part.Key), url.PathEscape(path.Base(part.Key))} {
				if strings.Contains(text, name) {
					text = strings.ReplaceAll(text, name, HashKey(part.Key))
				}
			}
		}
	}
	if text == err.Error() {
		return err
	}
	return &namelessError{text, err}
}
