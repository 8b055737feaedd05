package worker

import (
	"context"
	"encoding/json"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// intend writes down what is about to be stored in a folder, see [jobs.Intent].
func (c *chunk) intend(ctx context.Context, e *jobs.Entry, key string, data []byte) error {
	if c.target.Kind() != "file" {
		return nil
	}
	intent := jobs.Intent{Key: e.Key, Outcome: jobs.OutcomeCompressed, Target: key, TargetSize: int64(len(data)), TargetSHA256: sumOf(data)}
	if key == e.Key {
		intent.Outcome = jobs.OutcomeKept
	}
	line, err := json.Marshal(&intent)
	if err != nil {
		return err
	}
	return storage.Append(ctx, c.target, jobs.Folder(c.task.Job).Intent(c.task.Index), append(line, '\n'))
}

// forgetIntents removes the intents of a chunk whose records are stored. What stays behind
// costs a few kilobytes.
func (c *chunk) forgetIntents(ctx context.Context) {
	if c.target.Kind() != "file" {
		return
	}
	if err := storage.Delete(ctx, c.target, jobs.Folder(c.task.Job).Intent(c.task.Index)); err != nil {
		c.w.log.Debug("cannot delete the intents of a chunk", "job", c.task.Job, "chunk", c.task.Index, "error", err)
	}
}
