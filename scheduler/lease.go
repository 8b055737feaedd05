package scheduler

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// Hold writes down that this process does a job, or with released that it does so no
// more. announced says whether other processes of the machine can tell that this one lives.
func (c *Client) Hold(ctx context.Context, target, id string, announced, released bool) error {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	l := jobs.Lease{Host: host, PID: os.Getpid(), Announced: announced, Released: released, Renewed: time.Now().UTC()}
	return folder{b: b, id: id}.putJSON(ctx, jobs.Folder(id).Lease(), l, true)
}

// interrupted reports whether a job without a cluster has lost its process.
func interrupted(ctx context.Context, b *storage.Bucket, id string) (bool, error) {
	l, ok, err := getJSON[jobs.Lease](ctx, b, jobs.Folder(id).Lease())
	if err != nil || !ok {
		return false, err
	}
	host, _ := os.Hostname()
	switch {
	case l.Released:
		return true, nil
	case l.Announced && l.Host == host:
		return !slices.ContainsFunc(queue.RunningHere(), func(r queue.Running) bool { return r.Job == id }), nil
	}
	return time.Since(l.Renewed) > jobs.LeaseTime, nil
}

// interruption makes a status that of an interrupted job: what is done is counted from
// storage, also from chunks that were not finished.
func (c *Client) interruption(ctx context.Context, b *storage.Bucket, st *Status) error {
	st.State.State = jobs.StateInterrupted
	st.Counts, st.Done = jobs.Counts{Objects: st.skipped, Skipped: st.skipped}, 0
	for line, err := range records(ctx, b, st.Spec.ID, true) {
		var r jobs.Result
		if err == nil {
			r, err = parseJSON[jobs.Result]("", line)
		}
		if err != nil {
			return err
		}
		st.Counts.Add(&r)
	}
	done, err := shards(ctx, b, st.Spec.ID)
	if err != nil {
		return err
	}
	st.Done = len(done)
	st.Why = "its process has ended before it was listed; compress again continues"
	if st.Objects >= 0 {
		st.Why = fmt.Sprintf("at %s of %s; compress again continues", grouped(st.Counts.Objects), grouped(st.Objects))
	}
	return nil
}

// grouped writes a count with commas between thousands.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Interrupted gives the jobs of a target and source that have lost their process,
// oldest first.
func (c *Client) Interrupted(ctx context.Context, source, target string) (lost []string, err error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	ids, err := jobIDs(ctx, b)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		gone, err := interrupted(ctx, b, id)
		if err != nil {
			return nil, err
		}
		if !gone {
			continue
		}
		ended, err := exists(ctx, b, jobs.Folder(id).Report())
		if err != nil {
			return nil, err
		}
		spec, ok, err := readSpec(ctx, b, id)
		if err != nil {
			return nil, err
		}
		if !ended && ok && spec.ID == id && spec.Target == b.URL && jobs.SameSource(spec.Source, source) {
			lost = append(lost, id)
		}
	}
	return lost, nil
}
