package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// intents passes what a job was about to store when its process was killed to a sorter.
// As records they have no fingerprint: no work is done by them, but what lies under their
// keys with their content may be replaced by a job of the same source. A line that was not
// written to its end is left out.
func intents(ctx context.Context, b *storage.Bucket, id string, to *sorter) error {
	if b.Kind() != "file" {
		return nil // results say themselves whose they are
	}
	names := sitekey.NewReader(ctx, b)
	return walk(ctx, b, jobs.Folder(id).Intents(), "", func(o storage.Object) error {
		got, err := storage.Get(ctx, b, o.Key, largest, nil)
		if storage.IsNotExist(err) && !storage.Unreachable(err) {
			return nil // its records are stored meanwhile
		}
		if err != nil {
			return err
		}
		for line := range bytes.Lines(got.Data) {
			line, err := names.Line(line)
			if errors.Is(err, sitekey.ErrSealed) {
				continue
			}
			if err != nil {
				return err
			}
			var i jobs.Intent
			if json.Unmarshal(line, &i) != nil || i.Key == "" || i.Target == "" || i.TargetSHA256 == "" {
				continue
			}
			rec := record{Key: i.Key, KeyHash: i.KeyHash, Outcome: i.Outcome, Target: i.Target, TargetSize: i.TargetSize, TargetSHA256: i.TargetSHA256, Job: id}
			value, err := json.Marshal(&rec)
			if err == nil {
				err = to.add([]byte(rec.Key), value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
