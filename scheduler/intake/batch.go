package intake

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// registerEvery is the time after which a batch that has not ended is registered with the queue again, which may have
// lost it.
const registerEvery = 15 * time.Second

// batch is a job from the first look at its objects to its end.
type batch struct {
	in    *Intake
	held  []*item // objects that stay out of other batches meanwhile
	items []*item // of them, those of the job
	id    string  // of the job
}

// run makes a job of what is held and follows it to its end.
func (b *batch) run(ctx context.Context) {
	defer b.in.spool.release(b.held)
	if b.submit(ctx) {
		b.follow(ctx)
	}
}

// submit stores the batch and acknowledges its objects. It is false where there is nothing to follow.
func (b *batch) submit(ctx context.Context) bool {
	if b.lookUp(ctx) != nil || len(b.items) == 0 {
		return false
	}
	slices.SortFunc(b.items, func(x, y *item) int { return strings.Compare(x.key, y.key) })
	entries := make([]jobs.Entry, len(b.items))
	for i, it := range b.items {
		entries[i] = it.entry
	}
	spec := b.in.spec
	spec.Token = token(spec, b.items)
	err := b.in.insist(ctx, "store a batch", func() error {
		stored, err := b.in.client.SubmitEntries(ctx, spec, entries)
		if err == nil {
			b.id = stored.ID
		}
		return err
	})
	if err != nil {
		return false
	}
	for _, it := range b.items {
		it.acknowledge()
	}
	b.in.log.Info("batch is stored", "job", b.id, "objects", len(entries))
	return true
}

// token is the hash of a batch: what is done, to which versions of which objects, and for which listing, so that what
// failed is tried again by a later one.
func token(spec jobs.Spec, items []*item) string {
	h := sha256.New()
	text := func(s []byte) {
		h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		h.Write(s)
	}
	fixed, _ := json.Marshal(spec) // of plain values: it cannot fail
	text(fixed)
	var listed time.Time
	for _, it := range items {
		text([]byte(it.entry.Key))
		text([]byte(it.entry.ETag))
		h.Write(binary.AppendVarint(nil, it.entry.Size))
		if it.listed.After(listed) {
			listed = it.listed
		}
	}
	text([]byte(listed.UTC().Format(time.RFC3339Nano)))
	return jobs.IntakeToken + hex.EncodeToString(h.Sum(nil))
}

// follow waits for the end of the batch.
func (b *batch) follow(ctx context.Context) {
	m := b.in.metrics
	m.flying(1)
	defer m.flying(-1)
	target := b.in.spec.Target
	registered, held := time.Now(), time.Time{}
	for ; ctx.Err() == nil; sleep(ctx, b.in.look) {
		report, ended, err := b.in.client.Ended(ctx, target, b.id)
		if m.trouble("look at a batch", b.in.public(err)); err != nil {
			sleep(ctx, time.Second)
			continue
		}
		if ended {
			if b.in.followUp(ctx, b.id, report) == nil {
				b.ended(report)
			}
			return
		}
		if b.in.opts.Lease && time.Since(held) > jobs.LeaseEvery {
			held = time.Now()
			if err := b.in.client.Hold(ctx, target, b.id, false, false); err != nil {
				b.in.log.Debug("the lease of a batch cannot be written", "job", b.id, "error", b.in.public(err))
			}
		}
		if b.in.client.Conn != nil && time.Since(registered) > registerEvery {
			registered = time.Now()
			m.trouble("register a batch", b.in.client.Register(ctx, target, b.id))
		}
	}
	if b.in.opts.Lease {
		late, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer done()
		b.in.client.Hold(late, target, b.id, false, true)
	}
}

// ended counts what became of the batch.
func (b *batch) ended(r jobs.Report) {
	m, now := b.in.metrics, time.Now()
	state := string(r.State)
	if state == "" {
		state = "gone"
	}
	m.batch(state)
	for outcome, n := range r.Counts.Outcomes() {
		m.outcome(string(outcome), n)
	}
	if r.State == jobs.StateDone && r.Counts.Failed == 0 {
		for _, it := range b.items {
			b.in.recent.add(it, now)
			if !it.entry.ModTime.IsZero() {
				m.latency(now.Sub(it.entry.ModTime))
			}
		}
	}
	level := b.in.log.Info
	if r.State != jobs.StateDone || r.Counts.Failed > 0 {
		level = b.in.log.Warn
	}
	level("batch has ended", "job", b.id, "state", state, "reason", r.Reason, "compressed", r.Counts.Compressed, "skipped", r.Counts.Skipped, "failed", r.Counts.Failed)
	b.in.pruneSoon(1)
}
