package scheduler

import (
	"log/slog"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// A chunk that ends between the look at what is done and that at the queue is not fed again: its task would wait there while the
// job is paused. One that the queue has lost is.
func TestDoneChunksAreNotFedAgain(t *testing.T) {
	r := newRig(t)
	const id = "20200101-000000-aaaa"
	plan := &jobs.Plan{Chunks: make([]jobs.Chunk, 2)}
	w := &work{drive: &drive{s: r.scheduler(nil), log: slog.New(slog.DiscardHandler), f: folder{b: r.bucket(r.target), id: id}}, plan: plan,
		done: queue.NewBitmap(2), cursor: 2, left: map[int]int{}}
	if err := r.conn.Job(id).Init(r.ctx, len(plan.Chunks), nil, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	if err := r.conn.Job(id).Commit(r.ctx, 0, jobs.Counts{}); err != nil {
		t.Fatal(err)
	}
	if err := w.reconcile(r.ctx); err != nil {
		t.Fatal(err)
	}
	for chunk, want := range []string{"", "pending"} {
		if state, err := r.conn.Tasks(0).State(r.ctx, w.task(chunk)); err != nil || state != want {
			t.Errorf("chunk %d: %q, %v, want %q", chunk, state, err, want)
		}
	}
}
