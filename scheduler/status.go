package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// NoWorker is why a job does not move that no process works on.
const NoWorker = "no worker is connected"

// Status is where a job stands.
type Status struct {
	Spec    jobs.Spec
	Control jobs.Control
	State   jobs.StateRecord
	Objects int64       // of the source after filters; -1 where not listed yet
	Bytes   int64       // of them
	Counts  jobs.Counts // so far, with the objects that were done before
	Chunks  int         // of the plan
	Done    int         // chunks that are committed
	Depth   queue.Depth // of the job's priority, all jobs together
	Workers []queue.WorkerInfo

	Rate     float64       // objects a second while work goes on, of an ended job on average; 0: not known, or nothing runs
	ByteRate float64       // and bytes of their sources
	ETA      time.Duration // to the last chunk; 0: not known, or nothing runs
	Pace     jobs.Pace     // the timeline that these follow from; zero of an ended job

	// Offline: Redis does not answer. Counts, chunks, workers and rates are not known.
	Offline bool

	// Leader is the scheduler that leads the job; empty where none does, and without a queue.
	Leader string

	deniedBy string // why a worker does not do its chunks; empty where none says so

	done    []byte // the chunks that are committed, see [queue.Bit]; nil: not known
	skipped int64  // objects that the plan skipped; only where there is a plan
	planned bool   // there is a plan: Objects, Bytes, Chunks and skipped are its

	// Why says in one sentence why the job does not move. It is empty where it
	// does, and where it has ended well.
	Why string

	// Blocked is what stands in the way of everything that the job has left to
	// do; empty where nothing does. State.Reason is then the reason without an
	// advice, which Why has.
	Blocked jobs.Cause
}

// Priority is the job's as of now.
func (st *Status) Priority() int {
	return *st.Spec.Now(&st.Control).Priority
}

// Hours are those in which chunks of the job start, as of now; empty: always.
func (st *Status) Hours() string { return *st.Spec.Now(&st.Control).Hours }

// BudgetUsed reports whether a job is paused because its budget is used up, also after what its operator
// changed last: a scheduler has seen that and has answered.
func (st *Status) BudgetUsed() bool {
	return st.State.State == jobs.StatePaused && st.State.Budget.Used && !st.Control.At.After(st.State.Answered)
}

// Status reads where a job stands, with a handful of requests.
func (c *Client) Status(ctx context.Context, target, id string) (Status, error) {
	return c.StatusAfter(ctx, target, id, nil)
}

// StatusAfter is Status where an earlier status is known, for who looks at a job again and again: the plan, which never
// changes and is large, is not read again. earlier may be nil, or of another job.
func (c *Client) StatusAfter(ctx context.Context, target, id string, earlier *Status) (Status, error) {
	st := Status{Objects: -1}
	b, spec, err := c.job(ctx, target, id)
	if err != nil {
		return st, err
	}
	st.Spec = spec
	if st.State, _, err = getJSON[jobs.StateRecord](ctx, b, jobs.Folder(id).State()); err != nil {
		return st, err
	}
	if st.State.State == "" {
		st.State.State = jobs.StateNew
	}
	if st.Control, _, err = getJSON[jobs.Control](ctx, b, jobs.Folder(id).Control()); err != nil {
		return st, err
	}
	if earlier != nil && earlier.planned && earlier.Spec.ID == id {
		st.planned, st.Objects, st.Bytes, st.Chunks, st.skipped = true, earlier.Objects, earlier.Bytes, earlier.Chunks, earlier.skipped
	} else if plan, ok, err := getJSON[jobs.Plan](ctx, b, jobs.Folder(id).Plan()); err != nil {
		return st, err
	} else if ok {
		st.planned, st.Objects, st.Bytes, st.Chunks, st.skipped = true, plan.Objects, plan.Bytes, len(plan.Chunks), plan.Skipped
	} else if at, ok, err := getJSON[listing](ctx, b, jobs.Folder(id).Listing()); err != nil {
		return st, err
	} else if ok {
		st.Objects, st.Bytes = at.Objects, at.Bytes
	}
	report, ended, err := getJSON[jobs.Report](ctx, b, jobs.Folder(id).Report())
	if err != nil {
		return st, err
	}
	if ended {
		st.end(report)
		return st, nil
	}
	if id != c.Working {
		gone, err := interrupted(ctx, b, id)
		if err != nil {
			return st, err
		}
		if gone {
			return st, c.interruption(ctx, b, &st)
		}
	}
	var qerr error
	if c.Conn != nil {
		qerr = c.fromQueue(ctx, &st)
		st.Offline = qerr != nil
	}
	st.Counts.Objects += st.skipped
	st.Counts.Skipped += st.skipped
	st.Why = c.why(ctx, &st, qerr)
	return st, nil
}

