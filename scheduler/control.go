package scheduler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// Control says what the operator wants of a job: to run (start, resume), to
// pause, to cancel, or another priority. An empty Want keeps the last one, as
// does a nil Priority. The scheduler obeys within seconds. A done or cancelled
// job is an error; a failed one runs again.
func (c *Client) Control(ctx context.Context, target, id string, ctl jobs.Control) error {
	b, spec, err := c.job(ctx, target, id)
	if err != nil {
		return err
	}
	report, ended, err := getJSON[jobs.Report](ctx, b, jobs.Folder(id).Report())
	if err != nil {
		return err
	}
	if ended && !(report.State == jobs.StateFailed && ctl.Want == jobs.WantRun) {
		return &StateError{Job: id, State: report.State}
	}
	old, ok, err := getJSON[jobs.Control](ctx, b, jobs.Folder(id).Control())
	if err != nil {
		return err
	}
	if !ok {
		if old.Want = jobs.WantPause; spec.AutoStart {
			old.Want = jobs.WantRun
		}
	}
	if ctl.At.IsZero() {
		ctl.At = time.Now().UTC()
	}
	keepsWant := ctl.Want == ""
	if keepsWant {
		ctl.Want, ctl.Force = old.Want, ctl.Force || old.Force
	}
	ctl.Settings = old.Settings.Over(ctl.Settings)
	if ctl.Resumed = old.Resumed; ctl.Want == jobs.WantRun && !keepsWant {
		ctl.Resumed = ctl.At
	}
	switch {
	case ctl.Want != jobs.WantRun && ctl.Want != jobs.WantPause && ctl.Want != jobs.WantCancel:
		return fmt.Errorf("scheduler: control %q: want %s, %s or %s", ctl.Want, jobs.WantRun, jobs.WantPause, jobs.WantCancel)
	case old.Want == jobs.WantCancel && ctl.Want != jobs.WantCancel:
		return &StateError{Job: id, State: jobs.StateCancelling}
	}
	if err := ctl.Settings.Check(); err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	if err := (folder{b: b, id: id}).putJSON(ctx, jobs.Folder(id).Control(), ctl, true); err != nil {
		return err
	}
	if c.Conn == nil {
		return nil
	}
	if !samePlace(spec.Target, b.URL) {
		return fmt.Errorf("scheduler: job %s in %s is for the target %q, so no scheduler will do it", id, b.URL, spec.Target)
	}
	return c.Conn.Job(id).Register(ctx, spec.Target)
}

// samePlace reports whether two canonical URLs differ in parameters only: people
// may reach a bucket in another way than schedulers and workers.
func samePlace(a, b string) bool {
	a, _, _ = strings.Cut(a, "?")
	b, _, _ = strings.Cut(b, "?")
	return a == b
}
