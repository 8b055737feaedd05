package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// stateTime is how long the answer holds that a job has not ended, or that one
// which can be resumed has.
const stateTime = 2 * time.Second

// maxReport bounds a report, which is a few kilobytes.
const maxReport = 16 << 20

// jobStates answers which jobs of a target have ended. It reads storage, as the
// queue need not know jobs of other clusters, and keeps the answers.
type jobStates struct{ read *cache[jobState] }

// keptStates bounds the answers that are kept.
const keptStates = 4096

func newJobStates() jobStates {
	return jobStates{newCache[jobState](keptStates).checking(func(st jobState) bool {
		return st.final || time.Since(st.asked) < stateTime
	})}
}

// jobKey names a job of a target in caches. An id has no space in it.
func jobKey(b *storage.Bucket, id string) string { return id + " " + b.URL }

// jobState is what is known of a job. The zero value is a job that does not
// exist, which has ended.
type jobState struct {
	spec       jobs.Spec
	unfinished bool
	idle       bool // unfinished, and no chunk of it has been started: it has no results
	final      bool // will not change
	asked      time.Time
}

// of gives the state of one job.
func (s jobStates) of(ctx context.Context, b *storage.Bucket, id string) (jobState, error) {
	return s.read.get(ctx, jobKey(b, id), func(ctx context.Context) (jobState, error) { return readState(ctx, b, id) })
}

// readState reads what the job's folder says. A job has ended when it has a
// report or is being cancelled; one without a specification never was.
func readState(ctx context.Context, b *storage.Bucket, id string) (st jobState, err error) {
	st.asked = time.Now()
	if !jobs.ValidID(id) {
		return st, nil
	}
	if ok, err := readJSON(ctx, b, jobs.Folder(id).Spec(), jobs.MaxSpec, &st.spec); err != nil || !ok {
		return st, err
	}
	var report jobs.Report
	switch ok, err := readJSON(ctx, b, jobs.Folder(id).Report(), maxReport, &report); {
	case err != nil:
		return st, err
	case ok:
		st.final = report.State != jobs.StateFailed // an operator can let a failed one go on
		return st, nil
	}
	var control jobs.Control
	if _, err := readJSON(ctx, b, jobs.Folder(id).Control(), jobs.MaxSpec, &control); err != nil {
		return st, err
	}
	st.unfinished = control.Want != jobs.WantCancel
	var reached jobs.StateRecord
	ok, err := readJSON(ctx, b, jobs.Folder(id).State(), jobs.MaxSpec, &reached)
	st.idle = st.unfinished && ok && reached.Started.IsZero()
	return st, err
}

// readJSON reads an object; ok is false where there is none.
func readJSON(ctx context.Context, b *storage.Bucket, key string, limit int64, v any) (ok bool, err error) {
	got, err := storage.Get(ctx, b, key, limit, nil)
	if storage.IsNotExist(err) && !storage.Unreachable(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(got.Data, v); err != nil {
		return false, fmt.Errorf("worker: %s: %s: %w", b.URL, key, err)
	}
	return true, nil
}
