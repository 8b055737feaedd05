package scheduler

import (
	"context"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// Advice is what a job says whose budget is used up.
const budgetAdvice = "; pelmill resume gives it as much again, pelmill set another budget"

// used is what is done since the job was started or last resumed by its operator.
func (w *work) used() jobs.Used {
	b := w.state.Budget
	return jobs.Used{Work: jobs.Work{Objects: w.counts.Objects - b.From.Objects, Bytes: w.counts.BytesAttempted - b.From.Bytes}, Seconds: b.Seconds}
}

// budget says that the budget of the job is used up; empty: it is not. A resumed job has its
// whole budget again. The last chunks before the end of a budget may not fit in it: then
// it is used up as soon as nothing is at work.
func (w *work) budget(ctx context.Context) (spent string, err error) {
	if b := w.state.Budget; !b.Resumed.Equal(w.control.Resumed) {
		next := w.state
		next.Budget = jobs.Budget{Resumed: w.control.Resumed, From: jobs.Work{Objects: w.counts.Objects, Bytes: w.counts.BytesAttempted}}
		if b.Resumed.IsZero() && w.state.Started.IsZero() {
			next.Budget.From = jobs.Work{}
		}
		if err := w.write(ctx, next); err != nil {
			return "", err
		}
	}
	if err := w.countTime(ctx); err != nil {
		return "", err
	}
	now := w.now()
	spent = now.Exceeded(w.used())
	if spent == "" && w.short && w.shortAt.Equal(w.control.At) && len(w.fed())+len(w.beyond()) == 0 {
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

// countTime adds the time of work since the last look to the budget's, and has it outlive this process
// and Redis where there is a budget of time.
func (w *work) countTime(ctx context.Context) error {
	if w.timed {
		w.state.Budget.Seconds += max(0, w.pace.Active-w.active)
	}
	w.active, w.timed = w.pace.Active, true
	if d := w.now().MaxDuration; d == nil || *d == 0 || !w.pace.Running || time.Since(w.state.At) < registerEvery {
		return nil
	}
	return w.write(ctx, w.state)
}

// places is how many more chunks may be at work by the limit of workers. What waits beyond a limit that is lower
// now is taken back, and so is what another process has fed.
func (w *work) places(ctx context.Context) (int, error) {
	most := w.now().MaxWorkers
	if most == nil || *most == 0 {
		return len(w.plan.Chunks), nil
	}
	atWork, err := w.queued(ctx)
	if err != nil {
		return 0, err
	}
	if !w.counted || len(atWork) > *most && w.cursor > 0 {
		if err := w.takeBack(ctx); err != nil {
			return 0, err
		}
		if atWork, err = w.queued(ctx); err != nil {
			return 0, err
		}
	}
	return *most - len(atWork), nil
}

// queued gives the chunks that wait for a worker or that one has, as far as this process knows.
func (w *work) queued(ctx context.Context) ([]int, error) {
	_, err := w.busy(ctx)
	return append(w.fed(), w.beyond()...), err
}

// beyond gives the chunks that workers may have although they are not fed, since they were taken back.
func (w *work) beyond() (chunks []int) {
	for _, chunk := range w.withdrawn {
		if chunk >= w.cursor && !queue.Bit(w.done, chunk) {
			chunks = append(chunks, chunk)
		}
	}
	return chunks
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
