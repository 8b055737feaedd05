package scheduler

import (
	"reflect"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// The sums of a running job are those of the records of its done chunks, whether shards have them or not, and each chunk
// is read once.
func TestAddRecords(t *testing.T) {
	r := newRig(t)
	r.fill(40)
	r.worker.outcome = func(e jobs.Entry) jobs.Outcome {
		if e.Key < "d3" {
			return jobs.OutcomeFailed
		}
		return jobs.OutcomeCompressed
	}
	r.worker.upTo.Store(6)
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	id := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 5 }).ID
	r.wait("six chunks", func() bool {
		s, err := r.client.Status(r.ctx, r.target, id)
		return err == nil && s.Done >= 6
	})
	status, err := r.client.Status(r.ctx, r.target, id)
	if err != nil {
		t.Fatal(err)
	}
	var want jobs.Sums
	if err := r.client.Results(r.ctx, r.target, id, func(res jobs.Result) error { want.Add(&res); return nil }); err != nil {
		t.Fatal(err)
	}
	var sums RecordSums
	for _, partial := range []bool{true, false, false} {
		if err := r.client.AddRecords(r.ctx, r.target, &status, &sums, 4); err != nil || sums.Partial != partial {
			t.Errorf("partial: %v, want %v (%v)", sums.Partial, partial, err)
		}
	}
	if !reflect.DeepEqual(sums.Sums, want) || len(want.Stages) == 0 {
		t.Errorf("sums are %+v, want %+v", sums.Sums, want)
	}

	// Who knows an earlier status needs the plan no more, and learns the same.
	if err := storage.Delete(r.ctx, r.bucket(r.target), jobs.Folder(id).Plan()); err != nil {
		t.Fatal(err)
	}
	after, err := r.client.StatusAfter(r.ctx, r.target, id, &status)
	if err != nil || after.Objects != 40 || after.Chunks != 8 || after.Bytes != status.Bytes || after.Counts != status.Counts || after.Done != status.Done {
		t.Errorf("with an earlier status: %+v, want %+v (%v)", after, status, err)
	}
	status.Spec.ID = "20260102-030405-abcd"
	if other, err := r.client.StatusAfter(r.ctx, r.target, id, &status); err != nil || other.Chunks != 0 {
		t.Errorf("with a status of another job: %+v (%v)", other, err)
	}
}