// With gives what stands in st, and what Redis knew of the job in an earlier status: for a
// Redis that does not answer now.
func (st Status) With(earlier Status) Status {
	if earlier.Spec.ID != st.Spec.ID {
		return st
	}
	st.Counts, st.Done, st.Depth, st.Workers = earlier.Counts, earlier.Done, earlier.Depth, earlier.Workers
	st.Rate, st.ByteRate, st.ETA, st.Pace = earlier.Rate, earlier.ByteRate, earlier.ETA, earlier.Pace
	return st
}

// fromQueue adds what Redis knows.
func (c *Client) fromQueue(ctx context.Context, st *Status) error {
	p, ok, err := c.Conn.Job(st.Spec.ID).Progress(ctx)
	if err != nil {
		return err
	}
	if ok {
		st.Done, st.Counts, st.done = countDone(p.Done), p.Counts, p.Done
		st.Counts.Plus(p.AtWork)
	}
	if b, blocked, err := c.Conn.Job(st.Spec.ID).Blocked(ctx); err != nil {
		return err
	} else if blocked {
		// The target may not have taken the state record.
		st.State.State, st.State.Reason, st.State.Blocked = jobs.StatePaused, b.Reason, b.Cause
	} else if st.State.Blocked != jobs.BlockRedis {
		st.State.Blocked = "" // of an earlier process; what blocks the job now would be in Redis
	}
	if st.Depth, err = c.Conn.Tasks(st.Priority()).Depth(ctx); err != nil {
		return err
	}
	if st.Leader, err = c.Conn.Leader(ctx, leadName(st.Spec.ID)); err != nil {
		return err
	}
	if st.Workers, err = c.Conn.Workers(ctx); err != nil {
		return err
	}
	if reason, err := c.Conn.Job(st.Spec.ID).Denied(ctx, queue.Schedulers); err != nil {
		return err
	} else if reason != "" {
		st.State.State, st.State.Reason, st.State.Blocked = jobs.StateRefused, reason, ""
	}
	if st.deniedBy, err = c.Conn.Job(st.Spec.ID).Denied(ctx, queue.Workers); err != nil {
		return err
	}
	pace, err := c.Conn.Job(st.Spec.ID).Pace(ctx)
	st.Pace = pace
	if now := time.Now(); err == nil && st.State.State == jobs.StateRunning && st.State.Blocked == "" && pace.Fresh(now) {
		st.Rate, st.ByteRate = pace.Rate()
		st.ETA, _ = pace.Left(now)
	}
	return err
}

// why finds the reason closest to the root.
func (c *Client) why(ctx context.Context, st *Status, qerr error) string {
	state := st.State.State
	if st.State.Blocked != "" {
		st.Blocked = st.State.Blocked
		return st.State.Reason + "; " + st.Blocked.Advice()
	}
	switch {
	case state == jobs.StatePaused, state == jobs.StatePlanned && st.Control.Want != jobs.WantRun:
		return st.State.Reason
	case c.Conn == nil:
		return st.State.Reason
	case errors.Is(qerr, queue.ErrUnreachable):
		return "Redis cannot be reached"
	case qerr != nil:
		return qerr.Error()
	case state == jobs.StateRefused:
		return st.State.Reason
	case st.deniedBy != "":
		return "refused by worker " + st.deniedBy
	}
	full, stuck := "", false
	if used, limit, err := c.Conn.Memory(ctx); err == nil {
		// Chunks at work go on until Redis takes nothing at all.
		full, stuck = fullness(used, limit), st.Depth.Active == 0 || float64(used) > refusesAt*float64(limit)
	}
	switch alive, err := c.Conn.Redis().Exists(ctx, aliveKey).Result(); {
	case err != nil:
		return "Redis cannot be reached"
	case full != "" && (alive == 0 || state == jobs.StateRunning && (st.State.Reason == "" || strings.HasPrefix(st.State.Reason, "Redis "))):
		// A full Redis does not even know whether a scheduler is running.
		if stuck {
			st.Blocked = jobs.BlockRedis
		}
		return full
	case alive == 0:
		return "no scheduler is running"
	case st.Leader == "" && time.Since(st.Spec.Created) > leaseTime:
		return "no scheduler leads the job"
	case st.State.Reason != "":
		return st.State.Reason
	case state != jobs.StateRunning:
		return ""
	}
	taking := 0
	for _, w := range st.Workers {
		if !w.Stopping {
			taking++
		}
	}
	switch {
	case len(st.Workers) == 0:
		return NoWorker
	case taking == 0:
		return fmt.Sprintf("all %d workers are stopping", len(st.Workers))
	case st.Depth.Pending == 0 && st.Depth.Active == 0 && st.Depth.Retry > 0:
		return fmt.Sprintf("%d chunks could not be stored or fetched and are tried again soon", st.Depth.Retry)
	case st.Depth.Pending > 0 && st.Depth.Active == 0 && c.busyElsewhere(ctx, st):
		return "the workers are busy with jobs of a higher priority"
	}
	return ""
}

