package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
)

// roomPatience is how long a command that follows a job waits when nothing of
// it can be done: somebody may be making room on the disk right now. Tests make
// it shorter.
var roomPatience = time.Minute

// blockedError ends the following of a job that something blocks.
type blockedError struct {
	cause  jobs.Cause
	reason string
}

func (e *blockedError) Error() string {
	return fmt.Sprintf("%s; waited %s for a change", e.reason, secondsText(roomPatience.Seconds()))
}

// waiting notices that a job has been blocked for too long.
type waiting struct {
	since   time.Time // the job has been blocked and has not moved; zero: it is not blocked
	objects int64     // that were done then
}

// over is the error to end with, or nil.
func (w *waiting) over(s scheduler.Status) error {
	switch {
	case s.Blocked == "":
		w.since = time.Time{}
	case w.since.IsZero() || s.Counts.Objects != w.objects:
		w.since, w.objects = time.Now(), s.Counts.Objects
	case time.Since(w.since) >= roomPatience:
		reason := s.State.Reason
		if reason == "" || s.Blocked == jobs.BlockRedis {
			reason = s.Why
		}
		return &blockedError{s.Blocked, reason}
	}
	return nil
}

// blockedEnd is what a program ends with whose job is blocked: code 8, and how
// to go on. With --json the last line says it too.
func (p *program) blockedEnd(s scheduler.Status, err error, next string) error {
	var blocked *blockedError
	if !errors.As(err, &blocked) {
		return err
	}
	if p.json {
		e := summaryEvent{Type: "summary", Job: s.Spec.ID, State: jobs.StatePaused, Reason: blocked.reason, Counts: s.Counts, Saving: s.Counts.Saving()}
		if err := p.emit(e); err != nil {
			return err
		}
	}
	return &exit{exitUnreachable, fmt.Errorf("%w; what is done is kept, and %s", blocked, next)}
}
