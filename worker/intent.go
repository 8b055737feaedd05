package worker

import (
	"context"
	"encoding/json"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// intends reports whether results are written down before they are stored: where they cannot say themselves whose they are.
func (c *chunk) intends() bool { return c.target.Kind() == "file" }

// intend writes down what is about to be stored in a folder, see [jobs.Intent]: so many bytes with this SHA-256.
func (c *chunk) intend(ctx context.Context, o *object, key string, size int64, sum string) error {
	intent := jobs.Intent{Key: o.entry.Key, Outcome: jobs.OutcomeCompressed, Target: key, TargetSize: size, TargetSHA256: sum}
	if key == o.entry.Key {
		intent.Outcome = jobs.OutcomeKept
	}
	if o.record.Medical() {
		names, err := c.names.Key(ctx)
		if err != nil {
			return err
		}
		if err := names.SealIntent(&intent); err != nil {
			return err
		}
	}
	line, err := json.Marshal(&intent)
	if err != nil {
		return err
	}
	return storage.Append(ctx, c.target, jobs.Folder(c.task.Job).Intent(c.task.Index), append(line, '\n'))
}

// forgetIntents removes the intents of a chunk whose records are stored. What stays behind
// costs a few kilobytes: it says what the records say.
func (c *chunk) forgetIntents(ctx context.Context) {
	if !c.intends() {
		return
	}
	if err := storage.Delete(ctx, c.target, jobs.Folder(c.task.Job).Intent(c.task.Index)); err != nil {
		c.w.log.Debug("cannot delete the intents of a chunk", "job", c.task.Job, "chunk", c.task.Index, "error", err)
	}
}