func (c *Client) busyElsewhere(ctx context.Context, st *Status) bool {
	for p := st.Priority() + 1; p < jobs.Priorities; p++ {
		if d, err := c.Conn.Tasks(p).Depth(ctx); err == nil && d.Pending+d.Active > 0 {
			return true
		}
	}
	return false
}

// Summary is a line of a list of jobs.
type Summary struct {
	ID       string
	Created  time.Time
	Source   string
	Codec    string
	Options  string
	Parent   string
	State    jobs.State
	Reason   string
	Finished time.Time
	Counts   jobs.Counts // of ended jobs
}

// List gives the jobs of a target, newest last.
func (c *Client) List(ctx context.Context, target string) ([]Summary, error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	ids, err := jobIDs(ctx, b)
	if err != nil {
		return nil, err
	}
	var out []Summary
	err = inOrder(ctx, len(ids), func(ctx context.Context, i int) (*Summary, error) {
		spec, ok, err := readSpec(ctx, b, ids[i])
		if err != nil || !ok {
			return nil, err
		}
		s := &Summary{ID: ids[i], Created: spec.Created, Source: spec.Source, Codec: spec.Codec, Options: spec.Options, Parent: spec.Parent, State: jobs.StateNew}
		state, ok, err := getJSON[jobs.StateRecord](ctx, b, jobs.Folder(ids[i]).State())
		if err != nil {
			return nil, err
		}
		if ok {
			s.State, s.Reason = state.State, state.Reason
		}
		if c.Conn != nil {
			if b, blocked, err := c.Conn.Job(ids[i]).Blocked(ctx); err == nil && blocked {
				s.State, s.Reason = jobs.StatePaused, b.Reason
			}
		}
		report, ok, err := getJSON[jobs.Report](ctx, b, jobs.Folder(ids[i]).Report())
		if ok {
			s.State, s.Reason, s.Finished, s.Counts = report.State, report.Reason, report.Finished, report.Counts
		}
		return s, err
	}, func(_ int, s *Summary) error {
		if s != nil {
			out = append(out, *s)
		}
		return nil
	})
	// Ids are in order to the second only.
	slices.SortStableFunc(out, func(a, b Summary) int { return a.Created.Compare(b.Created) })
	return out, err
}

// Results calls fn with every record of a job in manifest order: of the merged
// files, or, of a job that has not ended, of the shards there are. Objects that
// the plan skipped have no record.
func (c *Client) Results(ctx context.Context, target, id string, fn func(jobs.Result) error) error {
	b, _, err := c.job(ctx, target, id)
	if err != nil {
		return err
	}
	names := sitekey.NewReader(ctx, b)
	for line, err := range records(ctx, b, id, false) {
		var r jobs.Result
		if err == nil {
			if err = json.Unmarshal(line, &r); err != nil {
				err = fmt.Errorf("scheduler: records of job %s: %w", id, err)
			}
		}
		if err == nil {
			err = names.Complete(&r)
		}
		if err != nil {
			return err
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

// Known calls fn with the records of the objects that a job's plan skipped because an
// earlier job had found that they are unsupported, rejected or kept.
func (c *Client) Known(ctx context.Context, target, id string, fn func(jobs.Result) error) error {
	b, _, err := c.job(ctx, target, id)
	if err != nil {
		return err
	}
	plan, ok, err := getJSON[jobs.Plan](ctx, b, jobs.Folder(id).Plan())
	if err != nil || !ok {
		return err
	}
	names := sitekey.NewReader(ctx, b)
	for n := range plan.KnownParts {
		err := rawLines(ctx, b, jobs.Folder(id).Known(n), func(line []byte) error {
			var r jobs.Result
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("scheduler: known verdicts of job %s: %w", id, err)
			}
			if err := names.Complete(&r); err != nil {
				return err
			}
			return fn(r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Newest gives the id of the newest job of a target; one without a job is
// [ErrNoJob].
func (c *Client) Newest(ctx context.Context, target string) (string, error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return "", err
	}
	ids, err := jobIDs(ctx, b)
	if err == nil && len(ids) == 0 {
		err = fmt.Errorf("scheduler: %s: %w", b.URL, ErrNoJob)
	}
	if err != nil {
		return "", err
	}
	newest, last := "", time.Time{}
	for i := len(ids) - 1; i >= 0; i-- {
		if second := len("20060102-150405"); ids[i][:second] != ids[len(ids)-1][:second] {
			break
		}
		// Ids are in order to the second only.
		spec, ok, err := readSpec(ctx, b, ids[i])
		if err != nil {
			return "", err
		}
		if newest == "" || ok && spec.Created.After(last) {
			newest, last = ids[i], spec.Created
		}
	}
	return newest, nil
}
