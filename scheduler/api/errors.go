package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// Problem is an error as clients see it: application/problem+json (RFC 9457), with what a client branches on.
type Problem struct {
	huma.ErrorModel
	State string `json:"state,omitempty"` // with 409: the state of the job that does not allow it
	Code  string `json:"code,omitempty"`  // what kind of error it is, where that is more than the status says
}

func problem(status int, detail string) *Problem {
	return &Problem{ErrorModel: huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: plain.Line(detail)}}
}

// The codes of a [Problem].
const (
	CodeNoJob       = "no_job"
	CodeNoPlan      = "no_plan"
	CodeNoReport    = "no_report"
	CodeNothing     = "nothing"
	CodeUnreachable = "unreachable"
	CodeFull        = "full"
)

func coded(p *Problem, code string) *Problem {
	p.Code = code
	return p
}

// StatusOf is the HTTP status that stands for an error of this package.
func StatusOf(err error) int {
	var p *Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return http.StatusInternalServerError
}

// problemOf makes a problem of an error. What is no fault of the request is logged by the caller; the client is told
// what a person who uses the command line is told, which names places and keys but no secret.
func problemOf(err error) *Problem {
	var p *Problem
	var state *scheduler.StateError
	var token *scheduler.TokenError
	var not *storage.NotAllowedError
	text := strings.TrimPrefix(err.Error(), "scheduler: ")
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &state):
		p = problem(http.StatusConflict, text)
		p.State = string(state.State)
		return p
	case errors.As(err, &token), errors.Is(err, scheduler.ErrCursor):
		return problem(http.StatusUnprocessableEntity, text)
	case errors.As(err, &not):
		return problem(http.StatusForbidden, text)
	case errors.Is(err, scheduler.ErrNoJob):
		return coded(problem(http.StatusNotFound, text), CodeNoJob)
	case errors.Is(err, scheduler.ErrNothing):
		return coded(problem(http.StatusConflict, text), CodeNothing)
	case errors.Is(err, queue.ErrUnreachable), storage.Unreachable(err), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return coded(problem(http.StatusServiceUnavailable, text), CodeUnreachable)
	case errors.Is(err, queue.ErrFull), storage.Full(err):
		return coded(problem(http.StatusServiceUnavailable, text), CodeFull)
	}
	return problem(http.StatusInternalServerError, text)
}

// conflict says that a job is not in a state to answer.
func conflict(state jobs.State, code, detail string) *Problem {
	p := coded(problem(http.StatusConflict, detail), code)
	p.State = string(state)
	return p
}
