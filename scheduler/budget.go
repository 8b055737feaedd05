package scheduler

import (
	"context"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// Advice is what a job says whose budget is used up.
const budgetAdvice = "; pelmill resume gives it as much again, pelmill set another budget"

// used is what is done since the job was started or last resumed by its operator.
func (w *work) used() jobs.Used {
	from := w.state.Budget.From
	return jobs.Used{
		Work:    jobs.Work{Objects: w.counts.Objects - from.Objects, Bytes: w.counts.BytesAttempted - from.Bytes},
		Seconds: w.pace.Active - from.Seconds,
	}
}

// budget says that the budget of the job is used up; empty: it is not. A resumed job has its
// whole budget again. The last chunks before the end of a budget may not fit in it: then
// it is used up as soon as nothing is at work.
func (w *work) budget(ctx context.Context) (spent string, err error) {
	if b := w.state.Budget; !b.Resumed.Equal(w.control.Resumed) {
		next := w.state
		next.Budget = jobs.Budget{Resumed: w.control.Resumed,
			From: jobs.Used{Work: jobs.Work{Objects: w.counts.Objects, Bytes: w.counts.BytesAttempted}, Seconds: w.pace.Active}}
		if b.Resumed.IsZero() && w.state.Started.IsZero() {
			next.Budget.From = jobs.Used{}
		}
		if err := w.write(ctx, next); err != nil {
			return "", err
		}
	}
	now := w.now()
	spent = now.Exceeded(w.used())
	if spent == "" && w.short && w.shortAt.Equal(w.control.At) && len(w.fed()) == 0 {
		spent = "what is left of its budget is less than its next chunk"
	}
	if used := spent != ""; used != w.state.Budget.Used {
		next := w.state
		next.Budget.Used = used
		if err := w.write(ctx, next); err != nil {
			return "", err
		}
	}
	if spent != "" {
		spent += budgetAdvice
	}
	return spent, nil
}

// limit tells the workers what rates hold now, and again from time to time, in case Redis lost it.
func (w *work) limit(ctx context.Context) error {
	rates := w.now().RatesAt(w.s.opts.Now())
	if rates == w.rates && (rates == jobs.Rates{} && !w.rated.IsZero() || time.Since(w.rated) < registerEvery) {
		return nil
	}
	if err := w.s.conn.Job(w.f.id).SetRates(ctx, rates); err != nil {
		return err
	}
	w.rates, w.rated = rates, time.Now()
	return nil
}
